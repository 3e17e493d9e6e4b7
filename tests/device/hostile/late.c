/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A worker hammers the memory of an owner by each operation and each kind of queue pair, and the
 * owner ends an object at a random moment. When the ending call has returned, the memory belongs
 * to the owner: neither earlier nor later requests of the worker change it. fence.c stops single
 * copies in the middle, this program hits all other moments.
 */
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"
#include "tests/lib/rt_child.h"

enum {
	ROUNDS = 12,
	RECEIVES = 64,
	FLIGHT = 32, /* requests of the worker at a time */
	GRH = 40,
	BEFORE = 0x11,
	AFTER = 0x55,
};

enum finish {
	DESTROY,
	DESTROY_SRQ, /* destroys the queue pair before the SRQ */
	RESET,
	ERR,
	ACCESS,
	DEREG,
	REREG_ACCESS,
	REREG_PD,
};

struct cell {
	enum ibv_qp_type type;
	bool srq;
	enum ibv_wr_opcode opcode;
	enum finish finish;
	uint32_t length; /* bytes of a request */
	bool shared;	 /* the worker can map the memory */
};

static const struct cell *cell;

enum word {
	CONNECTED,
	ENDED, /* owner: the call has returned */
	GONE,  /* worker: its queue pair is destroyed */
};

static void hear(int socket, enum word word)
{
	CHECK_INT(rt_hear(socket), word);
}

static size_t memory_size(void)
{
	return cell->length + GRH;
}

static struct rt_side side_open(struct rt_dev *dev)
{
	const struct rt_options options = { .type = cell->type,
					    .send_wr = FLIGHT,
					    .recv_wr = RECEIVES,
					    .cqe = 4 * RECEIVES,
					    .size = memory_size(),
					    .srq = cell->srq,
					    .timeout = 8 };

	return rt_side_open(dev, &options, NULL);
}

static bool is_atomic(void)
{
	return cell->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       cell->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool is_received(void)
{
	return cell->opcode == IBV_WR_SEND || cell->opcode == IBV_WR_SEND_WITH_IMM ||
	       cell->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* --- the worker --- */

static struct ibv_send_wr request(struct rt_side *side, const struct rt_address *owner,
				  struct ibv_sge *sge)
{
	struct ibv_send_wr wr = rt_wr(cell->opcode, 1, sge);

	*sge = rt_sge(side, 0, is_atomic() ? sizeof(uint64_t) : cell->length);
	if (is_atomic()) {
		/* These operands also change the words that the owner writes after the end, so
		 * that a late request is found. */
		wr.wr.atomic.remote_addr = owner->addr;
		wr.wr.atomic.rkey = owner->rkey;
		wr.wr.atomic.compare_add = cell->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
						   ? 1
						   : AFTER * UINT64_C(0x0101010101010101);
	} else if (cell->type != IBV_QPT_UD) {
		wr.wr.rdma.remote_addr = owner->addr;
		wr.wr.rdma.rkey = owner->rkey;
	}
	return wr;
}

static bool is_ended(int socket)
{
	char byte;

	return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Keep requests in flight until the owner has ended its object. */
static void hammer(struct rt_side *side, const struct rt_address *owner, struct ibv_ah *ah,
		   int socket)
{
	struct ibv_wc wc[FLIGHT];
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(side, owner, &sge), *bad;
	bool failed = false;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = owner->qpn;
		wr.wr.ud.remote_qkey = RT_QKEY;
	}
	while (!is_ended(socket)) {
		int n;

		while (!failed && !ibv_post_send(side->qp, &wr, &bad))
			;
		n = ibv_poll_cq(side->cq, FLIGHT, wc);
		CHECK(n >= 0);
		for (int i = 0; i < n; i++)
			failed |= wc[i].status != IBV_WC_SUCCESS;
	}
}

static void worker_round(struct rt_dev *dev, int socket)
{
	struct rt_side side = side_open(dev);
	struct rt_address mine = rt_side_address(&side), owner = rt_exchange(socket, &mine);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &owner);
	struct ibv_ah *ah = cell->type == IBV_QPT_UD ? ibv_create_ah(dev->pd, &attr) : NULL;

	CHECK(ah || cell->type != IBV_QPT_UD);
	rt_side_connect(&side, &owner);
	rt_tell(socket, CONNECTED);
	hear(socket, CONNECTED);
	hammer(&side, &owner, ah, socket);
	hear(socket, ENDED);
	rt_side_close(&side);
	if (ah)
		CHECK_OK(ibv_destroy_ah(ah));
	rt_tell(socket, GONE);
}

static void worker_main(int socket, int arg)
{
	struct rt_dev *dev;

	net_enter(NET_HERE);
	dev = rt_open();
	for (int i = 0; i < ROUNDS; i++)
		worker_round(dev, socket);
	rt_close(dev);
}

/* --- the owner --- */

struct owner {
	struct rt_dev *dev;
	struct ibv_pd *other_pd;
	struct rt_side side;
	uint8_t *p;
	struct ibv_mr *mr;
};

static uint8_t *memory_map(void)
{
	int fd = -1;
	void *p;

	if (cell->shared) {
		fd = memfd_create("late", MFD_CLOEXEC);
		CHECK(fd >= 0);
		CHECK_OK(ftruncate(fd, memory_size()));
	}
	p = mmap(NULL, memory_size(), PROT_READ | PROT_WRITE,
		 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	if (fd >= 0)
		close(fd);
	return p;
}

static void receives_post(struct owner *o)
{
	struct ibv_sge sge = { (uintptr_t)o->p, memory_size(), o->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; is_received() && i < RECEIVES; i++)
		CHECK_OK(o->side.srq ? ibv_post_srq_recv(o->side.srq, &wr, &bad)
				     : ibv_post_recv(o->side.qp, &wr, &bad));
}

static void qp_destroy(struct owner *o)
{
	CHECK_OK(ibv_destroy_qp(o->side.qp));
	o->side.qp = NULL;
}

static void owner_finish(struct owner *o)
{
	struct ibv_qp_attr no_access = {};

	switch (cell->finish) {
	case DESTROY:
		qp_destroy(o);
		break;
	case DESTROY_SRQ:
		qp_destroy(o);
		CHECK_OK(ibv_destroy_srq(o->side.srq));
		o->side.srq = NULL;
		break;
	case RESET:
		rt_qp_state(o->side.qp, IBV_QPS_RESET);
		break;
	case ERR:
		rt_qp_state(o->side.qp, IBV_QPS_ERR);
		break;
	case ACCESS:
		CHECK_OK(ibv_modify_qp(o->side.qp, &no_access, IBV_QP_ACCESS_FLAGS));
		break;
	case DEREG:
		CHECK_OK(ibv_dereg_mr(o->mr));
		o->mr = NULL;
		break;
	case REREG_ACCESS:
		CHECK_OK(ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
		break;
	case REREG_PD:
		CHECK_OK(ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_PD, o->other_pd, NULL, 0, 0));
		break;
	}
}

/* Poll for a while of random length, so that the end meets each step of a transfer. */
static void moment_pass(struct owner *o)
{
	struct ibv_wc wc;

	for (int i = rand() % 2000; i > 0; i--)
		CHECK(ibv_poll_cq(o->side.cq, 1, &wc) >= 0);
}

static void owner_free(struct owner *o)
{
	if (o->side.qp)
		qp_destroy(o);
	if (o->side.srq)
		CHECK_OK(ibv_destroy_srq(o->side.srq));
	if (o->mr)
		CHECK_OK(ibv_dereg_mr(o->mr));
	CHECK_OK(ibv_destroy_cq(o->side.cq));
	rt_buf_free(&o->side.buf);
	munmap(o->p, memory_size());
}

static void owner_round(struct owner *o, int socket, int round)
{
	struct rt_address mine, worker;

	o->side = side_open(o->dev);
	o->p = memory_map();
	memset(o->p, BEFORE, memory_size());
	o->mr = ibv_reg_mr(o->dev->pd, o->p, memory_size(), RT_ACCESS);
	CHECK(o->mr);
	mine = rt_side_address(&o->side);
	mine.addr = (uintptr_t)o->p;
	mine.rkey = o->mr->rkey;
	worker = rt_exchange(socket, &mine);
	rt_side_connect(&o->side, &worker);
	receives_post(o);
	rt_tell(socket, CONNECTED);
	hear(socket, CONNECTED);
	moment_pass(o);
	owner_finish(o);
	memset(o->p, AFTER, memory_size());
	rt_tell(socket, ENDED);
	hear(socket, GONE);
	for (size_t i = 0; i < memory_size(); i++)
		if (o->p[i] != AFTER)
			FAIL("round %d: byte %zu is 0x%02x after the end", round, i, o->p[i]);
	owner_free(o);
}

static void run(const void *arg)
{
	struct rt_child worker;
	struct owner owner = {};

	cell = arg;
	net_make("shm");
	worker = rt_child_start(worker_main, 0);
	net_enter(NET_HERE);
	owner.dev = rt_open();
	CHECK(owner.other_pd = ibv_alloc_pd(owner.dev->ctx));
	for (int i = 0; i < ROUNDS; i++)
		owner_round(&owner, worker.socket, i);
	rt_child_finish(&worker);
	CHECK_OK(ibv_dealloc_pd(owner.other_pd));
	rt_close(owner.dev);
}

#define CELL(name, ...)                                            \
	{                                                          \
		name, .run_with = run, .arg = &(const struct cell) \
		{                                                  \
			__VA_ARGS__                                \
		}                                                  \
	}
#define RC  IBV_QPT_RC, false
#define SRQ IBV_QPT_RC, true
#define UC  IBV_QPT_UC, false
#define UD  IBV_QPT_UD, false

static const struct rt_case cases[] = {
	CELL("late_rc_send_destroy", RC, IBV_WR_SEND, DESTROY, 20000),
	CELL("late_rc_send_reset", RC, IBV_WR_SEND, RESET, 262144, true),
	CELL("late_rc_send_err", RC, IBV_WR_SEND, ERR, 64),
	CELL("late_rc_send_dereg", RC, IBV_WR_SEND, DEREG, 262144),
	CELL("late_rc_send_rereg_access", RC, IBV_WR_SEND, REREG_ACCESS, 20000),
	CELL("late_rc_send_rereg_pd", RC, IBV_WR_SEND, REREG_PD, 20000, true),
	CELL("late_rc_imm_destroy", RC, IBV_WR_SEND_WITH_IMM, DESTROY, 8),
	CELL("late_rc_write_destroy", RC, IBV_WR_RDMA_WRITE, DESTROY, 1 << 20, true),
	CELL("late_rc_write_reset", RC, IBV_WR_RDMA_WRITE, RESET, 1 << 20),
	CELL("late_rc_write_err", RC, IBV_WR_RDMA_WRITE, ERR, 1 << 20, true),
	CELL("late_rc_write_access", RC, IBV_WR_RDMA_WRITE, ACCESS, 1 << 20, true),
	CELL("late_rc_write_dereg", RC, IBV_WR_RDMA_WRITE, DEREG, 1 << 20),
	CELL("late_rc_write_rereg_access", RC, IBV_WR_RDMA_WRITE, REREG_ACCESS, 65536, true),
	CELL("late_rc_write_rereg_pd", RC, IBV_WR_RDMA_WRITE, REREG_PD, 65536),
	CELL("late_rc_write_imm_destroy", RC, IBV_WR_RDMA_WRITE_WITH_IMM, DESTROY, 20000, true),
	CELL("late_rc_write_imm_reset", RC, IBV_WR_RDMA_WRITE_WITH_IMM, RESET, 262144),
	CELL("late_rc_write_imm_dereg", RC, IBV_WR_RDMA_WRITE_WITH_IMM, DEREG, 262144, true),
	CELL("late_rc_write_imm_access", RC, IBV_WR_RDMA_WRITE_WITH_IMM, ACCESS, 20000),
	CELL("late_rc_add_destroy", RC, IBV_WR_ATOMIC_FETCH_AND_ADD, DESTROY, 64, true),
	CELL("late_rc_add_err", RC, IBV_WR_ATOMIC_FETCH_AND_ADD, ERR, 64),
	CELL("late_rc_add_access", RC, IBV_WR_ATOMIC_FETCH_AND_ADD, ACCESS, 64, true),
	CELL("late_rc_add_rereg_access", RC, IBV_WR_ATOMIC_FETCH_AND_ADD, REREG_ACCESS, 64),
	CELL("late_rc_swap_reset", RC, IBV_WR_ATOMIC_CMP_AND_SWP, RESET, 64, true),
	CELL("late_rc_swap_dereg", RC, IBV_WR_ATOMIC_CMP_AND_SWP, DEREG, 64),
	CELL("late_uc_send_destroy", UC, IBV_WR_SEND, DESTROY, 20000),
	CELL("late_uc_write_err", UC, IBV_WR_RDMA_WRITE, ERR, 20000, true),
	CELL("late_uc_write_dereg", UC, IBV_WR_RDMA_WRITE, DEREG, 262144),
	CELL("late_ud_send_destroy", UD, IBV_WR_SEND, DESTROY, 1024),
	CELL("late_ud_send_err", UD, IBV_WR_SEND, ERR, 64),
	CELL("late_ud_send_dereg", UD, IBV_WR_SEND, DEREG, 1024),
	CELL("late_srq_send_destroy", SRQ, IBV_WR_SEND, DESTROY, 20000),
	CELL("late_srq_send_destroy_srq", SRQ, IBV_WR_SEND, DESTROY_SRQ, 262144, true),
	CELL("late_srq_send_dereg", SRQ, IBV_WR_SEND, DEREG, 65536),
	CELL("late_srq_write_imm_destroy_srq", SRQ, IBV_WR_RDMA_WRITE_WITH_IMM, DESTROY_SRQ, 65536),
};

RT_MAIN(cases)
