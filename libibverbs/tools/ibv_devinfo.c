/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the attributes of the RDMA devices. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/devinfo.h"
#include "libibverbs/tools/json.h"
#include "libibverbs/tools/show.h"
#include "util/version.h"

static struct devinfo_options options;

static int device_text(const struct devinfo *info)
{
	devinfo_attr_text(info, options.verbose);
	return devinfo_ports(info, &options);
}

static int device_json(const struct devinfo *info)
{
	int rc;

	json_open(NULL, '{');
	devinfo_attr_json(info);
	json_open("ports", '[');
	rc = devinfo_ports(info, &options);
	json_close(']');
	json_close('}');
	return rc;
}

static int context_show(struct ibv_context *ctx)
{
	struct devinfo info = { .ctx = ctx };

	if (ibv_query_device_ex(ctx, NULL, &info.attr)) {
		fprintf(stderr, "Failed to query device props\n");
		return DEVINFO_RC_QUERY;
	}
	if (options.port > info.attr.phys_port_cnt_ex) {
		fprintf(stderr, "Invalid port requested for device\n");
		return DEVINFO_RC_PORT;
	}
	return options.json ? device_json(&info) : device_text(&info);
}

static int device_show(struct ibv_device *device)
{
	struct ibv_context *ctx = ibv_open_device(device);
	int rc;

	if (!ctx) {
		fprintf(stderr, "Failed to open device\n");
		return DEVINFO_RC_OPEN;
	}
	rc = context_show(ctx);
	if (ibv_close_device(ctx)) {
		fprintf(stderr, "Failed to close device\n");
		rc = DEVINFO_RC_CLOSE;
	}
	return rc;
}

/* Begin the document. The version changes if a member is removed or changes its meaning. */
static void document_open(void)
{
	json_open(NULL, '{');
	json_number("schema_version", 1);
}

static int list_show(struct ibv_device **list, int count)
{
	if (options.json)
		json_open("devices", '[');
	else
		printf("%d HCA%s found:\n", count, count != 1 ? "s" : "");
	for (int i = 0; i < count; i++) {
		if (options.json)
			json_string(NULL, list[i]->name);
		else
			printf("\t%s\n", show_name(list[i]));
	}
	if (options.json)
		json_close(']');
	else
		putchar('\n');
	return 0;
}

static int devices_show(struct ibv_device **list)
{
	bool found = false;
	int rc = 0;

	if (options.json)
		json_open("devices", '[');
	for (int i = 0; list[i]; i++) {
		if (options.device && strcmp(options.device, list[i]->name))
			continue;
		found = true;
		rc |= device_show(list[i]);
	}
	if (options.json)
		json_close(']');
	if (found)
		return rc;
	if (options.device)
		fprintf(stderr, "IB device '%s' wasn't found\n", options.device);
	else
		fprintf(stderr, "No IB devices found\n");
	return -1;
}

/* Print an empty list, because a reader of JSON expects a document in any case. */
static void none_json(void)
{
	document_open();
	json_open("devices", '[');
	json_close(']');
	json_close('}');
}

static int show(void)
{
	struct ibv_device **list;
	int count, rc;

	list = ibv_get_device_list(&count);
	if (!list) {
		perror("Failed to get IB devices list");
		if (options.json)
			none_json();
		return -1;
	}
	if (options.json)
		document_open();
	rc = options.list ? list_show(list, count) : devices_show(list);
	if (options.json)
		json_close('}');
	ibv_free_device_list(list);
	return rc;
}

static void usage(const char *program)
{
	printf("Usage: %s             print the ca attributes\n"
	       "\n"
	       "Options:\n"
	       "  -d, --ib-dev=<dev>     use IB device <dev> (default first device found)\n"
	       "  -i, --ib-port=<port>   use port <port> of IB device (default all ports)\n"
	       "  -l, --list             print only the IB devices names\n"
	       "  -v, --verbose          print all the attributes of the IB device(s)\n"
	       "      --json             print all the attributes as JSON\n"
	       "  -h, --help             print this text\n"
	       "      --version          print the version\n",
	       program);
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "ib-dev", required_argument, NULL, 'd' },
		{ "ib-port", required_argument, NULL, 'i' },
		{ "list", no_argument, NULL, 'l' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:i:lvh", long_options, NULL)) != -1) {
		switch (c) {
		case 'd':
			options.device = optarg;
			break;
		case 'i':
			options.port = strtoul(optarg, NULL, 0);
			if (!options.port || options.port > UINT8_MAX) {
				usage(argv[0]);
				return 1;
			}
			break;
		case 'l':
			options.list = true;
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'j':
			options.json = true;
			break;
		case 'h':
			usage(argv[0]);
			return 0;
		case 'V':
			version_print();
			return 0;
		default:
			usage(argv[0]);
			return -1;
		}
	}
	setenv("VERBS_LOG_LEVEL", "1", 0);
	return show();
}
