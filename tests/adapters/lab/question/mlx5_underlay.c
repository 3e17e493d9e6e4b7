/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair with IBV_QP_CREATE_SOURCE_QPN, as VMA has for IPoIB: check its requests in the ring.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	SOURCE = 0x48,
	PAD = 64, /* offsets in a request, behind the control segment and the datagram's address */
	ETH = 80,
	DATA = 112,
	IPOIB = 4, /* bytes of the header that the adapter needs */
	INLINE_HEAD = 18,
};

static struct script s;
static struct mlx5dv_qp ring;
static unsigned int block;

static struct ibv_qp *create(enum ibv_qp_type type, uint32_t more)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = { 8, 8, 2, 2, 64 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | more,
		.pd = s.pd,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN,
		.source_qpn = SOURCE,
		.send_ops_flags = more ? IBV_QP_EX_WITH_SEND : 0,
	};

	return ibv_create_qp_ex(s.context, &attr);
}

static void refused(void)
{
	errno = 0;
	must(!create(IBV_QPT_RC, 0) && errno == EINVAL, "only UD has it");
	errno = 0;
	must(!create(IBV_QPT_UD, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && errno == EOPNOTSUPP,
	     "no builders");
}

static void open_qp(void)
{
	struct mlx5dv_obj obj = { .qp = { .out = &ring } };
	struct ibv_qp_attr attr;

	s.qp = create(IBV_QPT_UD, 0);
	must(s.qp, "a queue pair with another's number");
	obj.qp.in = s.qp;
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), "init_obj");
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		must(!ibv_modify_qp(s.qp, &attr, IBV_QP_STATE), "modify");
		must(state != IBV_QPS_INIT || !script_recv(&s, 1, 64), "receive");
		must(ring.dbrec[MLX5_RCV_DBR] == (state >= IBV_QPS_RTR ? htobe32(1) : 0),
		     "receives are announced in RTR");
	}
}

static uint8_t at(unsigned int offset)
{
	unsigned int bytes = ring.sq.wqe_cnt * ring.sq.stride;

	return ((uint8_t *)ring.sq.buf)[(block * ring.sq.stride + offset) % bytes];
}

static uint32_t word(unsigned int offset)
{
	return (uint32_t)at(offset) << 24 | at(offset + 1) << 16 | at(offset + 2) << 8 |
	       at(offset + 3);
}

static uint8_t byte_of(const struct ibv_sge *sge, unsigned int i)
{
	return ((uint8_t *)(uintptr_t)sge->addr)[i];
}

/* @header: bytes that the Ethernet segment takes */
static void head(const struct ibv_sge *sge, unsigned int header, unsigned int ds)
{
	must((word(4) & 0xff) == ds && word(4) >> 8 == s.qp->qp_num, "control");
	for (int i = 0; i < 12; i += 4)
		must(!word(PAD + i), "padding");
	must(at(ETH + 12) << 8 == (header & 0xff00) && at(ETH + 13) == (header & 0xff), "size");
	for (unsigned int i = 0; i < header; i++)
		must(at(ETH + 14 + i) == byte_of(sge, i), "header");
}

static void send(const struct ibv_sge *sges, int count, unsigned int flags, int opcode,
		 int expected)
{
	struct ibv_ah_attr ah_attr = { .dlid = 7,
				       .port_num = 1,
				       .is_global = 1,
				       .grh = { .sgid_index = 1, .hop_limit = 64 } };
	struct ibv_ah *ah = ibv_create_ah(s.pd, &ah_attr);
	struct ibv_send_wr wr = { .sg_list = (struct ibv_sge *)sges,
				  .num_sge = count,
				  .opcode = opcode,
				  .send_flags = flags | IBV_SEND_SIGNALED,
				  .wr.ud = {
					  .ah = ah, .remote_qpn = 0x99, .remote_qkey = 0x1234 } };

	must(ah && script_send(&s, &wr) == expected, "send");
	must(!ibv_destroy_ah(ah), "ah");
}

static void done(unsigned int blocks)
{
	script_complete(&s, false, s.sends - 1, IBV_WR_SEND,
			(struct ibv_wc){ .opcode = IBV_WC_SEND });
	block += blocks;
}

/* A packet out of two pieces: the header goes into the request, and the rest is its data. */
static void pieces(void)
{
	const struct ibv_sge sges[] = { script_sge(&s, 0, 64), script_sge(&s, 0x200, 32) };

	send(sges, 2, 0, IBV_WR_SEND, 0);
	head(&sges[0], IPOIB, DATA / 16 + 2);
	must(word(DATA) == 64 - IPOIB && word(DATA + 12) == (uint32_t)SCRIPT_BUFFER + IPOIB,
	     "rest of the first piece");
	must(word(DATA + 16) == 32 && word(DATA + 28) == (uint32_t)SCRIPT_BUFFER + 0x200,
	     "second piece");
	done(3);
}

/* A first piece that is the header. */
static void header_alone(void)
{
	const struct ibv_sge sges[] = { script_sge(&s, 0, IPOIB), script_sge(&s, 0x300, 40) };

	send(sges, 2, 0, IBV_WR_SEND, 0);
	head(&sges[0], IPOIB, DATA / 16 + 1);
	must(word(DATA) == 40 && word(DATA + 12) == (uint32_t)SCRIPT_BUFFER + 0x300, "data");
	done(2);
}

static void inlined(void)
{
	const struct ibv_sge sge = script_sge(&s, 0x40, 50);

	send(&sge, 1, IBV_SEND_INLINE, IBV_WR_SEND, 0);
	head(&sge, INLINE_HEAD, DATA / 16 + 3);
	must(word(DATA) == (0x80000000 | (50 - INLINE_HEAD)), "inline data");
	for (unsigned int i = INLINE_HEAD; i < 50; i++)
		must(at(DATA + 4 + i - INLINE_HEAD) == byte_of(&sge, i), "inline data");
	done(3);
}

int main(void)
{
	struct ibv_sge little;

	script_open(&s);
	refused();
	open_qp();
	/* Several times around the ring. */
	for (int i = 0; i < 10; i++) {
		pieces();
		header_alone();
		inlined();
	}
	little = script_sge(&s, 0, 3);
	send(&little, 1, 0, IBV_WR_SEND, EINVAL);
	little = script_sge(&s, 0, 64);
	send(&little, 1, 0, IBV_WR_SEND_WITH_IMM, EINVAL);
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
