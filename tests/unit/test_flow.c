/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows and flow actions: requests that are refused before a device sees them. */
#include "tests/unit/fake_device.h"

static int result;
static const void *seen_dv, *seen_attr;
static const struct ibv_qp *seen_qp;

static int create_flow(struct ibv_flow *flow, const struct verbs_create_flow *in)
{
	flow->handle = 3;
	seen_dv = in->dv;
	seen_attr = in->attr;
	seen_qp = in->qp;
	return result;
}

static int destroy_flow(struct ibv_flow *flow)
{
	return result;
}

static int action_esp(struct verbs_flow_action *action, const struct verbs_flow_action_esp *in)
{
	action->handle = 4;
	seen_dv = in->dv;
	seen_attr = in->attr;
	return result;
}

static int destroy_action(struct verbs_flow_action *action)
{
	return result;
}

static int setup(void **state)
{
	int r = fake_setup(state);
	struct verbs_ops *ops = &fake_of(*state)->ops;

	ops->create_flow = create_flow;
	ops->destroy_flow = destroy_flow;
	ops->create_flow_action_esp = action_esp;
	ops->modify_flow_action_esp = action_esp;
	ops->destroy_flow_action = destroy_action;
	result = 0;
	return r;
}

struct request {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	struct ibv_flow_spec_action_drop drop;
};

static struct request request_make(void)
{
	return (struct request){
		.attr = { .num_of_specs = 2, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(struct ibv_flow_spec_eth) },
		.drop = { IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop) },
	};
}

static void test_life(void **state)
{
	struct ibv_qp qp = { .context = *state, .qp_num = 0x11 };
	struct request request = request_make();
	struct ibv_flow *flow = ibv_create_flow(&qp, &request.attr);

	/* Many programs leave out the size of the whole. */
	assert_non_null(flow);
	assert_ptr_equal(flow->context, *state);
	assert_int_equal(flow->handle, 3);
	assert_ptr_equal(seen_qp, &qp);
	assert_ptr_equal(seen_attr, &request.attr);
	result = -EBUSY;
	assert_int_equal(ibv_destroy_flow(flow), EBUSY);
	assert_logged("ibv_destroy_flow: flow 3: Device or resource busy");
	result = 0;
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_log_empty();
}

static void flow_refused(struct ibv_qp *qp, struct ibv_flow_attr *attr, int error,
			 const char *words)
{
	errno = 0;
	assert_null(ibv_create_flow(qp, attr));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_mistakes(void **state)
{
	struct ibv_qp qp = { .context = *state, .qp_num = 0x11 };
	struct request request = request_make();

	flow_refused(&qp, NULL, EINVAL, "ibv_create_flow: flow is NULL");
	request.attr.comp_mask = 1;
	flow_refused(&qp, &request.attr, EINVAL, "comp_mask 0x1: no bit is defined yet");
	/* A spec of size 0 would be read for ever. */
	request = request_make();
	request.drop.size = 0;
	flow_refused(&qp, &request.attr, EINVAL,
		     "spec 2 of 2: size 0: a spec has at least 6 bytes");
	request.eth.size = 5;
	flow_refused(&qp, &request.attr, EINVAL, "spec 1 of 2: size 5");
	request = request_make();
	result = -EPERM;
	flow_refused(
		&qp, &request.attr, EPERM,
		"qp 0x11: ibv_create_flow: type 0, flags 0x0, 2 specs, port 1: Operation not permitted (it "
		"needs CAP_NET_RAW)");
	fake_of(*state)->ops.create_flow = NULL;
	flow_refused(&qp, &request.attr, EOPNOTSUPP, "ibv_create_flow: not supported");
}

static void test_action(void **state)
{
	struct ibv_flow_action_esp_attr attr = {};
	struct ibv_flow_action *action = ibv_create_flow_action_esp(*state, &attr);

	assert_non_null(action);
	assert_ptr_equal(action->context, *state);
	assert_ptr_equal(seen_attr, &attr);
	seen_attr = NULL;
	assert_int_equal(ibv_modify_flow_action_esp(action, &attr), 0);
	assert_ptr_equal(seen_attr, &attr);
	assert_log_empty();
	assert_int_equal(ibv_modify_flow_action_esp(action, NULL), EINVAL);
	assert_logged("ibv_modify_flow_action_esp: esp is NULL");
	attr.comp_mask = 2;
	assert_int_equal(ibv_modify_flow_action_esp(action, &attr), EOPNOTSUPP);
	assert_logged("ibv_modify_flow_action_esp: comp_mask 0x2: 0x1 are known");
	assert_null(ibv_create_flow_action_esp(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	fake_log_take();
	attr.comp_mask = 0;
	result = -EINVAL;
	assert_null(ibv_create_flow_action_esp(*state, &attr));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_flow_action_esp: Invalid argument");
	assert_int_equal(ibv_modify_flow_action_esp(action, &attr), EINVAL);
	assert_logged("flow action 4: ibv_modify_flow_action_esp: Invalid argument");
	assert_int_equal(ibv_destroy_flow_action(action), EINVAL);
	result = 0;
	assert_int_equal(ibv_destroy_flow_action(action), 0);
	assert_null(ibv_create_flow_action_esp(*state, NULL));
	assert_int_equal(errno, EINVAL);
	fake_of(*state)->ops.create_flow_action_esp = NULL;
	assert_null(ibv_create_flow_action_esp(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* The operation finds the attributes of a direct verb. */
static void test_direct(void **state)
{
	struct ibv_qp qp = { .context = *state };
	struct request request = request_make();
	struct ibv_flow_action_esp_attr esp = {};
	struct verbs_flow_action *action;
	struct ibv_flow *flow;
	int dv = 0;

	assert_int_equal(
		verbs_flow_create(
			&(struct verbs_create_flow){ .qp = &qp, .attr = &request.attr, .dv = &dv },
			&flow),
		0);
	assert_ptr_equal(seen_dv, &dv);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	seen_dv = NULL;
	assert_int_equal(verbs_flow_action_create(
				 *state, &(struct verbs_flow_action_esp){ .attr = &esp, .dv = &dv },
				 &action),
			 0);
	assert_ptr_equal(seen_dv, &dv);
	assert_int_equal(ibv_destroy_flow_action(&action->action), 0);
}

#define flow_test(f) cmocka_unit_test_setup_teardown(f, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		flow_test(test_life),
		flow_test(test_mistakes),
		flow_test(test_action),
		flow_test(test_direct),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
