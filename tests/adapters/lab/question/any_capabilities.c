/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Print the reported properties of the device, and the values that calls that create objects grant:
 * a line for each fact, so that the same program prints the same lines with the libraries of
 * another release.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_device_attr_ex caps;

#define SHOW(member) printf(#member " %llu\n", (unsigned long long)caps.member)

static void device_print(void)
{
	SHOW(orig_attr.max_mr_size);
	SHOW(orig_attr.page_size_cap);
	SHOW(orig_attr.max_qp);
	SHOW(orig_attr.max_qp_wr);
	SHOW(orig_attr.device_cap_flags);
	SHOW(orig_attr.max_sge);
	SHOW(orig_attr.max_sge_rd);
	SHOW(orig_attr.max_cq);
	SHOW(orig_attr.max_cqe);
	SHOW(orig_attr.max_mr);
	SHOW(orig_attr.max_pd);
	SHOW(orig_attr.max_qp_rd_atom);
	SHOW(orig_attr.max_res_rd_atom);
	SHOW(orig_attr.max_qp_init_rd_atom);
	SHOW(orig_attr.atomic_cap);
	SHOW(orig_attr.max_mw);
	SHOW(orig_attr.max_mcast_grp);
	SHOW(orig_attr.max_mcast_qp_attach);
	SHOW(orig_attr.max_ah);
	SHOW(orig_attr.max_srq);
	SHOW(orig_attr.max_srq_wr);
	SHOW(orig_attr.max_srq_sge);
	SHOW(orig_attr.max_pkeys);
	SHOW(orig_attr.phys_port_cnt);
	printf("fw_ver %s\n", caps.orig_attr.fw_ver);
}

static void extended_print(void)
{
	SHOW(odp_caps.general_caps);
	SHOW(odp_caps.per_transport_caps.rc_odp_caps);
	SHOW(odp_caps.per_transport_caps.uc_odp_caps);
	SHOW(odp_caps.per_transport_caps.ud_odp_caps);
	SHOW(xrc_odp_caps);
	SHOW(completion_timestamp_mask);
	SHOW(hca_core_clock);
	SHOW(device_cap_flags_ex);
	SHOW(tso_caps.max_tso);
	SHOW(tso_caps.supported_qpts);
	SHOW(rss_caps.supported_qpts);
	SHOW(rss_caps.max_rwq_indirection_tables);
	SHOW(rss_caps.max_rwq_indirection_table_size);
	SHOW(rss_caps.rx_hash_fields_mask);
	SHOW(rss_caps.rx_hash_function);
	SHOW(max_wq_type_rq);
	SHOW(packet_pacing_caps.qp_rate_limit_min);
	SHOW(packet_pacing_caps.qp_rate_limit_max);
	SHOW(packet_pacing_caps.supported_qpts);
	SHOW(raw_packet_caps);
	SHOW(tm_caps.max_rndv_hdr_size);
	SHOW(tm_caps.max_num_tags);
	SHOW(tm_caps.max_ops);
	SHOW(cq_mod_caps.max_cq_count);
	SHOW(cq_mod_caps.max_cq_period);
	SHOW(max_dm_size);
	SHOW(pci_atomic_caps.fetch_add);
	SHOW(phys_port_cnt_ex);
}

/* ---- completion queues */

static void cqs_print(void)
{
	static const int wanted[] = { 1, 2, 3, 4, 12, 100, 1023, 1024, 65535 };
	static const char *const flags[] = {
		"byte_len", "imm",	 "qp_num", "src_qp",   "slid",	  "sl",
		"path",	    "timestamp", "vlan",   "flow_tag", "tm_info", "wallclock",
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct ibv_cq *made = ibv_create_cq(ctx, wanted[i], NULL, NULL, 0);

		printf("cq of %d: %d\n", wanted[i], made ? made->cqe : -1);
		if (made)
			ibv_destroy_cq(made);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct ibv_cq_init_attr_ex attr = { .cqe = 8, .wc_flags = 1ull << i };
		struct ibv_cq_ex *made = ibv_create_cq_ex(ctx, &attr);

		printf("extended cq with %s: %s\n", flags[i], made ? "yes" : "no");
		if (made)
			ibv_destroy_cq(ibv_cq_ex_to_cq(made));
	}
}

/* ---- queue pairs */

static const struct {
	enum ibv_qp_type type;
	const char *name;
} types[] = {
	{ IBV_QPT_RC, "RC" },
	{ IBV_QPT_UC, "UC" },
	{ IBV_QPT_UD, "UD" },
	{ IBV_QPT_RAW_PACKET, "raw" },
};

static bool qp_try(enum ibv_qp_type type, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap = *cap, .qp_type = type
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (!qp)
		return false;
	*cap = attr.cap;
	ibv_destroy_qp(qp);
	return true;
}

/* Find the largest value of a member that the device accepts. The others are small. */
static uint32_t most(enum ibv_qp_type type, size_t member)
{
	uint32_t good = 0, bad = 1 << 20;

	while (bad - good > 1) {
		struct ibv_qp_cap cap = { 1, 1, 1, 1, 0 };
		uint32_t middle = good + (bad - good) / 2;

		*(uint32_t *)((char *)&cap + member) = middle;
		if (qp_try(type, &cap))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

static void grants_print(enum ibv_qp_type type, const char *name)
{
	static const struct ibv_qp_cap wanted[] = {
		{ 1, 1, 1, 1, 0 },	{ 16, 16, 1, 1, 0 },  { 100, 50, 2, 3, 0 },
		{ 100, 100, 1, 1, 64 }, { 7, 300, 4, 1, 28 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct ibv_qp_cap cap = wanted[i];
		bool made = qp_try(type, &cap);

		printf("%s of %u %u %u %u %u:", name, wanted[i].max_send_wr, wanted[i].max_recv_wr,
		       wanted[i].max_send_sge, wanted[i].max_recv_sge, wanted[i].max_inline_data);
		if (made)
			printf(" %u %u %u %u %u\n", cap.max_send_wr, cap.max_recv_wr,
			       cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data);
		else
			printf(" no\n");
	}
}

static void qps_print(void)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		enum ibv_qp_type type = types[i].type;
		struct ibv_qp_cap cap = { 1, 1, 1, 1, 0 };

		if (!qp_try(type, &cap)) {
			printf("%s: no\n", types[i].name);
			continue;
		}
		grants_print(type, types[i].name);
		printf("%s most sends %u\n", types[i].name,
		       most(type, offsetof(struct ibv_qp_cap, max_send_wr)));
		printf("%s most receives %u\n", types[i].name,
		       most(type, offsetof(struct ibv_qp_cap, max_recv_wr)));
		printf("%s most entries of a send %u\n", types[i].name,
		       most(type, offsetof(struct ibv_qp_cap, max_send_sge)));
		printf("%s most entries of a receive %u\n", types[i].name,
		       most(type, offsetof(struct ibv_qp_cap, max_recv_sge)));
		printf("%s most inline %u\n", types[i].name,
		       most(type, offsetof(struct ibv_qp_cap, max_inline_data)));
	}
}

/* Operations of the ibv_wr_* functions. */
static void builders_print(void)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (int bit = 0; bit <= 14; bit++) {
			struct ibv_qp_init_attr_ex attr = {
				.send_cq = cq,
				.recv_cq = cq,
				.cap = { 4, 4, 1, 1, 0 },
				.qp_type = types[i].type,
				.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
				.pd = pd,
				.send_ops_flags = 1ull << bit,
			};
			struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

			printf("%s with send operation %d: %s\n", types[i].name, bit,
			       qp ? "yes" : "no");
			if (qp)
				ibv_destroy_qp(qp);
		}
}

/* ---- other objects */

static void srqs_print(void)
{
	static const uint32_t wanted[][2] = { { 1, 1 }, { 5, 2 }, { 100, 4 }, { 1000, 1 } };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct ibv_srq_init_attr attr = {
			.attr = { .max_wr = wanted[i][0], .max_sge = wanted[i][1] },
		};
		struct ibv_srq *srq = ibv_create_srq(pd, &attr);

		printf("srq of %u %u:", wanted[i][0], wanted[i][1]);
		if (srq)
			printf(" %u %u\n", attr.attr.max_wr, attr.attr.max_sge);
		else
			printf(" no\n");
		if (srq)
			ibv_destroy_srq(srq);
	}
}

static void wqs_print(void)
{
	static const uint32_t wanted[][2] = { { 1, 1 }, { 5, 2 }, { 100, 4 } };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct ibv_wq_init_attr attr = {
			.wq_type = IBV_WQT_RQ,
			.max_wr = wanted[i][0],
			.max_sge = wanted[i][1],
			.pd = pd,
			.cq = cq,
		};
		struct ibv_wq *wq = ibv_create_wq(ctx, &attr);

		printf("wq of %u %u:", wanted[i][0], wanted[i][1]);
		if (wq)
			printf(" %u %u\n", attr.max_wr, attr.max_sge);
		else
			printf(" no\n");
		if (wq)
			ibv_destroy_wq(wq);
	}
}

static void say(const char *what, bool has)
{
	printf("%s: %s\n", what, has ? "yes" : "no");
}

/* Calls without objects of the device's queues. */
static void calls_print(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_parent_domain_init_attr parent_attr = { .pd = pd };
	struct ibv_td_init_attr td_attr = {};
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = 3, .fd = -1 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					       .moderate = { 1, 1 } };
	struct ibv_mw *window_1 = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw *window_2 = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &xrcd_attr);
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &parent_attr);
	struct ibv_td *td = ibv_alloc_td(ctx, &td_attr);
	struct ibv_mr *null_mr = ibv_alloc_null_mr(pd);
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &dm_attr);
	uint64_t speed;

	say("memory window of type 1", window_1);
	say("memory window of type 2", window_2);
	say("XRC domain", xrcd);
	say("parent domain", parent);
	say("thread domain", td);
	say("null region", null_mr);
	say("memory of the adapter", dm);
	say("resizing of a cq", cq && !ibv_resize_cq(cq, 20));
	say("moderation of a cq", cq && !ibv_modify_cq(cq, &moderate));
	say("counter of the adapter", !ibv_query_rt_values_ex(ctx, &values));
	say("speed of the port", !ibv_query_port_speed(ctx, 1, &speed));
	(void)(window_1 && ibv_dealloc_mw(window_1));
	(void)(window_2 && ibv_dealloc_mw(window_2));
	(void)(xrcd && ibv_close_xrcd(xrcd));
	(void)(parent && ibv_dealloc_pd(parent));
	(void)(td && ibv_dealloc_td(td));
	(void)(null_mr && ibv_dereg_mr(null_mr));
	(void)(dm && ibv_free_dm(dm));
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	setvbuf(stdout, NULL, _IOLBF, 0); /* keep the lines if a provider crashes */
	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd || ibv_query_device_ex(ctx, NULL, &caps)) {
		printf("the device cannot be opened\n");
		return 1;
	}
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	device_print();
	extended_print();
	cqs_print();
	srqs_print();
	calls_print();
	qps_print();
	builders_print();
	wqs_print();
	if (cq)
		ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	ibv_free_device_list(list);
	return 0;
}
