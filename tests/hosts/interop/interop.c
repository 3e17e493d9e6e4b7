/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two hosts, two devices, perhaps two different implementations: every operation both ways, every
 * byte checked.
 *
 * usage: interop server PORT [options]
 *        interop client PORT SERVER-ADDRESS [options]
 *   -6          connect the devices by their IPv6 addresses
 *   -s SCALE    message counts and sizes multiplied by SCALE percent (100)
 *   -l          the link loses packets: only reliable services, and no refusals, because a QP that
 *               refused a request does not repeat a lost NAK
 *   -o PATTERN  only cases whose name contains PATTERN; both sides the same
 *
 * Both sides run the same cases in the same order, each case twice: first the client begins, then
 * the server.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include "tests/hosts/interop/report.h"
#include "tests/lib/rt.h"

#define SIZE	     (8u << 20)
#define HALF	     (SIZE / 2)
#define GRH	     40
#define CONNECT_MS   60000
#define STEP_SECONDS 300

struct peer {
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address remote;
	int socket;
	bool first; /* this side begins */
};

static bool use_ipv6, lossy;
static unsigned int scale = 100;

static unsigned int scaled(unsigned int n)
{
	unsigned int r = (uint64_t)n * scale / 100;

	return r ? r : 1;
}

static void sync_peers(struct peer *p)
{
	report_waits(true);
	rt_exchange(p->socket, &p->remote);
	report_waits(false);
}

/* Whether both sides support something. */
static bool both(struct peer *p, bool mine)
{
	struct rt_address flag = { .qpn = mine };

	return rt_exchange(p->socket, &flag).qpn && mine;
}

static const uint32_t sizes[] = { 0,	1,    2,     3,		4,	5,    64,
				  255,	1023, 1024,  1025,	2048,	4095, 4096,
				  4097, 8192, 65535, 65536 + 7, 1000003 };

/* --- one-way messages --- */

static uint32_t begin_send(struct peer *p, enum ibv_wr_opcode opcode, uint32_t length,
			   uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&p->side, 0, length);
	struct ibv_send_wr wr = rt_wr(opcode, seed, &sge);

	rt_fill(p->side.buf.p, length, seed);
	wr.imm_data = htonl(seed);
	wr.wr.rdma.remote_addr = p->remote.addr + HALF;
	wr.wr.rdma.rkey = p->remote.rkey;
	POST(&p->side, &wr);
	return length;
}

static void finish_send(struct peer *p, enum ibv_wr_opcode opcode, uint32_t seed)
{
	bool write = opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	EXPECT(&p->side, seed, write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
}

static void expect_message(struct peer *p, enum ibv_wr_opcode opcode, uint32_t length,
			   uint32_t seed)
{
	bool write = opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = EXPECT(&p->side, seed, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);

	CHECK_INT(wc.byte_len, length);
	CHECK_INT(!!(wc.wc_flags & IBV_WC_WITH_IMM), opcode != IBV_WR_SEND);
	if (opcode != IBV_WR_SEND)
		CHECK_INT(ntohl(wc.imm_data), seed);
	VERIFY(p->side.buf.p + HALF, length, seed);
}

/* Send each size once, with the receive posted before. */
static void messages(struct peer *p, enum ibv_wr_opcode opcode)
{
	for (int i = 0; i < RT_COUNT(sizes); i++) {
		report_step("length", sizes[i]);
		memset(p->side.buf.p + HALF, 0xee, sizes[i] + 1);
		if (!p->first)
			rt_recv(&p->side, i, HALF, HALF);
		sync_peers(p);
		if (p->first) {
			begin_send(p, opcode, sizes[i], i);
			finish_send(p, opcode, i);
		} else {
			expect_message(p, opcode, sizes[i], i);
			CHECK_INT(p->side.buf.p[HALF + sizes[i]], 0xee);
		}
		sync_peers(p);
	}
}

static void send_plain(struct peer *p)
{
	messages(p, IBV_WR_SEND);
}

static void send_imm(struct peer *p)
{
	messages(p, IBV_WR_SEND_WITH_IMM);
}

static void write_imm(struct peer *p)
{
	messages(p, IBV_WR_RDMA_WRITE_WITH_IMM);
}

static void write_plain(struct peer *p)
{
	for (int i = 0; i < RT_COUNT(sizes); i++) {
		report_step("length", sizes[i]);
		memset(p->side.buf.p + HALF, 0xee, sizes[i] + 1);
		sync_peers(p);
		if (p->first) {
			begin_send(p, IBV_WR_RDMA_WRITE, sizes[i], i);
			finish_send(p, IBV_WR_RDMA_WRITE, i);
		}
		sync_peers(p);
		if (!p->first) {
			VERIFY(p->side.buf.p + HALF, sizes[i], i);
			CHECK_INT(p->side.buf.p[HALF + sizes[i]], 0xee);
		}
	}
}

/* An unacknowledged write is known to be complete only after a later message. */
static void uc_write(struct peer *p)
{
	for (int i = 0; i < RT_COUNT(sizes); i++) {
		report_step("length", sizes[i]);
		memset(p->side.buf.p + HALF, 0xee, sizes[i] + 1);
		if (!p->first)
			rt_recv(&p->side, 1000, HALF, 0);
		sync_peers(p);
		if (p->first) {
			begin_send(p, IBV_WR_RDMA_WRITE, sizes[i], i);
			finish_send(p, IBV_WR_RDMA_WRITE, i);
			begin_send(p, IBV_WR_SEND, 0, 1000);
			finish_send(p, IBV_WR_SEND, 1000);
		} else {
			EXPECT(&p->side, 1000, IBV_WC_RECV);
			VERIFY(p->side.buf.p + HALF, sizes[i], i);
		}
		sync_peers(p);
	}
}

static void post_read(struct peer *p, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&p->side, offset, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, wr_id, &sge);

	wr.wr.rdma.remote_addr = p->remote.addr + offset;
	wr.wr.rdma.rkey = p->remote.rkey;
	POST(&p->side, &wr);
}

static void read_sizes(struct peer *p)
{
	for (int i = 0; i < RT_COUNT(sizes); i++) {
		report_step("length", sizes[i]);
		memset(p->side.buf.p, 0xee, sizes[i] + 1);
		if (!p->first)
			rt_fill(p->side.buf.p, sizes[i], i);
		sync_peers(p);
		if (p->first) {
			post_read(p, i, 0, sizes[i]);
			EXPECT(&p->side, i, IBV_WC_RDMA_READ);
			VERIFY(p->side.buf.p, sizes[i], i);
			CHECK_INT(p->side.buf.p[sizes[i]], 0xee);
		}
		sync_peers(p);
	}
}

/* Issue as many reads at a time as were agreed on, with more posted than that. */
static void read_many(struct peer *p)
{
	const uint32_t length = 20000;
	unsigned int count = scaled(300), posted = 0;

	memset(p->side.buf.p, 0xee, SIZE);
	if (!p->first)
		rt_fill(p->side.buf.p, SIZE, 77);
	sync_peers(p);
	for (unsigned int done = 0; p->first && done < count; done++) {
		for (; posted < count && posted < done + 16; posted++)
			post_read(p, posted, posted % 300 * length, length);
		report_step("read", done);
		EXPECT(&p->side, done, IBV_WC_RDMA_READ);
	}
	if (p->first)
		VERIFY(p->side.buf.p, (count < 300 ? count : 300) * length, 77);
	sync_peers(p);
}

static uint64_t atomic(struct peer *p, enum ibv_wr_opcode opcode, uint64_t compare_add,
		       uint64_t swap)
{
	struct ibv_sge sge = rt_sge(&p->side, 64, 8);
	struct ibv_send_wr wr = rt_wr(opcode, 5, &sge);
	uint64_t result;

	wr.wr.atomic.remote_addr = p->remote.addr + 128;
	wr.wr.atomic.rkey = p->remote.rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	POST(&p->side, &wr);
	EXPECT(&p->side, 5,
	       opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
	memcpy(&result, p->side.buf.p + 64, sizeof(result));
	return result;
}

static void atomics(struct peer *p)
{
	const uint64_t start = 0x0123456789abcdef, step = 0x1000000000000001;
	unsigned int count = scaled(100);
	uint64_t value = start;

	memcpy(p->side.buf.p + 128, &start, sizeof(start));
	if (!both(p, rt_has_atomics()))
		return;
	for (unsigned int i = 0; p->first && i < count; i++) {
		report_step("round", i);
		CHECK(atomic(p, IBV_WR_ATOMIC_FETCH_AND_ADD, step, 0) == value);
		value += step;
		CHECK(atomic(p, IBV_WR_ATOMIC_CMP_AND_SWP, value, value ^ 0xff) == value);
		value ^= 0xff;
		CHECK(atomic(p, IBV_WR_ATOMIC_CMP_AND_SWP, value + 1, 0) == value);
	}
	sync_peers(p);
	if (!p->first) {
		for (unsigned int i = 0; i < count; i++)
			value = (value + step) ^ 0xff;
		CHECK(!memcmp(p->side.buf.p + 128, &value, sizeof(value)));
	}
}

/* --- many --- */

static void stream(struct peer *p, uint32_t length, unsigned int count)
{
	const unsigned int depth = 12;
	unsigned int posted = 0;

	if (!p->first)
		for (; posted < depth && posted < count; posted++)
			rt_recv(&p->side, posted, HALF + posted % depth * length, length);
	sync_peers(p);
	for (unsigned int done = 0; done < count; done++) {
		for (; p->first && posted < count && posted < done + depth; posted++) {
			struct ibv_sge sge = rt_sge(&p->side, posted % depth * length, length);
			struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, posted, &sge);

			rt_fill(p->side.buf.p + posted % depth * length, length, posted);
			POST(&p->side, &wr);
		}
		report_step("message", done);
		EXPECT(&p->side, done, p->first ? IBV_WC_SEND : IBV_WC_RECV);
		if (p->first)
			continue;
		VERIFY(p->side.buf.p + HALF + done % depth * length, length, done);
		if (posted < count) {
			rt_recv(&p->side, posted, HALF + posted % depth * length, length);
			posted++;
		}
	}
	sync_peers(p);
}

static void stream_small(struct peer *p)
{
	stream(p, 100, scaled(2000));
}

static void stream_large(struct peer *p)
{
	stream(p, 200001, scaled(50));
}

/* The receive comes late: the responder answers "not ready", and the requester tries again. */
static void late_receive(struct peer *p)
{
	const struct timespec wait = { .tv_nsec = 30000000 };

	for (int i = 0; i < 5; i++) {
		report_step("message", i);
		sync_peers(p);
		if (p->first) {
			begin_send(p, IBV_WR_SEND, 10000, i);
			finish_send(p, IBV_WR_SEND, i);
		} else {
			nanosleep(&wait, NULL);
			rt_recv(&p->side, i, HALF, 10000);
			expect_message(p, IBV_WR_SEND, 10000, i);
		}
	}
	sync_peers(p);
}

/* Sleep until the next completion is announced. A completion before the request for an event is
 * not announced. */
static struct ibv_wc sleep_until(struct rt_side *side)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;
	int n;

	for (;;) {
		CHECK_OK(ibv_req_notify_cq(side->cq, 0));
		n = ibv_poll_cq(side->cq, 1, &wc);
		CHECK(n >= 0);
		if (n)
			return wc;
		CHECK_OK(ibv_get_cq_event(side->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

/* Messages there and back without polling: each side is woken by the other's message. */
static void events(struct peer *p)
{
	const uint32_t length = 64;
	unsigned int count = scaled(1000), sent = 0, received = 0, completed = 0;

	rt_recv(&p->side, 0, HALF, length);
	sync_peers(p);
	if (p->first)
		begin_send(p, IBV_WR_SEND, length, sent++);
	while (received < count || completed < count) {
		struct ibv_wc wc = sleep_until(&p->side);

		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_SEND) {
			completed++;
			continue;
		}
		CHECK_INT(wc.opcode, IBV_WC_RECV);
		VERIFY(p->side.buf.p + HALF, length, received++);
		report_step("round", received);
		if (received < count)
			rt_recv(&p->side, received, HALF, length);
		if (sent < count)
			begin_send(p, IBV_WR_SEND, length, sent++);
	}
	sync_peers(p);
}

/* Send four megabytes in one message to the peer and back, with any SCALE. Under loss, only one
 * comes back: the kernel's reader waits out its timeout for each lost packet. */
static void big(struct peer *p)
{
	const uint32_t length = HALF, back = lossy ? HALF / 4 : HALF;

	sync_peers(p);
	if (p->first) {
		begin_send(p, IBV_WR_RDMA_WRITE, length, 3);
		finish_send(p, IBV_WR_RDMA_WRITE, 3);
	}
	sync_peers(p);
	if (!p->first)
		VERIFY(p->side.buf.p + HALF, length, 3);
	sync_peers(p);
	if (p->first) {
		memset(p->side.buf.p + HALF, 0, back);
		post_read(p, 4, HALF, back);
		EXPECT(&p->side, 4, IBV_WC_RDMA_READ);
		VERIFY(p->side.buf.p + HALF, back, 3);
	}
	sync_peers(p);
}

/* --- windows --- */

static bool has_windows(const struct rt_dev *dev)
{
	return dev->attr.orig_attr.device_cap_flags &
	       (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

/* Bind a window to the first page of @region, for remote writes. */
static void window_bind(struct peer *p, struct ibv_mw *mw, const struct rt_buf *region)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_BIND_MW, 9, NULL);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = region->mr,
		.addr = (uintptr_t)region->p,
		.length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	POST(&p->side, &wr);
	EXPECT(&p->side, 9, IBV_WC_BIND_MW);
	mw->rkey = wr.bind_mw.rkey;
}

static void window_write(struct peer *p, const struct rt_address *window, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&p->side, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 8, &sge);

	rt_fill(p->side.buf.p, length, 8);
	wr.wr.rdma.remote_addr = window->addr;
	wr.wr.rdma.rkey = window->rkey;
	POST(&p->side, &wr);
}

static void window_use(struct peer *p, const struct rt_address *window)
{
	struct ibv_sge sge = rt_sge(&p->side, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_INV, 7, &sge);

	window_write(p, window, 4000);
	EXPECT(&p->side, 8, IBV_WC_RDMA_WRITE);
	wr.invalidate_rkey = window->rkey;
	POST(&p->side, &wr);
	EXPECT(&p->side, 7, IBV_WC_SEND);
	if (lossy)
		return;
	/* The window is invalid now: access through it is refused. */
	window_write(p, window, 100);
	EXPECT_STATUS(&p->side, 8, IBV_WC_REM_ACCESS_ERR);
}

/* One side gives a window to the other, which writes through it and invalidates it by a send. */
static void send_inv(struct peer *p)
{
	struct rt_buf region =
		rt_buf_alloc(p->dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct rt_address window = { .addr = (uintptr_t)region.p };
	struct ibv_mw *mw = NULL;
	struct ibv_wc wc;

	if (!p->first) {
		mw = ibv_alloc_mw(p->dev->pd, IBV_MW_TYPE_2);
		CHECK(mw);
		window_bind(p, mw, &region);
		window.rkey = mw->rkey;
		rt_recv(&p->side, 6, HALF, 4096);
	}
	window = rt_exchange(p->socket, &window);
	if (p->first) {
		window_use(p, &window);
	} else {
		wc = EXPECT(&p->side, 6, IBV_WC_RECV);
		CHECK(wc.wc_flags & IBV_WC_WITH_INV);
		CHECK_INT(wc.invalidated_rkey, mw->rkey);
		VERIFY(region.p, 4000, 8);
	}
	sync_peers(p);
	if (mw)
		CHECK_OK(ibv_dealloc_mw(mw));
	rt_buf_free(&region);
}

/* --- refusals --- */

static void wrong_key(struct peer *p)
{
	p->remote.rkey ^= 0x55;
	memset(p->side.buf.p + HALF, 0xee, 4096);
	sync_peers(p);
	if (p->first) {
		begin_send(p, IBV_WR_RDMA_WRITE, 100, 1);
		EXPECT_STATUS(&p->side, 1, IBV_WC_REM_ACCESS_ERR);
	}
	sync_peers(p);
	for (int i = 0; i < 4096; i++)
		CHECK_INT(p->side.buf.p[HALF + i], 0xee);
}

static void out_of_range(struct peer *p)
{
	sync_peers(p);
	if (p->first) {
		struct ibv_sge sge = rt_sge(&p->side, 0, 4096);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, 1, &sge);

		wr.wr.rdma.remote_addr = p->remote.addr + SIZE - 4095;
		wr.wr.rdma.rkey = p->remote.rkey;
		POST(&p->side, &wr);
		EXPECT_STATUS(&p->side, 1, IBV_WC_REM_ACCESS_ERR);
	}
	sync_peers(p);
}

/* A message longer than the receive. The kernel's device reports it as an operation error on
 * both sides. */
static void too_long(struct peer *p)
{
	struct rt_address kernel = { .qpn = rt_is_rxe(p->dev) };
	bool theirs, mine = kernel.qpn;
	struct ibv_wc wc;

	if (!p->first)
		rt_recv(&p->side, 1, HALF, 99);
	theirs = rt_exchange(p->socket, &kernel).qpn;
	if (p->first)
		begin_send(p, IBV_WR_SEND, 100, 1);
	wc = rt_wait(&p->side);
	if (p->first)
		CHECK_INT(wc.status, theirs ? IBV_WC_REM_OP_ERR : IBV_WC_REM_INV_REQ_ERR);
	else
		CHECK_INT(wc.status, mine ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_LOC_LEN_ERR);
	sync_peers(p);
}

/* --- ibv_wr_* only --- */

static bool flush_reads(const struct rt_dev *dev)
{
	return dev->attr.device_cap_flags_ex & IB_UVERBS_DEVICE_FLUSH_GLOBAL;
}

static bool writes_atomically(const struct rt_dev *dev)
{
	return dev->attr.device_cap_flags_ex & IB_UVERBS_DEVICE_ATOMIC_WRITE;
}

static void atomic_write(struct peer *p)
{
	const uint64_t value = 0xfedcba9876543210;

	memset(p->side.buf.p + 128, 0, 8);
	sync_peers(p);
	if (p->first) {
		ibv_wr_start(p->side.qpx);
		p->side.qpx->wr_id = 1;
		p->side.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_atomic_write(p->side.qpx, p->remote.rkey, p->remote.addr + 128, &value);
		CHECK_OK(ibv_wr_complete(p->side.qpx));
		EXPECT(&p->side, 1, IBV_WC_ATOMIC_WRITE);
	}
	sync_peers(p);
	if (!p->first)
		CHECK(!memcmp(p->side.buf.p + 128, &value, sizeof(value)));
}

static void flush(struct peer *p)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL;
	struct ibv_qp_attr attr = { .qp_access_flags = access };
	struct rt_buf region = rt_buf_alloc(p->dev, SIZE, access);
	struct rt_address mine = { .rkey = region.mr->rkey, .addr = (uintptr_t)region.p }, theirs;

	CHECK_OK(ibv_modify_qp(p->side.qp, &attr, IBV_QP_ACCESS_FLAGS));
	theirs = rt_exchange(p->socket, &mine);
	p->remote.rkey = theirs.rkey;
	p->remote.addr = theirs.addr;
	if (p->first) {
		begin_send(p, IBV_WR_RDMA_WRITE, 4096, 1);
		finish_send(p, IBV_WR_RDMA_WRITE, 1);
		ibv_wr_start(p->side.qpx);
		p->side.qpx->wr_id = 2;
		p->side.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_flush(p->side.qpx, theirs.rkey, theirs.addr + HALF, 4096, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
		CHECK_OK(ibv_wr_complete(p->side.qpx));
		EXPECT(&p->side, 2, IBV_WC_FLUSH);
	}
	sync_peers(p);
	if (!p->first)
		VERIFY(region.p + HALF, 4096, 1);
	rt_buf_free(&region);
}

/* --- datagrams --- */

static void datagram_send(struct peer *p, struct ibv_ah *ah, uint32_t length, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&p->side, 0, length);
	struct ibv_send_wr wr = rt_wr(seed & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, seed, &sge);

	rt_fill(p->side.buf.p, length, seed);
	wr.imm_data = htonl(seed);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p->remote.qpn;
	wr.wr.ud.remote_qkey = RT_QKEY;
	POST(&p->side, &wr);
	EXPECT(&p->side, seed, IBV_WC_SEND);
}

/* The header in front of the payload has the addresses of both ends. */
static void check_grh(struct peer *p, const struct ibv_wc *wc)
{
	struct ibv_ah_attr back = {};

	CHECK(wc->wc_flags & IBV_WC_GRH);
	CHECK_INT(wc->src_qp, p->remote.qpn);
	CHECK_OK(ibv_init_ah_from_wc(p->dev->ctx, p->dev->port_num, (struct ibv_wc *)wc,
				     (struct ibv_grh *)(p->side.buf.p + HALF), &back));
	CHECK(!memcmp(&back.grh.dgid, &p->remote.gid, sizeof(back.grh.dgid)));
	CHECK_INT(back.grh.sgid_index, p->dev->gid_index);
}

static void datagram_expect(struct peer *p, uint32_t length, uint32_t seed)
{
	struct ibv_wc wc = EXPECT(&p->side, seed, IBV_WC_RECV);

	CHECK_INT(wc.byte_len, GRH + length);
	CHECK_INT(!!(wc.wc_flags & IBV_WC_WITH_IMM), seed & 1);
	if (seed & 1)
		CHECK_INT(ntohl(wc.imm_data), seed);
	check_grh(p, &wc);
	VERIFY(p->side.buf.p + HALF + GRH, length, seed);
}

static void datagrams(struct peer *p)
{
	struct ibv_ah_attr attr = rt_ah_attr(p->dev, &p->remote);
	struct ibv_ah *ah = ibv_create_ah(p->dev->pd, &attr);
	uint32_t mtu = 128u << p->dev->port.active_mtu;

	CHECK(ah);
	for (int i = 0; i < RT_COUNT(sizes) && sizes[i] <= mtu; i++) {
		report_step("length", sizes[i]);
		if (!p->first)
			rt_recv(&p->side, i, HALF, GRH + mtu);
		sync_peers(p);
		if (p->first)
			datagram_send(p, ah, sizes[i], i);
		else
			datagram_expect(p, sizes[i], i);
		sync_peers(p);
	}
	CHECK_OK(ibv_destroy_ah(ah));
}

/* --- running --- */

struct interop_case {
	const char *name;
	void (*run)(struct peer *p);
	enum ibv_qp_type type; /* 0: RC */
	uint64_t send_ops;
	bool (*needs)(const struct rt_dev *dev);
	bool refused;	/* ends in errors */
	bool channel;	/* its CQ announces completions */
	bool sent_once; /* the kernel's requester repeats it with address 0 */
	/* the kernel's responder drops a repeated one: it does not keep its PSN */
	bool answered_once;
};

#define WR_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE)

static const struct interop_case cases[] = {
	{ "rc_send", send_plain },
	{ "rc_send_imm", send_imm },
	{ "rc_send_inv", send_inv, .needs = has_windows },
	{ "rc_write", write_plain },
	{ "rc_write_imm", write_imm },
	{ "rc_read", read_sizes },
	{ "rc_read_many", read_many },
	{ "rc_atomics", atomics },
	{ "rc_stream_small", stream_small },
	{ "rc_stream_large", stream_large },
	{ "rc_late_receive", late_receive },
	{ "rc_events", events, .channel = true },
	{ "rc_big", big },
	{ "rc_wrong_key", wrong_key, .refused = true },
	{ "rc_out_of_range", out_of_range, .refused = true },
	{ "rc_too_long", too_long, .refused = true },
	{ "rc_atomic_write", atomic_write, .send_ops = WR_OPS | IBV_QP_EX_WITH_ATOMIC_WRITE,
	  .needs = writes_atomically, .sent_once = true },
	{ "rc_flush", flush, .send_ops = WR_OPS | IBV_QP_EX_WITH_FLUSH, .needs = flush_reads,
	  .sent_once = true, .answered_once = true },
	{ "uc_send", send_plain, IBV_QPT_UC },
	{ "uc_send_imm", send_imm, IBV_QPT_UC },
	{ "uc_write", uc_write, IBV_QPT_UC },
	{ "uc_write_imm", write_imm, IBV_QPT_UC },
	{ "ud_send", datagrams, IBV_QPT_UD },
};

/* The first routable GID of the family. */
static void choose_gid(struct rt_dev *dev)
{
	for (int i = 0; i < dev->port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;
		struct in6_addr *address = (struct in6_addr *)&entry.gid;

		if (ibv_query_gid_ex(dev->ctx, dev->port_num, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 || IN6_IS_ADDR_LINKLOCAL(address) ||
		    IN6_IS_ADDR_V4MAPPED(address) == use_ipv6)
			continue;
		dev->gid_index = i;
		dev->gid = entry.gid;
		return;
	}
	FAIL("the device has no %s address", use_ipv6 ? "IPv6" : "IPv4");
}

static enum ibv_mtu smaller_mtu(struct peer *p)
{
	struct rt_address mine = { .qpn = p->dev->port.active_mtu };
	uint32_t theirs = rt_exchange(p->socket, &mine).qpn;

	return theirs < mine.qpn ? theirs : mine.qpn;
}

static bool first_is_rxe(struct peer *p)
{
	struct rt_address mine = { .qpn = rt_is_rxe(p->dev) };
	bool theirs = rt_exchange(p->socket, &mine).qpn;

	return p->first ? mine.qpn : theirs;
}

static void case_run(const struct interop_case *c, int socket, bool first)
{
	struct peer p = { .dev = rt_open(), .socket = socket, .first = first };
	const struct rt_options options = {
		.type = c->type,
		.size = SIZE,
		.send_wr = 32,
		.recv_wr = 32,
		.rd_atomic = 8,
		/* An emulated host may stand still for seconds. The kernel's requester finds
		 * most losses by its timeout only, and never gives up: 34 ms. This tree's
		 * requester needs the timeout for the last packets of a message, with a loss:
		 * half a second. Without loss the timeout does not matter: 4.3 s. */
		.timeout = !lossy	      ? 20
			   : rt_is_rxe(p.dev) ? 13
					      : 17,
		.send_ops = c->send_ops,
		.channel = c->channel,
	};
	struct rt_address mine;

	choose_gid(p.dev);
	p.dev->port.active_mtu = smaller_mtu(&p);
	if (c->needs && !both(&p, c->needs(p.dev))) {
		printf("  not in both devices\n");
	} else if (lossy && c->sent_once && first_is_rxe(&p)) {
		printf("  left out: the kernel sends it again with address 0\n");
	} else if (lossy && c->answered_once && !first_is_rxe(&p)) {
		printf("  left out: the kernel does not answer it again\n");
	} else {
		p.side = rt_side_open(p.dev, &options, NULL);
		mine = rt_side_address(&p.side);
		p.remote = rt_exchange(socket, &mine);
		rt_side_connect(&p.side, &p.remote);
		report_side(&p.side);
		sync_peers(&p);
		c->run(&p);
		report_side(NULL);
		rt_side_close(&p.side);
	}
	rt_close(p.dev);
}

static int listen_on(const char *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0, one = 1, conn;

	CHECK(fd >= 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	CHECK_OK(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	CHECK_OK(listen(fd, 1));
	conn = accept(fd, NULL, NULL);
	CHECK(conn >= 0);
	close(fd);
	return conn;
}

/* Connect; the server may not be there yet. */
static int connect_to(const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timespec wait = { .tv_nsec = 100000000 };
	struct addrinfo *to;

	CHECK_OK(getaddrinfo(host, port, &hints, &to));
	for (int ms = 0; ms < CONNECT_MS; ms += 100) {
		int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (!connect(fd, to->ai_addr, to->ai_addrlen)) {
			freeaddrinfo(to);
			return fd;
		}
		close(fd);
		nanosleep(&wait, NULL);
	}
	FAIL("nobody listens at %s port %s", host, port);
}

static void run_all(int socket, bool client, const char *only)
{
	for (int i = 0; i < RT_COUNT(cases); i++) {
		for (int turn = 0; turn < 2; turn++) {
			bool first = client == !turn;

			if ((only && !strstr(cases[i].name, only)) ||
			    (lossy && (cases[i].type || cases[i].refused)))
				continue;
			printf("%s, %s begins\n", cases[i].name,
			       first ? "this side" : "the other side");
			fflush(stdout);
			report_case(cases[i].name, STEP_SECONDS);
			case_run(&cases[i], socket, first);
		}
	}
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	bool client;
	int option, socket, one = 1;

	while ((option = getopt(argc, argv, "6ls:o:")) != -1) {
		if (option == '6')
			use_ipv6 = true;
		else if (option == 'l')
			lossy = true;
		else if (option == 's')
			scale = atoi(optarg);
		else if (option == 'o')
			only = optarg;
		else
			return 2;
	}
	argv += optind;
	argc -= optind;
	if (argc < 2 || (argc < 3 && !strcmp(argv[0], "client"))) {
		fprintf(stderr, "usage: interop server PORT | client PORT ADDRESS\n");
		return 2;
	}
	client = !strcmp(argv[0], "client");
	socket = client ? connect_to(argv[2], argv[1]) : listen_on(argv[1]);
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	report_begin(socket);
	run_all(socket, client, only);
	report_end();
	/* The other side may end after this word. */
	rt_exchange(socket, &(struct rt_address){});
	report_close();
	printf("all cases passed\n");
	return 0;
}
