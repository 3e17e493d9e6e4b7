/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two processes that share memory. The worker copies to or from memory of the owner, and the
 * owner ends an object that the copy depends on while the copy is under way. The ending call
 * waits for the copy. After its return no byte of the copy reaches the owner's memory, and no
 * byte that the owner writes from then on arrives anywhere.
 *
 * A page of the worker's own memory is missing, and userfaultfd(2) stops the copy there for as
 * long as the case needs. The owner's log names the process that it waits for: then the page is
 * provided.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"
#include "tests/lib/rt_child.h"

enum {
	SIZE = 1 << 16,
	PART = 2 * 4096, /* of one kernel copy: too short for packets instead */
	BEFORE = 0xa1,	 /* all bytes of both until the ending call */
	AFTER = 0x55,	 /* the owner's bytes after the ending call */
};

/* The worker's operation on the owner's memory. */
enum work {
	WRITE,
	READ,
	ATOMIC,
	FETCH_SEND,  /* it receives what the owner sends by reference */
	FETCH_WRITE, /* the owner writes by reference */
};

/* The kind of the owner's memory: the worker maps the first two kinds, and the kernel copies the
 * others. */
enum memory {
	SHARED,
	DEVICE,
	PRIVATE,
	IMPLICIT,
};

enum finish {
	DESTROY,
	RESET,
	ERR,
	ACCESS,
	DEREG,
	REREG,
	CLOSE,
};

/* The fate of the worker while the owner waits. */
enum fate {
	GOES_ON,
	WAS_STOPPED,
	IS_KILLED,
	COMES_LATE, /* it was stopped before the copy, and begins after the ending call */
};

struct cell {
	enum finish finish;
	enum work work;
	enum memory memory;
	enum fate fate;
};

/* The present case, set before the worker is forked. */
static const struct cell *cell;

/* Words between the two processes. */
enum word {
	BEGIN,	/* owner: it is connected */
	READY,	/* worker: connected too, and will copy next */
	INSIDE, /* worker: the copy is in the middle */
	GO_ON,	/* owner: the page may come */
	OVER,	/* worker: the copy has ended */
	END,	/* owner: no more requests follow */
};

/* With UROCE_PATH=udp no peer copies data, and no call waits for a copy. */
static bool by_packets(void)
{
	const char *path = getenv("UROCE_PATH");

	return path && !strcmp(path, "udp");
}

static bool is_fetch(void)
{
	return cell->work == FETCH_SEND || cell->work == FETCH_WRITE;
}

static void hear(int socket, enum word word)
{
	CHECK_INT(rt_hear(socket), word);
}

/* --- the worker --- */

static struct {
	int socket;
	int faults;
	uint8_t *p;
	struct ibv_mr *mr;
	uint8_t *gap; /* the page that is missing */
	size_t page;
	atomic_bool copied;
	atomic_bool end;
} worker;

/* Register before the page is removed, because a registration checks that the memory exists. */
static void worker_memory(struct rt_dev *dev)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	worker.p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(worker.p != MAP_FAILED);
	memset(worker.p, BEFORE, SIZE);
	worker.mr = ibv_reg_mr(dev->pd, worker.p, SIZE, RT_ACCESS);
	CHECK(worker.mr);
	worker.page = sysconf(_SC_PAGESIZE);
	worker.gap = worker.p + SIZE - worker.page;
	worker.faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	CHECK(worker.faults >= 0);
	CHECK_OK(ioctl(worker.faults, UFFDIO_API, &api));
	if (cell->fate == COMES_LATE)
		return;
	CHECK_OK(madvise(worker.gap, worker.page, MADV_DONTNEED));
	range.range = (struct uffdio_range){ (uintptr_t)worker.gap, worker.page };
	CHECK_OK(ioctl(worker.faults, UFFDIO_REGISTER, &range));
}

static void gap_fill(void)
{
	void *page = aligned_alloc(worker.page, worker.page);
	struct uffdio_copy copy = { .dst = (uintptr_t)worker.gap,
				    .src = (uintptr_t)page,
				    .len = worker.page };

	CHECK(page);
	memset(page, BEFORE, worker.page);
	CHECK_OK(ioctl(worker.faults, UFFDIO_COPY, &copy));
	free(page);
}

static void gap_wait(void)
{
	struct pollfd ready = { .fd = worker.faults, .events = POLLIN };

	CHECK_INT(poll(&ready, 1, -1), 1);
	rt_tell(worker.socket, INSIDE);
	hear(worker.socket, GO_ON);
	gap_fill();
	while (!is_fetch() && !worker.copied)
		usleep(100);
	rt_tell(worker.socket, OVER);
}

/* Answer the owner, because the thread that copies cannot. */
static void *owner_hear(void *arg)
{
	if (cell->fate != COMES_LATE)
		gap_wait();
	hear(worker.socket, END);
	worker.end = true;
	return arg;
}

static void copy_post(struct rt_side *side, const struct rt_address *owner)
{
	static const enum ibv_wr_opcode opcodes[] = { [WRITE] = IBV_WR_RDMA_WRITE,
						      [READ] = IBV_WR_RDMA_READ,
						      [ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_sge sge = { (uintptr_t)worker.p + SIZE - PART, PART, worker.mr->lkey };
	struct ibv_send_wr wr = rt_wr(opcodes[cell->work], 1, &sge);

	wr.wr.rdma.remote_addr = owner->addr;
	wr.wr.rdma.rkey = owner->rkey;
	if (cell->work == ATOMIC) {
		sge.addr = (uintptr_t)worker.gap;
		sge.length = sizeof(uint64_t);
		wr.wr.atomic.remote_addr = owner->addr;
		wr.wr.atomic.rkey = owner->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	POST(side, &wr);
	rt_wait(side);
	worker.copied = true;
}

/* Check that data received with success equals the data that was sent. */
static void received_check(const struct ibv_wc *wc)
{
	if (wc->status || cell->work != FETCH_SEND)
		return;
	CHECK_INT(wc->byte_len, SIZE);
	for (int i = 0; i < SIZE; i++)
		CHECK_INT(worker.p[i], BEFORE);
}

static void receive(struct rt_side *side)
{
	struct ibv_wc wc;
	int n;

	do {
		bool end = worker.end;

		n = ibv_poll_cq(side->cq, 1, &wc);
		if (n > 0)
			received_check(&wc);
		if (end && !n)
			break;
	} while (n >= 0);
}

static void worker_main(int socket, int arg)
{
	struct ibv_sge sge = { .length = SIZE };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct rt_address mine, owner;
	struct rt_side side;
	struct rt_dev *dev;
	pthread_t thread;

	net_enter(NET_HERE);
	worker.socket = socket;
	dev = rt_open();
	side = rt_side_open(dev, NULL, NULL);
	worker_memory(dev);
	mine = rt_side_address(&side);
	mine.addr = (uintptr_t)worker.p;
	mine.rkey = worker.mr->rkey;
	owner = rt_exchange(socket, &mine);
	rt_side_connect(&side, &owner);
	hear(socket, BEGIN);
	sge.addr = (uintptr_t)worker.p;
	sge.lkey = worker.mr->lkey;
	if (cell->work == FETCH_SEND)
		CHECK_OK(ibv_post_recv(side.qp, &recv, &bad));
	if (cell->work == FETCH_WRITE)
		rt_recv(&side, 1, 0, 1);
	CHECK_OK(pthread_create(&thread, NULL, owner_hear, NULL));
	rt_tell(socket, READY);
	if (is_fetch())
		receive(&side);
	else
		copy_post(&side, &owner);
	CHECK_OK(pthread_join(thread, NULL));
	_exit(arg);
}

/* --- the owner --- */

static struct {
	struct rt_child worker;
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address peer;
	struct ibv_dm *dm;
	uint8_t *p;
	struct ibv_mr *mr;
	atomic_bool returned;
	bool early; /* the ending call returned before the copy was over */
} owner;

static void bytes_set(uint8_t byte)
{
	uint8_t *bytes = owner.p;

	if (cell->memory == DEVICE)
		bytes = malloc(SIZE);
	CHECK(bytes);
	memset(bytes, byte, SIZE);
	if (cell->memory != DEVICE)
		return;
	CHECK_OK(ibv_memcpy_to_dm(owner.dm, 0, bytes, SIZE));
	free(bytes);
}

static void bytes_check(uint8_t byte)
{
	uint8_t *bytes = owner.p;

	if (cell->memory == DEVICE) {
		bytes = malloc(SIZE);
		CHECK(bytes);
		CHECK_OK(ibv_memcpy_from_dm(bytes, owner.dm, 0, SIZE));
	}
	for (int i = 0; i < SIZE; i++)
		CHECK_INT(bytes[i], byte);
	if (cell->memory == DEVICE)
		free(bytes);
}

static void memory_map(void)
{
	int fd = -1;

	if (cell->memory == SHARED) {
		fd = memfd_create("fence", MFD_CLOEXEC);
		CHECK(fd >= 0);
		CHECK_OK(ftruncate(fd, SIZE));
	}
	owner.p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	CHECK(owner.p != MAP_FAILED);
}

static void owner_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = SIZE };

	if (cell->memory == DEVICE) {
		owner.dm = ibv_alloc_dm(owner.dev->ctx, &attr);
		CHECK(owner.dm);
		owner.mr = ibv_reg_dm_mr(owner.dev->pd, owner.dm, 0, SIZE,
					 RT_ACCESS | IBV_ACCESS_ZERO_BASED);
	} else {
		memory_map();
		owner.mr = cell->memory == IMPLICIT
				   ? ibv_reg_mr(owner.dev->pd, NULL, SIZE_MAX,
						RT_ACCESS | IBV_ACCESS_ON_DEMAND)
				   : ibv_reg_mr(owner.dev->pd, owner.p, SIZE, RT_ACCESS);
	}
	CHECK(owner.mr);
	bytes_set(BEFORE);
}

static void owner_send(void)
{
	struct ibv_sge sge = { (uintptr_t)owner.p, SIZE, owner.mr->lkey };
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 2, &sge);
	struct ibv_send_wr send = rt_wr(IBV_WR_SEND, 1, &sge), *bad;

	write.wr.rdma.remote_addr = owner.peer.addr;
	write.wr.rdma.rkey = owner.peer.rkey;
	/* a write behind a send that is under way does not become a copy */
	if (cell->work == FETCH_WRITE) {
		send.num_sge = 0;
		send.next = &write;
	}
	CHECK_OK(ibv_post_send(owner.side.qp, &send, &bad));
}

static void qp_access(int access)
{
	struct ibv_qp_attr attr = { .qp_access_flags = access };

	CHECK_OK(ibv_modify_qp(owner.side.qp, &attr, IBV_QP_ACCESS_FLAGS));
}

static void owner_finish(void)
{
	static uint8_t other[SIZE];

	switch (cell->finish) {
	case DESTROY:
		CHECK_OK(ibv_destroy_qp(owner.side.qp));
		break;
	case RESET:
		rt_qp_state(owner.side.qp, IBV_QPS_RESET);
		break;
	case ERR:
		rt_qp_state(owner.side.qp, IBV_QPS_ERR);
		break;
	case ACCESS:
		qp_access(0);
		break;
	case DEREG:
		CHECK_OK(ibv_dereg_mr(owner.mr));
		break;
	case REREG:
		CHECK_OK(ibv_rereg_mr(owner.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other,
				      sizeof(other), 0));
		break;
	case CLOSE:
		CHECK_OK(ibv_close_device(owner.dev->ctx));
		break;
	}
}

/* Other queue pairs do not wait. */
static void others_go_on(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct rt_pair pair;
	struct ibv_mr *mr;

	if (cell->finish == CLOSE)
		return;
	mr = ibv_reg_mr(owner.dev->pd, owner.side.buf.p, 1, RT_ACCESS);
	CHECK(mr);
	CHECK_OK(ibv_dereg_mr(mr));
	pair = rt_pair_open(owner.dev, NULL);
	rt_recv(&pair.b, 1, 0, 1);
	POST(&pair.a, &wr);
	rt_wait(&pair.b);
	rt_pair_close(&pair);
}

/* Apply the worker's fate while the main thread is in the ending call. */
static void *fate_watch(void *arg)
{
	char process[64];
	bool named = false;

	snprintf(process, sizeof(process), "when process %d has finished a copy", owner.worker.pid);
	while (!owner.returned && !named) {
		named = strstr(rt_log_text(), process);
		usleep(1000);
	}
	owner.early = !named;
	if (named)
		others_go_on();
	if (cell->fate == WAS_STOPPED)
		CHECK_OK(kill(owner.worker.pid, SIGCONT));
	if (cell->fate == IS_KILLED)
		CHECK_OK(kill(owner.worker.pid, SIGKILL));
	else
		rt_tell(owner.worker.socket, GO_ON);
	return arg;
}

static void finish_run(void)
{
	pthread_t thread;

	if (cell->fate == WAS_STOPPED)
		CHECK_OK(kill(owner.worker.pid, SIGSTOP));
	CHECK_OK(pthread_create(&thread, NULL, fate_watch, NULL));
	owner_finish();
	owner.returned = true;
	bytes_set(AFTER);
	CHECK_OK(pthread_join(thread, NULL));
}

static void owner_begin(void)
{
	struct rt_address mine;

	net_make("shm");
	owner.worker = rt_child_start(worker_main, 0);
	net_enter(NET_HERE);
	rt_log_capture();
	CHECK_OK(setenv("VERBS_LOG_LEVEL", "4", 1));
	owner.dev = rt_open();
	owner.side = rt_side_open(owner.dev, NULL, NULL);
	owner_memory();
	mine = rt_side_address(&owner.side);
	mine.addr = cell->memory == DEVICE ? 0 : (uintptr_t)owner.p;
	mine.rkey = owner.mr->rkey;
	owner.peer = rt_exchange(owner.worker.socket, &mine);
	rt_side_connect(&owner.side, &owner.peer);
	rt_tell(owner.worker.socket, BEGIN);
	hear(owner.worker.socket, READY);
}

/* The owner's sends are in the ring, and the worker has not read them. */
static void late_run(void)
{
	CHECK_OK(kill(owner.worker.pid, SIGSTOP));
	CHECK_INT(waitpid(owner.worker.pid, NULL, WUNTRACED), owner.worker.pid);
	owner_send();
	owner_finish();
	bytes_set(AFTER);
	CHECK_OK(kill(owner.worker.pid, SIGCONT));
	if (!by_packets() && (cell->finish == DEREG || cell->finish == REREG))
		EXPECT_STATUS(&owner.side, 1, IBV_WC_LOC_PROT_ERR);
	rt_tell(owner.worker.socket, END);
	rt_child_finish(&owner.worker);
}

/* On some processors a message that would be a reference is copied into packets. */
static void references_check(void)
{
	if (is_fetch() && strstr(rt_log_text(), "large messages on this host are packets"))
		rt_skip("the kernel copies slowly here: nothing is sent by reference");
}

static void middle_run(void)
{
	if (is_fetch())
		owner_send();
	hear(owner.worker.socket, INSIDE);
	finish_run();
	if (cell->fate == IS_KILLED) {
		rt_child_kill(&owner.worker);
	} else {
		hear(owner.worker.socket, OVER);
		rt_tell(owner.worker.socket, END);
		rt_child_finish(&owner.worker);
	}
	bytes_check(AFTER);
	if (!owner.early || by_packets())
		return;
	references_check();
	FAIL("the call returned while the peer was in the middle of its copy");
}

static void run(const void *arg)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (faults < 0)
		rt_skip("userfaultfd: %m");
	close(faults);
	cell = arg;
	owner_begin();
	if (cell->fate == COMES_LATE)
		late_run();
	else
		middle_run();
	rt_log_discard();
	_exit(0); /* does not change the objects after the ending call */
}

#define CELL(name, ...)                                            \
	{                                                          \
		name, .run_with = run, .arg = &(const struct cell) \
		{                                                  \
			__VA_ARGS__                                \
		}                                                  \
	}

static const struct rt_case cases[] = {
	CELL("destroy_write_shared", DESTROY, WRITE, SHARED),
	CELL("destroy_write_private", DESTROY, WRITE, PRIVATE),
	CELL("destroy_write_device", DESTROY, WRITE, DEVICE),
	CELL("destroy_read_shared", DESTROY, READ, SHARED),
	CELL("destroy_read_private", DESTROY, READ, PRIVATE),
	CELL("destroy_atomic_shared", DESTROY, ATOMIC, SHARED),
	CELL("destroy_send_private", DESTROY, FETCH_SEND, PRIVATE),
	CELL("destroy_send_shared", DESTROY, FETCH_SEND, SHARED),
	CELL("destroy_write_by_reference", DESTROY, FETCH_WRITE, PRIVATE),
	CELL("reset_write_shared", RESET, WRITE, SHARED),
	CELL("reset_write_private", RESET, WRITE, PRIVATE),
	CELL("reset_send_private", RESET, FETCH_SEND, PRIVATE),
	CELL("reset_write_by_reference", RESET, FETCH_WRITE, PRIVATE),
	CELL("err_write_shared", ERR, WRITE, SHARED),
	CELL("err_write_private", ERR, WRITE, PRIVATE),
	CELL("err_atomic_shared", ERR, ATOMIC, SHARED),
	CELL("err_send_private", ERR, FETCH_SEND, PRIVATE),
	CELL("err_write_by_reference", ERR, FETCH_WRITE, PRIVATE),
	CELL("access_write_shared", ACCESS, WRITE, SHARED),
	CELL("access_write_private", ACCESS, WRITE, PRIVATE),
	CELL("access_read_private", ACCESS, READ, PRIVATE),
	CELL("access_atomic_shared", ACCESS, ATOMIC, SHARED),
	CELL("dereg_write_shared", DEREG, WRITE, SHARED),
	CELL("dereg_write_private", DEREG, WRITE, PRIVATE),
	CELL("dereg_write_device", DEREG, WRITE, DEVICE),
	CELL("dereg_write_implicit", DEREG, WRITE, IMPLICIT),
	CELL("dereg_read_private", DEREG, READ, PRIVATE),
	CELL("dereg_atomic_shared", DEREG, ATOMIC, SHARED),
	CELL("dereg_send_private", DEREG, FETCH_SEND, PRIVATE),
	CELL("dereg_send_implicit", DEREG, FETCH_SEND, IMPLICIT),
	CELL("dereg_write_by_reference", DEREG, FETCH_WRITE, PRIVATE),
	CELL("rereg_write_shared", REREG, WRITE, SHARED),
	CELL("rereg_write_private", REREG, WRITE, PRIVATE),
	CELL("rereg_send_private", REREG, FETCH_SEND, PRIVATE),
	CELL("close_write_shared", CLOSE, WRITE, SHARED),
	CELL("close_send_private", CLOSE, FETCH_SEND, PRIVATE),
	CELL("destroy_stopped", DESTROY, WRITE, SHARED, WAS_STOPPED),
	CELL("dereg_stopped", DEREG, WRITE, SHARED, WAS_STOPPED),
	CELL("destroy_send_stopped", DESTROY, FETCH_SEND, PRIVATE, WAS_STOPPED),
	CELL("stale_destroy", DESTROY, FETCH_SEND, PRIVATE, COMES_LATE),
	CELL("stale_reset", RESET, FETCH_SEND, PRIVATE, COMES_LATE),
	CELL("stale_err", ERR, FETCH_SEND, PRIVATE, COMES_LATE),
	CELL("stale_dereg", DEREG, FETCH_SEND, PRIVATE, COMES_LATE),
	CELL("stale_rereg", REREG, FETCH_SEND, PRIVATE, COMES_LATE),
	CELL("destroy_killed", DESTROY, WRITE, SHARED, IS_KILLED),
	CELL("dereg_killed", DEREG, WRITE, SHARED, IS_KILLED),
	CELL("destroy_send_killed", DESTROY, FETCH_SEND, PRIVATE, IS_KILLED),
};

RT_MAIN(cases)
