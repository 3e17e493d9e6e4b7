/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states of a queue pair: every legal transition with the attributes it sets. Every pair of
 * states is tried with many attribute masks, and the library must answer as the kernel does if
 * it is called directly. */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include "tests/lib/rt.h"

#define RESET	  IBV_QPS_RESET
#define INIT	  IBV_QPS_INIT
#define RTR	  IBV_QPS_RTR
#define RTS	  IBV_QPS_RTS
#define SQD	  IBV_QPS_SQD
#define SQE	  IBV_QPS_SQE
#define ERR	  IBV_QPS_ERR

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_MASK  (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_MASK  (IBV_QP_STATE | IBV_QP_SQ_PSN)
#define RC_RTR	  (RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS \
	(RTS_MASK | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* The attributes that each transition needs, by QP type and new state. */
static const int required[][ERR + 1] = {
	[IBV_QPT_RC] = { [RESET] = IBV_QP_STATE,
			 [INIT] = INIT_MASK | IBV_QP_ACCESS_FLAGS,
			 [RTR] = RC_RTR,
			 [RTS] = RC_RTS,
			 [SQD] = IBV_QP_STATE,
			 [SQE] = IBV_QP_STATE,
			 [ERR] = IBV_QP_STATE },
	[IBV_QPT_UC] = { [RESET] = IBV_QP_STATE,
			 [INIT] = INIT_MASK | IBV_QP_ACCESS_FLAGS,
			 [RTR] = RTR_MASK,
			 [RTS] = RTS_MASK,
			 [SQD] = IBV_QP_STATE,
			 [SQE] = IBV_QP_STATE,
			 [ERR] = IBV_QP_STATE },
	[IBV_QPT_UD] = { [RESET] = IBV_QP_STATE,
			 [INIT] = INIT_MASK | IBV_QP_QKEY,
			 [RTR] = IBV_QP_STATE,
			 [RTS] = RTS_MASK,
			 [SQD] = IBV_QP_STATE,
			 [SQE] = IBV_QP_STATE,
			 [ERR] = IBV_QP_STATE },
};

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

/* Return valid values for all attributes; the mask decides which are used. */
static struct ibv_qp_attr attributes(const struct rt_side *side, enum ibv_qp_state from,
				     enum ibv_qp_state to)
{
	struct rt_address self = rt_side_address(side);
	struct ibv_ah_attr ah = rt_ah_attr(side->dev, &self);
	bool rc = side->qp->qp_type == IBV_QPT_RC;

	return (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = RT_QKEY,
		.rq_psn = 0x123456,
		.sq_psn = 0x654321,
		.dest_qp_num = side->qp->qp_num,
		.qp_access_flags = rc ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
				      : IBV_ACCESS_REMOTE_WRITE,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.ah_attr = ah,
		.alt_ah_attr = ah,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.port_num = side->dev->port_num,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
		.alt_port_num = side->dev->port_num,
		.alt_timeout = 14,
	};
}

/* ---- the kernel, called without the library ---- */

static uint32_t driver_id;

static int raw_write(struct ibv_context *ctx, uint32_t command, const void *in, uint16_t in_len,
		     void *out, uint16_t out_len)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[3];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd) - (out_len ? 0 : sizeof(cmd.attrs[0])),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_INVOKE_WRITE,
			.num_attrs = out_len ? 3 : 2,
			.driver_id = driver_id,
		},
		.attrs = {
			{ .attr_id = UVERBS_ATTR_CORE_IN, .len = in_len,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)in },
			{ .attr_id = UVERBS_ATTR_WRITE_CMD, .len = sizeof(uint64_t),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = command },
			{ .attr_id = UVERBS_ATTR_CORE_OUT, .len = out_len,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)out },
		},
	};

	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd.hdr) ? errno : 0;
}

/* Find the driver number by trying, because the kernel needs it in each command. */
static void raw_find_driver(struct ibv_context *ctx)
{
	for (driver_id = 0; driver_id < 64; driver_id++) {
		struct ib_uverbs_query_port in = { .port_num = 1 };
		struct ib_uverbs_query_port_resp out;

		if (!raw_write(ctx, IB_USER_VERBS_CMD_QUERY_PORT, &in, sizeof(in), &out,
			       sizeof(out)))
			return;
	}
	rt_skip("the kernel's device does not take commands by ioctl");
}

static struct ib_uverbs_qp_dest raw_dest(const struct ibv_ah_attr *ah)
{
	struct ib_uverbs_qp_dest dest = {
		.flow_label = ah->grh.flow_label,
		.dlid = ah->dlid,
		.sgid_index = ah->grh.sgid_index,
		.hop_limit = ah->grh.hop_limit,
		.traffic_class = ah->grh.traffic_class,
		.sl = ah->sl,
		.src_path_bits = ah->src_path_bits,
		.static_rate = ah->static_rate,
		.is_global = ah->is_global,
		.port_num = ah->port_num,
	};

	memcpy(dest.dgid, &ah->grh.dgid, sizeof(dest.dgid));
	return dest;
}

static int raw_modify(const struct rt_side *side, const struct ibv_qp_attr *attr, int mask)
{
	struct ib_uverbs_modify_qp in = {
		.dest = raw_dest(&attr->ah_attr),
		.alt_dest = raw_dest(&attr->alt_ah_attr),
		.qp_handle = side->qp->handle,
		.attr_mask = mask,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.alt_pkey_index = attr->alt_pkey_index,
		.qp_state = attr->qp_state,
		.cur_qp_state = attr->cur_qp_state,
		.path_mtu = attr->path_mtu,
		.path_mig_state = attr->path_mig_state,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.alt_port_num = attr->alt_port_num,
		.alt_timeout = attr->alt_timeout,
	};

	return raw_write(side->dev->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0);
}

static int lib_modify(const struct rt_side *side, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr copy = *attr;

	return ibv_modify_qp(side->qp, &copy, mask);
}

typedef int (*modify_fn)(const struct rt_side *side, const struct ibv_qp_attr *attr, int mask);

/* ---- ways ---- */

static struct rt_side open_side(struct rt_dev *dev, enum ibv_qp_type type)
{
	struct rt_options options = { .type = type, .size = 4096 };

	return rt_side_open(dev, &options, NULL);
}

static void step(const struct rt_side *side, modify_fn modify, enum ibv_qp_state from,
		 enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = attributes(side, from, to);

	CHECK_OK(modify(side, &attr, required[side->qp->qp_type][to]));
}

static enum ibv_qp_state query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

/* In SQD the kernel refuses most changes until the send queue is empty; some devices never
 * report that. */
static void wait_drained(const struct rt_side *side)
{
	for (int i = 0; i < 20; i++) {
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		CHECK_OK(ibv_query_qp(side->qp, &attr, IBV_QP_STATE, &init));
		if (!attr.sq_draining)
			return;
		usleep(1000);
	}
}

/* Move to @state through RESET, from any state. A queue that is being drained gets there only
 * through ERR. */
static void take_to(const struct rt_side *side, modify_fn modify, enum ibv_qp_state state)
{
	struct ibv_qp_attr reset = { .qp_state = RESET }, error = { .qp_state = ERR };

	if (query(side->qp) == SQD)
		CHECK_OK(modify(side, &error, IBV_QP_STATE));
	CHECK_OK(modify(side, &reset, IBV_QP_STATE));
	for (enum ibv_qp_state to = INIT; to <= state && to <= SQD; to++)
		if (state != ERR || to == INIT)
			step(side, modify, to - 1, to);
	if (state == ERR)
		step(side, modify, INIT, ERR);
	if (state == SQD)
		wait_drained(side);
}

/* ---- cases ---- */

/* The states of a way; ends with the first RESET. */
static const enum ibv_qp_state ways[][8] = {
	{ INIT, INIT, RTR, RTS, RTS, RESET },
	{ INIT, RTR, RTS, SQD, RTS, SQD, SQD, RESET },
	{ INIT, RESET },
	{ INIT, ERR, RESET },
	{ INIT, RTR, RESET },
	{ INIT, RTR, ERR, ERR, RESET },
	{ INIT, RTR, RTS, ERR, RESET },
	{ INIT, RTR, RTS, SQD, ERR, RESET },
	{ RESET },
};

static void walk(const struct rt_side *side, const enum ibv_qp_state *way)
{
	enum ibv_qp_state from = RESET;

	for (int i = 0;; i++) {
		enum ibv_qp_state to = way[i];
		struct ibv_qp_attr attr = attributes(side, from, to);
		/* No attributes are needed from SQD back up, and from a state to itself. */
		bool bare = from == SQD || (from == to && to != INIT);
		int mask = bare ? IBV_QP_STATE : required[side->qp->qp_type][to];
		int r;

		if (from == SQD)
			wait_drained(side);
		r = ibv_modify_qp(side->qp, &attr, mask);
		if (r && from == SQD && rt_is_kernel(side->dev)) {
			printf("  type %d: this kernel's device does not leave SQD\n",
			       side->qp->qp_type);
			take_to(side, lib_modify, RESET);
			return;
		}
		if (r)
			FAIL("type %d, %d -> %d: %s", side->qp->qp_type, from, to, strerror(r));
		CHECK_INT(query(side->qp), to);
		CHECK_INT(side->qp->state, to);
		if (to == RESET)
			return;
		from = to;
	}
}

static void legal(void)
{
	struct rt_dev *dev = rt_open();

	for (int t = 0; t < RT_COUNT(types); t++) {
		struct rt_side side = open_side(dev, types[t]);

		CHECK_INT(query(side.qp), RESET);
		for (int i = 0; i < RT_COUNT(ways); i++)
			walk(&side, ways[i]);
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* A query returns the attributes that were set. */
static void query_back(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = open_side(dev, IBV_QPT_RC);
	struct ibv_qp_attr set = attributes(&side, INIT, RTR), got;
	struct ibv_qp_init_attr init;

	take_to(&side, lib_modify, RTS);
	CHECK_OK(ibv_query_qp(side.qp, &got, 0x1fffff, &init));
	CHECK_INT(got.qp_state, RTS);
	CHECK_INT(got.path_mtu, set.path_mtu);
	CHECK_INT(got.rq_psn, set.rq_psn);
	CHECK_INT(got.sq_psn, set.sq_psn);
	CHECK_INT(got.dest_qp_num, set.dest_qp_num);
	CHECK_INT(got.qp_access_flags, set.qp_access_flags);
	CHECK_INT(got.max_rd_atomic, set.max_rd_atomic);
	CHECK_INT(got.max_dest_rd_atomic, set.max_dest_rd_atomic);
	CHECK_INT(got.min_rnr_timer, set.min_rnr_timer);
	CHECK_INT(got.port_num, set.port_num);
	CHECK_INT(got.timeout, set.timeout);
	CHECK_INT(got.retry_cnt, set.retry_cnt);
	CHECK_INT(got.rnr_retry, set.rnr_retry);
	CHECK_INT(got.ah_attr.is_global, set.ah_attr.is_global);
	CHECK_INT(got.ah_attr.grh.sgid_index, set.ah_attr.grh.sgid_index);
	CHECK_INT(got.ah_attr.port_num, set.ah_attr.port_num);
	CHECK(!memcmp(&got.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, sizeof(union ibv_gid)));
	CHECK(init.send_cq == side.cq && init.recv_cq == side.cq && !init.srq);
	CHECK_INT(init.qp_type, IBV_QPT_RC);
	CHECK(init.cap.max_send_wr >= 16 && init.cap.max_recv_wr >= 16);
	rt_side_close(&side);
	rt_close(dev);
}

static int disagreements;

static void compare(const struct rt_side *lib, const struct rt_side *raw, enum ibv_qp_state from,
		    enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr lib_attr = attributes(lib, from, to);
	struct ibv_qp_attr raw_attr = attributes(raw, from, to);
	int lib_r = lib_modify(lib, &lib_attr, mask), raw_r = raw_modify(raw, &raw_attr, mask);
	enum ibv_qp_state expected = lib_r || !(mask & IBV_QP_STATE) ? from : to;

	/* Some kernels accept any attribute in any state if the state does not change. */
	bool stricter = !(mask & IBV_QP_STATE) && lib_r == EINVAL && !raw_r;

	if (lib_r != raw_r && !stricter) {
		printf("  type %d, %d -> %d, mask 0x%x: library %s, kernel %s\n", lib->qp->qp_type,
		       from, to, mask, strerror(lib_r), strerror(raw_r));
		disagreements++;
	}
	CHECK_INT(query(lib->qp), expected);
	CHECK_INT(lib->qp->state, expected);
	if (!lib_r)
		take_to(lib, lib_modify, from);
	if (!raw_r)
		take_to(raw, raw_modify, from);
}

/* Try the mask that fits the target state, with each bit flipped in turn. */
static void brute_force(void)
{
	struct rt_dev *dev = rt_open();
	int tried = 0;

	if (!rt_is_kernel(dev))
		rt_skip("there is no kernel behind this device to compare with");
	raw_find_driver(dev->ctx);
	for (int t = 0; t < RT_COUNT(types); t++) {
		struct rt_side lib = open_side(dev, types[t]), raw = open_side(dev, types[t]);

		for (int pair = 0; pair < (ERR + 1) * (ERR + 1); pair++) {
			enum ibv_qp_state from = pair / (ERR + 1), to = pair % (ERR + 1);
			int base = required[types[t]][to];

			if (from == SQE)
				continue;
			take_to(&lib, lib_modify, from);
			take_to(&raw, raw_modify, from);
			compare(&lib, &raw, from, to, base);
			compare(&lib, &raw, from, to, IBV_QP_STATE);
			for (int bit = 0; bit <= 20; bit++)
				compare(&lib, &raw, from, to, base ^ 1 << bit);
			tried += 23;
		}
		rt_side_close(&raw);
		rt_side_close(&lib);
	}
	printf("  %d transitions tried\n", tried);
	CHECK_INT(disagreements, 0);
	rt_close(dev);
}

/* The same for devices without a kernel: transitions that the specification forbids must fail. */
static void illegal(void)
{
	static const enum ibv_qp_state never[][2] = {
		{ RESET, RTR }, { RESET, RTS }, { RESET, SQD }, { INIT, RTS },
		{ INIT, SQD },	{ RTR, INIT },	{ RTR, RTR },	{ RTR, SQD },
		{ RTS, INIT },	{ RTS, RTR },	{ ERR, INIT },	{ ERR, RTR },
		{ ERR, RTS },	{ ERR, SQD },	{ SQD, INIT },	{ SQD, RTR },
	};
	struct rt_dev *dev = rt_open();

	for (int t = 0; t < RT_COUNT(types); t++) {
		struct rt_side side = open_side(dev, types[t]);

		for (int i = 0; i < RT_COUNT(never); i++) {
			struct ibv_qp_attr attr = attributes(&side, never[i][0], never[i][1]);

			take_to(&side, lib_modify, never[i][0]);
			CHECK_INT(ibv_modify_qp(side.qp, &attr, required[types[t]][never[i][1]]),
				  EINVAL);
			CHECK_INT(query(side.qp), never[i][0]);
		}
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* Leaving out any needed attribute fails. */
static void missing(void)
{
	struct rt_dev *dev = rt_open();

	for (int t = 0; t < RT_COUNT(types); t++) {
		struct rt_side side = open_side(dev, types[t]);

		for (enum ibv_qp_state to = INIT; to <= RTS; to++) {
			int mask = required[types[t]][to];

			take_to(&side, lib_modify, to - 1);
			for (int bit = 1; bit <= 20; bit++) {
				struct ibv_qp_attr attr = attributes(&side, to - 1, to);

				if (!(mask & 1 << bit))
					continue;
				CHECK_INT(ibv_modify_qp(side.qp, &attr, mask & ~(1 << bit)),
					  EINVAL);
				CHECK_INT(query(side.qp), to - 1);
			}
		}
		rt_side_close(&side);
	}
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "legal", legal },	{ "query_back", query_back }, { "brute_force", brute_force },
	{ "illegal", illegal }, { "missing", missing },
};
RT_MAIN(cases)
