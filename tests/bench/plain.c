/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Figures of the machine without RDMA, for comparison with verbs_perf.
 *
 *   plain [-r ROUNDS] memcpy|readv SIZE          this host; readv: process_vm_readv() of another
 *   plain [-r ROUNDS] line_lat 64                a cache line's way from one processor to the other
 *   plain [-r ROUNDS] ring_bw SIZE               a stream of two copies: into a ring, and out of it
 *   plain [-r ROUNDS] -l PORT TEST SIZE          one side: waits for the other
 *   plain [-r ROUNDS] -c HOST:PORT TEST SIZE     the other side: measures and prints
 *
 * TEST:
 *
 * - tcp_lat, udp_lat: half round trip, both sides spinning on non-blocking sockets.
 *
 * - tcp_bw, udp_bw: bandwidth; udp_bw uses sendmmsg() and counts the datagrams that arrive.
 *
 * - udp_bulk: the upper limit for packets of user space. Datagrams of SIZE in sends as large as the
 *   kernel accepts (UDP_SEGMENT), received as UDP_GRO joins them, each answered by a byte.
 *
 * - udp_cut: the same with the additional work of RDMA in user space. Each side copies every byte
 *   once: a sender keeps the bytes until they are acknowledged, and a receiver stores the bytes
 *   before the program names their place. Each send is cut in three, because the packets of one
 *   send have one size. In an RDMA write with immediate data the first and the last packet are
 *   longer than the others.
 *
 * Prints TEST SIZE VALUE UNIT, the median of ROUNDS. -x SCALE multiplies all amounts.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

enum {
	ROUNDS_MAX = 101,
	BATCH = 32,	/* datagrams of one system call */
	QUIET_MS = 50,	/* without a datagram: the sender has stopped */
	LOST_MS = 1000, /* the same on a side that waits for answers */
	SOCKET_BYTES = 8 << 20,
	HUGE_PAGE = 2 << 20,
	UDP_BYTES = 65507,     /* of one send */
	UDP_SEGMENTS_MAX = 64, /* datagrams of one send */
};
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO	    104
#endif

static int rounds = 5;
static double scale = 1;

static void die(const char *what)
{
	fprintf(stderr, "plain: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Allocate on huge pages, as in verbs_perf, because copies by the kernel cost half as much there.
 */
static uint8_t *buffer(size_t size)
{
	size_t whole = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *p = aligned_alloc(HUGE_PAGE, whole);

	if (!p)
		die("memory");
	madvise(p, whole, MADV_HUGEPAGE);
	memset(p, 1, size);
	return p;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_median(const char *test, size_t size, double *results)
{
	double median;

	qsort(results, rounds, sizeof(*results), compare);
	median = results[rounds / 2];
	if (strstr(test, "lat"))
		printf("%s %zu %.3f us\n", test, size, median);
	else
		printf("%s %zu %.3f MB/s %.3f Mmsg/s\n", test, size, median, median / size);
}

static unsigned int iterations(const char *test, size_t size)
{
	double n = strstr(test, "lat") ? 10000.0 / (1 + size / 4096) : 500e6 / (size + 2000.0);

	n *= scale;
	return n < 64 ? 64 : n > 100000 ? 100000 : (unsigned int)n;
}

/* --- without a socket --- */

static double copy_us(pid_t other, uint8_t *buf, size_t size, unsigned int count)
{
	double start = now_us();

	for (unsigned int i = 0; i < count; i++) {
		struct iovec local = { buf, size }, remote = { buf + size, size };

		if (!other) {
			memcpy(buf, buf + size, size);
			__asm__ volatile("" ::"r"(buf) : "memory");
		} else if (process_vm_readv(other, &local, 1, &remote, 1, 0) != (ssize_t)size) {
			die("process_vm_readv");
		}
	}
	return now_us() - start;
}

static void run_copy(const char *test, size_t size)
{
	uint8_t *buf = buffer(size * 2);
	double results[ROUNDS_MAX];
	pid_t other = 0;

	if (!strcmp(test, "readv")) {
		other = fork();
		if (!other) {
			pin(0);
			madvise(buf, size * 2, MADV_DONTNEED); /* drop the inherited pages */
			memset(buf, 2, size * 2);
			for (;;)
				pause();
		}
		usleep(50000);
	}
	pin(1);
	for (int i = 0; i < rounds; i++) {
		unsigned int count = iterations(test, size);

		results[i] = size * (double)count / copy_us(other, buf, size, count);
	}
	print_median(test, size, results);
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
}

/* Wait for each own number and answer with the next one. */
static void line_turns(atomic_uint *line, unsigned int first, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		while (atomic_load_explicit(line, memory_order_acquire) != first + 2 * i)
			;
		atomic_store_explicit(line, first + 2 * i + 1, memory_order_release);
	}
}

static void run_line(const char *test, size_t size)
{
	unsigned int count = iterations(test, size);
	double results[ROUNDS_MAX];
	pid_t other;
	atomic_uint *line =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (line == MAP_FAILED)
		die("memory");
	other = fork();
	if (other < 0)
		die("fork");
	pin(!!other);
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* otherwise it would spin for ever */
		line_turns(line, 1, (rounds + 1) * count);
		_exit(0);
	}
	line_turns(line, 0, count);
	for (int i = 0; i < rounds; i++) {
		double start = now_us();

		line_turns(line, 2 * (i + 1) * count, count);
		results[i] = (now_us() - start) / count / 2;
	}
	print_median(test, size, results);
	waitpid(other, NULL, 0);
}

/* A ring as long as the buffers that rstream gets; each side on a processor of its own. */
enum {
	RING = 2 << 20,
	RING_PIECE = 64 << 10
};

struct ring {
	alignas(128) atomic_size_t head; /* bytes since the start: written */
	alignas(128) atomic_size_t tail; /* and taken */
	alignas(128) uint8_t bytes[RING];
};

/* Move @total bytes on one side of the ring, by calls of @size from or to @buf. */
static void ring_move(struct ring *ring, uint8_t *buf, size_t size, size_t total, bool in)
{
	size_t start = atomic_load(in ? &ring->head : &ring->tail);

	for (size_t at = start, n; at != start + total; at += n) {
		size_t seen = 0, offset = (at - start) % size;

		n = RING_PIECE - at % RING_PIECE;
		n = n < size - offset ? n : size - offset;
		n = n < start + total - at ? n : start + total - at;
		do
			seen = atomic_load_explicit(in ? &ring->tail : &ring->head,
						    memory_order_acquire);
		while (in ? at + n - seen > RING : seen - at < n);
		if (in)
			memcpy(ring->bytes + at % RING, buf + offset, n);
		else
			memcpy(buf + offset, ring->bytes + at % RING, n);
		atomic_store_explicit(in ? &ring->head : &ring->tail, at + n, memory_order_release);
	}
}

static void run_ring(const char *test, size_t size)
{
	size_t total = size * iterations(test, size);
	double results[ROUNDS_MAX];
	struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t other;

	if (ring == MAP_FAILED)
		die("memory");
	other = fork();
	if (other < 0)
		die("fork");
	pin(!!other);
	if (!other)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* otherwise it would spin for ever */
	for (int i = 0; i <= rounds; i++) {
		static uint8_t *buf;
		double start;

		buf = buf ? buf : buffer(size);
		start = now_us();
		ring_move(ring, buf, size, total, other);
		while (other && atomic_load(&ring->tail) != atomic_load(&ring->head))
			;
		if (i)
			results[i - 1] = total / (now_us() - start);
	}
	if (!other)
		_exit(0);
	print_median(test, size, results);
	waitpid(other, NULL, 0);
}

/* --- two sides --- */

struct pair {
	int tcp;
	int udp;
	bool client;
	uint8_t *buf;
	size_t size;
};

static void all_out(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

		if (r < 0 && errno != EAGAIN)
			die("send");
		if (r > 0) {
			p += r;
			n -= r;
		}
	}
}

static void all_in(int fd, uint8_t *p, size_t n)
{
	while (n) {
		ssize_t r = recv(fd, p, n, 0);

		if (r == 0 || (r < 0 && errno != EAGAIN))
			die("recv");
		if (r > 0) {
			p += r;
			n -= r;
		}
	}
}

static void barrier(const struct pair *p)
{
	uint8_t c = 'x';

	all_out(p->tcp, &c, 1);
	all_in(p->tcp, &c, 1);
}

/* A lost datagram would stop the ping: the client sends again after a while. */
static void udp_ping(const struct pair *p)
{
	double again = now_us() + 100000;

	send(p->udp, p->buf, p->size, 0);
	while (recv(p->udp, p->buf, p->size, MSG_DONTWAIT) < 0) {
		if (now_us() < again)
			continue;
		send(p->udp, p->buf, p->size, 0);
		again = now_us() + 100000;
	}
}

static void udp_pong(const struct pair *p, unsigned int count)
{
	while (count--) {
		while (recv(p->udp, p->buf, p->size, MSG_DONTWAIT) < 0)
			;
		send(p->udp, p->buf, p->size, 0);
	}
}

static double latency(const struct pair *p, bool udp, unsigned int count)
{
	double start;

	barrier(p);
	start = now_us();
	if (udp && !p->client) {
		udp_pong(p, count);
	} else if (udp) {
		for (unsigned int i = 0; i < count; i++)
			udp_ping(p);
	} else {
		for (unsigned int i = 0; i < count; i++) {
			if (p->client)
				all_out(p->tcp, p->buf, p->size);
			all_in(p->tcp, p->buf, p->size);
			if (!p->client)
				all_out(p->tcp, p->buf, p->size);
		}
	}
	return (now_us() - start) / count / 2;
}

static double tcp_stream(const struct pair *p, unsigned int count)
{
	uint8_t done = 0;
	double start;

	barrier(p);
	start = now_us();
	for (unsigned int i = 0; i < count; i++) {
		if (p->client)
			all_out(p->tcp, p->buf, p->size);
		else
			all_in(p->tcp, p->buf, p->size);
	}
	/* The client's clock stops when the last byte has arrived. */
	if (p->client)
		all_in(p->tcp, &done, 1);
	else
		all_out(p->tcp, &done, 1);
	return p->size * (double)count / (now_us() - start);
}

static void batch_init(const struct pair *p, struct mmsghdr *msgs, struct iovec *iov)
{
	*iov = (struct iovec){ p->buf, p->size };
	for (int i = 0; i < BATCH; i++)
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = iov, .msg_iovlen = 1 };
}

/* Return the MB/s that arrived, as reported by the receiving side. */
static double udp_stream(const struct pair *p, unsigned int count)
{
	struct mmsghdr msgs[BATCH];
	double first = 0, last = 0, rate = 0;
	unsigned int got = 0;
	struct iovec iov;

	batch_init(p, msgs, &iov);
	barrier(p);
	if (p->client) {
		for (unsigned int i = 0; i < count; i += BATCH)
			sendmmsg(p->udp, msgs, BATCH, 0);
		all_in(p->tcp, (uint8_t *)&rate, sizeof(rate));
		return rate;
	}
	for (double t = now_us(); got < count && (!last || t - last < QUIET_MS * 1e3);
	     t = now_us()) {
		int n = recvmmsg(p->udp, msgs, BATCH, MSG_DONTWAIT, NULL);

		if (n <= 0)
			continue;
		got += n;
		last = t;
		first = first ? first : t;
	}
	rate = last > first ? p->size * (double)got / (last - first) : 0;
	all_out(p->tcp, (uint8_t *)&rate, sizeof(rate));
	return rate;
}

/* Return the bytes of the largest send: whole datagrams. */
static size_t bulk_size(size_t size)
{
	size_t most = UDP_BYTES / size;

	return size * (most < UDP_SEGMENTS_MAX ? most : UDP_SEGMENTS_MAX);
}

/* A buffer that is used in turn, in pieces of up to UDP_BYTES. */
struct round {
	uint8_t *start;
	size_t size;
	size_t next;
};

static struct round round_make(size_t size)
{
	size = size > UDP_BYTES ? size : UDP_BYTES;
	return (struct round){ .start = buffer(size), .size = size };
}

static uint8_t *round_next(struct round *round)
{
	uint8_t *here = round->start + round->next;

	round->next += UDP_BYTES;
	if (round->next + UDP_BYTES > round->size)
		round->next = 0;
	return here;
}

static void bulk_send(const struct pair *p, uint8_t *from, size_t bulk)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(uint16_t))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(uint16_t)),
				  .cmsg_level = SOL_UDP,
				  .cmsg_type = UDP_SEGMENT } };
	struct iovec iov = { from, bulk };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.room) };
	uint16_t size = p->size;

	memcpy(CMSG_DATA(&control.header), &size, sizeof(size));
	if (sendmsg(p->udp, &msg, 0) < 0)
		die("sendmsg with UDP_SEGMENT");
}

static void bulk_send_all(const struct pair *p, uint8_t *from, size_t bulk, bool cut)
{
	size_t first = 2 * p->size, last = p->size;

	if (!cut || bulk <= first + last) {
		bulk_send(p, from, bulk);
		return;
	}
	memcpy(from, p->buf, bulk);
	bulk_send(p, from, first);
	bulk_send(p, from + first, bulk - first - last);
	bulk_send(p, from + bulk - last, last);
}

/* Read the number of bytes that the peer has received, if it reports one. */
static void bulk_heard(const struct pair *p, size_t *arrived)
{
	uint64_t total;

	while (recv(p->udp, &total, sizeof(total), MSG_DONTWAIT) == sizeof(total))
		*arrived = total;
}

/* Return the bytes that may be on their way. The kernel counts its own memory too, also against
 * this side's limit. */
static size_t bulk_window(const struct pair *p, size_t bulk)
{
	socklen_t length = sizeof(int);
	int room = 0;

	if (getsockopt(p->udp, SOL_SOCKET, SO_RCVBUF, &room, &length))
		die("SO_RCVBUF");
	return room / 2 > (int)bulk ? room / 2 : bulk;
}

static void bulk_receive(const struct pair *p, size_t whole, bool cut)
{
	struct round round = round_make(cut ? bulk_window(p, p->size) : UDP_BYTES);
	uint64_t got = 0;

	for (double last = now_us(); got < whole && now_us() - last < LOST_MS * 1e3;) {
		ssize_t n = recv(p->udp, round.start + round.next, UDP_BYTES, MSG_DONTWAIT);
		uint8_t *room;

		if (n <= 0)
			continue;
		room = round_next(&round);
		if (cut)
			memcpy(p->buf, room, n);
		got += n;
		last = now_us();
		send(p->udp, &got, sizeof(got), MSG_DONTWAIT);
	}
	free(round.start);
}

static double udp_bulk(const struct pair *p, unsigned int count, bool cut)
{
	size_t bulk = bulk_size(p->size), window = bulk_window(p, bulk),
	       whole = bulk * (p->size * count / bulk + 1);
	size_t sent = 0, arrived = 0;
	struct round round;
	double start, last;

	if (!p->client) {
		barrier(p);
		bulk_receive(p, whole, cut);
		barrier(p);
		return 0;
	}
	round = round_make(cut ? window : UDP_BYTES);
	barrier(p);
	start = last = now_us();
	while (arrived < whole && now_us() - last < LOST_MS * 1e3) {
		size_t before = arrived;

		if (sent < whole && sent - arrived + bulk <= window) {
			uint8_t *from = round_next(&round);

			bulk_send_all(p, from, bulk, cut);
			sent += bulk;
		}
		bulk_heard(p, &arrived);
		last = arrived == before ? last : now_us();
	}
	barrier(p);
	free(round.start);
	if (arrived < whole)
		fprintf(stderr, "plain: udp_bulk: %zu of %zu bytes arrived\n", arrived, whole);
	return arrived / (last - start);
}

static double measure(const struct pair *p, const char *test, unsigned int count)
{
	if (!strcmp(test, "tcp_lat") || !strcmp(test, "udp_lat"))
		return latency(p, *test == 'u', count);
	if (!strcmp(test, "tcp_bw"))
		return tcp_stream(p, count);
	if (!strcmp(test, "udp_bw"))
		return udp_stream(p, count);
	if (!strcmp(test, "udp_bulk") || !strcmp(test, "udp_cut"))
		return udp_bulk(p, count, !strcmp(test, "udp_cut"));
	errno = EINVAL;
	die(test);
	return 0;
}

static int option_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static void run_pair(struct pair *p, const char *test)
{
	unsigned int count = iterations(test, p->size);
	double results[ROUNDS_MAX];

	p->buf = buffer(p->size > UDP_BYTES ? p->size : UDP_BYTES);
	if (!strcmp(test, "udp_bulk") || !strcmp(test, "udp_cut"))
		option_set(p->udp, SOL_UDP, UDP_GRO, 1);
	measure(p, test, count / 4 + BATCH);
	for (int i = 0; i < rounds; i++)
		results[i] = measure(p, test, count);
	if (p->client)
		print_median(test, p->size, results);
}

/* The datagram socket uses the same two addresses and ports as the connection. */
static int udp_beside(int tcp)
{
	struct sockaddr_storage mine, theirs;
	socklen_t mine_len = sizeof(mine), theirs_len = sizeof(theirs);
	int fd;

	if (getsockname(tcp, (struct sockaddr *)&mine, &mine_len) ||
	    getpeername(tcp, (struct sockaddr *)&theirs, &theirs_len))
		die("getsockname");
	fd = socket(mine.ss_family, SOCK_DGRAM, 0);
	option_set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BYTES);
	option_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES);
	if (bind(fd, (struct sockaddr *)&mine, mine_len) ||
	    connect(fd, (struct sockaddr *)&theirs, theirs_len))
		die("UDP");
	return fd;
}

static int tcp_listen(const char *port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), conn;

	option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 1))
		die("listen");
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		die("accept");
	close(fd);
	return conn;
}

static int tcp_connect(char *where)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;
	char *port = strrchr(where, ':');

	if (!port) {
		errno = EINVAL;
		die("HOST:PORT");
	}
	*port++ = 0;
	if (getaddrinfo(where, port, &hints, &ai))
		die("getaddrinfo");
	for (int i = 0; i < 100; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (!connect(fd, ai->ai_addr, ai->ai_addrlen)) {
			freeaddrinfo(ai);
			return fd;
		}
		close(fd);
		usleep(50000);
	}
	die("connect");
	return -1;
}

static void run_two_sides(const char *test, size_t size, char *listen_port, char *connect_to)
{
	struct pair p = { .client = connect_to, .size = size };

	pin(p.client);
	p.tcp = p.client ? tcp_connect(connect_to) : tcp_listen(listen_port);
	option_set(p.tcp, IPPROTO_TCP, TCP_NODELAY, 1);
	p.udp = udp_beside(p.tcp);
	if (!strcmp(test, "tcp_lat"))
		fcntl(p.tcp, F_SETFL, O_NONBLOCK); /* spins */
	barrier(&p);
	run_pair(&p, test);
}

int main(int argc, char **argv)
{
	char *listen_port = NULL, *connect_to = NULL;
	size_t size;
	int c;

	while ((c = getopt(argc, argv, "r:l:c:x:")) != -1) {
		if (c == 'r')
			rounds = atoi(optarg);
		else if (c == 'l')
			listen_port = optarg;
		else if (c == 'c')
			connect_to = optarg;
		else if (c == 'x')
			scale = atof(optarg);
		else
			return 2;
	}
	if (argc - optind != 2 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr,
			"usage: plain [-r rounds] [-x scale] [-l port | -c host:port] test size\n");
		return 2;
	}
	size = strtoul(argv[optind + 1], NULL, 0);
	if (listen_port || connect_to)
		run_two_sides(argv[optind], size, listen_port, connect_to);
	else if (!strcmp(argv[optind], "line_lat"))
		run_line(argv[optind], size);
	else if (!strcmp(argv[optind], "ring_bw"))
		run_ring(argv[optind], size);
	else
		run_copy(argv[optind], size);
	return 0;
}
