/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: refused shm
 * udp
 *
 * A client asks a server in another process for access that it may not have, or for memory that
 * is unmapped; or its own memory is unmapped. Each time the request ends with the right error,
 * no wrong byte moves, and both processes live on.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	LARGE = 65536, /* a reference, or many packets */
	SMALL = 8,
	SEED = 77,
};

enum fault {
	NONE,
	WRONG_KEY,
	OUT_OF_RANGE,
	NO_ACCESS,
	OTHER_PD,
	DEREGISTERED,
	UNMAPPED,  /* under its registration */
	TRUNCATED, /* the file behind it */
	FAULTS
};

static const char *const fault_names[FAULTS] = {
	[NONE] = "nothing",	   [WRONG_KEY] = "wrong key", [OUT_OF_RANGE] = "out of range",
	[NO_ACCESS] = "no access", [OTHER_PD] = "another PD", [DEREGISTERED] = "deregistered",
	[UNMAPPED] = "unmapped",   [TRUNCATED] = "truncated",
};

struct request {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	enum fault local, remote;
};

static bool is_send(const struct request *r)
{
	return r->opcode == IBV_WR_SEND;
}

static bool is_atomic(const struct request *r)
{
	return r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* --- memory with a fault --- */

struct memory {
	uint8_t *p;
	int fd;
	struct ibv_pd *pd; /* another one, for OTHER_PD */
	struct ibv_mr *mr;
	uint32_t key; /* that the peer gets */
};

/* A file that the peer can map stays mapped there after its owner unmaps it. Therefore other
 * memory is used to unmap. */
static struct memory memory_make(struct rt_dev *dev, enum fault fault)
{
	struct memory m = { .fd = memfd_create("refused", MFD_CLOEXEC) };
	int access = RT_ACCESS, kind = fault == UNMAPPED ? MAP_PRIVATE : MAP_SHARED;

	CHECK(m.fd >= 0);
	CHECK_OK(ftruncate(m.fd, LARGE));
	m.p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, kind, m.fd, 0);
	CHECK(m.p != MAP_FAILED);
	rt_fill(m.p, LARGE, SEED);
	if (fault == OTHER_PD)
		m.pd = ibv_alloc_pd(dev->ctx);
	if (fault == NO_ACCESS)
		access = IBV_ACCESS_LOCAL_WRITE;
	m.mr = ibv_reg_mr(m.pd ? m.pd : dev->pd, m.p, LARGE, access);
	CHECK(m.mr);
	m.key = m.mr->rkey + (fault == WRONG_KEY);
	return m;
}

/* Apply the faults that come after a successful setup. */
static void memory_break(struct memory *m, enum fault fault)
{
	if (fault == DEREGISTERED) {
		CHECK_OK(ibv_dereg_mr(m->mr));
		m->mr = NULL;
	} else if (fault == UNMAPPED) {
		/* Keep the place occupied, because another thread might map memory there. */
		CHECK(mmap(m->p, LARGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == m->p);
		m->p = NULL;
	} else if (fault == TRUNCATED) {
		CHECK_OK(ftruncate(m->fd, 0));
	}
}

/* Check that remaining memory is unchanged. */
static void memory_end(struct memory *m, enum fault fault)
{
	if (m->p && fault != TRUNCATED && fault != NONE)
		VERIFY(m->p, LARGE, SEED);
	if (m->mr)
		CHECK_OK(ibv_dereg_mr(m->mr));
	if (m->pd)
		CHECK_OK(ibv_dealloc_pd(m->pd));
	if (m->p)
		munmap(m->p, LARGE);
	close(m->fd);
}

/* --- both sides of one request --- */

struct place {
	uint64_t addr;
	uint32_t key;
};

static struct rt_side connect_side(struct rt_dev *dev, int socket)
{
	static const struct rt_options options = { .retry_cnt = 7, .timeout = 16 };
	struct rt_side side = rt_side_open(dev, &options, NULL);
	struct rt_address address = rt_side_address(&side);

	address = rt_exchange(socket, &address);
	rt_side_connect(&side, &address);
	return side;
}

static void step(int socket)
{
	char byte = '!';

	CHECK(send(socket, &byte, 1, MSG_NOSIGNAL) == 1);
	CHECK_INT(recv(socket, &byte, 1, 0), 1);
}

static void serve(struct rt_dev *dev, int socket, const struct request *r)
{
	struct rt_side side = connect_side(dev, socket);
	struct memory m = memory_make(dev, r->remote);
	struct ibv_sge sge = { (uintptr_t)m.p, r->length, m.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct place place = { (uintptr_t)m.p, m.key };

	if (r->remote == OUT_OF_RANGE)
		place.addr += LARGE - r->length + 8;
	if (is_send(r))
		CHECK_OK(ibv_post_recv(side.qp, &recv, &bad));
	memory_break(&m, r->remote);
	CHECK(send(socket, &place, sizeof(place), MSG_NOSIGNAL) == sizeof(place));
	step(socket); /* the client has its answer */
	if (is_send(r) && r->remote)
		EXPECT_STATUS(&side, 5, IBV_WC_LOC_PROT_ERR);
	else
		EXPECT_NONE(&side);
	memory_end(&m, r->remote);
	rt_side_close(&side);
}

static bool expected(const struct request *r, enum ibv_wc_status status)
{
	if (r->local)
		return status == IBV_WC_LOC_PROT_ERR;
	if (is_send(r))
		return status == IBV_WC_REM_OP_ERR;
	/* Unmapped memory: reported as a failed operation or as no memory of the region. */
	if (r->remote >= UNMAPPED)
		return status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ACCESS_ERR;
	return status == IBV_WC_REM_ACCESS_ERR;
}

static void ask(struct rt_dev *dev, int socket, const struct request *r)
{
	struct rt_side side = connect_side(dev, socket);
	struct memory m = memory_make(dev, r->local);
	struct ibv_sge sge = { (uintptr_t)m.p, r->length, m.mr->lkey };
	struct ibv_send_wr wr = rt_wr(r->opcode, 1, &sge);
	struct place place;
	struct ibv_wc wc;

	CHECK_INT(recv(socket, &place, sizeof(place), MSG_WAITALL), sizeof(place));
	if (is_atomic(r)) {
		wr.wr.atomic.remote_addr = place.addr;
		wr.wr.atomic.rkey = place.key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = place.addr;
		wr.wr.rdma.rkey = place.key;
	}
	memory_break(&m, r->local);
	POST(&side, &wr);
	wc = rt_wait(&side);
	if (wc.wr_id != 1 || !expected(r, wc.status))
		FAIL("opcode %d, %u bytes, here %s, there %s: %s", r->opcode, r->length,
		     fault_names[r->local], fault_names[r->remote], ibv_wc_status_str(wc.status));
	step(socket);
	memory_end(&m, r->local);
	rt_side_close(&side);
}

/* --- all of them --- */

static bool request_exists(const struct request *r)
{
	if (!r->local == !r->remote)
		return false; /* one fault at a time */
	if (is_atomic(r) && r->length != SMALL)
		return false;
	if (is_send(r) && r->remote && r->remote < DEREGISTERED)
		return false;
	return !r->local || r->local >= DEREGISTERED;
}

static int all(struct rt_dev *dev, int socket,
	       void (*one)(struct rt_dev *dev, int socket, const struct request *r))
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	static const uint32_t lengths[] = { SMALL, 2000, LARGE };
	struct request r;
	int count = 0;

	for (int opcode = 0; opcode < RT_COUNT(opcodes); opcode++)
		for (int length = 0; length < RT_COUNT(lengths); length++)
			for (int fault = 0; fault < FAULTS * FAULTS; fault++) {
				r = (struct request){ opcodes[opcode], lengths[length],
						      fault % FAULTS, fault / FAULTS };
				if (!request_exists(&r))
					continue;
				one(dev, socket, &r);
				count++;
			}
	return count;
}

int main(int argc, char **argv)
{
	int sockets[2], status, count;
	struct rt_dev *dev;
	pid_t pid;

	net_make(argv[1]);
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	pid = fork();
	CHECK(pid >= 0);
	alarm(RT_SECONDS);
	close(sockets[!pid]);
	net_enter(pid ? NET_HERE : NET_THERE);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	dev = rt_open();
	count = all(dev, sockets[!!pid], pid ? ask : serve);
	rt_close(dev);
	if (!pid)
		exit(0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	printf("%d requests refused\n", count);
	return 0;
}
