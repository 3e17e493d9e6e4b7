/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Further mistakes of beginners. */
#include <poll.h>
#include <sys/mman.h>

#include "tests/lib/rt_lesson.h"

enum {
	SIZE = 64,
	WAIT_MS = 2000,
};

/* ---- calls that are refused ---- */

static void receive_queue_full(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .recv_wr = 2 });
	struct ibv_sge sge = rt_sge(&pair.b, 0, SIZE);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int r = 0;

	for (int i = 0; i < 10000 && !r; i++)
		r = ibv_post_recv(pair.b.qp, &wr, &bad);
	rt_result_errno(result, r);
	rt_pair_close(&pair);
}

/* Post a request that is refused. */
static void refused(struct rt_pair pair, struct ibv_send_wr wr, char *result)
{
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	rt_result_errno(result, ibv_post_send(pair.a.qp, &wr, &bad));
	rt_pair_close(&pair);
}

static void inline_long(struct rt_dev *dev, char *result)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, NULL);

	wr.send_flags |= IBV_SEND_INLINE;
	refused(rt_pair_open(dev, &(struct rt_options){ .inline_data = 16 }), wr, result);
}

static void handle_unset(struct rt_dev *dev, char *result)
{
	refused(rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD }),
		rt_wr(IBV_WR_SEND, 1, NULL), result);
}

static void datagram_write(struct rt_dev *dev, char *result)
{
	refused(rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD }),
		rt_wr(IBV_WR_RDMA_WRITE, 1, NULL), result);
}

static void receive_beside_srq(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .srq = true });
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;

	rt_result_errno(result, ibv_post_recv(pair.b.qp, &wr, &bad));
	rt_pair_close(&pair);
}

static void mask_short(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	rt_result_errno(result,
			ibv_modify_qp(side.qp, &attr,
				      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	rt_side_close(&side);
}

static void dgid_unset(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address peer = rt_side_address(&side);

	peer.gid = (union ibv_gid){};
	rt_side_init(&side);
	rt_result_errno(result, rt_side_try_rtr(&side, &peer));
	rt_side_close(&side);
}

/* Memory that was freed. */
static void unmapped(struct rt_dev *dev, char *result)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED && !munmap(memory, 4096));
	rt_result_errno(result,
			ibv_reg_mr(dev->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE) ? 0 : errno);
}

/* Poll for two seconds. */
static bool completion_comes(struct rt_side *side)
{
	struct ibv_wc wc;
	int found = 0;

	for (int ms = 0; ms < WAIT_MS && !found; ms++) {
		found = ibv_poll_cq(side->cq, 1, &wc);
		usleep(1000);
	}
	return found;
}

/* ---- requests that the peer refuses ---- */

/* What is wrong in a request to the peer's memory. */
struct wrong {
	enum ibv_wr_opcode opcode;
	int access;	 /* of the peer's region */
	uint64_t offset; /* of the address in the region */
	bool swapped;	 /* rkey in the other byte order */
	bool no_reads, peer_no_reads;
};

static struct rt_pair wrong_pair(struct rt_dev *dev, const struct wrong *wrong)
{
	struct rt_options own = { .rd_atomic = wrong->no_reads ? RT_NO_READS : 0 };
	struct rt_options other = { .rd_atomic = wrong->peer_no_reads ? RT_NO_READS : 0 };
	struct rt_pair pair = { rt_side_open(dev, &own, NULL), rt_side_open(dev, &other, NULL) };

	rt_pair_connect(&pair);
	rt_buf_free(&pair.b.buf);
	pair.b.buf = rt_buf_alloc(dev, 4096, wrong->access);
	return pair;
}

static void wrong_request(struct rt_dev *dev, const struct wrong *wrong, char *result)
{
	struct rt_pair pair = wrong_pair(dev, wrong);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
	struct ibv_send_wr wr = rt_wr(wrong->opcode, 1, &sge), *bad;
	uint64_t address = (uintptr_t)pair.b.buf.p + wrong->offset;
	uint32_t rkey = pair.b.buf.mr->rkey;
	int r;

	if (wrong->swapped)
		rkey = __builtin_bswap32(rkey);
	if (wrong->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = address;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = rkey;
	}
	r = ibv_post_send(pair.a.qp, &wr, &bad);
	if (r)
		rt_result_errno(result, r);
	else if (wrong->no_reads && rt_is_rxe(dev)) /* it may wait without an end */
		snprintf(result, RT_RESULT_SIZE, "%s",
			 completion_comes(&pair.a) ? "works" : "nothing");
	else
		rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

#define WRONG(name, ...)                                                    \
	static void name(struct rt_dev *dev, char *result)                  \
	{                                                                   \
		wrong_request(dev, &(struct wrong){ __VA_ARGS__ }, result); \
	}

WRONG(no_remote_read, .opcode = IBV_WR_RDMA_READ, .access = IBV_ACCESS_LOCAL_WRITE)
WRONG(no_remote_atomic, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .access = IBV_ACCESS_LOCAL_WRITE)
WRONG(remote_range, .opcode = IBV_WR_RDMA_WRITE, .access = RT_ACCESS, .offset = 4096 - 4)
WRONG(rkey_order, .opcode = IBV_WR_RDMA_WRITE, .access = RT_ACCESS, .swapped = true)
WRONG(atomic_unaligned, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .access = RT_ACCESS, .offset = 4)
WRONG(no_reads, .opcode = IBV_WR_RDMA_READ, .access = RT_ACCESS, .no_reads = true)
WRONG(peer_no_reads, .opcode = IBV_WR_RDMA_READ, .access = RT_ACCESS, .peer_no_reads = true)

/* A region of another protection domain. */
static void domain_differs(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, pair.a.buf.p, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)pair.a.buf.p, SIZE, mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	rt_result_status(result, &pair.a, NULL);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_dealloc_pd(pd));
	rt_pair_close(&pair);
}

/* The program mistakes its own number for that of the peer. */
static void own_number(struct rt_dev *dev, char *result)
{
	const struct rt_options hasty = { .timeout = 10, .retry_cnt = 1, .rnr_retry = 1 };
	struct rt_pair pair = { rt_side_open(dev, &hasty, NULL), rt_side_open(dev, &hasty, NULL) };
	struct rt_address own = rt_side_address(&pair.a);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_side_connect(&pair.a, &own);
	rt_side_connect(&pair.b, &own);
	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

/* ---- mistakes without an error ---- */

static void retries_wide(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, &(struct rt_options){ .retry_cnt = 10 }, NULL);
	struct rt_address self = rt_side_address(&side);

	rt_side_connect(&side, &self);
	rt_result_errno(result, 0);
	rt_side_close(&side);
}

/* Poll @cq, which stays empty, until strict mode logs a line. */
static void line_await(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (getenv("UROCE_STRICT") && !*rt_log_text()) {
		CHECK_INT(ibv_poll_cq(cq, 1, &wc), 0);
		usleep(1000);
	}
}

static void event_unavailable(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev->ctx);
	struct pollfd ready = { .events = POLLIN };
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	CHECK(channel);
	ready.fd = channel->fd;
	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 0));
	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	snprintf(result, RT_RESULT_SIZE, "%s", poll(&ready, 1, 0) ? "works" : "nothing");
	CHECK_OK(ibv_destroy_comp_channel(channel));
	rt_pair_close(&pair);
}

/* The datagram is for a queue pair that does not exist. */
static void wrong_qpn(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD });
	struct rt_address peer = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &peer);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	wr.wr.ud.ah = ibv_create_ah(dev->pd, &attr);
	CHECK(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = peer.qpn + 0x4000;
	wr.wr.ud.remote_qkey = RT_QKEY;
	rt_recv(&pair.b, 2, 0, 40 + SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	snprintf(result, RT_RESULT_SIZE, "%s", completion_comes(&pair.b) ? "works" : "nothing");
	CHECK_OK(ibv_destroy_ah(wr.wr.ud.ah));
	rt_pair_close(&pair);
}

/* The program waits for the receive in the queue of its sends. */
static void other_queue(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_wc wc;

	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	snprintf(result, RT_RESULT_SIZE, "%s",
		 ibv_poll_cq(pair.a.cq, 1, &wc) ? "works" : "nothing");
	line_await(pair.a.cq);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
}

/* The peer posts no receive, and the sender waits for it without an end. */
static void no_receive_ever(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&pair.a, &wr);
	snprintf(result, RT_RESULT_SIZE, "%s", completion_comes(&pair.a) ? "works" : "nothing");
	line_await(pair.a.cq);
	rt_recv(&pair.b, 2, 0, SIZE);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
}

static const struct rt_lesson lessons[] = {
	{ "receive_queue_full", receive_queue_full, "ENOMEM", NULL, "receive queue full: all 2 " },
	{ "inline_long", inline_long, "EINVAL", NULL,
	  "64 bytes inline, the QP's max_inline_data is 16" },
	{ "handle_unset", handle_unset, "EINVAL", NULL, "wr.ud.ah is NULL" },
	{ "datagram_write", datagram_write, "EINVAL", NULL, "is no operation of a UD QP" },
	{ "receive_beside_srq", receive_beside_srq, "EINVAL", NULL, "use ibv_post_srq_recv()" },
	{ "mask_short", mask_short, "EINVAL", NULL, "missing IBV_QP_PORT" },
	{ "dgid_unset", dgid_unset, "EINVAL", NULL, "the dgid is not set" },
	{ "unmapped", unmapped, "EFAULT", NULL, "nothing is mapped at" },
	{ "no_remote_read", no_remote_read, "10", NULL,
	  "whose region lacks IBV_ACCESS_REMOTE_READ" },
	{ "no_remote_atomic", no_remote_atomic, "10", NULL,
	  "whose region lacks IBV_ACCESS_REMOTE_ATOMIC" },
	{ "remote_range", remote_range, "10", NULL, ", and the region of rkey" },
	{ "rkey_order", rkey_order, "10", NULL, "which no memory region has here" },
	{ "atomic_unaligned", atomic_unaligned, "EINVAL", NULL, "is not a multiple of 8" },
	{ "no_reads", no_reads, "2", "nothing", "needs a max_rd_atomic above 0" },
	{ "peer_no_reads", peer_no_reads, "9", NULL, "max_dest_rd_atomic of this QP is 0" },
	{ "domain_differs", domain_differs, "4", "2", "is not covered by a region of this PD", 1,
	  "its region is in another domain" },
	{ "own_number", own_number, "13", NULL, "dest_qp_num is the number of this queue pair" },
	{ "retries_wide", retries_wide, "works", NULL, NULL, 1,
	  "retry_cnt is 10, of which the device uses 2" },
	{ "event_unavailable", event_unavailable, "nothing", NULL, NULL, 1,
	  "the queue has no completion channel" },
	{ "wrong_qpn", wrong_qpn, "nothing", NULL, NULL, 1, "no process of the host has qp" },
	{ "other_queue", other_queue, "nothing", NULL, NULL, 1,
	  "and the program does not poll it" },
	{ "no_receive_ever", no_receive_ever, "nothing", NULL, NULL, 1, "has no receive posted" },
};
RT_LESSONS(lessons)
