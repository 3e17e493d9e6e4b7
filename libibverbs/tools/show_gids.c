/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Show the GID tables of all devices, the entry to use, and the flaws of the others. */
#include <arpa/inet.h>
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs_more.h>

#include "libibverbs/tools/show.h"
#include "util/text.h"
#include "util/util.h"
#include "util/version.h"

/* Flaws that do not prevent sending. */
#define FLAWS_BEARABLE (IBV_GID_FLAW_LINK_LOCAL | IBV_GID_FLAW_ROCE_V1)

struct choice {
	const char *device;	   /* NULL: all */
	unsigned int port;	   /* 0: all */
	const union ibv_gid *peer; /* or NULL */
};

static void usage(FILE *to)
{
	fputs("Usage: show_gids [options]     list the GIDs of the devices, and which one to use\n"
	      "\n"
	      "Options:\n"
	      "  -d, --ib-dev=<dev>     only of this device\n"
	      "  -i, --ib-port=<port>   only of this port\n"
	      "  -t, --to=<address>     to reach this IPv4 or IPv6 address\n"
	      "  -h, --help             print this text\n"
	      "      --version          print the version\n",
	      to);
}

static bool gid_is_v4(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid);
}

static const char *gid_scope(const struct ibv_gid_entry *entry)
{
	const struct in6_addr *address = (const struct in6_addr *)&entry->gid;

	if (entry->gid_type == IBV_GID_TYPE_IB)
		return IN6_IS_ADDR_LINKLOCAL(address) ? "subnet" : "global";
	if (IN6_IS_ADDR_LOOPBACK(address) ||
	    (gid_is_v4(&entry->gid) && address->s6_addr[12] == 127))
		return "host";
	if (IN6_IS_ADDR_LINKLOCAL(address) ||
	    (gid_is_v4(&entry->gid) && address->s6_addr[12] == 169 && address->s6_addr[13] == 254))
		return "link";
	return "global";
}

static const char *gid_type(uint32_t type)
{
	switch (type) {
	case IBV_GID_TYPE_IB:
		return "IB";
	case IBV_GID_TYPE_ROCE_V1:
		return "RoCE v1";
	case IBV_GID_TYPE_ROCE_V2:
		return "RoCE v2";
	default:
		return "unknown";
	}
}

static void gid_text(const union ibv_gid *gid, char text[40])
{
	for (int i = 0; i < 8; i++)
		sprintf(text + 5 * i, i < 7 ? "%02x%02x:" : "%02x%02x", gid->raw[2 * i],
			gid->raw[2 * i + 1]);
}

/* Return the address of the interface. GIDs of InfiniBand are not such addresses. */
static const char *gid_address(const struct ibv_gid_entry *entry, char text[INET6_ADDRSTRLEN])
{
	if (entry->gid_type == IBV_GID_TYPE_IB)
		return "-";
	if (gid_is_v4(&entry->gid))
		return inet_ntop(AF_INET, &entry->gid.raw[12], text, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, entry->gid.raw, text, INET6_ADDRSTRLEN);
}

static void use_show(uint32_t flaws, bool best)
{
	const char *gap = "";

	if (best && !(flaws & ~FLAWS_BEARABLE))
		printf("best%s", flaws ? ", though: " : "");
	else
		printf(flaws ? "no: " : "good");
	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (!(flaws & bit))
			continue;
		printf("%s%s", gap, ibv_gid_flaw_str(bit));
		gap = ", ";
	}
	printf("\n");
}

static void entry_show(struct ibv_context *context, const struct ibv_gid_entry *entry,
		       const union ibv_gid *peer, bool best)
{
	char address[INET6_ADDRSTRLEN], gid[40] = "", name[IF_NAMESIZE] = "-";
	uint32_t flaws = 0;

	/* The entry was just removed. */
	if (ibv_gid_flaws(context, entry->port_num, entry->gid_index, peer, &flaws))
		return;
	if (entry->ndev_ifindex && !if_indextoname(entry->ndev_ifindex, name))
		snprintf(name, sizeof(name), "%u", entry->ndev_ifindex);
	text_make_printable(name);
	gid_text(&entry->gid, gid);
	printf("%-12s  %-4u  %-5u  %s  %-26s  %-10s  %-7s  %-6s  ", show_name(context->device),
	       entry->port_num, entry->gid_index, gid, gid_address(entry, address), name,
	       gid_type(entry->gid_type), gid_scope(entry));
	use_show(flaws, best);
}

static int entry_order(const void *left, const void *right)
{
	const struct ibv_gid_entry *a = left, *b = right;

	if (a->port_num != b->port_num)
		return a->port_num < b->port_num ? -1 : 1;
	return a->gid_index < b->gid_index ? -1 : a->gid_index > b->gid_index;
}

static int table_show(struct ibv_context *context, const struct choice *choice)
{
	_cleanup_free_ struct ibv_gid_entry *entries = NULL;
	struct ibv_device_attr attr;
	size_t size = 1;
	ssize_t count;
	int r = ibv_query_device(context, &attr);

	for (unsigned int port = 1; !r && port <= attr.phys_port_cnt; port++) {
		struct ibv_port_attr port_attr;

		r = ibv_query_port(context, port, &port_attr);
		size += r ? 0 : port_attr.gid_tbl_len;
	}
	if (r)
		return r;
	entries = calloc(size, sizeof(*entries));
	if (!entries)
		return ENOMEM;
	count = ibv_query_gid_table(context, entries, size, 0);
	if (count < 0)
		return -count;
	qsort(entries, count, sizeof(*entries), entry_order);
	for (ssize_t i = 0; i < count; i++) {
		uint32_t port = entries[i].port_num, best;

		if (choice->port && choice->port != port)
			continue;
		r = ibv_best_gid(context, port, choice->peer, &best);
		entry_show(context, &entries[i], choice->peer, !r && best == entries[i].gid_index);
	}
	return 0;
}

static int device_show(struct ibv_device *device, const struct choice *choice)
{
	struct ibv_context *context = ibv_open_device(device);
	int r = context ? table_show(context, choice) : errno;

	if (r)
		fprintf(stderr, "%s: %s\n", show_name(device), strerror(r));
	if (context)
		ibv_close_device(context);
	return r;
}

static void title_show(void)
{
	printf("%-12s  %-4s  %-5s  %-39s  %-26s  %-10s  %-7s  %-6s  %s\n", "DEVICE", "PORT",
	       "INDEX", "GID", "ADDRESS", "INTERFACE", "TYPE", "SCOPE", "USE");
}

static int list_show(const struct choice *choice)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;
	int r = 0;

	if (!list) {
		perror("Failed to get IB devices list");
		return 1;
	}
	for (int i = 0; list[i]; i++) {
		if (choice->device && strcmp(choice->device, ibv_get_device_name(list[i])))
			continue;
		if (!found)
			title_show();
		found = true;
		r |= device_show(list[i], choice);
	}
	ibv_free_device_list(list);
	if (choice->device && !found) {
		fprintf(stderr, "IB device %s not found\n", choice->device);
		return 1;
	}
	return r ? 1 : 0;
}

static bool peer_parse(const char *text, union ibv_gid *ret_gid)
{
	*ret_gid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	if (inet_pton(AF_INET, text, &ret_gid->raw[12]) == 1 ||
	    inet_pton(AF_INET6, text, ret_gid->raw) == 1)
		return true;
	fprintf(stderr, "--to=%s: an IPv4 or IPv6 address is expected\n", text);
	return false;
}

static bool port_parse(const char *text, unsigned int *ret_port)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	*ret_port = port;
	if (port >= 1 && port <= 255 && !*end)
		return true;
	fprintf(stderr, "--ib-port=%s: a number from 1 to 255 is expected\n", text);
	return false;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "ib-dev", required_argument, NULL, 'd' },
		{ "ib-port", required_argument, NULL, 'i' },
		{ "to", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	struct choice choice = {};
	union ibv_gid peer;
	int option;

	while ((option = getopt_long(argc, argv, "d:i:t:h", names, NULL)) != -1) {
		switch (option) {
		case 'd':
			choice.device = optarg;
			break;
		case 'i':
			if (!port_parse(optarg, &choice.port))
				return 1;
			break;
		case 't':
			if (!peer_parse(optarg, &peer))
				return 1;
			choice.peer = &peer;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			version_print();
			return 0;
		default:
			usage(stderr);
			return 1;
		}
	}
	if (optind < argc) {
		usage(stderr);
		return 1;
	}
	setenv("VERBS_LOG_LEVEL", "1", 0);
	return list_show(&choice);
}
