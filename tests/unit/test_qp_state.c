/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compare every transition of every transport with a second copy of the rules, attribute by
 * attribute. The required and the optional attributes must pass. A missing required one or any
 * other must not. */
#include <string.h>

#include "libibverbs/qp.h"
#include "tests/unit/fake_device.h"

#define ATTR_BITS 26

struct rule {
	enum ibv_qp_state cur, next;
	uint32_t required, optional;
};

#define S(name) IBV_QPS_##name
#define A(name) IBV_QP_##name

static const struct rule rc[] = {
	{ S(RESET), S(INIT), A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), 0 },
	{ S(INIT), S(INIT), 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS) },
	{ S(INIT), S(RTR),
	  A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER),
	  A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) },
	{ S(RTR), S(RTS),
	  A(SQ_PSN) | A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY) | A(TIMEOUT),
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(RTS), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(RTS), S(SQD), 0, A(EN_SQD_ASYNC_NOTIFY) },
	{ S(SQD), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(SQD), S(SQD), 0,
	  A(AV) | A(MAX_QP_RD_ATOMIC) | A(MAX_DEST_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY) |
		  A(TIMEOUT) | A(PORT) | A(PKEY_INDEX) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) |
		  A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(SQE), S(RTS), 0, 0 },
	{},
};

static const struct rule uc[] = {
	{ S(RESET), S(INIT), A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), 0 },
	{ S(INIT), S(INIT), 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS) },
	{ S(INIT), S(RTR), A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
	  A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) },
	{ S(RTR), S(RTS), A(SQ_PSN),
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(RTS), S(RTS), 0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(RTS), S(SQD), 0, A(EN_SQD_ASYNC_NOTIFY) },
	{ S(SQD), S(RTS), 0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	/* The kernel adds the port to an address vector here, and then refuses the port. */
	{ S(SQD), S(SQD), 0, A(PKEY_INDEX) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) },
	{ S(SQE), S(RTS), 0, A(CUR_STATE) | A(ACCESS_FLAGS) },
	{},
};

static const struct rule ud[] = {
	{ S(RESET), S(INIT), A(PKEY_INDEX) | A(PORT) | A(QKEY), 0 },
	{ S(INIT), S(INIT), 0, A(PKEY_INDEX) | A(PORT) | A(QKEY) },
	{ S(INIT), S(RTR), 0, A(PKEY_INDEX) | A(QKEY) },
	{ S(RTR), S(RTS), A(SQ_PSN), A(CUR_STATE) | A(QKEY) },
	{ S(RTS), S(RTS), 0, A(CUR_STATE) | A(QKEY) },
	{ S(RTS), S(SQD), 0, A(EN_SQD_ASYNC_NOTIFY) },
	{ S(SQD), S(RTS), 0, A(CUR_STATE) | A(QKEY) },
	{ S(SQD), S(SQD), 0, A(PKEY_INDEX) | A(QKEY) },
	{ S(SQE), S(RTS), 0, A(CUR_STATE) | A(QKEY) },
	{},
};

static const struct rule raw_packet[] = {
	{ S(RESET), S(INIT), A(PORT), 0 },
	{ S(INIT), S(INIT), 0, 0 },
	{ S(INIT), S(RTR), 0, 0 },
	{ S(RTR), S(RTS), 0, A(RATE_LIMIT) },
	{ S(RTS), S(RTS), 0, A(RATE_LIMIT) },
	{ S(RTS), S(SQD), 0, 0 },
	{ S(SQD), S(RTS), 0, 0 },
	{ S(SQD), S(SQD), 0, 0 },
	{ S(SQE), S(RTS), 0, 0 },
	{},
};

/* Attributes of the other half of an XRC connection are ignored, so they are optional anywhere. */
#define XRC_SEND_IGNORES (A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define XRC_RECV_IGNORES (A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY))

static const struct rule xrc_send[] = {
	{ S(RESET), S(INIT), A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), XRC_SEND_IGNORES },
	{ S(INIT), S(INIT), 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS) | XRC_SEND_IGNORES },
	{ S(INIT), S(RTR), A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
	  A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) | XRC_SEND_IGNORES },
	{ S(RTR), S(RTS),
	  A(SQ_PSN) | A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY) | A(TIMEOUT),
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) | XRC_SEND_IGNORES },
	{ S(RTS), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) | XRC_SEND_IGNORES },
	{ S(RTS), S(SQD), 0, A(EN_SQD_ASYNC_NOTIFY) | XRC_SEND_IGNORES },
	{ S(SQD), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) | XRC_SEND_IGNORES },
	{ S(SQD), S(SQD), 0,
	  A(AV) | A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY) | A(TIMEOUT) | A(PORT) |
		  A(PKEY_INDEX) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE) |
		  XRC_SEND_IGNORES },
	{ S(SQE), S(RTS), 0, XRC_SEND_IGNORES },
	{},
};

static const struct rule xrc_recv[] = {
	{ S(RESET), S(INIT), A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), XRC_RECV_IGNORES },
	{ S(INIT), S(INIT), 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS) | XRC_RECV_IGNORES },
	{ S(INIT), S(RTR),
	  A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER),
	  A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) | XRC_RECV_IGNORES },
	{ S(RTR), S(RTS), A(SQ_PSN) | A(TIMEOUT),
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) |
		  XRC_RECV_IGNORES },
	{ S(RTS), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) |
		  XRC_RECV_IGNORES },
	{ S(RTS), S(SQD), 0, A(EN_SQD_ASYNC_NOTIFY) | XRC_RECV_IGNORES },
	{ S(SQD), S(RTS), 0,
	  A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) |
		  XRC_RECV_IGNORES },
	{ S(SQD), S(SQD), 0,
	  A(AV) | A(MAX_DEST_RD_ATOMIC) | A(TIMEOUT) | A(PORT) | A(PKEY_INDEX) | A(ACCESS_FLAGS) |
		  A(MIN_RNR_TIMER) | A(ALT_PATH) | A(PATH_MIG_STATE) | XRC_RECV_IGNORES },
	{ S(SQE), S(RTS), 0, XRC_RECV_IGNORES },
	{},
};

static const struct {
	enum ibv_qp_type type;
	const struct rule *rules;
	uint32_t ignored;
} types[] = {
	{ IBV_QPT_RC, rc, 0 },
	{ IBV_QPT_UC, uc, 0 },
	{ IBV_QPT_UD, ud, 0 },
	{ IBV_QPT_RAW_PACKET, raw_packet, 0 },
	{ IBV_QPT_XRC_SEND, xrc_send, XRC_SEND_IGNORES },
	{ IBV_QPT_XRC_RECV, xrc_recv, XRC_RECV_IGNORES },
};

/* Find the rule; return whether there is one. */
static bool rule_find(unsigned int t, enum ibv_qp_state cur, enum ibv_qp_state next,
		      struct rule *ret_rule)
{
	for (const struct rule *r = types[t].rules; r->cur || r->next; r++)
		if (r->cur == cur && r->next == next) {
			*ret_rule = *r;
			return true;
		}
	*ret_rule = (struct rule){ .cur = cur, .next = next, .optional = types[t].ignored };
	return next == IBV_QPS_RESET || (next == IBV_QPS_ERR && cur != IBV_QPS_RESET);
}

static bool allows(unsigned int t, const struct rule *rule, uint32_t mask)
{
	const struct ibv_qp_attr attr = { .qp_state = rule->next };

	return qp_state_allows(types[t].type, rule->cur, &attr, mask | IBV_QP_STATE);
}

static void check_rule(unsigned int t, const struct rule *rule)
{
	assert_true(allows(t, rule, rule->required));
	/* An address vector also contains the port, which is a separate attribute. */
	assert_int_equal(allows(t, rule, rule->required | rule->optional), true);
	for (unsigned int i = 1; i < ATTR_BITS; i++) {
		uint32_t bit = 1u << i;

		if (bit & rule->required)
			assert_false(allows(t, rule, rule->required & ~bit));
		else
			assert_int_equal(allows(t, rule, rule->required | bit),
					 !!(bit & rule->optional));
	}
}

static void test_every_transition(void **state)
{
	struct rule rule;

	for (unsigned int t = 0; t < ARRAY_SIZE(types); t++)
		for (enum ibv_qp_state cur = 0; cur < QP_STATES; cur++)
			for (enum ibv_qp_state next = 0; next < QP_STATES; next++)
				if (rule_find(t, cur, next, &rule))
					check_rule(t, &rule);
				else
					assert_false(allows(t, &rule, 0));
}

/* Without IBV_QP_STATE the allowed attributes are those of a transition to the same state. */
static void test_state_unchanged(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	assert_true(qp_state_allows(IBV_QPT_RC, IBV_QPS_RTS, &attr, IBV_QP_MIN_RNR_TIMER));
	assert_false(qp_state_allows(IBV_QPT_RC, IBV_QPS_INIT, &attr, IBV_QP_MIN_RNR_TIMER));
}

static void test_current_state_only_where_it_moves_by_itself(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	for (enum ibv_qp_state cur = 0; cur < QP_STATES; cur++)
		assert_false(
			qp_state_allows(IBV_QPT_RC, cur, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	attr.qp_state = IBV_QPS_RTS;
	assert_true(
		qp_state_allows(IBV_QPT_UD, IBV_QPS_SQE, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

static void test_unknown_states(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_UNKNOWN };

	assert_false(qp_state_allows(IBV_QPT_RC, IBV_QPS_RESET, &attr, IBV_QP_STATE));
	assert_false(qp_state_allows(IBV_QPT_RC, IBV_QPS_UNKNOWN, &attr, 0));
	assert_false(qp_state_allows(IBV_QPT_RC, -1, &attr, 0));
	assert_int_equal(qp_state_candidates(IBV_QPS_UNKNOWN), (1 << QP_STATES) - 1);
}

static void test_tables(void **state)
{
	for (unsigned int t = 0; t < ARRAY_SIZE(types); t++)
		assert_non_null(qp_state_rules(types[t].type));
	assert_null(qp_state_rules(IBV_QPT_DRIVER));
	assert_null(qp_state_rules(0));
	assert_null(qp_state_rules(5));
	assert_null(qp_state_rules(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_transition),
		cmocka_unit_test(test_state_unchanged),
		cmocka_unit_test(test_current_state_only_where_it_moves_by_itself),
		cmocka_unit_test(test_unknown_states),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
