/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pollers of different CQs do not wait for each other. Packets for a strand without a poller are
 * received all the same, by pollers of other queues. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 64,
	PAGE = 4096,
	ROUNDS = 200,
	WARM = 5000, /* polls without completions, after which the program is known to poll */
	TRIES = 20,
	THREADS = 6, /* more than there are strands */
	EXCHANGES = 500,
};

static void send_to(struct rt_side *from, struct rt_side *to, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(from, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, seed, &sge);

	rt_fill(from->buf.p, SIZE, seed);
	if (to)
		rt_recv(to, seed, SIZE, SIZE);
	POST(from, &wr);
}

static void poll_in_vain(struct rt_side *side, int times)
{
	struct ibv_wc wc;

	while (times--)
		CHECK_INT(ibv_poll_cq(side->cq, 1, &wc), 0);
}

static void exchange(struct rt_pair *pair, uint32_t seed)
{
	send_to(&pair->a, &pair->b, seed);
	EXPECT(&pair->b, seed, IBV_WC_RECV);
	VERIFY(pair->b.buf.p + SIZE, SIZE, seed);
	EXPECT(&pair->a, seed, IBV_WC_SEND);
}

/* --- a poller that is held in the middle of a pass --- */

/* Memory whose pages this process provides. */
static int pages_late(uint8_t *memory)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_THREAD_ID };
	struct uffdio_register region = { .range = { (uintptr_t)memory, PAGE },
					  .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		rt_skip("this system has no userfaultfd for this user");
	if (ioctl(fd, UFFDIO_API, &api))
		rt_skip("this system's userfaultfd does not say which thread waits");
	CHECK_OK(madvise(memory, PAGE, MADV_DONTNEED));
	CHECK_OK(ioctl(fd, UFFDIO_REGISTER, &region));
	return fd;
}

static void page_give(int fd, uint8_t *memory)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)memory, PAGE } };

	CHECK_OK(ioctl(fd, UFFDIO_ZEROPAGE, &zero));
}

struct holder {
	struct rt_side *side;
	atomic_int id;
	atomic_bool took;
};

static void *hold(void *arg)
{
	struct holder *holder = arg;
	struct ibv_wc wc;

	atomic_store(&holder->id, syscall(SYS_gettid));
	while (!ibv_poll_cq(holder->side->cq, 1, &wc))
		;
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	atomic_store(&holder->took, true);
	return NULL;
}

/* Return whether the holder waits for the page, and not the device's own thread. */
static bool held(int fd, const struct holder *holder)
{
	struct uffd_msg message;

	CHECK(read(fd, &message, sizeof(message)) == sizeof(message));
	CHECK_INT(message.event, UFFD_EVENT_PAGEFAULT);
	return (int)message.arg.pagefault.feat.ptid == atomic_load(&holder->id);
}

/* Return whether the case could be set up. */
static bool held_try(struct rt_pair *slow, struct rt_pair *quick, uint32_t seed)
{
	uint8_t *page = slow->b.buf.p + PAGE;
	struct holder holder = { .side = &slow->b };
	int fd = pages_late(page);
	pthread_t thread;
	bool came;

	rt_recv(&slow->b, seed, PAGE, SIZE);
	CHECK_OK(pthread_create(&thread, NULL, hold, &holder));
	poll_in_vain(&quick->a, WARM);
	send_to(&slow->a, NULL, seed);
	came = held(fd, &holder);
	for (int i = 0; came && i < ROUNDS; i++)
		exchange(quick, i);
	CHECK(!came || !atomic_load(&holder.took));
	page_give(fd, page);
	CHECK_OK(pthread_join(thread, NULL));
	VERIFY(page, SIZE, seed);
	EXPECT(&slow->a, seed, IBV_WC_SEND);
	close(fd);
	return came;
}

static void held_poller(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_options options = {};
	struct rt_pair slow = rt_pair_open(dev, &options), quick = rt_pair_open(dev, &options);
	bool came = false;

	exchange(&slow, 1);
	exchange(&quick, 2);
	for (int i = 0; !came && i < TRIES; i++)
		came = held_try(&slow, &quick, 100 + i);
	rt_pair_close(&quick);
	rt_pair_close(&slow);
	rt_close(dev);
	if (!came)
		rt_skip("this machine is too busy: the device's own thread received each time");
}

/* --- a poller of one CQ serves deserted ones --- */

static void unpolled(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_options options = {};
	struct rt_pair polled = rt_pair_open(dev, &options), other[3];
	volatile uint8_t *last[3];

	for (int i = 0; i < 3; i++) {
		other[i] = rt_pair_open(dev, &options);
		exchange(&other[i], i);
		memset(other[i].b.buf.p + SIZE, 0, SIZE);
		last[i] = other[i].b.buf.p + 2 * SIZE - 1;
	}
	poll_in_vain(&polled.a, WARM);
	for (int i = 0; i < 3; i++) {
		send_to(&other[i].a, &other[i].b, 7 + i);
		while (!*last[i])
			poll_in_vain(&polled.a, 1);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT(&other[i].b, 7 + i, IBV_WC_RECV);
		EXPECT(&other[i].a, 7 + i, IBV_WC_SEND);
		rt_pair_close(&other[i]);
	}
	rt_pair_close(&polled);
	rt_close(dev);
}

/* --- two processes of several threads, each with a connection of its own --- */

struct talk {
	struct rt_side side;
	pthread_t thread;
	bool first;
};

static void *talk(void *arg)
{
	struct talk *talk = arg;
	struct rt_side *side = &talk->side;

	for (uint32_t i = 0; i < EXCHANGES; i++) {
		struct ibv_wc wc;

		if (talk->first)
			send_to(side, NULL, 2 * i);
		/* The answer may come before the acknowledgement of the question. */
		for (unsigned int got = 0; !(got & 2);) {
			wc = rt_wait(side);
			CHECK_INT(wc.status, IBV_WC_SUCCESS);
			got |= wc.opcode & IBV_WC_RECV ? 2 : 1;
		}
		VERIFY(side->buf.p + SIZE, SIZE, talk->first ? 2 * i + 1 : 2 * i);
		rt_recv(side, i, SIZE, SIZE);
		if (!talk->first)
			send_to(side, NULL, 2 * i + 1);
	}
	return NULL;
}

static void talk_all(int socket, bool first)
{
	struct rt_options options = { .send_wr = 4 * EXCHANGES, .cqe = 8 * EXCHANGES };
	static struct talk talks[THREADS];
	struct rt_dev *dev = rt_open();
	char done = 'x';

	for (int i = 0; i < THREADS; i++) {
		struct rt_address mine, peer;

		talks[i].first = first;
		talks[i].side = rt_side_open(dev, &options, NULL);
		mine = rt_side_address(&talks[i].side);
		peer = rt_exchange(socket, &mine);
		rt_side_connect(&talks[i].side, &peer);
		rt_recv(&talks[i].side, 0, SIZE, SIZE);
	}
	CHECK(write(socket, &done, 1) == 1 && read(socket, &done, 1) == 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&talks[i].thread, NULL, talk, &talks[i]));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(talks[i].thread, NULL));
	CHECK(write(socket, &done, 1) == 1 && read(socket, &done, 1) == 1);
	for (int i = 0; i < THREADS; i++)
		rt_side_close(&talks[i].side);
	rt_close(dev);
}

static void processes(void)
{
	int pair[2], status;
	pid_t child;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	child = fork();
	CHECK(child >= 0);
	close(pair[!child]);
	talk_all(pair[!!child], child);
	if (!child)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && !status);
}

static const struct rt_case cases[] = {
	{ "held_poller", held_poller },
	{ "unpolled", unpolled },
	{ "processes", processes },
};
RT_MAIN(cases)
