/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: life cycle, and for each mistake the errno and a line that explains it. */
#include <string.h>

#include "libibverbs/qp.h"
#include "tests/unit/fake_device.h"

struct rig {
	struct ibv_context *ctx;
	struct fake_device *fake;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct ibv_qp_init_attr init_of(struct rig *rig, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_context = rig,
		.send_cq = rig->cq,
		.recv_cq = rig->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type,
	};
}

static struct rig rig_up(void **state, enum ibv_qp_type type)
{
	struct rig rig = { .ctx = *state, .fake = fake_of(*state) };
	struct ibv_qp_init_attr init;

	rig.pd = fake_pd(rig.ctx);
	rig.cq = ibv_create_cq(rig.ctx, 10, NULL, NULL, 0);
	init = init_of(&rig, type);
	rig.qp = ibv_create_qp(rig.pd, &init);
	assert_non_null(rig.qp);
	return rig;
}

static void rig_down(struct rig *rig)
{
	if (rig->qp)
		assert_int_equal(ibv_destroy_qp(rig->qp), 0);
	assert_int_equal(ibv_destroy_cq(rig->cq), 0);
	assert_int_equal(ibv_dealloc_pd(rig->pd), 0);
}

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                               \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr attr_init(void)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
}

static struct ibv_qp_attr attr_rtr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = 1, .hop_limit = 64 },
		},
	};
}

static struct ibv_qp_attr attr_rts(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7
	};
}

static void to_init(struct rig *rig)
{
	struct ibv_qp_attr attr = attr_init();

	assert_int_equal(ibv_modify_qp(rig->qp, &attr, INIT_MASK), 0);
}

static void to_rtr(struct rig *rig)
{
	struct ibv_qp_attr attr = attr_rtr();

	to_init(rig);
	assert_int_equal(ibv_modify_qp(rig->qp, &attr, RTR_MASK), 0);
}

static void to_rts(struct rig *rig)
{
	struct ibv_qp_attr attr = attr_rts();

	to_rtr(rig);
	assert_int_equal(ibv_modify_qp(rig->qp, &attr, RTS_MASK), 0);
}

/* The device is called and refuses. The library logs the reason, and the state stays. */
static void refused(struct rig *rig, struct ibv_qp_attr *attr, int mask, const char *words)
{
	unsigned int calls = rig->fake->calls[FAKE_MODIFY_QP];
	enum ibv_qp_state before = rig->qp->state;

	fake_log_take();
	rig->fake->result[FAKE_MODIFY_QP] = -EINVAL;
	errno = 0;
	assert_int_equal(ibv_modify_qp(rig->qp, attr, mask), EINVAL);
	rig->fake->result[FAKE_MODIFY_QP] = 0;
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rig->fake->calls[FAKE_MODIFY_QP], calls + 1);
	assert_int_equal(rig->qp->state, before);
	assert_logged(words);
}

/* The kernel's core refuses this for every device. Therefore a user-space device must do so too. */
static void core_refused(struct rig *rig, struct ibv_qp_attr *attr, int mask, const char *words)
{
	const struct verbs_modify_qp in = { .attr = attr, .mask = mask };

	refused(rig, attr, mask, words);
	assert_int_equal(verbs_check_modify_qp(to_vqp(rig->qp), &in), -EINVAL);
}

/* The core does not refuse this: the device decides, and this one accepts. */
static void left_to_device(struct rig *rig, struct ibv_qp_attr *attr, int mask, const char *words)
{
	const struct verbs_modify_qp in = { .attr = attr, .mask = mask };
	enum ibv_qp_state before = rig->qp->state;

	refused(rig, attr, mask, words);
	assert_int_equal(verbs_check_modify_qp(to_vqp(rig->qp), &in), 0);
	assert_int_equal(ibv_modify_qp(rig->qp, attr, mask), 0);
	assert_log_empty();
	rig->qp->state = rig->fake->state = before;
}

/* The library refuses, because no request to a device can express this. */
static void not_asked(struct rig *rig, struct ibv_qp_attr *attr, int mask, int error,
		      const char *words)
{
	unsigned int calls = rig->fake->calls[FAKE_MODIFY_QP];

	assert_int_equal(ibv_modify_qp(rig->qp, attr, mask), error);
	assert_int_equal(errno, error);
	assert_int_equal(rig->fake->calls[FAKE_MODIFY_QP], calls);
	assert_logged(words);
}

static void test_life(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);

	assert_ptr_equal(rig.qp->context, rig.ctx);
	assert_ptr_equal(rig.qp->pd, rig.pd);
	assert_ptr_equal(rig.qp->send_cq, rig.cq);
	assert_ptr_equal(rig.qp->recv_cq, rig.cq);
	assert_int_equal(rig.qp->qp_type, IBV_QPT_RC);
	assert_int_equal(rig.qp->state, IBV_QPS_RESET);
	assert_int_equal(to_vqp(rig.qp)->cap.max_send_wr, 5);
	assert_null(ibv_qp_to_qp_ex(rig.qp));
	to_rts(&rig);
	assert_int_equal(rig.qp->state, IBV_QPS_RTS);
	assert_int_equal(to_vqp(rig.qp)->port_num, 1);
	assert_log_empty();
	rig_down(&rig);
}

static void test_granted_caps_come_back(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init = init_of(&rig, IBV_QPT_UC);
	struct ibv_qp *qp = ibv_create_qp(rig.pd, &init);

	assert_int_equal(init.cap.max_send_wr, 5);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_down(&rig);
}

static void test_extended(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = rig.cq,
		.recv_cq = rig.cq,
		.qp_type = IBV_QPT_RC,
		.pd = rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(rig.ctx, &init);

	assert_non_null(qp);
	assert_non_null(ibv_qp_to_qp_ex(qp));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_down(&rig);
}

static void create_refused(struct rig *rig, struct ibv_qp_init_attr_ex *init, int error,
			   const char *words)
{
	unsigned int calls = rig->fake->calls[FAKE_CREATE_QP];

	errno = 0;
	assert_null(verbs_slot_create_qp_ex(rig->ctx, init));
	assert_int_equal(errno, error);
	assert_int_equal(rig->fake->calls[FAKE_CREATE_QP], calls);
	assert_logged(words);
}

static void test_create_mistakes(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	const struct ibv_qp_init_attr_ex good = {
		.send_cq = rig.cq,
		.recv_cq = rig.cq,
		.qp_type = IBV_QPT_RC,
		.pd = rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_context *other = fake_open(rig.fake);
	struct ibv_cq foreign = { .context = other };
	struct ibv_qp_init_attr_ex bad;
	struct fake_device second;
	struct ibv_qp *qp;

	bad = good;
	bad.comp_mask |= 1u << 30;
	create_refused(&rig, &bad, EOPNOTSUPP, "comp_mask has unknown bits");
	bad = good;
	bad.qp_type = 5;
	create_refused(&rig, &bad, EINVAL, "qp_type is none of RC");
	bad = good;
	bad.qp_type = IBV_QPT_XRC_RECV;
	create_refused(&rig, &bad, EINVAL, "no XRC domain: comp_mask needs");
	bad = good;
	bad.comp_mask = 0;
	create_refused(&rig, &bad, EINVAL, "no protection domain");
	bad = good;
	bad.pd = NULL;
	create_refused(&rig, &bad, EINVAL, "no protection domain");
	bad = good;
	bad.send_cq = NULL;
	create_refused(&rig, &bad, EINVAL, "send_cq is NULL");
	bad = good;
	bad.recv_cq = NULL;
	create_refused(&rig, &bad, EINVAL, "recv_cq is NULL");
	bad = good;
	bad.recv_cq = &foreign;
	create_refused(&rig, &bad, EINVAL, "must all be of one context");
	/* An imported context may be the same context of the kernel. */
	ctx_priv(other)->imported = true;
	qp = ibv_create_qp_ex(rig.ctx, &bad);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	fake_close(other);
	/* A context of another device is refused, even if it is imported. */
	fake_device_init(&second);
	foreign.context = fake_open(&second);
	ctx_priv(foreign.context)->imported = true;
	create_refused(&rig, &bad, EINVAL, "must all be of one context");
	fake_close(foreign.context);
	rig_down(&rig);
}

/* The two halves of an XRC connection: attributes of the other half are ignored. */
static void test_create_xrc(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_context *other = fake_open(rig.fake);
	struct ibv_xrcd xrcd = { .context = rig.ctx }, foreign_xrcd = { .context = other };
	struct ibv_cq foreign = { .context = other };
	struct ibv_srq foreign_srq = { .context = other };
	struct ibv_qp_init_attr_ex recv = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = &xrcd,
		.send_cq = &foreign,
	};
	struct ibv_qp_init_attr_ex send = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = rig.pd,
		.send_cq = rig.cq,
		.recv_cq = &foreign,
		.srq = &foreign_srq,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(rig.ctx, &recv);

	assert_non_null(qp);
	assert_null(qp->pd);
	assert_null(qp->send_cq);
	assert_ptr_equal(to_vqp(qp)->xrcd, &xrcd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	qp = ibv_create_qp_ex(rig.ctx, &send);
	assert_non_null(qp);
	assert_ptr_equal(qp->send_cq, rig.cq);
	assert_null(qp->recv_cq);
	assert_null(qp->srq);
	assert_null(to_vqp(qp)->xrcd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_log_empty();
	recv.xrcd = &foreign_xrcd;
	create_refused(&rig, &recv, EINVAL, "the XRC domain belongs to another context");
	recv.comp_mask = IBV_QP_INIT_ATTR_PD;
	create_refused(&rig, &recv, EINVAL, "no XRC domain: comp_mask needs");
	send.send_cq = NULL;
	create_refused(&rig, &send, EINVAL, "send_cq is NULL");
	send.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	create_refused(&rig, &send, EINVAL, "no protection domain");
	fake_close(other);
	rig_down(&rig);
}

static void test_create_null(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init = init_of(&rig, IBV_QPT_RC);

	assert_null(ibv_create_qp(NULL, &init));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_qp: pd is NULL");
	assert_null(ibv_create_qp(rig.pd, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_qp: qp_init_attr is NULL");
	assert_int_equal(ibv_modify_qp(rig.qp, NULL, 0), EINVAL);
	assert_logged("ibv_modify_qp: attr is NULL");
	assert_int_equal(ibv_modify_qp(NULL, NULL, 0), EINVAL);
	assert_logged("ibv_modify_qp: qp is NULL");
	assert_int_equal(ibv_query_qp(rig.qp, NULL, 0, NULL), EINVAL);
	assert_logged("ibv_query_qp: attr is NULL");
	rig_down(&rig);
}

/* A value above a limit of the device is named after the refusal, and the caller's struct is
 * unchanged. */
static void test_create_above_limits(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init = init_of(&rig, IBV_QPT_RC);

	init.cap.max_send_wr = 100000;
	init.cap.max_recv_sge = 9;
	rig.fake->result[FAKE_CREATE_QP] = -EINVAL;
	assert_null(ibv_create_qp(rig.pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(init.cap.max_send_wr, 100000);
	assert_logged("fake0 ibv_create_qp: RC, ");
	assert_null(ibv_create_qp(rig.pd, &init));
	assert_logged("; max_send_wr 100000 is above the device's max_qp_wr 1000; max_recv_sge 9 "
		      "is above the device's max_sge 8");
	init = init_of(&rig, IBV_QPT_RAW_PACKET);
	rig.fake->result[FAKE_CREATE_QP] = -EPERM;
	assert_null(ibv_create_qp(rig.pd, &init));
	assert_int_equal(errno, EPERM);
	assert_logged("CAP_NET_RAW");
	rig_down(&rig);
}

/* The limits that the kernel reports are minima of several: a device may accept more. */
static void test_create_left_to_device(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init = init_of(&rig, IBV_QPT_RC);
	struct ibv_qp *qp;

	init.cap.max_send_wr = 100000;
	init.cap.max_recv_sge = 9;
	qp = ibv_create_qp(rig.pd, &init);
	assert_non_null(qp);
	assert_int_equal(rig.fake->calls[FAKE_QUERY_DEVICE], 0);
	assert_log_empty();
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_down(&rig);
}

static void test_unsupported(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init = init_of(&rig, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_init();

	rig.fake->ops.create_qp = NULL;
	rig.fake->ops.modify_qp = NULL;
	rig.fake->ops.query_qp = NULL;
	assert_null(ibv_create_qp(rig.pd, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("ibv_create_qp: not supported by provider fake");
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, INIT_MASK), EOPNOTSUPP);
	assert_int_equal(ibv_query_qp(rig.qp, &attr, 0, &init), EOPNOTSUPP);
	rig_down(&rig);
}

static void test_modify_masks(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_init();

	core_refused(&rig, &attr, INIT_MASK & ~IBV_QP_PORT,
		     "fake0 qp 0x12: ibv_modify_qp RC RESET -> INIT: Invalid argument; missing "
		     "IBV_QP_PORT\n");
	core_refused(&rig, &attr, INIT_MASK | IBV_QP_QKEY, "; not allowed here IBV_QP_QKEY\n");
	core_refused(
		&rig, &attr, IBV_QP_STATE | IBV_QP_QKEY,
		"; missing IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT; not allowed here "
		"IBV_QP_QKEY\n");
	not_asked(&rig, &attr, INIT_MASK | 1 << 30, EOPNOTSUPP,
		  "attr_mask has unknown bits 0x40000000");
	core_refused(&rig, &attr, INIT_MASK | IBV_QP_CUR_STATE, "cur_qp_state may only say RTR");
	attr.qp_state = IBV_QPS_RTS;
	core_refused(&rig, &attr, IBV_QP_STATE,
		     "; from RESET a queue pair goes to INIT only, not to RTS\n");
	attr.qp_state = IBV_QPS_UNKNOWN;
	core_refused(&rig, &attr, IBV_QP_STATE, "; qp_state 7 is no state\n");
	attr.qp_state = 256;
	not_asked(&rig, &attr, IBV_QP_STATE, EINVAL, "; qp_state 256 is no state\n");
	to_init(&rig);
	attr = attr_rtr();
	core_refused(&rig, &attr, RTR_MASK & ~IBV_QP_AV,
		     "RC INIT -> RTR: Invalid argument; missing "
		     "IBV_QP_AV\n");
	rig_down(&rig);
}

static void test_modify_numbers(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.min_rnr_timer = 32;
	left_to_device(&rig, &attr, RTR_MASK, "min_rnr_timer 32: 0 to 31");
	attr.min_rnr_timer = 31;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), 0);
	attr = attr_rts();
	attr.timeout = 32;
	core_refused(&rig, &attr, RTS_MASK, "timeout 32: 0 to 31");
	attr = attr_rts();
	attr.retry_cnt = 8;
	left_to_device(&rig, &attr, RTS_MASK, "retry_cnt 8: 0 to 7");
	attr = attr_rts();
	attr.rnr_retry = 8;
	left_to_device(&rig, &attr, RTS_MASK, "rnr_retry 8: 0 to 7");
	attr = attr_rts();
	attr.timeout = 31;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTS_MASK), 0);
	rig_down(&rig);
}

static void test_modify_port(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_init();

	attr.port_num = 0;
	core_refused(&rig, &attr, INIT_MASK, "port_num 0: the device has ports 1 to 1");
	attr.port_num = 2;
	core_refused(&rig, &attr, INIT_MASK, "port_num 2: the device has ports 1 to 1");
	attr = attr_init();
	attr.pkey_index = 1;
	left_to_device(&rig, &attr, INIT_MASK, "pkey_index 1: port 1 has P_Keys 0 to 0");
	to_init(&rig);
	attr = attr_rtr();
	attr.ah_attr.port_num = 0;
	core_refused(&rig, &attr, RTR_MASK, "ah_attr.port_num 0: the queue pair is on port 1");
	rig_down(&rig);
}

static void test_modify_address(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.ah_attr.is_global = 0;
	core_refused(&rig, &attr, RTR_MASK, "RoCE requires ah_attr.is_global = 1");
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.sgid_index = 16;
	core_refused(&rig, &attr, RTR_MASK, "sgid_index 16: the port has GIDs 0 to 15");
	rig_down(&rig);
}

/* On InfiniBand a LID is enough. */
static void test_modify_address_infiniband(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	rig.fake->port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	to_init(&rig);
	attr.ah_attr.is_global = 0;
	attr.ah_attr.grh.sgid_index = 200;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), 0);
	rig_down(&rig);
}

static void test_modify_mtu(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.path_mtu = IBV_MTU_4096;
	left_to_device(&rig, &attr, RTR_MASK, "path_mtu 4096 is above port 1's active_mtu 1024");
	attr.path_mtu = 6;
	core_refused(&rig, &attr, RTR_MASK, "path_mtu 6 is no enum ibv_mtu");
	attr.path_mtu = 0;
	left_to_device(&rig, &attr, RTR_MASK, "path_mtu 0 is no enum ibv_mtu");
	attr.path_mtu = 1024;
	not_asked(&rig, &attr, RTR_MASK, EINVAL, "path_mtu 1024 is no enum ibv_mtu");
	/* The administrator has raised the MTU since: the port is queried again for the
	 * explanation. */
	rig.fake->port.active_mtu = IBV_MTU_4096;
	attr.path_mtu = IBV_MTU_4096;
	attr.ah_attr.port_num = 0;
	refused(&rig, &attr, RTR_MASK, "the queue pair is on port 1\n");
	rig_down(&rig);
}

/* A modify makes no other call of the device. */
static void test_modify_asks_nothing(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	to_rts(&rig);
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), 0);
	to_rts(&rig);
	assert_int_equal(rig.fake->calls[FAKE_QUERY_PORT], 0);
	assert_int_equal(rig.fake->calls[FAKE_QUERY_DEVICE], 0);
	rig_down(&rig);
}

/* An error changed the QP's state without the library: the device decides, and a refusal is
 * explained. */
static void test_modify_stale_state(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_UD);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(
		ibv_modify_qp(rig.qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	rig.fake->state = IBV_QPS_ERR;
	rig.fake->result[FAKE_MODIFY_QP] = -EINVAL;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE | IBV_QP_QKEY), EINVAL);
	assert_logged("; the queue pair is in ERR, not RTS; from ERR a queue pair goes to RESET "
		      "only, not to RTS");
	assert_int_equal(rig.qp->state, IBV_QPS_RTS);
	rig_down(&rig);
}

/* RTS may have become SQE, which allows other attributes: the library must not refuse. */
static void test_modify_uncertain_state(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct verbs_modify_qp in = { .attr = &attr, .mask = IBV_QP_STATE };
	struct rig rig = rig_up(state, IBV_QPT_UC);

	rig.qp->state = IBV_QPS_UNKNOWN;
	assert_int_equal(verbs_check_modify_qp(to_vqp(rig.qp), &in), 0);
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), 0);
	rig.qp->state = rig.fake->state = IBV_QPS_RESET;
	core_refused(&rig, &attr, IBV_QP_STATE,
		     "from RESET a queue pair goes to INIT only, not to ERR");
	rig_down(&rig);
}

/* Devices differ in changes within a state; a change outside of the rules is explained after a
 * refusal. */
static void test_modify_within_state(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .min_rnr_timer = 1 };

	to_init(&rig);
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	rig.fake->result[FAKE_MODIFY_QP] = -EINVAL;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_MIN_RNR_TIMER), EINVAL);
	assert_logged("RC INIT -> INIT: Invalid argument; not allowed here IBV_QP_MIN_RNR_TIMER");
	rig.fake->state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_MIN_RNR_TIMER), EINVAL);
	assert_logged("; the queue pair is in RTR, not INIT; in RTR nothing can be changed");
	rig_down(&rig);
}

static void test_modify_alternate_path(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.alt_port_num = 1;
	rig.fake->result[FAKE_MODIFY_QP] = -EINVAL;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK | IBV_QP_ALT_PATH), EINVAL);
	assert_logged("alternate paths are for InfiniBand, not for RoCE");
	rig_down(&rig);
}

static void test_modify_empty_gid(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.ah_attr.grh.sgid_index = 2;
	rig.fake->result[FAKE_MODIFY_QP] = -ENODATA;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), ENODATA);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(rig.qp->state, IBV_QPS_INIT);
	assert_logged("; sgid_index 2 of port 1 is empty; there are 0 = 192.0.2.1, 1 = 192.0.2.2, "
		      "3 = fe80::1");
	rig_down(&rig);
}

static void test_modify_no_path(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.ah_attr.grh.dgid = rig.fake->gids[0].gid;
	rig.fake->result[FAKE_MODIFY_QP] = -ETIMEDOUT;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), ETIMEDOUT);
	assert_logged("; no path from sgid_index 1 = 192.0.2.2 to dgid 192.0.2.1: check the route");
	attr.ah_attr.grh.sgid_index = 3;
	attr.ah_attr.grh.dgid = (union ibv_gid){ .raw = { [0] = 0x20, [15] = 9 } };
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), ETIMEDOUT);
	assert_logged("3 = fe80::1 to dgid 2000::9: one of them is link-local");
	rig.fake->result[FAKE_MODIFY_QP] = -EINVAL;
	attr.ah_attr.grh.sgid_index = 0;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), EINVAL);
	assert_logged("; from sgid_index 0 = 192.0.2.1 to dgid 2000::9: one is IPv4, the other "
		      "IPv6");
	attr.ah_attr.grh.dgid = (union ibv_gid){};
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), EINVAL);
	assert_logged(" to dgid ::: the dgid is not set");
	rig_down(&rig);
}

static void test_modify_device_limits(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_rtr();

	to_init(&rig);
	attr.max_dest_rd_atomic = 17;
	left_to_device(&rig, &attr, RTR_MASK,
		       "; max_dest_rd_atomic 17 is above the device's max_qp_rd_atom 16");
	attr.max_dest_rd_atomic = 16;
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, RTR_MASK), 0);
	attr = attr_rts();
	attr.max_rd_atomic = 9;
	core_refused(&rig, &attr, RTS_MASK,
		     "; max_rd_atomic 9 is above the device's max_qp_init_rd_atom 8");
	rig_down(&rig);
}

static void test_modify_controlled_qkey(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_UD);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1u << 31 };

	rig.fake->result[FAKE_MODIFY_QP] = -EPERM;
	assert_int_equal(
		ibv_modify_qp(rig.qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		EPERM);
	assert_logged("qkey 0x80000000 has its highest bit set, which needs CAP_NET_RAW");
	rig_down(&rig);
}

/* iWARP and vendor types have other rules. */
static void test_modify_other_transports(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_DRIVER);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 99 };

	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT), 0);
	rig_down(&rig);
	rig.ctx->device->transport_type = IBV_TRANSPORT_IWARP;
	rig = rig_up(state, IBV_QPT_RC);
	assert_int_equal(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), 0);
	rig_down(&rig);
}

static void test_modify_as_another_qp(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = rig.cq,
		.recv_cq = rig.cq,
		.qp_type = IBV_QPT_UD,
		.pd = rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp *qp = ibv_create_qp_ex(rig.ctx, &init);

	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_down(&rig);
}

static void test_query(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	to_rts(&rig);
	rig.fake->state = IBV_QPS_ERR;
	assert_int_equal(ibv_query_qp(rig.qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(rig.qp->state, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(rig.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(rig.qp->state, IBV_QPS_ERR);
	assert_int_equal(ibv_query_qp(rig.qp, &attr, IBV_QP_RATE_LIMIT, &init), EOPNOTSUPP);
	assert_logged("ibv_query_qp: attr_mask 0x2000000: 0x2000000 cannot be queried");
	rig.fake->result[FAKE_QUERY_QP] = -EIO;
	assert_int_equal(ibv_query_qp(rig.qp, &attr, IBV_QP_STATE, &init), EIO);
	assert_logged("qp 0x12: ibv_query_qp: mask 0x1: Input/output error");
	rig_down(&rig);
}

static void test_destroy_busy(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_UD);

	rig.fake->result[FAKE_DESTROY_QP] = -EBUSY;
	assert_int_equal(ibv_destroy_qp(rig.qp), EBUSY);
	assert_logged("ibv_destroy_qp: qp");
	rig.fake->result[FAKE_DESTROY_QP] = 0;
	rig_down(&rig);
}

static void test_absent_features(void **state)
{
	struct rig rig = rig_up(state, IBV_QPT_RC);
	struct ibv_ece ece = { .vendor_id = 1 };

	assert_int_equal(ibv_query_ece(rig.qp, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_set_ece(rig.qp, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_SEND, 0), 0);
	assert_log_empty();
	rig_down(&rig);
}

static int whole_messages(struct verbs_qp *qp, enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_WRITE ? IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG : 0;
}

static int blocks(struct verbs_qp *qp, enum ibv_wr_opcode op)
{
	return IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES;
}

/* The device's answer, on processors that keep its order, or with the flag DEVICE_ONLY. */
static void test_data_in_order(void **state)
{
	const uint32_t caps = IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS,
		       device = IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY;
	const int both =
		IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG | IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES;
	struct rig rig = rig_up(state, IBV_QPT_RC);
	bool x86 = false;

#if defined(__x86_64__) || defined(__i386__)
	x86 = true;
#endif
	rig.fake->ops.query_qp_data_in_order = whole_messages;
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_RDMA_WRITE, device), 1);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_RDMA_WRITE, device | caps),
			 both);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_RDMA_WRITE, 0), x86);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_RDMA_WRITE, caps),
			 x86 ? both : 0);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_SEND, device), 0);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_RDMA_WRITE, device | 4), 0);
	rig.fake->ops.query_qp_data_in_order = blocks;
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_SEND, device), 0);
	assert_int_equal(ibv_query_qp_data_in_order(rig.qp, IBV_WR_SEND, device | caps),
			 IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES);
	rig_down(&rig);
}

static int rate_taken(struct verbs_qp *qp, const struct ibv_qp_rate_limit_attr *attr)
{
	return attr->rate_limit == 1000 ? 0 : -EINVAL;
}

static void test_rate_limit(void **state)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1000 };
	struct rig rig = rig_up(state, IBV_QPT_RC);

	assert_int_equal(ibv_modify_qp_rate_limit(rig.qp, &attr), EOPNOTSUPP);
	assert_logged("ibv_modify_qp_rate_limit: not supported by provider");
	rig.fake->ops.modify_qp_rate_limit = rate_taken;
	assert_int_equal(ibv_modify_qp_rate_limit(rig.qp, &attr), 0);
	attr.rate_limit = 7;
	assert_int_equal(ibv_modify_qp_rate_limit(rig.qp, &attr), EINVAL);
	assert_logged("7 kbit/s");
	attr.comp_mask = 1;
	assert_int_equal(ibv_modify_qp_rate_limit(rig.qp, &attr), EINVAL);
	assert_logged("comp_mask 0x1");
	assert_int_equal(ibv_modify_qp_rate_limit(rig.qp, NULL), EINVAL);
	assert_logged("attr is NULL");
	rig_down(&rig);
}

#define qp_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		qp_test(test_life),
		qp_test(test_granted_caps_come_back),
		qp_test(test_extended),
		qp_test(test_create_mistakes),
		qp_test(test_create_xrc),
		qp_test(test_create_null),
		qp_test(test_create_above_limits),
		qp_test(test_create_left_to_device),
		qp_test(test_unsupported),
		qp_test(test_modify_masks),
		qp_test(test_modify_numbers),
		qp_test(test_modify_port),
		qp_test(test_modify_address),
		qp_test(test_modify_address_infiniband),
		qp_test(test_modify_mtu),
		qp_test(test_modify_asks_nothing),
		qp_test(test_modify_stale_state),
		qp_test(test_modify_uncertain_state),
		qp_test(test_modify_within_state),
		qp_test(test_modify_alternate_path),
		qp_test(test_modify_empty_gid),
		qp_test(test_modify_no_path),
		qp_test(test_modify_device_limits),
		qp_test(test_modify_controlled_qkey),
		qp_test(test_modify_other_transports),
		qp_test(test_modify_as_another_qp),
		qp_test(test_query),
		qp_test(test_destroy_busy),
		qp_test(test_absent_features),
		qp_test(test_data_in_order),
		qp_test(test_rate_limit),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
