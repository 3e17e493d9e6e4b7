/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of device and port: the bytes written to the caller's struct, and the cached values. */
#include "tests/unit/fake.h"

static unsigned int device_queries, port_queries;
static int port_result;

static int query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *attr)
{
	device_queries++;
	attr->orig_attr.max_qp = 7;
	attr->orig_attr.phys_port_cnt = 2;
	attr->xrc_odp_caps = 0x1234;
	attr->orig_attr.max_mw = attr->orig_attr.max_srq = attr->orig_attr.max_mcast_grp = 5;
	attr->orig_attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC |
					   IBV_DEVICE_MANAGED_FLOW_STEERING |
					   IBV_DEVICE_RC_RNR_NAK_GEN;
	attr->device_cap_flags_ex = attr->orig_attr.device_cap_flags | 1ull << 36;
	attr->tm_caps.max_num_tags = attr->max_wq_type_rq = attr->max_dm_size = 5;
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	port_queries++;
	if (port_num < 1 || port_num > 2)
		return -EINVAL;
	if (port_result)
		return port_result;
	memset(attr, 0xab, sizeof(*attr));
	attr->active_mtu = IBV_MTU_1024;
	attr->gid_tbl_len = 16;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->pkey_tbl_len = port_num;
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = fake_open,
	.query_device = query_device,
	.query_port = query_port,
};
static const struct verbs_provider provider = { .name = "fake", .ops = &ops };

static const struct verbs_ops no_ops = { .open_context = fake_open };
static const struct verbs_provider no_provider = { .name = "fake", .ops = &no_ops };

static int setup(void **state)
{
	device_queries = port_queries = 0;
	port_result = 0;
	*state = fake_context(&provider);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(ibv_close_device(*state), 0);
	return 0;
}

/* Every length from 0 to more than the library knows. */
static void test_port_attr_length(void **state)
{
	const struct verbs_context *vctx = verbs_get_ctx(*state);
	unsigned char full[sizeof(struct ibv_port_attr) + 16];
	unsigned char buf[sizeof(full) + 1];

	memset(full, 0, sizeof(full));
	assert_int_equal(query_port(*state, 1, (struct ibv_port_attr *)full), 0);
	for (size_t length = 0; length <= sizeof(full); length++) {
		memset(buf, 0x55, sizeof(buf));
		assert_int_equal(vctx->query_port(*state, 1, (void *)buf, length), 0);
		assert_memory_equal(buf, full, length);
		for (size_t i = length; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 0x55);
	}
}

/* The symbol itself, as programs older than port_cap_flags2 call it. */
static void test_port_attr_old_symbol(void **state)
{
	const size_t old = offsetof(struct ibv_port_attr, port_cap_flags2);
	unsigned char buf[sizeof(struct ibv_port_attr)];

	memset(buf, 0x55, sizeof(buf));
	assert_int_equal((ibv_query_port)(*state, 1, (void *)buf), 0);
	for (size_t i = old; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0x55);
	assert_int_equal(buf[old - 1], 0xab);
}

static void test_port_failure_writes_nothing(void **state)
{
	const struct verbs_context *vctx = verbs_get_ctx(*state);
	struct ibv_port_attr attr;

	memset(&attr, 0x55, sizeof(attr));
	assert_int_equal(vctx->query_port(*state, 3, &attr, sizeof(attr)), EINVAL);
	assert_int_equal(attr.lid, 0x5555);
	port_result = -EIO;
	assert_int_equal(vctx->query_port(*state, 1, &attr, sizeof(attr)), EIO);
	assert_int_equal(errno, EIO);
	assert_int_equal(attr.lid, 0x5555);
}

static void test_device_attr_length(void **state)
{
	const size_t full = sizeof(struct ibv_device_attr_ex);
	const struct verbs_context *vctx = verbs_get_ctx(*state);
	unsigned char buf[sizeof(struct ibv_device_attr_ex) + 9];
	struct ibv_device_attr_ex *attr = (void *)buf;

	memset(buf, 0x55, sizeof(buf));
	assert_int_equal(vctx->query_device_ex(*state, NULL, attr, sizeof(attr->orig_attr)), 0);
	assert_int_equal(attr->orig_attr.max_qp, 7);
	assert_int_equal(buf[sizeof(attr->orig_attr)], 0x55);

	assert_int_equal(vctx->query_device_ex(*state, NULL, attr, full + 8), 0);
	assert_int_equal(attr->xrc_odp_caps, 0x1234);
	assert_int_equal(attr->phys_port_cnt_ex, 2);
	assert_int_equal(buf[full], 0);
	assert_int_equal(buf[full + 7], 0);
	assert_int_equal(buf[full + 8], 0x55);
}

static void test_device_attr_refused(void **state)
{
	const struct verbs_context *vctx = verbs_get_ctx(*state);
	const struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex attr;

	assert_int_equal(vctx->query_device_ex(*state, &input, &attr, sizeof(attr)), EINVAL);
	assert_int_equal(vctx->query_device_ex(*state, NULL, &attr, 8), EINVAL);
	assert_int_equal(device_queries, 0);
}

/* The kernel driver reports features for which the provider has no operations. */
static void test_device_attr_unserved(void **state)
{
	const struct ibv_device_attr_ex *attr;

	assert_int_equal(verbs_device_attr(*state, &attr), 0);
	assert_int_equal(attr->orig_attr.max_mw, 0);
	assert_int_equal(attr->orig_attr.max_srq, 0);
	assert_int_equal(attr->orig_attr.max_mcast_grp, 0);
	assert_int_equal(attr->orig_attr.device_cap_flags, IBV_DEVICE_RC_RNR_NAK_GEN);
	assert_true(attr->device_cap_flags_ex == (IBV_DEVICE_RC_RNR_NAK_GEN | 1ull << 36));
	assert_int_equal(attr->tm_caps.max_num_tags, 0);
	assert_int_equal(attr->max_wq_type_rq, 0);
	assert_int_equal(attr->max_dm_size, 0);
}

static void test_device_attr_is_asked_once(void **state)
{
	const struct ibv_device_attr_ex *first, *second;

	assert_int_equal(verbs_device_attr(*state, &first), 0);
	assert_int_equal(verbs_device_attr(*state, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(device_queries, 1);
}

static void test_port_facts(void **state)
{
	struct verbs_port_facts facts;

	assert_int_equal(verbs_port_facts(*state, 1, false, &facts), 0);
	assert_int_equal(facts.active_mtu, IBV_MTU_1024);
	assert_int_equal(facts.gid_tbl_len, 16);
	assert_int_equal(facts.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(facts.pkey_tbl_len, 1);
	assert_int_equal(verbs_port_facts(*state, 1, false, &facts), 0);
	assert_int_equal(port_queries, 1);
	assert_int_equal(verbs_port_facts(*state, 1, true, &facts), 0);
	assert_int_equal(port_queries, 2);
	assert_int_equal(verbs_port_facts(*state, 2, false, &facts), 0);
	assert_int_equal(facts.pkey_tbl_len, 2);
	assert_int_equal(verbs_port_facts(*state, 0, false, &facts), -EINVAL);
	assert_int_equal(verbs_port_facts(*state, 255, false, &facts), -EINVAL);
}

static void test_port_check(void **state)
{
	assert_int_equal(verbs_port_check(*state, "test", 0), -EINVAL);
	assert_int_equal(verbs_port_check(*state, "test", 1), 0);
	assert_int_equal(verbs_port_check(*state, "test", 2), 0);
	assert_int_equal(verbs_port_check(*state, "test", 3), -EINVAL);
}

static void test_rt_values(void **state)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(ibv_query_rt_values_ex(*state, &values), EOPNOTSUPP);
	values.comp_mask = 1 << 20;
	assert_int_equal(ibv_query_rt_values_ex(*state, &values), EOPNOTSUPP);
}

/* A provider without an op: EOPNOTSUPP, not a crash. */
static void test_nothing_supported(void **state)
{
	struct ibv_context *ctx = fake_context(&no_provider);
	struct ibv_device_attr_ex attr_ex;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	assert_int_equal(ibv_query_device(ctx, &attr), EOPNOTSUPP);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr_ex), EOPNOTSUPP);
	assert_int_equal(___ibv_query_port(ctx, 1, &port), EOPNOTSUPP);
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_create_comp_channel(ctx));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_alloc_pd(ctx));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static int open_refused(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	return -EAGAIN;
}

static void test_open_fails(void **state)
{
	const struct verbs_ops refuse_ops = { .open_context = open_refused };
	const struct verbs_provider refuse = { .name = "fake", .ops = &refuse_ops };
	struct verbs_device device = { .provider = &refuse, .refcount = 1 };
	struct verbs_context *ctx = NULL;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(
		verbs_context_create(&device, fds[0], &(struct verbs_open_context){}, &ctx),
		-EAGAIN);
	assert_null(ctx);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1); /* closed on failure too */
	assert_int_equal(device.refcount, 1);
	close(fds[1]);
}

static int overlay_first(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	return -ENXIO;
}

static int overlay_poll(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return 77;
}

/* The overlay's operations replace those of the table, in the slots too; the rest stays. A
 * second overlay adds to the first. */
static void test_overlay(void **state)
{
	const struct verbs_ops first = { .query_port = overlay_first };
	const struct verbs_ops second = { .poll_cq = overlay_poll };
	const struct verbs_ops others = { .open_context = fake_open, .query_device = query_device };
	struct verbs_context *ctx = to_vctx(*state);
	struct ibv_cq cq = { .context = *state };
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	assert_int_equal(verbs_context_overlay_ops(ctx, &first), 0);
	assert_int_equal(ctx->query_port(*state, 1, &port, sizeof(port)), ENXIO);
	assert_int_equal(ibv_query_device(*state, &device), 0);
	assert_int_equal(ibv_poll_cq(&cq, 1, NULL), -EOPNOTSUPP);
	assert_int_equal(verbs_context_overlay_ops(ctx, &second), 0);
	assert_int_equal(ibv_poll_cq(&cq, 1, NULL), 77);
	assert_int_equal(ctx->query_port(*state, 1, &port, sizeof(port)), ENXIO);
	/* The provider's own table is unchanged. */
	assert_ptr_equal(ops.query_port, query_port);
	assert_null(ops.poll_cq);
	/* After another table was set, an overlay applies to that table. */
	verbs_context_set_ops(ctx, &others);
	assert_int_equal(verbs_context_overlay_ops(ctx, &second), 0);
	assert_int_equal(ibv_poll_cq(&cq, 1, NULL), 77);
	assert_int_equal(ctx->query_port(*state, 1, &port, sizeof(port)), EOPNOTSUPP);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_port_attr_length),
		CASE(test_port_attr_old_symbol),
		CASE(test_port_failure_writes_nothing),
		CASE(test_device_attr_length),
		CASE(test_device_attr_refused),
		CASE(test_device_attr_unserved),
		CASE(test_device_attr_is_asked_once),
		CASE(test_port_facts),
		CASE(test_port_check),
		CASE(test_rt_values),
		CASE(test_nothing_supported),
		CASE(test_open_fails),
		CASE(test_overlay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
