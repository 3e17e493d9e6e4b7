/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process dies, and another process takes its slot and connects before the death was noticed.
 * The peers of the first process are told at once, with the lock held that keeps queue pairs
 * alive. Until then no peer writes to the memory, which may belong to another process. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	KEY = 3 << UROCE_KEY_VARIANT_BITS | 7,
};

static struct {
	int incoming;	    /* a connection whose process is not known yet */
	atomic_int call_fd; /* a connection that waits for an answer; -1: none yet */
	void *call;
	const void *gone;
	uint16_t gone_slot;
	int gone_count;
	bool gone_unlocked;
} seen;

static int watch(struct path_host *host, int fd, enum path_watch what, void *pointer)
{
	if (what == WATCH_INCOMING)
		seen.incoming = fd;
	if (what == WATCH_CALL) {
		seen.call = pointer;
		atomic_store(&seen.call_fd, fd);
	}
	return 0;
}

static void unwatch(struct path_host *host, int fd)
{
}

static bool lock_is_free(struct uroce_lock *lock)
{
	if (!uroce_trylock(lock))
		return false;
	uroce_unlock(lock);
	return true;
}

static void peer_gone(struct path_host *host, struct uroce_path *path, const void *peer,
		      uint16_t slot)
{
	seen.gone = peer;
	seen.gone_slot = slot;
	seen.gone_count++;
	seen.gone_unlocked |= lock_is_free(&host->progress_lock);
}

/* Each packet that is read is followed by another one, until @most were read. */
static struct {
	int (*send)(void);
	unsigned int read, most;
} endless;

static bool peer_bytes(struct path_host *host, const void *peer, unsigned int strand,
		       const uint8_t *data, uint32_t length, uint32_t ack)
{
	if (++endless.read < endless.most)
		endless.send();
	return true;
}

static const struct path_events events = {
	.watch = watch, .unwatch = unwatch, .peer_bytes = peer_bytes, .peer_gone = peer_gone
};

struct process {
	struct path_host host;
	struct uroce_shm *shm;
	struct shm_peer *peer; /* the peer, as this process knows it */
	uint8_t other;
	int r;
};

static void process_start(struct process *p)
{
	memset(p, 0, sizeof(*p));
	p->host.events = &events;
	assert_int_equal(uroce_shm_open(&p->host, &p->shm), 0);
	uroce_shm_life_begin(p->shm);
}

static void process_end(struct process *p)
{
	uroce_shm_life_end(p->shm);
	uroce_shm_close(p->shm);
}

/* Connecting waits for the answer. */
static void *connect_run(void *arg)
{
	struct process *p = arg;

	p->r = uroce_shm_peer(p->shm, p->other, &p->peer);
	return NULL;
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
}

static struct shm_peer *connect_to(struct process *from, struct process *to)
{
	pthread_t thread;

	from->other = to->host.slot;
	atomic_store(&seen.call_fd, -1);
	seen.incoming = -1;
	assert_int_equal(pthread_create(&thread, NULL, connect_run, from), 0);
	wait_readable(uroce_shm_listener(to->shm));
	assert_int_equal(uroce_shm_accept(to->shm, uroce_shm_listener(to->shm)), 0);
	/* The process may have sent its name before it was accepted. */
	if (seen.incoming >= 0) {
		wait_readable(seen.incoming);
		uroce_shm_incoming(to->shm, seen.incoming);
	}
	while (atomic_load(&seen.call_fd) < 0)
		usleep(1000);
	wait_readable(atomic_load(&seen.call_fd));
	uroce_shm_called(from->shm, seen.call);
	pthread_join(thread, NULL);
	assert_int_equal(from->r, 0);
	return atomic_load(&to->shm->by_slot[from->host.slot]);
}

static void test_replaced(void **state)
{
	struct process first, stays, second;
	struct shm_peer *old, *peer;

	process_start(&first);
	process_start(&stays);
	assert_int_equal(first.host.slot, 1);
	old = connect_to(&first, &stays);
	assert_non_null(old);
	assert_int_equal(seen.gone_count, 0);
	process_end(&first);
	process_start(&second);
	assert_int_equal(second.host.slot, 1);
	peer = connect_to(&second, &stays);
	assert_ptr_not_equal(peer, old);
	assert_int_equal(seen.gone_count, 1);
	assert_ptr_equal(seen.gone, old);
	assert_false(seen.gone_unlocked);
	assert_true(old->dead);
	assert_false(peer->dead);
	/* The death is noticed now and does not affect the successor. */
	wait_readable(old->conn);
	uroce_shm_conn_ready(stays.shm, old);
	assert_false(seen.gone_unlocked);
	assert_ptr_equal(atomic_load(&stays.shm->by_slot[1]), peer);
	assert_false(peer->dead);
	assert_true(lock_is_free(&stays.host.progress_lock));
	process_end(&second);
	process_end(&stays);
}

/* Write 8 bytes into @target of the peer, with the key. */
static int write_to(struct process *from, struct shm_peer *peer, uint64_t *target, uint32_t own_qpn,
		    uint32_t dest_qpn)
{
	const struct uroce_av av = { .path = &from->shm->path, .peer = peer };
	uint64_t value = 1;
	const struct iovec iov = { &value, sizeof(value) };
	const struct uroce_rdma rdma = { .own_qpn = own_qpn,
					 .dest_qpn = dest_qpn,
					 .kind = UROCE_RDMA_WRITE,
					 .iov = &iov,
					 .iovcnt = 1,
					 .length = sizeof(value),
					 .remote_addr = (uintptr_t)target,
					 .rkey = KEY };

	return uroce_shm_ops.rdma(av.path, &av, &rdma);
}

/* The board of the ended process is still there, but its memory may belong to another process.
 * In this test a process with that number exists. */
static void test_ended(void **state)
{
	static uint64_t target;
	const struct shm_region region = { .iova = (uintptr_t)&target,
					   .length = sizeof(target),
					   .base = (uintptr_t)&target,
					   .access = IBV_ACCESS_REMOTE_WRITE };
	uint32_t ended_qpn, stays_qpn;
	struct process ended, stays;
	struct shm_peer *peer;
	struct uroce_av av;

	process_start(&ended);
	process_start(&stays);
	peer = connect_to(&ended, &stays);
	assert_non_null(peer);
	ended_qpn = ended.host.slot << UROCE_QPN_BLOCK_BITS | 2;
	stays_qpn = stays.host.slot << UROCE_QPN_BLOCK_BITS | 2;
	uroce_board_qp_show(ended.shm, ended_qpn, 0, shm_qp_state(IBV_ACCESS_REMOTE_WRITE, 0, 0),
			    stays_qpn);
	uroce_board_key_show(ended.shm, KEY, &region);
	av = (struct uroce_av){ .path = &stays.shm->path, .peer = peer };
	assert_true(uroce_shm_ops.receiving(av.path, &av, ended_qpn, stays_qpn));
	/* An emulated processor may have no copies between processes. */
	if (shm_life_reads(peer))
		assert_int_equal(write_to(&stays, peer, &target, stays_qpn, ended_qpn), 0);
	assert_int_equal(target, shm_life_reads(peer));
	target = 0;
	uroce_shm_life_end(ended.shm);
	assert_false(uroce_shm_ops.receiving(av.path, &av, ended_qpn, stays_qpn));
	assert_int_equal(write_to(&stays, peer, &target, stays_qpn, ended_qpn), -EOPNOTSUPP);
	assert_int_equal(target, 0);
	uroce_shm_close(ended.shm);
	process_end(&stays);
}

static struct process sender, reader;

static int packet_send(void)
{
	const struct uroce_av av = { .path = &sender.shm->path, .peer = sender.peer };
	const struct uroce_hdr hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY,
				       .dest_qpn = reader.host.slot << UROCE_QPN_BLOCK_BITS };
	uint8_t payload[8] = "";
	const struct iovec iov = { payload, sizeof(payload) };
	const struct uroce_tx tx = {
		.hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = sizeof(payload)
	};

	return uroce_shm_ops.send(av.path, &av, &tx);
}

/* The content of a ring is read after its process has ended, but not for as long as other
 * processes that share the memory go on writing. */
static void test_written_after_the_end(void **state)
{
	uint64_t from = 1, to;
	struct shm_peer *peer;
	unsigned int sent = 0;

	if (uroce_copy(&to, &from,
		       sizeof(to))) /* the kernel copies, and the emulator has no such call */
		skip();
	process_start(&sender);
	process_start(&reader);
	peer = connect_to(&sender, &reader);
	assert_non_null(peer);
	memset(&endless, 0, sizeof(endless));
	while (!packet_send())
		sent++;
	assert_in_range(sent, SHM_OPEN / SHM_LINE, SHM_RING_BYTES / SHM_LINE);
	endless.send = packet_send;
	endless.most = 10 * SHM_RING_BYTES / SHM_LINE;
	uroce_shm_process_ended(reader.shm, peer);
	assert_in_range(endless.read, sent, endless.most - 1);
	process_end(&sender);
	process_end(&reader);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_replaced),
						   cmocka_unit_test(test_ended),
						   cmocka_unit_test(test_written_after_the_end) };

	/* Use slots that no other process has. */
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		printf("no network namespace can be made here\n");
		return 77;
	}
	uroce_copy_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
