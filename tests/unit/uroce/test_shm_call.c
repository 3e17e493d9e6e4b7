/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How processes become peers. Several ends in one process, each with a thread that watches, and
 * processes that the test plays itself, message by message. */
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/unit/unit.h"

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	WATCHES = 300,
	ENDS = 3,
	CROWD = 20,
	SILENT = 200,
	BOTH_ROUNDS = 50,
};
#define SECOND 1000000000ull

struct watched {
	int fd;
	enum path_watch what;
	void *pointer;
};

struct end {
	struct path_host host;
	struct uroce_shm *shm;
	pthread_t thread;
	pthread_mutex_t lock;
	struct watched watches[WATCHES];
	atomic_bool stopped, ends;
	atomic_int gone;
};

static struct end end[CROWD];

/* --- the host of an end --- */

static struct end *end_of(struct path_host *host)
{
	return container_of(host, struct end, host);
}

static int watch(struct path_host *host, int fd, enum path_watch what, void *pointer)
{
	struct end *e = end_of(host);
	int i = 0;

	pthread_mutex_lock(&e->lock);
	while (i < WATCHES && e->watches[i].fd != fd)
		i++;
	if (i == WATCHES)
		for (i = 0; e->watches[i].fd >= 0;)
			assert_true(++i < WATCHES);
	e->watches[i] = (struct watched){ fd, what, pointer };
	pthread_mutex_unlock(&e->lock);
	return 0;
}

static void unwatch(struct path_host *host, int fd)
{
	struct end *e = end_of(host);

	pthread_mutex_lock(&e->lock);
	for (int i = 0; i < WATCHES; i++)
		if (e->watches[i].fd == fd)
			e->watches[i].fd = -1;
	pthread_mutex_unlock(&e->lock);
}

static void peer_gone(struct path_host *host, struct uroce_path *path, const void *peer,
		      uint16_t slot)
{
	atomic_fetch_add(&end_of(host)->gone, 1);
}

static const struct path_events events = {
	.watch = watch,
	.unwatch = unwatch,
	.peer_gone = peer_gone,
};

static void serve(struct end *e, const struct watched *w)
{
	if (w->what == WATCH_LISTENER)
		uroce_shm_accept(e->shm, w->fd);
	else if (w->what == WATCH_INCOMING)
		uroce_shm_incoming(e->shm, w->fd);
	else if (w->what == WATCH_CALL)
		uroce_shm_called(e->shm, w->pointer);
	else if (w->what == WATCH_PEER)
		uroce_shm_conn_ready(e->shm, w->pointer);
}

static void serve_one(struct end *e)
{
	struct watched watches[WATCHES];

	pthread_mutex_lock(&e->lock);
	memcpy(watches, e->watches, sizeof(watches));
	pthread_mutex_unlock(&e->lock);
	for (int i = 0; i < WATCHES; i++) {
		struct pollfd p = { .fd = watches[i].fd, .events = POLLIN };

		if (poll(&p, 1, 0) == 1) {
			serve(e, &watches[i]);
			return; /* the watched descriptors have changed */
		}
	}
	usleep(100);
}

static void *watching(void *arg)
{
	struct end *e = arg;

	uroce_shm_life_begin(e->shm);
	while (!atomic_load(&e->ends))
		if (atomic_load(&e->stopped))
			usleep(100);
		else
			serve_one(e);
	uroce_shm_life_end(e->shm);
	return NULL;
}

static void end_open(struct end *e)
{
	memset(e, 0, sizeof(*e));
	e->host.events = &events;
	pthread_mutex_init(&e->lock, NULL);
	for (int i = 0; i < WATCHES; i++)
		e->watches[i].fd = -1;
	assert_int_equal(uroce_shm_open(&e->host, &e->shm), 0);
	watch(&e->host, uroce_shm_listener(e->shm), WATCH_LISTENER, NULL);
	assert_int_equal(pthread_create(&e->thread, NULL, watching, e), 0);
	while (!uroce_shm_lives(&e->shm->board->first_page))
		usleep(100);
}

static void end_close(struct end *e)
{
	if (!e->shm)
		return;
	atomic_store(&e->ends, true);
	pthread_join(e->thread, NULL);
	for (int i = 0; i < WATCHES; i++)
		if (e->watches[i].fd >= 0 && e->watches[i].what == WATCH_INCOMING)
			close(e->watches[i].fd);
	uroce_shm_close(e->shm);
	e->shm = NULL;
}

static int teardown(void **state)
{
	for (int i = 0; i < CROWD; i++)
		end_close(&end[i]);
	return 0;
}

/* --- an attempt of its own thread --- */

struct attempt {
	struct end *from;
	uint16_t slot;
	struct shm_peer *peer;
	int r;
	pthread_t thread;
	atomic_bool done;
};

static void *attempt_main(void *arg)
{
	struct attempt *a = arg;

	a->r = uroce_shm_peer(a->from->shm, a->slot, &a->peer);
	atomic_store(&a->done, true);
	return NULL;
}

static void attempt_begin(struct attempt *a, struct end *from, uint16_t slot)
{
	*a = (struct attempt){ .from = from, .slot = slot };
	assert_int_equal(pthread_create(&a->thread, NULL, attempt_main, a), 0);
}

static int attempt_end(struct attempt *a)
{
	pthread_join(a->thread, NULL);
	return a->r;
}

/* --- other ends that follow the protocol --- */

static int peers_of(struct end *e)
{
	struct shm_peer *peer;
	int count = 0;

	uroce_lock(&e->host.progress_lock);
	LIST_FOREACH(peer, &e->shm->peers, entry)
		count++;
	uroce_unlock(&e->host.progress_lock);
	return count;
}

static void check_pair(struct end *a, struct end *b)
{
	struct shm_peer *to_b = shm_peer_lookup(a->shm, b->host.slot),
			*to_a = shm_peer_lookup(b->shm, a->host.slot);

	assert_non_null(to_a);
	assert_non_null(to_b);
	assert_true(to_a->ready && to_b->ready);
	/* Both sides have the same lane. */
	assert_int_equal(to_a->link.tx->seed, to_b->link.rx->seed);
	assert_int_equal(to_a->link.rx->seed, to_b->link.tx->seed);
	assert_int_equal(peers_of(a), 1);
	assert_int_equal(peers_of(b), 1);
	assert_int_equal(atomic_load(&a->gone) + atomic_load(&b->gone), 0);
}

static void test_either_way(void **state)
{
	struct shm_peer *peer;

	for (int first = 0; first < 2; first++) {
		end_open(&end[0]);
		end_open(&end[1]);
		assert_int_equal(uroce_shm_peer(end[first].shm, end[!first].host.slot, &peer), 0);
		assert_int_equal(uroce_shm_peer(end[!first].shm, end[first].host.slot, &peer), 0);
		check_pair(&end[0], &end[1]);
		teardown(state);
	}
}

static void test_both_at_once(void **state)
{
	struct attempt there, back;

	for (int i = 0; i < BOTH_ROUNDS; i++) {
		end_open(&end[0]);
		end_open(&end[1]);
		attempt_begin(&there, &end[0], end[1].host.slot);
		attempt_begin(&back, &end[1], end[0].host.slot);
		assert_int_equal(attempt_end(&there), 0);
		assert_int_equal(attempt_end(&back), 0);
		check_pair(&end[0], &end[1]);
		teardown(state);
	}
}

/* A process with a further slot is found by that slot as well, whether it is known already or
 * not. */
static void test_further_slot(void **state)
{
	for (int which = 0; which < 2; which++) {
		for (int known = 0; known < 2; known++) {
			struct end *whose = &end[which], *other = &end[!which];
			struct shm_peer *by_first, *by_other;
			int slot;

			end_open(&end[0]);
			end_open(&end[1]);
			slot = uroce_shm_slot_more(whose->shm, true);
			assert_true(slot > 2 &&
				    (slot - whose->host.slot) % (1 << UROCE_FAMILY_BITS) == 0);
			assert_true(path_host_has_slot(&whose->host, slot));
			if (known)
				assert_int_equal(
					uroce_shm_peer(other->shm, whose->host.slot, &by_first), 0);
			assert_int_equal(uroce_shm_peer(other->shm, slot, &by_other), 0);
			assert_int_equal(uroce_shm_peer(other->shm, whose->host.slot, &by_first),
					 0);
			assert_ptr_equal(by_first, by_other);
			assert_int_equal(by_first->slot, whose->host.slot);
			/* and goes with its process */
			end_close(whose);
			while (atomic_load(&other->shm->by_slot[slot]))
				usleep(100);
			assert_int_equal(uroce_shm_peer(other->shm, slot, &by_other), -ENOENT);
			end_close(other);
		}
	}
}

/* As many slots as a process has blocks of QP numbers, all with different last bits. */
static void test_slots_of_one(void **state)
{
	uint16_t seen[UROCE_BLOCKS] = {};
	int slot;

	end_open(&end[0]);
	seen[uroce_slot_place(end[0].host.slot)] = end[0].host.slot;
	for (int i = 1; i < UROCE_BLOCKS; i++) {
		slot = uroce_shm_slot_more(end[0].shm, true);
		assert_true(slot > 0);
		assert_int_equal(seen[uroce_slot_place(slot)], 0);
		seen[uroce_slot_place(slot)] = slot;
	}
	assert_int_equal(uroce_shm_slot_more(end[0].shm, true), -ENOMEM);
	end_close(&end[0]);
}

static bool calls(struct end *e, uint16_t slot)
{
	bool r;

	pthread_mutex_lock(&e->shm->lock);
	r = shm_call_of(e->shm, slot)->conn >= 0;
	pthread_mutex_unlock(&e->shm->lock);
	return r;
}

static int watched(struct end *e, enum path_watch what)
{
	int count = 0;

	pthread_mutex_lock(&e->lock);
	for (int i = 0; i < WATCHES; i++)
		count += e->watches[i].fd >= 0 && e->watches[i].what == what;
	pthread_mutex_unlock(&e->lock);
	return count;
}

static bool is_closed(int conn)
{
	struct pollfd p = { .fd = conn, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* Silent connections hold a limited number of the process's descriptors. The oldest are closed. */
static void test_silent(void **state)
{
	int conns[SILENT], closed = 0;
	struct shm_peer *peer;

	end_open(&end[0]);
	end_open(&end[1]);
	for (int i = 0; i < SILENT; i++) {
		while ((conns[i] = shm_slot_connect(end[1].host.slot)) == -EAGAIN)
			usleep(100);
		assert_true(conns[i] >= 0);
	}
	/* Other processes connect as usual, at the cost of at most one more silent connection. */
	assert_int_equal(uroce_shm_peer(end[0].shm, end[1].host.slot, &peer), 0);
	while (!peers_of(&end[1]))
		usleep(100);
	for (int i = 0; i < SILENT; i++)
		closed += is_closed(conns[i]);
	assert_in_range(closed, SILENT - SHM_SILENT, SILENT - SHM_SILENT + 1);
	assert_int_equal(watched(&end[1], WATCH_INCOMING), SILENT - closed);
	assert_false(is_closed(conns[SILENT - 1]));
	for (int i = 0; i < SILENT; i++)
		close(conns[i]);
	while (watched(&end[1], WATCH_INCOMING))
		usleep(100);
	assert_int_equal(end[1].shm->silent_count, 0);
	teardown(state);
}

/* A process that waits for a stopped one does not hold up other processes. */
static void test_stopped(void **state)
{
	struct attempt attempt;
	struct shm_peer *peer;

	for (int away = 0; away < 2; away++) {
		struct end *absent = &end[away], *caller = &end[!away];

		for (int i = 0; i < ENDS; i++)
			end_open(&end[i]);
		atomic_store(&absent->stopped, true);
		attempt_begin(&attempt, caller, absent->host.slot);
		while (!calls(caller, absent->host.slot))
			usleep(100);
		assert_int_equal(uroce_shm_peer(caller->shm, end[2].host.slot, &peer), 0);
		assert_false(atomic_load(&attempt.done));
		atomic_store(&absent->stopped, false);
		assert_int_equal(attempt_end(&attempt), 0);
		assert_int_equal(uroce_shm_peer(absent->shm, caller->host.slot, &peer), 0);
		teardown(state);
	}
}

/* A process that asked for eight peers gets eight more behind the last one before it asks. A
 * process that asked for fewer peers gets no calls ahead. Peers ahead are counted until the process
 * asks for them. */
static void test_ahead(void **state)
{
	struct shm_peer *peer;

	for (int i = 0; i < CROWD; i++)
		end_open(&end[i]);
	for (int i = 1; i < 8; i++)
		assert_int_equal(uroce_shm_peer(end[0].shm, end[i].host.slot, &peer), 0);
	assert_int_equal(peers_of(&end[0]), 7);
	assert_int_equal(uroce_shm_peer(end[0].shm, end[8].host.slot, &peer), 0);
	assert_int_equal(end[0].shm->ahead, 8);
	while (peers_of(&end[0]) < 16)
		usleep(100);
	for (int i = 9; i <= 16; i++)
		assert_non_null(shm_peer_lookup(end[0].shm, end[i].host.slot));
	assert_int_equal(uroce_shm_peer(end[0].shm, end[17].host.slot, &peer), 0);
	assert_int_equal(end[0].shm->ahead, 9);
	assert_int_equal(uroce_shm_peer(end[0].shm, end[9].host.slot, &peer), 0);
	assert_int_equal(end[0].shm->ahead, 8);
	assert_null(shm_peer_lookup(end[0].shm, end[19].host.slot));
	teardown(state);
}

/* The kernel of an emulated processor may not allow this. */
static bool reads_memory(void)
{
	struct iovec none = {};

	return process_vm_readv(getpid(), &none, 1, &none, 1, 0) == 0 || errno != ENOSYS;
}

/* A peer's memory is tried when a program wants to read it. The peer is told only of a failure,
 * which holds for all queue pairs of that lane. */
static void test_reads(void **state)
{
	struct shm_peer *to_b, *to_a;

	if (!reads_memory())
		skip();
	for (int first = 0; first < 2; first++) {
		end_open(&end[0]);
		end_open(&end[1]);
		assert_int_equal(uroce_shm_peer(end[first].shm, end[!first].host.slot, &to_b), 0);
		assert_int_equal(uroce_shm_peer(end[!first].shm, end[first].host.slot, &to_a), 0);
		assert_int_equal(to_a->reads, SHM_READS_UNKNOWN);
		assert_true(shm_life_reads(to_a));
		assert_int_equal(to_a->reads, SHM_READS);
		assert_true(uroce_shm_readable(to_b));
		/* The address belongs to another process, or to no process. */
		to_b->probe += SHM_LINE;
		assert_true(uroce_shm_readable(to_a));
		assert_false(shm_life_reads(to_b));
		assert_false(uroce_shm_readable(to_a));
		assert_true(uroce_shm_readable(to_b));
		teardown(state);
	}
}

/* --- to oneself --- */

static bool no_random;

ssize_t __real_getrandom(void *buf, size_t length, unsigned int flags);
ssize_t __wrap_getrandom(void *buf, size_t length, unsigned int flags);

ssize_t __wrap_getrandom(void *buf, size_t length, unsigned int flags)
{
	if (!no_random)
		return __real_getrandom(buf, length, flags);
	errno = EPERM; /* for example by a filter of system calls */
	return -1;
}

/* KiB that are mapped. */
static long mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld", &pages), 1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Without random numbers a process cannot connect to itself, and no memory leaks. */
static void test_self_without_random(void **state)
{
	struct shm_peer *peer;
	long before;

	end_open(&end[0]);
	assert_int_equal(mapped() > 0, 1);
	no_random = true;
	before = mapped();
	for (int i = 0; i < 16; i++) {
		int r = uroce_shm_peer(end[0].shm, end[0].host.slot, &peer);

		assert_true(r < 0 && !uroce_shm_agreed(r));
	}
	no_random = false;
	/* One lane is 7 MiB. */
	assert_in_range(mapped() - before + 1024, 0, 2048);
	assert_int_equal(uroce_shm_peer(end[0].shm, end[0].host.slot, &peer), 0);
	assert_true(peer->self);
	teardown(state);
}

/* --- a process that the test plays --- */

struct player {
	struct path_host host;
	struct uroce_shm shm;
	struct shm_board board;
	int listener;
};

static struct player player;

/* Play a process of a slot below end[0]'s, or above. */
static void play(bool below)
{
	if (!below)
		end_open(&end[0]);
	player.shm = (struct uroce_shm){ .host = &player.host,
					 .uid = geteuid(),
					 .board = &player.board };
	assert_int_equal(shm_slot_claim(&player.shm), 0);
	player.listener = uroce_shm_listener(&player.shm);
	if (below)
		end_open(&end[0]);
	fcntl(player.listener, F_SETFL, 0);
}

static void play_end(void)
{
	close(player.listener);
	teardown(NULL);
}

/* The next connection, and its first message. */
static int incoming_take(enum hello_type type)
{
	int conn = accept4(player.listener, NULL, NULL, SOCK_CLOEXEC), fds[HELLO_FDS];
	struct pollfd p = { .fd = conn, .events = POLLIN };
	struct hello hello;

	assert_true(conn >= 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_true(shm_hello_recv(conn, &hello, fds) >= 0);
	assert_int_equal(hello.type, type);
	shm_fds_close(fds);
	return conn;
}

static void say(int conn, enum hello_type type, uint32_t version)
{
	struct hello hello;

	shm_hello_fill(&player.shm, &hello, type, end[0].host.slot);
	hello.version = version;
	assert_int_equal(shm_hello_send(conn, &hello, NULL, 0), 0);
}

/* A connection that ends without a message is tried again, but a missing listener is final. */
static void test_end_in_the_middle(void **state)
{
	struct attempt attempt;

	for (int below = 0; below < 2; below++) {
		play(below);
		attempt_begin(&attempt, &end[0], player.host.slot);
		for (int i = 0; i < 3; i++)
			close(incoming_take(below ? ASK : HELLO));
		assert_false(atomic_load(&attempt.done));
		close(player.listener);
		assert_int_equal(attempt_end(&attempt), -ENOENT);
		assert_true(uroce_shm_agreed(attempt.r));
		play_end();
	}
}

static void answered(enum hello_type type, uint32_t version, int expected)
{
	struct attempt attempt;
	int conn;

	for (int below = 0; below < 2; below++) {
		play(below);
		attempt_begin(&attempt, &end[0], player.host.slot);
		conn = incoming_take(below ? ASK : HELLO);
		say(conn, type, version);
		assert_int_equal(attempt_end(&attempt), expected);
		assert_true(uroce_shm_agreed(attempt.r));
		/* No thread waits for this process any more. */
		assert_false(uroce_shm_slot_used(end[0].shm, player.host.slot));
		close(conn);
		play_end();
	}
}

static void test_refused(void **state)
{
	answered(REFUSED, SHM_VERSION, -EPERM);
}

static void test_other_version(void **state)
{
	answered(REFUSED, SHM_VERSION + 1, -EOPNOTSUPP);
	answered(WELCOME, SHM_VERSION + 1, -EOPNOTSUPP);
	/* Answers of programs with the other word size, and of the version before. */
	answered(REFUSED, SHM_VERSION - 1, -EOPNOTSUPP);
	answered(WELCOME, SHM_VERSION - 2, -EOPNOTSUPP);
}

/* After a wrong answer, or without an answer, this side reports that it does not know. */
static void test_no_answer(void **state)
{
	struct attempt attempt;
	int conn;

	for (int below = 0; below < 2; below++) {
		play(below);
		end[0].shm->patience = SECOND / 10;
		attempt_begin(&attempt, &end[0], player.host.slot);
		conn = incoming_take(below ? ASK : HELLO);
		say(conn, DONE, SHM_VERSION);
		assert_int_equal(attempt_end(&attempt), -ETIMEDOUT);
		assert_false(uroce_shm_agreed(attempt.r));
		close(conn);
		play_end();
	}
}

/* --- what a listener answers --- */

/* Return: the type of the answer; 0: the connection ended. */
static int answer_to(const struct hello *hello)
{
	int conn = shm_slot_connect(end[0].host.slot), fds[HELLO_FDS], r;
	struct pollfd p = { .fd = conn, .events = POLLIN };
	struct hello answer;

	assert_true(conn >= 0);
	assert_int_equal(shm_hello_send(conn, hello, NULL, 0), 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	r = shm_hello_recv(conn, &answer, fds);
	close(conn);
	return r >= 0 ? (int)answer.type : 0;
}

static void test_listener(void **state)
{
	struct hello hello;

	play(false);
	shm_hello_fill(&player.shm, &hello, HELLO, end[0].host.slot);
	assert_int_equal(answer_to(&hello), 0); /* no lane */
	hello.version++;
	assert_int_equal(answer_to(&hello), REFUSED);
	hello.type = ASK;
	assert_int_equal(answer_to(&hello), REFUSED);
	hello.magic++;
	assert_int_equal(answer_to(&hello), 0);
	/* An unrequested message cannot prevent a connection to another process, because only a
	 * listener refuses. */
	shm_hello_fill(&player.shm, &hello, REFUSED, 0);
	assert_int_equal(answer_to(&hello), 0);
	assert_int_equal(shm_call_of(end[0].shm, player.host.slot)->ended, 0);
	play_end();
}

/* --- service for a process that asks --- */

static bool comes_to_listener(struct attempt *attempt)
{
	struct pollfd p = { .fd = player.listener, .events = POLLIN };

	while (poll(&p, 1, 1) != 1)
		if (atomic_load(&attempt->done))
			return false;
	return true;
}

/* A process that asks is called on the connection by which it asked. A refusal on that
 * connection does not count as the listener's. */
static void test_asked(void **state)
{
	struct attempt attempt;
	struct hello hello;
	struct pollfd p = { .events = POLLIN };
	int fds[HELLO_FDS], conn;

	play(false);
	conn = p.fd = shm_slot_connect(end[0].host.slot);
	say(conn, ASK, SHM_VERSION);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(shm_hello_recv(conn, &hello, fds), HELLO_FDS);
	assert_int_equal(hello.type, HELLO);
	shm_fds_close(fds);
	say(conn, REFUSED, SHM_VERSION);
	attempt_begin(&attempt, &end[0], player.host.slot);
	assert_true(comes_to_listener(&attempt));
	close(incoming_take(HELLO));
	close(player.listener);
	assert_int_equal(attempt_end(&attempt), -ENOENT);
	close(conn);
	play_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_either_way),
		cmocka_unit_test(test_both_at_once),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_end_in_the_middle),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_further_slot),
		cmocka_unit_test(test_slots_of_one),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_listener),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_self_without_random),
		cmocka_unit_test_teardown(test_reads, teardown),
	};

	/* Leave the network namespace of other processes of this device, if the machine allows
	 * it. */
	if (unshare(CLONE_NEWNET))
		(void)!unshare(CLONE_NEWUSER | CLONE_NEWNET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
