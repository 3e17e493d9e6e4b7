/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rate limits: values that go to the kernel, values that do not, and the message of a refusal. */
#include <sys/ioctl.h>

#include "tests/unit/fake_kernel.h"
#include "tests/unit/mlx5/fake.h"

enum {
	LEAST = 1000, /* kbit/s */
	MOST = 100000,
	NOT_SAID = 77,
};

static const struct verbs_ops ops = { .modify_qp_rate_limit = mlx5_modify_qp_rate_limit };
static const struct verbs_provider provider = { .name = "mlx5", .driver_id = DRIVER_ID };
static struct verbs_ex_private priv = { .ops = &ops, .provider = &provider };

static struct fake *create(enum ibv_qp_type type)
{
	struct fake *f = fake_create(type);
	struct mlx5_packet_pacing_caps *caps = &f->ctx->caps.packet_pacing_caps;

	f->ctx->vctx.priv = &priv;
	caps->qp_rate_limit_min = LEAST;
	caps->qp_rate_limit_max = MOST;
	caps->supported_qpts = 1u << IBV_QPT_RAW_PACKET;
	caps->cap_flags = MLX5_IB_PP_SUPPORT_BURST;
	kernel_answers(NULL, 0);
	kernel.hdr.object_id = NOT_SAID;
	fake_log_take();
	return f;
}

static int pace(struct fake *f, struct ibv_qp_rate_limit_attr attr)
{
	return verbs_slot_modify_qp_rate_limit(&f->qp.vqp.qp, &attr);
}

static void test_taken(void **state)
{
	struct fake *f = create(IBV_QPT_RAW_PACKET);
	const struct ib_uverbs_ex_modify_qp *cmd;

	f->qp.vqp.qp.handle = 9;
	/* A change that waits for a transition still waits afterwards. */
	f->qp.ece_next = 0x10;
	f->qp.ece_pending = true;
	assert_int_equal(pace(f, (struct ibv_qp_rate_limit_attr){ 2000, 3000, 1500, 0 }), 0);
	cmd = request_of(IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			 sizeof(*cmd));
	assert_int_equal(cmd->base.qp_handle, 9);
	assert_int_equal(cmd->base.attr_mask, IBV_QP_RATE_LIMIT);
	assert_int_equal(cmd->base.qp_state, 0);
	assert_int_equal(cmd->rate_limit, 2000);
	assert_int_equal(attr_of(UVERBS_ATTR_UHW_IN)->len, sizeof(struct mlx5_ib_modify_qp));
	assert_false(has_attr(UVERBS_ATTR_UHW_OUT));
	assert_true(f->qp.ece_pending);
	assert_log_empty();
	fake_free(f);
}

/* Check a refusal without a call of the kernel. */
static void burst_refused(struct fake *f, struct ibv_qp_rate_limit_attr attr, const char *words)
{
	assert_int_equal(pace(f, attr), EINVAL);
	assert_int_equal(kernel.hdr.object_id, NOT_SAID);
	assert_logged(words);
}

static void test_bursts(void **state)
{
	struct fake *f = create(IBV_QPT_RAW_PACKET);

	burst_refused(f, (struct ibv_qp_rate_limit_attr){ .max_burst_sz = 3000 },
		      "max_burst_sz 3000, typical_pkt_sz 0: rate_limit is 0, and a burst needs");
	burst_refused(f, (struct ibv_qp_rate_limit_attr){ .typical_pkt_sz = 1500 },
		      "max_burst_sz 0, typical_pkt_sz 1500: rate_limit is 0");
	burst_refused(f, (struct ibv_qp_rate_limit_attr){ .rate_limit = LEAST, .comp_mask = 2 },
		      "comp_mask 0x2: no bit is defined yet");
	f->ctx->caps.packet_pacing_caps.cap_flags = 0;
	burst_refused(f, (struct ibv_qp_rate_limit_attr){ LEAST, 3000, 0, 0 },
		      "qp 0x1234: ibv_modify_qp_rate_limit: max_burst_sz 3000, typical_pkt_sz 0: "
		      "the device has no bursts");
	burst_refused(f, (struct ibv_qp_rate_limit_attr){ LEAST, 0, 1500, 0 },
		      "max_burst_sz 0, typical_pkt_sz 1500: the device has no bursts");
	assert_int_equal(pace(f, (struct ibv_qp_rate_limit_attr){ .rate_limit = LEAST }), 0);
	assert_log_empty();
	fake_free(f);
}

/* Check the message of a refusal by the kernel. */
static void rate_refused(struct fake *f, uint32_t rate, const char *words)
{
	kernel.error = EINVAL;
	assert_int_equal(pace(f, (struct ibv_qp_rate_limit_attr){ .rate_limit = rate }), EINVAL);
	assert_logged(words);
}

static void test_reasons(void **state)
{
	struct fake *f = create(IBV_QPT_RAW_PACKET);

	rate_refused(f, LEAST - 1, "qp 0x1234: rate 999 kbit/s: the device has 1000 to 100000");
	rate_refused(f, MOST + 1, "rate 100001 kbit/s: the device has 1000 to 100000");
	f->qp.vqp.qp.state = IBV_QPS_RTR;
	rate_refused(f, LEAST, "rate 1000 kbit/s: it is in state 2, a rate is set in RTS (3)");
	f->qp.vqp.qp.qp_type = IBV_QPT_RC;
	rate_refused(f, LEAST, "the device paces types 0x100, this one is bit 2");
	f->qp.vqp.qp.qp_type = IBV_QPT_DRIVER;
	rate_refused(f, LEAST, "the device paces types 0x100, this one is bit 255");
	f->ctx->caps.packet_pacing_caps.qp_rate_limit_max = 0;
	rate_refused(f, LEAST, "rate 1000 kbit/s: the device paces no packets");
	fake_free(f);
}

/* A refusal without a known reason reports only the requested values. */
static void test_no_reason(void **state)
{
	struct fake *f = create(IBV_QPT_RAW_PACKET);
	const char *log;

	kernel.error = EINVAL;
	assert_int_equal(pace(f, (struct ibv_qp_rate_limit_attr){ .rate_limit = MOST }), EINVAL);
	log = fake_log_take();
	assert_non_null(strstr(log, "100000 kbit/s, burst 0, packet 0: Invalid argument"));
	assert_null(strstr(log, "the device"));
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_no_reason),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
