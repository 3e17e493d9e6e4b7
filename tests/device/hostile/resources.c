/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: resources READS
 *
 * A responder's program changes the number of reads at once while a long read is being answered.
 * The read is completed in spite of the change.
 */
#include "tests/device/hostile/net.h"
#include "tests/lib/rt_child.h"

enum {
	SIZE = 16 << 20,
	AT_ONCE = 4,
};

static const struct rt_options options = {
	.size = SIZE, .rd_atomic = AT_ONCE, .timeout = 14, .retry_cnt = 7
};

static void resources_set(struct ibv_qp *qp, uint8_t count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.max_dest_rd_atomic = count;
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

static void responder(int socket, int arg)
{
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address own, other;

	net_enter(NET_THERE);
	dev = rt_open();
	side = rt_side_open(dev, &options, NULL);
	own = rt_side_address(&side);
	other = rt_exchange(socket, &own);
	rt_side_connect(&side, &other);
	rt_fill(side.buf.p, SIZE, 9);
	rt_tell(socket, 1);
	for (uint32_t count; (count = rt_hear(socket));) {
		resources_set(side.qp, count);
		rt_tell(socket, 1);
	}
	rt_side_close(&side);
	rt_close(dev);
}

int main(int argc, char **argv)
{
	int reads = argc == 2 ? atoi(argv[1]) : 0;
	struct rt_child child;
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address own, other;
	uint8_t *wanted = malloc(SIZE);

	CHECK(wanted && reads > 0);
	rt_fill(wanted, SIZE, 9);
	net_make("udp");
	child = rt_child_start(responder, 0);
	net_enter(NET_HERE);
	dev = rt_open();
	side = rt_side_open(dev, &options, NULL);
	own = rt_side_address(&side);
	other = rt_exchange(child.socket, &own);
	rt_side_connect(&side, &other);
	rt_hear(child.socket);
	for (int i = 0; i < reads; i++) {
		struct ibv_sge sge = { (uintptr_t)side.buf.p, SIZE, side.buf.mr->lkey };
		struct ibv_send_wr *bad, wr = { .sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_RDMA_READ,
						.send_flags = IBV_SEND_SIGNALED,
						.wr.rdma = { other.addr, other.rkey } };
		struct ibv_wc wc;

		memset(side.buf.p, 0, SIZE);
		CHECK_OK(ibv_post_send(side.qp, &wr, &bad));
		for (int n = 0; !ibv_poll_cq(side.cq, 1, &wc); n++) {
			/* the same number, then one more, then one fewer */
			rt_tell(child.socket, AT_ONCE + (n % 3 == 1) - (n % 3 == 2));
			rt_hear(child.socket);
		}
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		CHECK(!memcmp(side.buf.p, wanted, SIZE));
	}
	rt_tell(child.socket, 0);
	rt_child_finish(&child);
	rt_side_close(&side);
	rt_close(dev);
	free(wanted);
	return 0;
}
