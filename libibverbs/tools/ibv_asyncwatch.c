/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the asynchronous events of a device as they come. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "libibverbs/tools/show.h"
#include "util/version.h"

static void usage(FILE *to, const char *name)
{
	fprintf(to, "Usage:\n");
	fprintf(to, "  %s            start an asyncwatch process\n\nOptions:\n", name);
	fprintf(to, "  -d, --ib-dev=<dev>     use IB device <dev> (default first device found)\n");
	fprintf(to, "  -h, --help             print a help text and exit\n");
	fprintf(to, "      --version          print the version and exit\n");
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i = 0;

	if (!list) {
		perror("Failed to get IB devices list");
		return NULL;
	}
	while (name && list[i] && strcmp(ibv_get_device_name(list[i]), name))
		i++;
	if (list[i]) {
		context = ibv_open_device(list[i]);
		if (!context)
			fprintf(stderr, "Couldn't get context for %s: %s\n", show_name(list[i]),
				strerror(errno));
	} else if (name) {
		fprintf(stderr, "IB device %s not found\n", name);
	} else {
		fprintf(stderr, "No IB devices found\n");
	}
	ibv_free_device_list(list);
	return context;
}

/* Return the port of an event. Events of the device are shown with port 0. */
static int event_port(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return event->element.port_num;
	default:
		return 0;
	}
}

static int watch(struct ibv_context *context)
{
	struct ibv_async_event event;

	printf("%s: async event FD %d\n", show_name(context->device), context->async_fd);
	/* main() reports output that is lost. */
	while (!ferror(stdout)) {
		if (ibv_get_async_event(context, &event)) {
			perror("Couldn't get the next event");
			break;
		}
		printf("  event_type %s (%d), port %d\n", ibv_event_type_str(event.event_type),
		       event.event_type, event_port(&event));
		ibv_ack_async_event(&event);
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "ib-dev", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	struct ibv_context *context;
	const char *name = NULL;
	int letter;

	setenv("VERBS_LOG_LEVEL", "1", 0);
	while ((letter = getopt_long(argc, argv, "d:h", names, NULL)) != -1) {
		if (letter == 'h') {
			usage(stdout, argv[0]);
			return 0;
		}
		if (letter == 'V') {
			version_print();
			return 0;
		}
		if (letter != 'd') {
			usage(stderr, argv[0]);
			return 1;
		}
		name = optarg;
	}
	/* Print each line at once, also into a pipe. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	context = device_open(name);
	return context ? watch(context) : 1;
}
