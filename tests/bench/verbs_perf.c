/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency and bandwidth of RC between two processes, on public API only: the same program measures
 * every device.
 *
 *   verbs_perf [OPTIONS] TEST SIZE...                both sides on this host
 *   verbs_perf [OPTIONS] -l PORT TEST SIZE...        one side: waits for the other
 *   verbs_perf [OPTIONS] -c HOST:PORT TEST SIZE...   the other side: measures and prints
 *
 * OPTIONS: [-d DEVICE] [-g GID_INDEX] [-r ROUNDS] [-m MEMORY] [-y]
 *
 * TEST: send_lat (half round trip, both polling), write_lat (half round trip, both spinning on
 * memory), read_lat, add_lat (fetch-and-add), send_bw, write_bw, read_bw. Prints one line a size:
 * TEST SIZE VALUE UNIT, the median of ROUNDS.
 *
 * MEMORY: the memory of the buffers.
 *
 * - thp: private memory, on huge pages as far as the system has some. This is the default.
 *
 * - pages: private memory on ordinary pages.
 *
 * - buf: memory of ibv_alloc_buf().
 *
 * - memfd, hugetlb: shared memory of the program, on ordinary and on huge pages.
 *
 * - dm: device memory for the peer's operations.
 *
 * -y: let other threads run between polls, for machines of one processor.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <signal.h>

#include <infiniband/verbs.h>

enum {
	DEPTH = 128, /* work requests in flight in bandwidth tests */
	SIGNAL_EVERY = 16,
	ROUNDS_MAX = 101,
	HUGE_PAGE = 2 << 20,
	ASIDE = 17 * 4096, /* bytes; see buffer_new() */
	LINES = 128,	   /* bytes that processors move together */
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

struct remote {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t rkey;
	uint32_t qpn;
	uint32_t psn;
};

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t whole; /* bytes of it */
	uint8_t *buf; /* in it */
	bool shared;
	struct ibv_buf *owner;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	size_t size;
	size_t out; /* offset of outgoing data, in lines that the peer does not write to */
	struct remote peer;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	unsigned int flags;
	int sock;
	bool client;
};

struct options {
	const char *device;
	int gid_index;
	int rounds;
	const char *test;
	const char *memory;
};

static void die(const char *what)
{
	fprintf(stderr, "verbs_perf: %s: %s\n", what, strerror(errno));
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

/* --- set-up --- */

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!name || !strcmp(name, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("no such device");
	ibv_free_device_list(list);
	return ctx;
}

static uint8_t *shared_new(size_t whole, unsigned int flags)
{
	int fd = memfd_create("verbs_perf", flags);
	uint8_t *buf;

	if (fd < 0 || ftruncate(fd, whole))
		die("memfd");
	buf = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (buf == MAP_FAILED)
		die(flags & MFD_HUGETLB ? "memory: are there pages in vm.nr_hugepages?" : "memory");
	/* The descriptor stays open, because a device may find the file by it. One program needs
	 * a few. */
	return buf;
}

static uint8_t *own_new(size_t whole, int advice)
{
	uint8_t *buf = aligned_alloc(HUGE_PAGE, whole);

	if (buf)
		madvise(buf, whole, advice);
	return buf;
}

/* Allocate on huge pages by default, because copies by the kernel cost half as much there. The
 * two sides have their buffers at different offsets: an emulated processor has one TLB entry for
 * pages of equal offsets, and copies between them much slower. */
static void buffer_new(struct side *s, const char *memory, size_t size)
{
	bool device = !strcmp(memory, "dm"), huge = !strcmp(memory, "hugetlb");
	struct ibv_alloc_dm_attr attr = { .length = size };

	s->whole = (size + ASIDE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	s->shared = huge || !strcmp(memory, "memfd");
	if (!strcmp(memory, "buf"))
		s->memory = ibv_alloc_buf(s->pd, s->whole, &s->owner);
	else if (s->shared)
		s->memory = shared_new(s->whole, huge ? MFD_HUGETLB : 0);
	else if (!strcmp(memory, "pages"))
		s->memory = own_new(s->whole, MADV_NOHUGEPAGE);
	else if (!strcmp(memory, "thp") || device)
		s->memory = own_new(s->whole, MADV_HUGEPAGE);
	if (device)
		s->dm = ibv_alloc_dm(s->ctx, &attr);
	if (!s->memory || (device && !s->dm))
		die(memory);
	memset(s->memory, 0, s->whole);
	s->buf = s->memory + (s->client ? ASIDE : 0);
}

static void buffer_free(struct side *s)
{
	if (s->dm)
		ibv_free_dm(s->dm);
	if (s->owner)
		ibv_free_buf(s->owner);
	else if (s->shared)
		munmap(s->memory, s->whole);
	else
		free(s->memory);
}

/* Return the last byte that the peer writes. */
static uint8_t last_byte(const struct side *s)
{
	uint8_t byte;

	if (!s->dm)
		return ((volatile uint8_t *)s->buf)[s->size - 1];
	if (ibv_memcpy_from_dm(&byte, s->dm, s->size - 1, 1))
		die("ibv_memcpy_from_dm");
	return byte;
}

static void side_open(struct side *s, const struct options *o, size_t size)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = DEPTH * 2,
			 .max_recv_wr = DEPTH * 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC,
	};

	s->ctx = device_open(o->device);
	s->size = size;
	s->out = (size + LINES - 1) / LINES * LINES;
	s->pd = ibv_alloc_pd(s->ctx);
	buffer_new(s, o->memory, s->out * 2);
	s->cq = ibv_create_cq(s->ctx, DEPTH * 8, NULL, NULL, 0);
	s->mr = ibv_reg_mr(s->pd, s->buf, s->out * 2, ACCESS);
	if (s->dm)
		s->dm_mr = ibv_reg_dm_mr(s->pd, s->dm, 0, size, ACCESS | IBV_ACCESS_ZERO_BASED);
	init.send_cq = init.recv_cq = s->cq;
	s->qp = s->cq ? ibv_create_qp(s->pd, &init) : NULL;
	if (!s->qp || !s->mr || (s->dm && !s->dm_mr))
		die("cannot create the objects");
}

static void exchange(struct side *s, const struct remote *mine)
{
	if (write(s->sock, mine, sizeof(*mine)) != sizeof(*mine) ||
	    recv(s->sock, &s->peer, sizeof(s->peer), MSG_WAITALL) != sizeof(s->peer))
		die("exchange");
}

static void barrier(struct side *s)
{
	char c = 'x';

	if (write(s->sock, &c, 1) != 1 || read(s->sock, &c, 1) != 1)
		die("barrier");
}

static void side_connect(struct side *s, const struct options *o)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
	};
	struct remote mine = { .addr = s->dm ? 0 : (uintptr_t)s->buf,
			       .rkey = s->dm ? s->dm_mr->rkey : s->mr->rkey,
			       .qpn = s->qp->qp_num,
			       .psn = 0x1234 };

	ibv_query_port(s->ctx, 1, &port);
	if (ibv_query_gid(s->ctx, 1, o->gid_index, &mine.gid) ||
	    ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	exchange(s, &mine);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = s->peer.qpn,
		.rq_psn = s->peer.psn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = s->peer.gid,
				      .sgid_index = o->gid_index,
				      .hop_limit = 64 } },
	};
	if (ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 18, /* a second: the host may be busy */
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .sq_psn = 0x1234,
				     .max_rd_atomic = 16 };
	if (ibv_modify_qp(s->qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void side_close(struct side *s)
{
	ibv_destroy_qp(s->qp);
	ibv_destroy_cq(s->cq);
	ibv_dereg_mr(s->mr);
	if (s->dm_mr)
		ibv_dereg_mr(s->dm_mr);
	buffer_free(s);
	ibv_dealloc_pd(s->pd);
	ibv_close_device(s->ctx);
}

/* --- work --- */

static void post_recvs(struct side *s, unsigned int count)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, s->size, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (count--)
		if (ibv_post_recv(s->qp, &wr, &bad))
			die("post_recv");
}

/* Write the fields that all requests of a test share only once, as a fast program does. */
static void wr_prepare(struct side *s, enum ibv_wr_opcode opcode, size_t offset)
{
	s->sge = (struct ibv_sge){ (uintptr_t)s->buf + offset, s->size, s->mr->lkey };
	s->flags = s->size <= 64 && opcode != IBV_WR_RDMA_READ ? IBV_SEND_INLINE : 0;
	s->wr = (struct ibv_send_wr){
		.sg_list = &s->sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = s->peer.addr, .rkey = s->peer.rkey },
	};
}

static void post(struct side *s, bool signaled)
{
	struct ibv_send_wr *bad;

	s->wr.send_flags = s->flags | (signaled ? IBV_SEND_SIGNALED : 0);
	if (ibv_post_send(s->qp, &s->wr, &bad))
		die("post_send");
}

static unsigned int poll_some(struct side *s)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(s->cq, 16, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].status == IBV_WC_SUCCESS)
			continue;
		fprintf(stderr, "verbs_perf: completion with %s\n",
			ibv_wc_status_str(wc[i].status));
		exit(1);
	}
	return n > 0 ? n : 0;
}

static bool yields;

static void wait_opcode(struct side *s, unsigned int *sends, unsigned int *recvs,
			unsigned int want_sends, unsigned int want_recvs)
{
	struct ibv_wc wc[16];

	while (*sends < want_sends || *recvs < want_recvs) {
		int n = ibv_poll_cq(s->cq, 16, wc);

		if (!n && yields)
			sched_yield();
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS) {
				fprintf(stderr, "verbs_perf: completion with %s\n",
					ibv_wc_status_str(wc[i].status));
				exit(1);
			}
			if (wc[i].opcode & IBV_WC_RECV)
				(*recvs)++;
			else
				(*sends)++;
		}
	}
}

/* The connection is new: send a tenth more before measuring. */
static double send_lat(struct side *s, unsigned int iters)
{
	unsigned int sends = 0, recvs = 0, warm = iters / 10;
	double start = 0;

	post_recvs(s, DEPTH);
	wr_prepare(s, IBV_WR_SEND, 0);
	barrier(s);
	for (unsigned int i = 0; i < warm + iters; i++) {
		if (i == warm)
			start = now_us();
		if (!s->client)
			wait_opcode(s, &sends, &recvs, 0, i + 1);
		post(s, true);
		if (s->client)
			wait_opcode(s, &sends, &recvs, 0, i + 1);
		if (i % (DEPTH / 2) == DEPTH / 2 - 1)
			post_recvs(s, DEPTH / 2);
	}
	start = now_us() - start;
	wait_opcode(s, &sends, &recvs, warm + iters, warm + iters);
	barrier(s);
	return start / iters / 2;
}

static double write_lat(struct side *s, unsigned int iters)
{
	uint8_t *out = s->buf + s->out;
	unsigned int sends = 0, recvs = 0;
	double start;

	if (s->dm && ibv_memcpy_to_dm(s->dm, s->size - 1, "", 1))
		die("ibv_memcpy_to_dm");
	s->buf[s->size - 1] = 0;
	wr_prepare(s, IBV_WR_RDMA_WRITE, s->out);
	barrier(s);
	start = now_us();
	for (unsigned int i = 0; i < iters; i++) {
		uint8_t mark = i % 255 + 1;

		while (!s->client && last_byte(s) != mark)
			;
		out[s->size - 1] = mark;
		post(s, true);
		wait_opcode(s, &sends, &recvs, i + 1, 0);
		while (s->client && last_byte(s) != mark)
			;
	}
	start = now_us() - start;
	barrier(s);
	return start / iters / 2;
}

/* Measure a read, or an atomic on its first 8 bytes. */
static double alone_lat(struct side *s, enum ibv_wr_opcode opcode, unsigned int iters)
{
	double start;

	wr_prepare(s, opcode, 0);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		s->flags = 0;
		s->wr.wr.atomic.remote_addr = s->peer.addr;
		s->wr.wr.atomic.rkey = s->peer.rkey;
		s->wr.wr.atomic.compare_add = 1;
	}
	barrier(s);
	start = now_us();
	for (unsigned int i = 0; s->client && i < iters; i++) {
		post(s, true);
		while (!poll_some(s))
			;
	}
	start = now_us() - start;
	barrier(s);
	return start / iters;
}

static unsigned int groups(unsigned int iters)
{
	return (iters + SIGNAL_EVERY - 1) / SIGNAL_EVERY * SIGNAL_EVERY;
}

/* The progress of a stream since its beginning. */
struct stream {
	unsigned int posted;
	unsigned int done; /* groups; the last completion shows that everything arrived */
	unsigned int got;
};

/* Stream up to @iters requests, a whole number of groups. */
static void stream_until(struct side *s, struct stream *at, enum ibv_wr_opcode opcode,
			 unsigned int iters)
{
	while (!s->client && opcode == IBV_WR_SEND && at->got < iters) {
		unsigned int n = poll_some(s);

		at->got += n;
		post_recvs(s, n);
	}
	while (s->client && at->done < iters / SIGNAL_EVERY) {
		while (at->posted < iters && at->posted - at->done * SIGNAL_EVERY < DEPTH) {
			at->posted++;
			post(s, at->posted % SIGNAL_EVERY == 0);
		}
		at->done += poll_some(s);
	}
}

/* Return bytes per microsecond, which are MB/s. The connection is new: send a tenth more before
 * measuring. */
static double stream(struct side *s, enum ibv_wr_opcode opcode, unsigned int iters)
{
	unsigned int warm = groups(iters / 10);
	struct stream at = {};
	double start;

	if (!s->client && opcode == IBV_WR_SEND)
		post_recvs(s, DEPTH * 4);
	wr_prepare(s, opcode, 0);
	barrier(s);
	stream_until(s, &at, opcode, warm);
	start = now_us();
	stream_until(s, &at, opcode, warm + iters);
	start = now_us() - start;
	barrier(s);
	return s->size * (double)iters / start;
}

static double measure(struct side *s, const char *test, unsigned int iters)
{
	if (!strcmp(test, "send_lat"))
		return send_lat(s, iters);
	if (!strcmp(test, "write_lat"))
		return write_lat(s, iters);
	if (!strcmp(test, "read_lat"))
		return alone_lat(s, IBV_WR_RDMA_READ, iters);
	if (!strcmp(test, "add_lat"))
		return alone_lat(s, IBV_WR_ATOMIC_FETCH_AND_ADD, iters);
	if (!strcmp(test, "send_bw"))
		return stream(s, IBV_WR_SEND, iters);
	if (!strcmp(test, "write_bw"))
		return stream(s, IBV_WR_RDMA_WRITE, iters);
	if (!strcmp(test, "read_bw"))
		return stream(s, IBV_WR_RDMA_READ, iters);
	errno = EINVAL;
	die(test);
	return 0;
}

/* Enough work for some tens of milliseconds or more; a whole number of signalled groups. */
static unsigned int iterations(const char *test, size_t size, double scale)
{
	double n = strstr(test, "lat") ? 100000.0 / (1 + size / 4096) : 300e6 / (size + 400.0);

	n *= scale;
	if (n < 64)
		n = 64;
	return groups(n);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void run(const struct options *o, int sock, bool client, char **sizes, double scale)
{
	bool latency = strstr(o->test, "lat"), sends = strstr(o->test, "send");

	for (; *sizes; sizes++) {
		struct side s = { .sock = sock, .client = client };
		double results[ROUNDS_MAX];
		size_t size = strtoul(*sizes, NULL, 0);

		side_open(&s, o, size);
		side_connect(&s, o);
		barrier(&s);
		if (!sends)
			measure(&s, o->test, groups(iterations(o->test, size, scale) / 4));
		for (int i = 0; i < o->rounds; i++) {
			results[i] = measure(&s, o->test, iterations(o->test, size, scale));
			if (!sends)
				continue;
			/* receives are left, which would be counted twice */
			side_close(&s);
			side_open(&s, o, size);
			side_connect(&s, o);
			barrier(&s);
		}
		qsort(results, o->rounds, sizeof(results[0]), compare);
		if (client && latency)
			printf("%s %zu %.3f us\n", o->test, size, results[o->rounds / 2]);
		else if (client)
			printf("%s %zu %.3f MB/s %.3f Mmsg/s\n", o->test, size,
			       results[o->rounds / 2], results[o->rounds / 2] / size);
		fflush(stdout);
		side_close(&s);
	}
}

static int tcp_listen(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET6,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE },
			*ai;
	int one = 1, fd, conn;

	if (getaddrinfo(NULL, port, &hints, &ai))
		die("getaddrinfo");
	fd = socket(ai->ai_family, ai->ai_socktype, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
		die("listen");
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		die("accept");
	close(fd);
	freeaddrinfo(ai);
	return conn;
}

static int tcp_connect(char *where)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	char *port = strrchr(where, ':');
	int fd = -1;

	if (!port) {
		errno = EINVAL;
		die("HOST:PORT");
	}
	*port++ = 0;
	if (getaddrinfo(where, port, &hints, &ai))
		die("getaddrinfo");
	for (int i = 0; i < 100; i++) {
		fd = socket(ai->ai_family, ai->ai_socktype, 0);
		if (!connect(fd, ai->ai_addr, ai->ai_addrlen))
			break;
		close(fd);
		fd = -1;
		usleep(50000);
	}
	if (fd < 0)
		die("connect");
	freeaddrinfo(ai);
	return fd;
}

int main(int argc, char **argv)
{
	struct options o = { .rounds = 5, .memory = "thp" };
	char *listen_port = NULL, *connect_to = NULL;
	double scale = 1;
	int c, pair[2], status;
	pid_t child;

	while ((c = getopt(argc, argv, "d:g:r:l:c:x:m:y")) != -1) {
		switch (c) {
		case 'd':
			o.device = optarg;
			break;
		case 'g':
			o.gid_index = atoi(optarg);
			break;
		case 'r':
			o.rounds = atoi(optarg);
			break;
		case 'l':
			listen_port = optarg;
			break;
		case 'c':
			connect_to = optarg;
			break;
		case 'm':
			o.memory = optarg;
			break;
		case 'x':
			scale = atof(optarg);
			break;
		case 'y':
			yields = true;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2 || o.rounds < 1 || o.rounds > ROUNDS_MAX) {
		fprintf(stderr,
			"usage: verbs_perf [-d dev] [-g gid index] [-r rounds] [-x scale] [-m memory] "
			"[-y] [-l port | -c host:port] test size...\n");
		return 2;
	}
	setenv("VERBS_LOG_LEVEL", "1", 0);
	o.test = argv[optind];
	if (listen_port || connect_to) {
		pin(connect_to ? 1 : 0);
		run(&o, connect_to ? tcp_connect(connect_to) : tcp_listen(listen_port), connect_to,
		    argv + optind + 1, scale);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(0);
		run(&o, pair[0], false, argv + optind + 1, scale);
		_exit(0);
	}
	pin(1);
	close(pair[0]);
	run(&o, pair[1], true, argv + optind + 1, scale);
	waitpid(child, &status, 0);
	return status ? 1 : 0;
}
