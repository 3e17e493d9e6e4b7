/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Use each capability that the device advertises. The trace has a line for each. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum {
	REFUSAL_KB = 16 << 10, /* memory that a refused queue may have used */
};

static struct script s;
static struct ibv_device_attr_ex caps;

static bool flag(uint64_t bits)
{
	return caps.orig_attr.device_cap_flags & bits;
}

/* ---- requests of a connected queue pair */

static const struct ibv_qp_cap cap = { 8, 8, 1, 1, 0 };

static void connect_qp(enum ibv_qp_type type)
{
	script_qp(&s, type, &cap);
	script_modify(&s, IBV_QPS_INIT);
	script_modify(&s, IBV_QPS_RTR);
	script_modify(&s, IBV_QPS_RTS);
}

static void post(enum ibv_wr_opcode opcode, unsigned int flags, struct ibv_send_wr wr)
{
	struct ibv_sge sge = script_sge(&s, 0, 8);

	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	wr.sg_list = &sge;
	wr.num_sge = opcode != IBV_WR_LOCAL_INV && opcode != IBV_WR_BIND_MW;
	must(!script_send(&s, &wr), "post");
}

static void window_1(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(s.pd, IBV_MW_TYPE_1);

	must(mw && !ibv_dealloc_mw(mw), "memory window");
}

static void window_2(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(s.pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = ibv_reg_mr(s.pd, (void *)SCRIPT_BUFFER, SCRIPT_BYTES,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_send_wr wr = {
		.bind_mw = {
			.mw = mw,
			.rkey = mw ? ibv_inc_rkey(mw->rkey) : 0,
			.bind_info = { .mr = mr,
				       .addr = SCRIPT_BUFFER,
				       .length = 64,
				       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
		},
	};

	must(mw && mr, "memory window");
	connect_qp(IBV_QPT_RC);
	post(IBV_WR_BIND_MW, 0, wr);
	script_qp_close(&s);
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr), "free");
}

static void invalidate(void)
{
	connect_qp(IBV_QPT_RC);
	post(IBV_WR_SEND_WITH_INV, 0, (struct ibv_send_wr){ .invalidate_rkey = SCRIPT_RKEY });
	post(IBV_WR_LOCAL_INV, 0, (struct ibv_send_wr){ .invalidate_rkey = SCRIPT_RKEY });
	script_qp_close(&s);
}

static void atomics(void)
{
	const struct ibv_send_wr wr = { .wr.atomic = { SCRIPT_REMOTE, 1, 2, SCRIPT_RKEY } };

	connect_qp(IBV_QPT_RC);
	post(IBV_WR_ATOMIC_CMP_AND_SWP, 0, wr);
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, wr);
	script_qp_close(&s);
}

static void buffers(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 8, 8, caps.orig_attr.max_sge, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(s.pd, &attr);

	if (!qp) {
		attr.qp_type = IBV_QPT_UD;
		qp = ibv_create_qp(s.pd, &attr);
	}
	must(qp && attr.cap.max_send_sge >= (uint32_t)caps.orig_attr.max_sge, "buffers");
	must(!ibv_destroy_qp(qp), "destroy");
}

static void multicast(void)
{
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };

	script_qp(&s, IBV_QPT_UD, &cap);
	must(!ibv_attach_mcast(s.qp, &group, 0) && !ibv_detach_mcast(s.qp, &group, 0), "group");
	script_qp_close(&s);
}

/* ---- shared receives */

static struct ibv_srq *srq_create(enum ibv_srq_type type, struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = caps.orig_attr.max_srq_wr,
			  .max_sge = caps.orig_attr.max_srq_sge },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     (type ? IBV_SRQ_INIT_ATTR_CQ : 0) |
			     (xrcd ? IBV_SRQ_INIT_ATTR_XRCD : 0) |
			     (type == IBV_SRQT_TM ? IBV_SRQ_INIT_ATTR_TM : 0),
		.srq_type = type,
		.pd = s.pd,
		.xrcd = xrcd,
		.cq = s.recv_cq,
		.tm_cap = { .max_num_tags = caps.tm_caps.max_num_tags, .max_ops = 8 },
	};

	return ibv_create_srq_ex(s.context, &attr);
}

static void srq(void)
{
	struct ibv_srq *made = srq_create(IBV_SRQT_BASIC, NULL);

	must(made && !ibv_destroy_srq(made), "srq");
}

/* Its completions need an extended queue. */
static void tags(void)
{
	struct ibv_cq_init_attr_ex extended = { .cqe = 8, .wc_flags = IBV_WC_EX_WITH_TM_INFO };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s.context, &extended);
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_SYNC }, *bad;
	struct ibv_cq *plain = s.recv_cq;
	struct ibv_srq *made;

	must(cq, "queue with tags");
	must(!srq_create(IBV_SRQT_TM, NULL) && errno == EINVAL, "tags in a plain queue");
	s.recv_cq = ibv_cq_ex_to_cq(cq);
	made = srq_create(IBV_SRQT_TM, NULL);
	must(made && !ibv_post_srq_ops(made, &op, &bad), "srq with tags");
	must(!ibv_destroy_srq(made) && !ibv_destroy_cq(s.recv_cq), "end of tags");
	s.recv_cq = plain;
}

static void xrc(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(s.context, &attr);
	struct ibv_srq *made = xrcd ? srq_create(IBV_SRQT_XRC, xrcd) : NULL;

	must(made && !ibv_destroy_srq(made) && !ibv_close_xrcd(xrcd), "XRC");
}

/* ---- raw packets */

static struct ibv_qp *raw_qp(uint32_t mask, uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = cap,
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | mask,
		.pd = s.pd,
		.create_flags = flags,
		.max_tso_header = 64,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(s.context, &attr);
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must(qp && !ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT), "raw packets");
	init.qp_state = IBV_QPS_RTR;
	must(!ibv_modify_qp(qp, &init, IBV_QP_STATE), "ready to receive");
	init.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(qp, &init, IBV_QP_STATE), "ready to send");
	return qp;
}

static void raw_checksums(void)
{
	s.qp = raw_qp(0, 0);
	s.sends = 0;
	post(IBV_WR_SEND, IBV_SEND_IP_CSUM, (struct ibv_send_wr){});
	script_qp_close(&s);
}

static void segmentation(void)
{
	must(!ibv_destroy_qp(raw_qp(IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0)), "destroy");
}

static void pacing(void)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = caps.packet_pacing_caps.qp_rate_limit_min,
	};
	struct ibv_qp *qp = raw_qp(0, 0);

	must(!ibv_modify_qp_rate_limit(qp, &attr) && !ibv_destroy_qp(qp), "pacing");
}

static void steering(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(flow),
			  .num_of_specs = 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(flow.eth) },
	};
	struct ibv_qp *qp = raw_qp(0, 0);
	struct ibv_flow *made = ibv_create_flow(qp, &flow.attr);

	must(made && !ibv_destroy_flow(made) && !ibv_destroy_qp(qp), "flow");
}

static struct ibv_wq *wq_create(uint32_t flags)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 8,
		.max_sge = 1,
		.pd = s.pd,
		.cq = s.recv_cq,
		.comp_mask = flags ? IBV_WQ_INIT_ATTR_FLAGS : 0,
		.create_flags = flags,
	};
	struct ibv_wq *wq = ibv_create_wq(s.context, &attr);

	must(wq, "work queue");
	return wq;
}

static void vlan(void)
{
	must(!ibv_destroy_wq(wq_create(IBV_WQ_FLAGS_CVLAN_STRIPPING)), "destroy");
}

static void fcs(void)
{
	must(!ibv_destroy_wq(wq_create(IBV_WQ_FLAGS_SCATTER_FCS)), "destroy");
	must(!ibv_destroy_qp(raw_qp(IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_CREATE_SCATTER_FCS)),
	     "destroy");
}

static void delay_drop(void)
{
	must(!ibv_destroy_wq(wq_create(IBV_WQ_FLAGS_DELAY_DROP)), "destroy");
}

static void padding(void)
{
	must(!ibv_destroy_wq(wq_create(IBV_WQ_FLAGS_PCI_WRITE_END_PADDING)), "destroy");
}

static void wq(void)
{
	must(!ibv_destroy_wq(wq_create(0)), "destroy");
}

/* ---- memory and completions */

static void adapter_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = caps.max_dm_size };
	struct ibv_dm *dm = ibv_alloc_dm(s.context, &attr);
	struct ibv_mr *mr = dm ? ibv_reg_dm_mr(s.pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED) : NULL;

	must(mr && !ibv_dereg_mr(mr) && !ibv_free_dm(dm), "memory of the adapter");
}

static void on_demand(void)
{
	struct ibv_mr *mr = ibv_reg_mr(s.pd, (void *)SCRIPT_BUFFER, 4096,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);

	must(mr && !ibv_dereg_mr(mr), "memory on demand");
}

static void moderation(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { caps.cq_mod_caps.max_cq_count, caps.cq_mod_caps.max_cq_period },
	};

	must(!ibv_modify_cq(s.recv_cq, &attr), "moderation");
}

static void timestamps(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8,
					    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s.context, &attr);

	must(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "timestamps");
}

static void counter(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	must(!ibv_query_rt_values_ex(s.context, &values), "counter");
}

/* ---- limits */

static long most_kb(void)
{
	struct rusage usage;

	must(!getrusage(RUSAGE_SELF, &usage), "usage");
	return usage.ru_maxrss;
}

/* Ask for queues that are larger than the device has. A provider that fills its ring before it asks
 * the kernel needs the memory of the largest queue. */
static void beyond_limits(void)
{
	const struct ibv_device_attr *most = &caps.orig_attr;
	struct ibv_qp_init_attr qp_attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { most->max_qp_wr + 1, most->max_qp_wr + 1, 1, 1, 0 },
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = most->max_srq_wr + 1,
							.max_sge = 1 } };
	long kb = most_kb();
	struct ibv_cq *cq = ibv_create_cq(s.context, most->max_cqe + 1, NULL, NULL, 0);
	struct ibv_qp *qp = ibv_create_qp(s.pd, &qp_attr);
	struct ibv_srq *srq = most->max_srq ? ibv_create_srq(s.pd, &srq_attr) : NULL;
	bool grown = !ibv_resize_cq(s.recv_cq, most->max_cqe + 1);

	/* The memory of an accepted queue is compared at each step. */
	must(cq || grown || most_kb() < kb + REFUSAL_KB, "a refusal without much memory");
	must((!cq || !ibv_destroy_cq(cq)) && (!qp || !ibv_destroy_qp(qp)) &&
		     (!srq || !ibv_destroy_srq(srq)),
	     "destroy");
}

static void use(bool advertised, const char *what, void (*serve)(void))
{
	if (!advertised)
		return;
	serve();
	step("%s: advertised and served", what);
}

/* Work queues of mana are in memory of the program, and no played device has memory of its own:
 * adapters/mana-trace. */
static bool is_mana(void)
{
	return !strncmp(ibv_get_device_name(s.context->device), "mana", 4);
}

int main(void)
{
	script_open(&s);
	must(!ibv_query_device_ex(s.context, NULL, &caps), "query");
	use(flag(IBV_DEVICE_MEM_WINDOW), "memory window", window_1);
	use(flag(IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B),
	    "memory window of type 2", window_2);
	use(flag(IBV_DEVICE_MEM_MGT_EXTENSIONS), "invalidation", invalidate);
	use(caps.orig_attr.atomic_cap != IBV_ATOMIC_NONE, "atomics", atomics);
	use(caps.orig_attr.max_sge, "buffers", buffers);
	use(caps.orig_attr.max_mcast_grp, "multicast", multicast);
	use(caps.orig_attr.max_srq, "srq", srq);
	use(flag(IBV_DEVICE_XRC), "xrc", xrc);
	use(caps.tm_caps.max_num_tags, "tags", tags);
	use(flag(IBV_DEVICE_RAW_IP_CSUM), "checksums", raw_checksums);
	use(caps.tso_caps.max_tso, "segmentation", segmentation);
	use(caps.packet_pacing_caps.supported_qpts, "pacing", pacing);
	use(flag(IBV_DEVICE_MANAGED_FLOW_STEERING), "steering", steering);
	use(caps.max_wq_type_rq && !is_mana(), "work queue", wq);
	use(caps.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING, "vlan", vlan);
	use(caps.raw_packet_caps & IBV_RAW_PACKET_CAP_SCATTER_FCS, "fcs", fcs);
	use(caps.raw_packet_caps & IBV_RAW_PACKET_CAP_DELAY_DROP, "delay drop", delay_drop);
	use(caps.device_cap_flags_ex & IBV_DEVICE_PCI_WRITE_END_PADDING, "padding", padding);
	use(caps.max_dm_size && !is_mana(), "memory of the adapter", adapter_memory);
	use(caps.odp_caps.general_caps & IBV_ODP_SUPPORT, "memory on demand", on_demand);
	use(caps.cq_mod_caps.max_cq_count, "moderation", moderation);
	use(caps.completion_timestamp_mask, "timestamps", timestamps);
	/* ionic has the frequency of time stamps, and no register with the clock. */
	if (strncmp(ibv_get_device_name(s.context->device), "ionic", 5))
		use(caps.hca_core_clock, "counter", counter);
	beyond_limits();
	script_close(&s);
	return 0;
}
