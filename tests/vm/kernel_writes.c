/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides on everything the kernel writes into the caller's own memory. Run under valgrind, which
 * then sees what nobody has marked.
 *
 * usage: kernel_writes DEVICE
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* Each bit decides: an unknown one is a branch on memory nobody has written. */
static unsigned int weigh(const void *p, size_t size)
{
	unsigned int ones = 0;

	for (size_t i = 0; i < size * 8; i++)
		if (((const unsigned char *)p)[i / 8] >> i % 8 & 1)
			ones++;
	return ones;
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

/* As it lies before a message that came to @to over IPv6 and UDP. */
static struct ibv_grh grh_to(const union ibv_gid *to)
{
	struct ibv_grh grh = {
		.version_tclass_flow = htobe32(6u << 28),
		.next_hdr = 17,
		.hop_limit = 64,
		.sgid = *to,
		.dgid = *to,
	};

	return grh;
}

static void address_from_message(struct ibv_context *ctx, const struct ibv_gid_entry *entry)
{
	struct ibv_grh grh = grh_to(&entry->gid);
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr attr;

	must(!ibv_init_ah_from_wc(ctx, entry->port_num, &wc, &grh, &attr), "ibv_init_ah_from_wc");
	printf("address handle: sgid_index %u, %u ones\n", attr.grh.sgid_index,
	       weigh(&attr.grh, sizeof(attr.grh)));
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = argc == 2 ? device_open(argv[1]) : NULL;
	struct ibv_gid_entry entry, *table = malloc(64 * sizeof(*table));
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	union ibv_gid gid;
	ssize_t count;

	must(ctx && table, "ibv_open_device");
	must(!ibv_query_device_ex(ctx, NULL, &device), "ibv_query_device_ex");
	must(!ibv_query_port(ctx, 1, &port), "ibv_query_port");
	must(!ibv_query_gid(ctx, 1, 0, &gid), "ibv_query_gid");
	must(!ibv_query_gid_ex(ctx, 1, 0, &entry, 0), "ibv_query_gid_ex");
	printf("%u\n", weigh(&device, sizeof(device)) + weigh(&port, sizeof(port)) +
			       weigh(&gid, sizeof(gid)) + weigh(&entry, sizeof(entry)));
	count = ibv_query_gid_table(ctx, table, 64, 0);
	must(count > 0, "ibv_query_gid_table");
	for (ssize_t i = 0; i < count; i++) {
		printf("%u ones\n", weigh(&table[i], sizeof(table[i])));
		if (table[i].gid_type == IBV_GID_TYPE_ROCE_V2 && table[i].gid.raw[0])
			address_from_message(ctx, &table[i]);
	}
	free(table);
	must(!ibv_close_device(ctx), "ibv_close_device");
	return 0;
}
