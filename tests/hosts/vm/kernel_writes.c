/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Branch on every byte that the kernel writes into the caller's memory. Run under valgrind,
 * which reports memory that was not marked as written.
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

/* Branch on each bit: valgrind reports a branch on uninitialised memory. */
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

/* Return the header in front of a message that came to @to over IPv6 and UDP. */
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

/* Query objects, and check the values that creation rounded up. */
static void objects(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, channel, 0);
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 5, .max_sge = 1 } };
	struct ibv_srq *srq = pd ? ibv_create_srq(pd, &srq_init) : NULL;
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
	struct ibv_srq_attr srq_attr;
	struct ibv_qp_attr attr;
	__be16 pkey;

	must(pd && channel && cq && srq && qp, "objects");
	must(!ibv_query_pkey(ctx, 1, 0, &pkey), "ibv_query_pkey");
	must(!ibv_query_srq(srq, &srq_attr), "ibv_query_srq");
	must(!ibv_resize_cq(cq, 100), "ibv_resize_cq");
	printf("%u\n", weigh(&cq->cqe, sizeof(cq->cqe)) + weigh(&qp->qp_num, sizeof(qp->qp_num)) +
			       weigh(&srq_init.attr, sizeof(srq_init.attr)) +
			       weigh(&srq_attr, sizeof(srq_attr)) +
			       weigh(&init.cap, sizeof(init.cap)) + weigh(&pkey, sizeof(pkey)) +
			       weigh(&channel->fd, sizeof(channel->fd)));
	must(!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
	printf("%u\n", weigh(&attr.qp_state, sizeof(attr.qp_state)) +
			       weigh(&attr.cap, sizeof(attr.cap)) +
			       weigh(&init.cap, sizeof(init.cap)));
	must(!ibv_destroy_qp(qp) && !ibv_destroy_srq(srq) && !ibv_destroy_cq(cq), "destroy");
	must(!ibv_destroy_comp_channel(channel) && !ibv_dealloc_pd(pd), "destroy");
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
	objects(ctx);
	must(!ibv_close_device(ctx), "ibv_close_device");
	return 0;
}
