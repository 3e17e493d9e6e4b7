/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages as bytes: the place of each field, complete round trips, and refused messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "librdmacm/ibcm/mad.h"
#include "util/util.h"

enum {
	BODY = 24, /* of a MAD, behind its header */
};

static const enum ibcm_message all_messages[] = {
	IBCM_REQ,  IBCM_MRA,	  IBCM_REJ,	 IBCM_REP, IBCM_RTU, IBCM_DREQ,
	IBCM_DREP, IBCM_SIDR_REQ, IBCM_SIDR_REP, IBCM_LAP, IBCM_APR,
};

static struct ibcm_mad request(void)
{
	return (struct ibcm_mad){
		.type = IBCM_REQ,
		.tid = 0x0102030405060708,
		.attr_mod = 0xa1a2a3a4,
		.local_id = 0x11223344,
		.req = {
			.service_id = 0x0000000001061d1f,
			.ca_guid = 0x02000000fffe0001,
			.vendor_id = 0x1234,
			.qkey = 0x80010000,
			.qpn = 0x12345,
			.responder_resources = 7,
			.initiator_depth = 9,
			.remote_response_timeout = 20,
			.transport = IBCM_TRANSPORT_UC,
			.flow_control = 1,
			.starting_psn = 0xabcdef,
			.local_response_timeout = 21,
			.retry_count = 5,
			.pkey = 0xffff,
			.mtu = IBV_MTU_1024,
			.rnr_retry_count = 6,
			.max_cm_retries = 15,
			.srq = 1,
			.primary = {
				.local_lid = 1,
				.remote_lid = 2,
				.local_gid.raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
				.remote_gid.raw = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
				.flow_label = 0xfedcb,
				.rate = 0x3,
				.traffic_class = 0x68,
				.hop_limit = 64,
				.sl = 3,
				.subnet_local = 1,
				.ack_timeout = 17,
			},
		},
		.private_len = 3,
		.private_data = "abc",
	};
}

/* The bytes by the tables of chapter 12, written down by hand. */
static void test_req_bytes(void **state)
{
	static const uint8_t header[] = { 1, 7, 2, 3, 0, 0,    0, 0, 1,	   2,	 3,    4,
					  5, 6, 7, 8, 0, 0x10, 0, 0, 0xa1, 0xa2, 0xa3, 0xa4 };
	static const uint8_t first[] = { 0x11, 0x22, 0x33, 0x44, 0, 0x00, 0x12, 0x34,
					 0,    0,    0,	   0,	 1, 0x06, 0x1d, 0x1f };
	static const uint8_t numbers[] = {
		0x80, 0x01, 0x00, 0x00,	       0x01, 0x23, 0x45,       7,
		0,    0,    0,	  9,	       0,    0,	   0,	       20 << 3 | 1 << 1 | 1,
		0xab, 0xcd, 0xef, 21 << 3 | 5, 0xff, 0xff, 3 << 4 | 6, 15 << 4 | 1 << 3
	};
	static const uint8_t path_end[] = {
		0xfe, 0xdc, 0xb0, 3, 0x68, 64, 3 << 4 | 1 << 3, 17 << 3
	};
	struct ibcm_mad mad = request();
	uint8_t data[IBCM_MAD_LEN];

	assert_int_equal(ibcm_mad_pack(&mad, data), 0);
	assert_memory_equal(data, header, sizeof(header));
	assert_memory_equal(data + BODY, first, sizeof(first));
	assert_memory_equal(data + BODY + 28, numbers, sizeof(numbers));
	assert_memory_equal(data + BODY + 56, mad.req.primary.local_gid.raw, 16);
	assert_memory_equal(data + BODY + 72, mad.req.primary.remote_gid.raw, 16);
	assert_memory_equal(data + BODY + 88, path_end, sizeof(path_end));
	assert_memory_equal(data + BODY + 140, "abc\0\0", 5);
}

static void test_req_round_trip(void **state)
{
	struct ibcm_mad mad = request(), back;
	uint8_t data[IBCM_MAD_LEN];

	assert_int_equal(ibcm_mad_pack(&mad, data), 0);
	assert_int_equal(ibcm_mad_unpack(data, &back), 0);
	assert_int_equal(back.private_len, 92);
	mad.private_len = 92;
	assert_memory_equal(&back, &mad, sizeof(mad));
}

static void test_rep_bytes(void **state)
{
	struct ibcm_mad back, mad = {
		.type = IBCM_REP,
		.local_id = 0x55667788,
		.remote_id = 0x11223344,
		.rep = { .ca_guid = 0x0123456789abcdef,
			 .vendor_id = 0x0a0b0c,
			 .qpn = 0x654321,
			 .starting_psn = 0x135790,
			 .responder_resources = 4,
			 .initiator_depth = 8,
			 .target_ack_delay = 15,
			 .flow_control = 1,
			 .rnr_retry_count = 7,
			 .srq = 1 },
	};
	static const uint8_t body[] = { 0x55, 0x66, 0x77, 0x88, 0x11, 0x22,	   0x33,
					0x44, 0,    0,	  0,	0,    0x65,	   0x43,
					0x21, 0x0a, 0,	  0,	0,    0x0b,	   0x13,
					0x57, 0x90, 0x0c, 4,	8,    15 << 3 | 1, 7 << 5 | 1 << 4,
					1,    0x23, 0x45, 0x67, 0x89, 0xab,	   0xcd,
					0xef };
	uint8_t data[IBCM_MAD_LEN];

	assert_int_equal(ibcm_mad_pack(&mad, data), 0);
	assert_memory_equal(data + BODY, body, sizeof(body));
	assert_int_equal(ibcm_mad_unpack(data, &back), 0);
	assert_memory_equal(&back.rep, &mad.rep, sizeof(mad.rep));
}

static void test_small_messages(void **state)
{
	struct ibcm_mad rej = { .type = IBCM_REJ,
				.rej = { .rejected = 1, .reason = 28, .info_length = 8 } };
	struct ibcm_mad mra = { .type = IBCM_MRA, .mra = { .answered = 1, .service_timeout = 24 } };
	struct ibcm_mad dreq = { .type = IBCM_DREQ, .dreq = { .remote_qpn = 0xabcdef } };
	struct ibcm_mad sidr = { .type = IBCM_SIDR_REP,
				 .remote_id = 0x01020304,
				 .sidr_rep = { .status = 2, .qpn = 0x10203, .qkey = 0x01234567 } };
	static const uint8_t rej_bytes[] = { 1 << 6, 8 << 1, 0, 28 };
	static const uint8_t mra_bytes[] = { 1 << 6, 24 << 3 };
	static const uint8_t dreq_bytes[] = { 0xab, 0xcd, 0xef };
	static const uint8_t sidr_bytes[] = { 1, 2, 3, 4, 2, 0, 0, 0, 1, 2, 3 };
	static const uint8_t qkey_bytes[] = { 0x01, 0x23, 0x45, 0x67 };
	uint8_t data[IBCM_MAD_LEN];

	assert_int_equal(ibcm_mad_pack(&rej, data), 0);
	assert_memory_equal(data + BODY + 8, rej_bytes, sizeof(rej_bytes));
	assert_int_equal(ibcm_mad_pack(&mra, data), 0);
	assert_memory_equal(data + BODY + 8, mra_bytes, sizeof(mra_bytes));
	assert_int_equal(ibcm_mad_pack(&dreq, data), 0);
	assert_memory_equal(data + BODY + 8, dreq_bytes, sizeof(dreq_bytes));
	assert_int_equal(ibcm_mad_pack(&sidr, data), 0);
	assert_memory_equal(data + BODY, sidr_bytes, sizeof(sidr_bytes));
	assert_memory_equal(data + BODY + 20, qkey_bytes, sizeof(qkey_bytes));
}

/* Whatever bytes arrive, a message that was parsed is packed again with the same content. */
static void test_any_bytes(void **state)
{
	uint8_t data[IBCM_MAD_LEN] = { 1, 7, 2, 3 }, again[IBCM_MAD_LEN];
	struct ibcm_mad mad, back;
	uint32_t seed = 1;

	for (unsigned int round = 0; round < 2000; round++) {
		for (unsigned int i = BODY; i < sizeof(data); i++) {
			seed = seed * 1103515245 + 12345;
			data[i] = seed >> 16;
		}
		data[17] = all_messages[round % ARRAY_SIZE(all_messages)];
		if (ibcm_mad_unpack(data, &mad) < 0) {
			assert_true(mad.type == IBCM_REJ || data[17] == IBCM_REJ ||
				    data[17] == IBCM_SIDR_REP);
			continue;
		}
		assert_int_equal(mad.private_len, ibcm_private_size(mad.type));
		assert_int_equal(ibcm_mad_pack(&mad, again), 0);
		assert_int_equal(ibcm_mad_unpack(again, &back), 0);
		assert_memory_equal(&mad, &back, sizeof(mad));
	}
}

static void test_refused(void **state)
{
	struct ibcm_mad mad = request(), back;
	uint8_t good[IBCM_MAD_LEN], data[IBCM_MAD_LEN];

	assert_int_equal(ibcm_mad_pack(&mad, good), 0);
	for (unsigned int i = 0; i < 4; i++) {
		memcpy(data, good, sizeof(data));
		data[i] ^= 4;
		assert_int_equal(ibcm_mad_unpack(data, &back), -EPROTONOSUPPORT);
	}
	memcpy(data, good, sizeof(data));
	data[17] = 0x1b;
	assert_int_equal(ibcm_mad_unpack(data, &back), -EOPNOTSUPP);
	data[16] = 0xff;
	assert_int_equal(ibcm_mad_unpack(data, &back), -EOPNOTSUPP);
	memcpy(data, good, sizeof(data));
	data[17] = IBCM_REJ;
	data[BODY + 9] = (IBCM_INFO_LEN + 1) << 1;
	assert_int_equal(ibcm_mad_unpack(data, &back), -EPROTO);
	data[BODY + 9] = IBCM_INFO_LEN << 1;
	assert_int_equal(ibcm_mad_unpack(data, &back), 0);
	data[17] = IBCM_SIDR_REP;
	data[BODY + 5] = IBCM_INFO_LEN + 1;
	assert_int_equal(ibcm_mad_unpack(data, &back), -EPROTO);
}

static void test_private_data_limits(void **state)
{
	uint8_t data[IBCM_MAD_LEN];

	for (unsigned int i = 0; i < ARRAY_SIZE(all_messages); i++) {
		struct ibcm_mad mad = { .type = all_messages[i] }, back;
		uint32_t size = ibcm_private_size(mad.type);

		assert_in_range(size, 92, IBCM_PRIVATE_MAX);
		mad.private_len = size;
		memset(mad.private_data, 0xa5, size);
		assert_int_equal(ibcm_mad_pack(&mad, data), 0);
		assert_int_equal(ibcm_mad_unpack(data, &back), 0);
		assert_memory_equal(back.private_data, mad.private_data, size);
		mad.private_len = size + 1;
		assert_int_equal(ibcm_mad_pack(&mad, data), -EINVAL);
	}
	assert_int_equal(ibcm_private_size(0x1b), 0);
	assert_int_equal(ibcm_private_size(0), 0);
	assert_int_equal(ibcm_mad_pack(&(struct ibcm_mad){ .type = 0x1b }, data), -EINVAL);
}

static void test_ip_header(void **state)
{
	static const uint8_t v4[IBCM_IP_LEN] = { 0, 0x40, 0x1d,	      0x2f, [16] = 192, 0,
						 2, 1,	  [32] = 192, 0,    2,		2 };
	struct ibcm_ip back, ip = { .family = AF_INET, .port = 0x1d2f };
	uint8_t data[IBCM_IP_LEN];

	memcpy(&ip.src.s6_addr[12], v4 + 16, 4);
	memcpy(&ip.dst.s6_addr[12], v4 + 32, 4);
	ibcm_ip_pack(&ip, data);
	assert_memory_equal(data, v4, sizeof(v4));
	assert_int_equal(ibcm_ip_unpack(data, sizeof(data), &back), 0);
	assert_memory_equal(&back, &ip, sizeof(ip));

	ip.family = AF_INET6;
	ip.src.s6_addr[0] = 0x20;
	ip.dst.s6_addr[15] = 1;
	ibcm_ip_pack(&ip, data);
	assert_int_equal(data[1], 0x60);
	assert_int_equal(ibcm_ip_unpack(data, sizeof(data), &back), 0);
	assert_memory_equal(&back, &ip, sizeof(ip));

	assert_int_equal(ibcm_ip_unpack(data, sizeof(data) - 1, &back), -EPROTO);
	data[1] = 0x50;
	assert_int_equal(ibcm_ip_unpack(data, sizeof(data), &back), -EPROTO);
	data[0] = 1;
	assert_int_equal(ibcm_ip_unpack(data, sizeof(data), &back), -EPROTONOSUPPORT);
}

static void test_words(void **state)
{
	const char *unknown = ibcm_reject_reason_str(0);

	assert_string_equal(ibcm_reject_reason_str(99), unknown);
	for (uint32_t reason = 1; reason <= 35; reason++)
		if (reason != 34)
			assert_string_not_equal(ibcm_reject_reason_str(reason), unknown);
	assert_string_equal(ibcm_sidr_status_str(6), ibcm_sidr_status_str(200));
	for (unsigned int i = 0; i < ARRAY_SIZE(all_messages); i++)
		assert_string_not_equal(ibcm_message_name(all_messages[i]), "unknown");
	assert_string_equal(ibcm_message_name(0), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_req_bytes),
		cmocka_unit_test(test_req_round_trip),
		cmocka_unit_test(test_rep_bytes),
		cmocka_unit_test(test_small_messages),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_private_data_limits),
		cmocka_unit_test(test_ip_header),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
