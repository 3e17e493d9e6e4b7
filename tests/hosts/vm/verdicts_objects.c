/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries, completion queues, shared receive queues, memory, address handles. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "verdicts.h"

void try_queries(void)
{
	static const int indices[] = { -1, 0, 1, 1023, 1024, 65535, 65536, INT_MAX };
	struct ibv_gid_entry entry, entries[64];
	union ibv_gid gid;
	__be16 pkey;

	for (int port = 0; port < 4; port++) {
		struct ibv_port_attr attr;

		say(ibv_query_port(b.ctx, port, &attr), "query_port %d", port);
		for (int i = 0; i < COUNT(indices); i++) {
			int r = ibv_query_gid(b.ctx, port, indices[i], &gid);

			say(r ? errno : 0, "query_gid port %d index %d", port, indices[i]);
			r = ibv_query_pkey(b.ctx, port, indices[i], &pkey);
			say(r ? errno : 0, "query_pkey port %d index %d", port, indices[i]);
			say(ibv_query_gid_ex(b.ctx, port, indices[i], &entry, 0),
			    "query_gid_ex port %d index %d", port, indices[i]);
		}
		say(ibv_query_gid_ex(b.ctx, port, 0, &entry, 1), "query_gid_ex port %d flags 1",
		    port);
	}
	for (int max = 0; max < 64; max += 9) {
		ssize_t n = ibv_query_gid_table(b.ctx, entries, max, 0);

		say(n < 0 ? -n : 0, "query_gid_table of %d, %zd", max, n < 0 ? 0 : n);
	}
	for (int key = 0xfffe; key < 0x10000; key++) {
		int r = ibv_get_pkey_index(b.ctx, 1, __builtin_bswap16(key));

		say(r < 0 ? errno : 0, "get_pkey_index 0x%x", key);
	}
}

static void cq_try(const char *what, struct ibv_context *ctx, int cqe,
		   struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, cqe, NULL, channel, vector);

	say(ERROR_OF(cq), "create_cq %s cqe %d vector %d, %d", what, cqe, vector, cq ? cq->cqe : 0);
	if (cq)
		ibv_destroy_cq(cq);
}

static void cq_ex_try(const char *what, struct ibv_cq_init_attr_ex attr)
{
	struct ibv_cq_ex *cq = ibv_create_cq_ex(b.ctx, &attr);

	say(ERROR_OF(cq),
	    "create_cq_ex %s cqe %u vector %u wc_flags 0x%llx comp_mask 0x%x flags 0x%x", what,
	    attr.cqe, attr.comp_vector, (unsigned long long)attr.wc_flags, attr.comp_mask,
	    attr.flags);
	if (cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

static void try_cq_ex(void)
{
	const struct ibv_cq_init_attr_ex good = { .cqe = 10 };
	struct ibv_cq_init_attr_ex attr;

	for (int bit = 0; bit < 64; bit++) {
		attr = good;
		attr.wc_flags = 1ull << bit;
		cq_ex_try("", attr);
	}
	for (int bit = 0; bit < 32; bit++) {
		attr = good;
		attr.comp_mask = 1u << bit;
		if (attr.comp_mask != IBV_CQ_INIT_ATTR_MASK_PD)
			cq_ex_try("", attr);
		attr = good;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = 1u << bit;
		cq_ex_try("", attr);
	}
	attr = good;
	attr.cqe = 0;
	cq_ex_try("", attr);
	attr.cqe = b.device.max_cqe + 1u;
	cq_ex_try("too large", attr);
}

static void try_cq(void)
{
	const int cqes[] = { INT_MIN, -1, 0, 1, 2, 3, 100, b.device.max_cqe, b.device.max_cqe + 1,
			     INT_MAX };
	const int vectors[] = { -1,    0, 1, b.ctx->num_comp_vectors - 1, b.ctx->num_comp_vectors,
				100000 };
	struct ibv_comp_channel *own = ibv_create_comp_channel(b.ctx);
	struct ibv_comp_channel *foreign = ibv_create_comp_channel(b.other);

	for (int i = 0; i < COUNT(cqes); i++)
		cq_try("", b.ctx, cqes[i], NULL, 0);
	for (int i = 0; i < COUNT(vectors); i++)
		cq_try("", b.ctx, 10, NULL, vectors[i]);
	cq_try("with a channel", b.ctx, 10, own, 0);
	cq_try("with another context's channel", b.ctx, 10, foreign, 0);
	for (int i = 0; i < COUNT(cqes); i++) {
		struct ibv_cq *cq = ibv_create_cq(b.ctx, 10, NULL, NULL, 0);
		int r = ibv_resize_cq(cq, cqes[i]);

		say(r, "resize_cq %d, %d", cqes[i], r ? 0 : cq->cqe);
		ibv_destroy_cq(cq);
	}
	for (int mask = 0; mask < 4; mask++) {
		struct ibv_modify_cq_attr attr = { .attr_mask = mask, .moderate = { 4, 4 } };

		say(ibv_modify_cq(b.cq, &attr), "modify_cq mask 0x%x", mask);
	}
	say(ibv_destroy_comp_channel(own), "destroy_comp_channel");
	ibv_destroy_comp_channel(foreign);
}

static void srq_try(struct ibv_srq_attr attr)
{
	struct ibv_srq_init_attr init = { .attr = attr };
	struct ibv_srq *srq = ibv_create_srq(b.pd, &init);

	say(ERROR_OF(srq), "create_srq wr %u sge %u limit %u, %u %u", attr.max_wr, attr.max_sge,
	    attr.srq_limit, srq ? init.attr.max_wr : 0, srq ? init.attr.max_sge : 0);
	if (srq)
		ibv_destroy_srq(srq);
}

static void srq_modify_try(struct ibv_srq_attr attr, int mask)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 10, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(b.pd, &init);
	struct ibv_srq_attr now = {};
	int r = ibv_modify_srq(srq, &attr, mask);

	ibv_query_srq(srq, &now);
	say(r, "modify_srq wr %u limit %u mask 0x%x, %u %u %u", attr.max_wr, attr.srq_limit, mask,
	    now.max_wr, now.max_sge, now.srq_limit);
	ibv_destroy_srq(srq);
}

static void try_srq(void)
{
	const uint32_t wrs[] = {
		0, 1, 2, 10, 100, b.device.max_srq_wr, b.device.max_srq_wr + 1u, INT_MAX, UINT_MAX
	};
	const uint32_t sges[] = {
		0, 1, 2, b.device.max_srq_sge, b.device.max_srq_sge + 1u, UINT_MAX
	};
	const uint32_t limits[] = { 0, 1, 10, 11, 100, UINT_MAX };

	for (int i = 0; i < COUNT(wrs); i++) {
		srq_try((struct ibv_srq_attr){ .max_wr = wrs[i], .max_sge = 1 });
		for (int mask = 0; mask < 8; mask++)
			srq_modify_try((struct ibv_srq_attr){ .max_wr = wrs[i], .srq_limit = 1 },
				       mask);
	}
	for (int i = 0; i < COUNT(sges); i++)
		srq_try((struct ibv_srq_attr){ .max_wr = 10, .max_sge = sges[i] });
	for (int i = 0; i < COUNT(limits); i++) {
		srq_try((struct ibv_srq_attr){
			.max_wr = 10, .max_sge = 1, .srq_limit = limits[i] });
		for (int mask = 0; mask < 4; mask++)
			srq_modify_try(
				(struct ibv_srq_attr){ .max_wr = 20, .srq_limit = limits[i] },
				mask);
	}
	for (int bit = 0; bit < 32; bit++) {
		struct ibv_srq_init_attr_ex init = {
			.attr = { .max_wr = 10, .max_sge = 1 },
			.comp_mask = IBV_SRQ_INIT_ATTR_PD | 1u << bit,
			.srq_type = IBV_SRQT_BASIC,
			.pd = b.pd,
			.cq = b.cq,
		};
		struct ibv_srq *srq = ibv_create_srq_ex(b.ctx, &init);

		say(ERROR_OF(srq), "create_srq_ex comp_mask 0x%x", init.comp_mask);
		if (srq)
			ibv_destroy_srq(srq);
	}
}

static void mr_try(void *addr, size_t length, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(b.pd, addr, length, 0x10000, access);

	say(ERROR_OF(mr), "reg_mr %s length %zu access 0x%x", addr ? "memory" : "NULL", length,
	    access);
	if (mr)
		ibv_dereg_mr(mr);
}

static void mr_rereg_try(int flags, void *addr, size_t length, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	int r = ibv_rereg_mr(mr, flags, b.pd, addr, length, access);

	say(r ? errno : 0, "rereg_mr flags 0x%x %s length %zu access 0x%x, %d", flags,
	    addr ? "memory" : "NULL", length, access, r);
	ibv_dereg_mr(mr);
}

static void try_memory(void)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 1 << 16, SIZE_MAX >> 1, SIZE_MAX };

	for (int bit = 0; bit < 32; bit++) {
		mr_try(b.buf, 4096, 1u << bit);
		mr_try(b.buf, 4096, IBV_ACCESS_LOCAL_WRITE | 1u << bit);
	}
	for (unsigned int access = 0; access < 128; access++)
		mr_try(b.buf, 4096, access);
	for (int i = 0; i < COUNT(lengths); i++) {
		mr_try(b.buf, lengths[i], IBV_ACCESS_LOCAL_WRITE);
		mr_try(NULL, lengths[i], IBV_ACCESS_LOCAL_WRITE);
		mr_rereg_try(IBV_REREG_MR_CHANGE_TRANSLATION, b.buf, lengths[i], 0);
	}
	for (int flags = 0; flags < 16; flags++) {
		mr_rereg_try(flags, NULL, 0, 0);
		mr_rereg_try(flags, b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
		mr_rereg_try(flags, b.buf, 4096, IBV_ACCESS_REMOTE_WRITE);
	}
	for (int type = -1; type < 5; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(b.pd, type);

		say(ERROR_OF(mw), "alloc_mw type %d", type);
		if (mw)
			ibv_dealloc_mw(mw);
	}
}

static struct ibv_ah_attr ah_good(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = b.gid_index, .hop_limit = 64, .dgid = b.gid },
	};
}

static void ah_try(const char *what, int value, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah = ibv_create_ah(b.pd, &attr);

	say(ERROR_OF(ah), "create_ah %s %d", what, value);
	if (ah)
		ibv_destroy_ah(ah);
}

/* Change one member of the good attributes at a time. */
#define AH_TRY(member, ...)                                     \
	do {                                                    \
		static const int values[] = { __VA_ARGS__ };    \
                                                                \
		for (int i = 0; i < COUNT(values); i++) {       \
			struct ibv_ah_attr changed = ah_good(); \
                                                                \
			changed.member = values[i];             \
			ah_try(#member, values[i], changed);    \
		}                                               \
	} while (0)

static void try_ah(void)
{
	struct ibv_ah_attr attr = ah_good();

	AH_TRY(is_global, 0, 1, 2, 255);
	AH_TRY(port_num, 0, 1, 2, 255);
	AH_TRY(grh.sgid_index, 0, 1, 2, 3, 4, 100, 255);
	AH_TRY(grh.hop_limit, 0, 1, 255);
	AH_TRY(grh.traffic_class, 0, 1, 255);
	AH_TRY(grh.flow_label, 0, 1, 0xfffff, 0x100000, -1);
	AH_TRY(sl, 0, 1, 15, 16, 255);
	AH_TRY(dlid, 0, 1, 0xffff);
	AH_TRY(src_path_bits, 0, 1, 255);
	AH_TRY(static_rate, 0, 1, 2, 18, 19, 255);
	memset(&attr.grh.dgid, 0, 16);
	ah_try("dgid of zeros", 0, attr);
	attr = ah_good();
	attr.grh.dgid = (union ibv_gid){ .raw = { 0xff, 0x0e, [15] = 1 } };
	ah_try("dgid of an IPv6 group", 0, attr);
	attr.grh.dgid = (union ibv_gid){ .raw = { [10] = 0xff, 0xff, 224, 0, 0, 9 } };
	ah_try("dgid of an IPv4 group", 0, attr);
}

void try_objects(void)
{
	try_cq();
	try_cq_ex();
	try_srq();
	try_memory();
	try_ah();
}
