/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows and flow actions on their way to the kernel, byte by byte: each kind of spec, specs that
 * may grow, and wrong sizes. */
#include "tests/unit/fake_kernel.h"

#define CREATE_FLOW (IB_USER_VERBS_EX_CMD_CREATE_FLOW | IB_USER_VERBS_CMD_FLAG_EXTENDED)

static struct {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
} request;
static size_t used;

static void request_begin(void)
{
	memset(&request, 0, sizeof(request));
	request.attr.type = IBV_FLOW_ATTR_NORMAL;
	request.attr.priority = 7;
	request.attr.port = 1;
	request.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	used = 0;
}

static void spec_add(const void *spec, size_t size)
{
	memcpy(request.specs + used, spec, size);
	used += size;
	request.attr.num_of_specs++;
}

static int create(struct ibv_context *ctx)
{
	static const struct ib_uverbs_create_flow_resp resp = { .flow_handle = 33 };
	struct ibv_flow_attr *attr = &request.attr;
	struct ibv_qp qp = { .handle = 12 };
	struct ibv_flow flow = { .context = ctx };
	const struct verbs_create_flow in = { .qp = &qp, .attr = attr };
	int r;

	kernel_answers(&resp, sizeof(resp));
	r = uverbs_create_flow(&flow, &in);
	if (r == 0)
		assert_int_equal(flow.handle, 33);
	return r;
}

/* Check that one spec arrives as @kernel_spec. */
static void arrives(struct ibv_context *ctx, const void *spec, size_t size, const void *kernel_spec,
		    uint16_t kernel_size)
{
	const struct ib_uverbs_create_flow *cmd;

	request_begin();
	spec_add(spec, size);
	assert_int_equal(create(ctx), 0);
	cmd = request_of(CREATE_FLOW, sizeof(*cmd) + kernel_size);
	assert_int_equal(cmd->comp_mask, 0);
	assert_int_equal(cmd->qp_handle, 12);
	assert_int_equal(cmd->flow_attr.type, IBV_FLOW_ATTR_NORMAL);
	assert_int_equal(cmd->flow_attr.size, kernel_size);
	assert_int_equal(cmd->flow_attr.priority, 7);
	assert_int_equal(cmd->flow_attr.num_of_specs, 1);
	assert_int_equal(cmd->flow_attr.port, 1);
	assert_int_equal(cmd->flow_attr.flags, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	assert_memory_equal(cmd + 1, kernel_spec, kernel_size);
}

#define ARRIVES(ctx, spec, kernel_spec) \
	arrives(ctx, &(spec), sizeof(spec), &(kernel_spec), sizeof(kernel_spec))

/* Check a type, and the same type for the header inside a tunnel. */
#define ARRIVES_INNER(ctx, spec, kernel_spec)              \
	do {                                               \
		ARRIVES(ctx, spec, kernel_spec);           \
		(spec).type |= IBV_FLOW_SPEC_INNER;        \
		(kernel_spec).type |= IBV_FLOW_SPEC_INNER; \
		ARRIVES(ctx, spec, kernel_spec);           \
	} while (0)

static void test_eth(void **state)
{
	struct ibv_flow_spec_eth spec = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(spec),
		.val = { { 1, 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11, 12 }, 0x1314, 0x1516 },
		.mask = { { 21, 22, 23, 24, 25, 26 }, { 27 }, 0x2829, 0x2a2b },
	};
	struct ib_uverbs_flow_spec_eth kernel_spec = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(kernel_spec),
		.val = { { 1, 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11, 12 }, 0x1314, 0x1516 },
		.mask = { { 21, 22, 23, 24, 25, 26 }, { 27 }, 0x2829, 0x2a2b },
	};

	ARRIVES_INNER(*state, spec, kernel_spec);
}

/* The short form has its two addresses only: the kernel adds the other fields. */
static void test_ipv4(void **state)
{
	struct ibv_flow_spec_ipv4 spec = {
		.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(spec), .val = { 1, 2 }, .mask = { 3, 4 }
	};
	struct {
		uint32_t type;
		uint16_t size;
		uint16_t reserved;
		uint32_t val[2], mask[2];
	} kernel_spec = { IBV_FLOW_SPEC_IPV4, 24, 0, { 1, 2 }, { 3, 4 } };

	ARRIVES_INNER(*state, spec, kernel_spec);
}

static void test_ipv4_ext(void **state)
{
	struct ibv_flow_spec_ipv4_ext spec = {
		.type = IBV_FLOW_SPEC_IPV4_EXT,
		.size = sizeof(spec),
		.val = { 1, 2, 3, 4, 5, 6 },
		.mask = { 7, 8, 9, 10, 11, 12 },
	};
	struct ib_uverbs_flow_spec_ipv4 kernel_spec = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(kernel_spec),
		.val = { 1, 2, 3, 4, 5, 6 },
		.mask = { 7, 8, 9, 10, 11, 12 },
	};

	ARRIVES_INNER(*state, spec, kernel_spec);
}

static void test_ipv6(void **state)
{
	struct ibv_flow_spec_ipv6 spec = {
		.type = IBV_FLOW_SPEC_IPV6,
		.size = sizeof(spec),
		.val = { { 1 }, { 2 }, 3, 4, 5, 6 },
		.mask = { { 7 }, { 8 }, 9, 10, 11, 12 },
	};
	struct ib_uverbs_flow_spec_ipv6 kernel_spec = {
		.type = IBV_FLOW_SPEC_IPV6,
		.size = sizeof(kernel_spec),
		.val = { { 1 }, { 2 }, 3, 4, 5, 6 },
		.mask = { { 7 }, { 8 }, 9, 10, 11, 12 },
	};

	/* Bytes in the padding of the value do not arrive; in the mask they ask for an unknown
	 * filter. */
	((uint8_t *)&spec.val)[sizeof(spec.val) - 1] = 0xee;
	ARRIVES_INNER(*state, spec, kernel_spec);
	((uint8_t *)&spec.mask)[sizeof(spec.mask) - 1] = 0xee;
	request_begin();
	spec_add(&spec, sizeof(spec));
	assert_int_equal(create(*state), -EOPNOTSUPP);
}

static void test_esp(void **state)
{
	struct ibv_flow_spec_esp spec = {
		.type = IBV_FLOW_SPEC_ESP, .size = sizeof(spec), .val = { 1, 2 }, .mask = { 3, 4 }
	};
	struct ib_uverbs_flow_spec_esp kernel_spec = { .type = IBV_FLOW_SPEC_ESP,
						       .size = sizeof(kernel_spec),
						       .val = { 1, 2 },
						       .mask = { 3, 4 } };

	ARRIVES_INNER(*state, spec, kernel_spec);
}

static void test_tcp_udp(void **state)
{
	struct ibv_flow_spec_tcp_udp spec = {
		.type = IBV_FLOW_SPEC_TCP, .size = sizeof(spec), .val = { 1, 2 }, .mask = { 3, 4 }
	};
	struct ib_uverbs_flow_spec_tcp_udp kernel_spec = { .type = IBV_FLOW_SPEC_TCP,
							   .size = sizeof(kernel_spec),
							   .val = { 1, 2 },
							   .mask = { 3, 4 } };

	ARRIVES_INNER(*state, spec, kernel_spec);
	spec.type = kernel_spec.type = IBV_FLOW_SPEC_UDP;
	ARRIVES_INNER(*state, spec, kernel_spec);
}

static void test_tunnels(void **state)
{
	struct ibv_flow_spec_tunnel vxlan = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL,
					      .size = sizeof(vxlan),
					      .val = { 1 },
					      .mask = { 2 } };
	struct ib_uverbs_flow_spec_tunnel kernel_vxlan = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL,
							   .size = sizeof(kernel_vxlan),
							   .val = { 1 },
							   .mask = { 2 } };
	struct ibv_flow_spec_gre gre = { .type = IBV_FLOW_SPEC_GRE,
					 .size = sizeof(gre),
					 .val = { 1, 2, 3 },
					 .mask = { 4, 5, 6 } };
	struct ib_uverbs_flow_spec_gre kernel_gre = { .type = IBV_FLOW_SPEC_GRE,
						      .size = sizeof(kernel_gre),
						      .val = { 1, 2, 3 },
						      .mask = { 4, 5, 6 } };
	struct ibv_flow_spec_mpls mpls = {
		.type = IBV_FLOW_SPEC_MPLS, .size = sizeof(mpls), .val = { 1 }, .mask = { 2 }
	};
	struct ib_uverbs_flow_spec_mpls kernel_mpls = {
		.type = IBV_FLOW_SPEC_MPLS, .size = sizeof(kernel_mpls), .val = { 1 }, .mask = { 2 }
	};

	ARRIVES(*state, vxlan, kernel_vxlan);
	ARRIVES(*state, gre, kernel_gre);
	ARRIVES_INNER(*state, mpls, kernel_mpls);
}

static void test_actions(void **state)
{
	struct verbs_flow_action action = { .handle = 55 };
	struct verbs_counters counters = { .handle = 66 };
	struct ibv_flow_spec_action_tag tag = { IBV_FLOW_SPEC_ACTION_TAG, sizeof(tag), 99 };
	struct ibv_flow_spec_action_drop drop = { IBV_FLOW_SPEC_ACTION_DROP, sizeof(drop) };
	struct ibv_flow_spec_action_handle handle = { IBV_FLOW_SPEC_ACTION_HANDLE, sizeof(handle),
						      &action.action };
	struct ibv_flow_spec_counter_action count = { IBV_FLOW_SPEC_ACTION_COUNT, sizeof(count),
						      &counters.counters };
	const uint32_t kernel_tag[] = { IBV_FLOW_SPEC_ACTION_TAG, 16, 99, 0 };
	const uint32_t kernel_drop[] = { IBV_FLOW_SPEC_ACTION_DROP, 8 };
	const uint32_t kernel_handle[] = { IBV_FLOW_SPEC_ACTION_HANDLE, 16, 55, 0 };
	const uint32_t kernel_count[] = { IBV_FLOW_SPEC_ACTION_COUNT, 16, 66, 0 };

	ARRIVES(*state, tag, kernel_tag);
	ARRIVES(*state, drop, kernel_drop);
	ARRIVES(*state, handle, kernel_handle);
	ARRIVES(*state, count, kernel_count);
	handle.action = NULL;
	request_begin();
	spec_add(&handle, sizeof(handle));
	assert_int_equal(create(*state), -EINVAL);
}

/* A program of a later release has longer filters, which are accepted as long as the unknown
 * part is 0. */
static void test_grown(void **state)
{
	struct {
		uint32_t type;
		uint16_t size;
		struct ibv_flow_ipv4_ext_filter val __attribute__((aligned(4)));
		uint32_t new_val;
		struct ibv_flow_ipv4_ext_filter mask;
		uint32_t new_mask;
	} spec = {
		.type = IBV_FLOW_SPEC_IPV4_EXT,
		.size = sizeof(spec),
		.val = { 1, 2, 3, 4, 5, 6 },
		.new_val = 77,
		.mask = { 7, 8, 9, 10, 11, 12 },
	};
	struct ib_uverbs_flow_spec_ipv4 kernel_spec = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(kernel_spec),
		.val = { 1, 2, 3, 4, 5, 6 },
		.mask = { 7, 8, 9, 10, 11, 12 },
	};

	ARRIVES(*state, spec, kernel_spec);
	spec.new_mask = 1;
	request_begin();
	spec_add(&spec, sizeof(spec));
	assert_int_equal(create(*state), -EOPNOTSUPP);
	assert_int_equal(kernel.hdr.length, 0);
}

static void refused(struct ibv_context *ctx, uint32_t type, uint16_t size)
{
	const struct ibv_flow_spec_action_drop header = { type, size };

	request_begin();
	spec_add(&header, sizeof(header));
	assert_int_equal(create(ctx), -EINVAL);
	assert_int_equal(kernel.hdr.length, 0);
}

static void test_wrong_sizes(void **state)
{
	/* One byte less than the end of the last member, for each spec. */
	refused(*state, IBV_FLOW_SPEC_ETH, 37);
	refused(*state, IBV_FLOW_SPEC_IPV4, 23);
	refused(*state, IBV_FLOW_SPEC_IPV4_EXT, 31);
	refused(*state, IBV_FLOW_SPEC_IPV6, 85);
	refused(*state, IBV_FLOW_SPEC_ESP, 23);
	refused(*state, IBV_FLOW_SPEC_TCP, 13);
	refused(*state, IBV_FLOW_SPEC_VXLAN_TUNNEL, 15);
	refused(*state, IBV_FLOW_SPEC_GRE, 23);
	refused(*state, IBV_FLOW_SPEC_MPLS, 15);
	refused(*state, IBV_FLOW_SPEC_ACTION_TAG, 11);
	refused(*state, IBV_FLOW_SPEC_ACTION_HANDLE,
		sizeof(struct ibv_flow_spec_action_handle) - 1);
	refused(*state, IBV_FLOW_SPEC_ACTION_COUNT,
		sizeof(struct ibv_flow_spec_counter_action) - 1);
	refused(*state, 0x7777, 64);
	refused(*state, IBV_FLOW_SPEC_ACTION_DROP | IBV_FLOW_SPEC_INNER, 8);
}

/* Several specs, the second behind one with an odd size. */
static void test_several(void **state)
{
	struct verbs_counters counters = { .handle = 66 };
	struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH, .size = 39 };
	struct ibv_flow_spec_counter_action count = { IBV_FLOW_SPEC_ACTION_COUNT, sizeof(count),
						      &counters.counters };
	const struct ib_uverbs_create_flow *cmd;
	const uint32_t *at;

	request_begin();
	spec_add(&eth, 39);
	spec_add(&count, sizeof(count));
	assert_int_equal(create(*state), 0);
	cmd = request_of(CREATE_FLOW, sizeof(*cmd) + 40 + 16);
	assert_int_equal(cmd->flow_attr.num_of_specs, 2);
	assert_int_equal(cmd->flow_attr.size, 56);
	at = (const uint32_t *)(cmd + 1);
	assert_int_equal(at[10], IBV_FLOW_SPEC_ACTION_COUNT);
	assert_int_equal(at[12], 66);
}

/* More specs than fit are refused, and the parser stops at the end of the buffer. */
static void test_too_many(void **state)
{
	static struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_ipv6 spec[255];
	} many;
	struct ibv_qp qp = {};
	struct ibv_flow flow = { .context = *state };
	const struct verbs_create_flow in = { .qp = &qp, .attr = &many.attr };

	many.attr.num_of_specs = 255;
	for (unsigned int i = 0; i < 255; i++) {
		many.spec[i].type = IBV_FLOW_SPEC_IPV6;
		many.spec[i].size = sizeof(many.spec[i]);
	}
	assert_int_equal(uverbs_create_flow(&flow, &in), -EINVAL);
	assert_int_equal(kernel.hdr.length, 0);
}

static void test_destroy(void **state)
{
	struct ibv_flow flow = { .context = *state, .handle = 9 };
	const struct ib_uverbs_destroy_flow *cmd;

	assert_int_equal(uverbs_destroy_flow(&flow), 0);
	cmd = request_of(IB_USER_VERBS_EX_CMD_DESTROY_FLOW | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			 sizeof(*cmd));
	assert_int_equal(cmd->flow_handle, 9);
}

static void test_esp_action(void **state)
{
	struct ibv_flow_action_esp esp = { .spi = 1, .seq = 2, .tfc_pad = 3, .flags = 4 };
	struct ib_uverbs_flow_action_esp_keymat_aes_gcm key = { .iv = 5, .key_len = 32 };
	struct ib_uverbs_flow_action_esp_replay_bmp replay = { .size = 64 };
	struct ibv_flow_action_esp_encap encap = { .len = 6 };
	struct ibv_flow_action_esp_attr attr = {
		.esp_attr = &esp,
		.keymat_proto = IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM,
		.keymat_len = sizeof(key),
		.keymat_ptr = &key,
		.replay_proto = IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP,
		.replay_len = sizeof(replay),
		.replay_ptr = &replay,
		.esp_encap = &encap,
		.comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN,
		.esn = 0x1234,
	};
	const struct verbs_flow_action_esp in = { .attr = &attr };
	struct verbs_flow_action action = { .action.context = *state };

	kernel.handle = 8;
	assert_int_equal(uverbs_create_flow_action_esp(&action, &in), 0);
	assert_method(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE, 6);
	assert_int_equal(action.handle, 8);
	assert_attr(UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS, sizeof(esp), (uintptr_t)&esp);
	assert_attr(UVERBS_ATTR_FLOW_ACTION_ESP_ESN, 4, 0x1234);
	assert_attr(UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT, sizeof(key), (uintptr_t)&key);
	assert_int_equal(attr_of(UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT)->attr_data.enum_data.elem_id,
			 IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM);
	/* Up to 8 bytes travel in the attribute. */
	assert_attr(UVERBS_ATTR_FLOW_ACTION_ESP_REPLAY, 4, 64);
	assert_int_equal(attr_of(UVERBS_ATTR_FLOW_ACTION_ESP_REPLAY)->attr_data.enum_data.elem_id,
			 IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP);
	assert_attr(UVERBS_ATTR_FLOW_ACTION_ESP_ENCAP, sizeof(encap), (uintptr_t)&encap);

	attr = (struct ibv_flow_action_esp_attr){ .esn = 1 };
	assert_int_equal(uverbs_modify_flow_action_esp(&action, &in), 0);
	assert_method(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_MODIFY, 1);
	assert_attr(UVERBS_ATTR_MODIFY_FLOW_ACTION_ESP_HANDLE, 0, 8);
	assert_int_equal(uverbs_destroy_flow_action(&action), 0);
	assert_method(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY, 1);
	assert_attr(UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE, 0, 8);
}

#define flow_test(f) cmocka_unit_test_setup_teardown(f, kernel_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		flow_test(test_eth),	     flow_test(test_ipv4),	 flow_test(test_ipv4_ext),
		flow_test(test_ipv6),	     flow_test(test_esp),	 flow_test(test_tcp_udp),
		flow_test(test_tunnels),     flow_test(test_actions),	 flow_test(test_grown),
		flow_test(test_wrong_sizes), flow_test(test_several),	 flow_test(test_too_many),
		flow_test(test_destroy),     flow_test(test_esp_action),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
