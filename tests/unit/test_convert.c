/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "libibverbs/convert.h"

static const struct ib_uverbs_ah_attr kern_ah = {
	.grh.dgid = { 0xfe, 0x80, [15] = 7 },
	.grh.flow_label = 0xabcde,
	.grh.sgid_index = 3,
	.grh.hop_limit = 64,
	.grh.traffic_class = 0x20,
	.dlid = 0x1234,
	.sl = 5,
	.src_path_bits = 1,
	.static_rate = 2,
	.is_global = 1,
	.port_num = 2,
};

static void assert_ah(const struct ibv_ah_attr *ah)
{
	assert_memory_equal(ah->grh.dgid.raw, kern_ah.grh.dgid, 16);
	assert_int_equal(ah->grh.flow_label, 0xabcde);
	assert_int_equal(ah->grh.sgid_index, 3);
	assert_int_equal(ah->grh.hop_limit, 64);
	assert_int_equal(ah->grh.traffic_class, 0x20);
	assert_int_equal(ah->dlid, 0x1234);
	assert_int_equal(ah->sl, 5);
	assert_int_equal(ah->src_path_bits, 1);
	assert_int_equal(ah->static_rate, 2);
	assert_int_equal(ah->is_global, 1);
	assert_int_equal(ah->port_num, 2);
}

static void test_ah(void **state)
{
	struct ib_uverbs_ah_attr src = kern_ah;
	struct ibv_ah_attr dst;

	ibv_copy_ah_attr_from_kern(&dst, &src);
	assert_ah(&dst);
}

static void test_qp(void **state)
{
	struct ib_uverbs_qp_attr src = {
		.qp_state = IBV_QPS_RTR,
		.cur_qp_state = IBV_QPS_INIT,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_ARMED,
		.qkey = 11,
		.rq_psn = 12,
		.sq_psn = 13,
		.dest_qp_num = 14,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.alt_ah_attr = kern_ah,
		.max_send_wr = 15,
		.max_recv_wr = 16,
		.max_send_sge = 17,
		.max_recv_sge = 18,
		.max_inline_data = 19,
		.pkey_index = 20,
		.alt_pkey_index = 21,
		.en_sqd_async_notify = 22,
		.sq_draining = 23,
		.max_rd_atomic = 24,
		.max_dest_rd_atomic = 25,
		.min_rnr_timer = 26,
		.port_num = 27,
		.timeout = 28,
		.retry_cnt = 29,
		.rnr_retry = 30,
		.alt_port_num = 31,
		.alt_timeout = 32,
	};
	struct ibv_qp_attr dst = { .rate_limit = 0xdead };

	ibv_copy_qp_attr_from_kern(&dst, &src);
	assert_int_equal(dst.qp_state, IBV_QPS_RTR);
	assert_int_equal(dst.cur_qp_state, IBV_QPS_INIT);
	assert_int_equal(dst.path_mtu, IBV_MTU_1024);
	assert_int_equal(dst.path_mig_state, IBV_MIG_ARMED);
	assert_int_equal(dst.qkey, 11);
	assert_int_equal(dst.rq_psn, 12);
	assert_int_equal(dst.sq_psn, 13);
	assert_int_equal(dst.dest_qp_num, 14);
	assert_int_equal(dst.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(dst.ah_attr.port_num, 0);
	assert_ah(&dst.alt_ah_attr);
	assert_int_equal(dst.cap.max_send_wr, 15);
	assert_int_equal(dst.cap.max_recv_wr, 16);
	assert_int_equal(dst.cap.max_send_sge, 17);
	assert_int_equal(dst.cap.max_recv_sge, 18);
	assert_int_equal(dst.cap.max_inline_data, 19);
	assert_int_equal(dst.pkey_index, 20);
	assert_int_equal(dst.alt_pkey_index, 21);
	assert_int_equal(dst.en_sqd_async_notify, 22);
	assert_int_equal(dst.sq_draining, 23);
	assert_int_equal(dst.max_rd_atomic, 24);
	assert_int_equal(dst.max_dest_rd_atomic, 25);
	assert_int_equal(dst.min_rnr_timer, 26);
	assert_int_equal(dst.port_num, 27);
	assert_int_equal(dst.timeout, 28);
	assert_int_equal(dst.retry_cnt, 29);
	assert_int_equal(dst.rnr_retry, 30);
	assert_int_equal(dst.alt_port_num, 31);
	assert_int_equal(dst.alt_timeout, 32);
	/* This member is behind the struct of old programs. */
	assert_int_equal(dst.rate_limit, 0xdead);
}

static void test_path_rec(void **state)
{
	struct ib_user_path_rec kern = {
		.dgid = { 0xfe, 0x80, [15] = 1 },
		.sgid = { 0xfe, 0x80, [15] = 2 },
		.dlid = 3,
		.slid = 4,
		.raw_traffic = 5,
		.flow_label = 6,
		.reversible = 1,
		.mtu = IBV_MTU_2048,
		.pkey = 7,
		.hop_limit = 8,
		.traffic_class = 9,
		.numb_path = 10,
		.sl = 11,
		.mtu_selector = 2,
		.rate_selector = 3,
		.rate = IBV_RATE_100_GBPS,
		.packet_life_time_selector = 1,
		.packet_life_time = 18,
		.preference = 12,
	};
	struct ib_user_path_rec back;
	struct ibv_sa_path_rec rec;

	ibv_copy_path_rec_from_kern(&rec, &kern);
	assert_memory_equal(rec.dgid.raw, kern.dgid, 16);
	assert_memory_equal(rec.sgid.raw, kern.sgid, 16);
	assert_int_equal(rec.dlid, 3);
	assert_int_equal(rec.slid, 4);
	assert_int_equal(rec.raw_traffic, 5);
	assert_int_equal(rec.flow_label, 6);
	assert_int_equal(rec.reversible, 1);
	assert_int_equal(rec.mtu, IBV_MTU_2048);
	assert_int_equal(rec.pkey, 7);
	assert_int_equal(rec.hop_limit, 8);
	assert_int_equal(rec.traffic_class, 9);
	assert_int_equal(rec.numb_path, 10);
	assert_int_equal(rec.sl, 11);
	assert_int_equal(rec.mtu_selector, 2);
	assert_int_equal(rec.rate_selector, 3);
	assert_int_equal(rec.rate, IBV_RATE_100_GBPS);
	assert_int_equal(rec.packet_life_time_selector, 1);
	assert_int_equal(rec.packet_life_time, 18);
	assert_int_equal(rec.preference, 12);

	ibv_copy_path_rec_to_kern(&back, &rec);
	assert_memory_equal(&back, &kern, sizeof(kern));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ah),
		cmocka_unit_test(test_qp),
		cmocka_unit_test(test_path_rec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
