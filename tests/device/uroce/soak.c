/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: soak [-g GIGABYTES] [-t SECONDS] [-q QPS] [-s SEED] [-f FAULTS] [-4] [-m] [-x]
 *
 * Two processes, each sending to the other on every QP at once: sends, writes, reads and atomics
 * of random sizes up to 1 MiB, over UDP with packets lost, repeated, reordered and damaged.
 * Every byte is compared, and every atomic must have happened exactly once and in order. It ends
 * with the first of -g and -t. IPv6, unless -4. With -m through shared memory, which loses no
 * packet. With -x one sent bit is wrong, which must be noticed.
 *
 * Both processes know each operation, because it follows from the seed, the direction and its
 * number. Operation n uses slot n % SLOTS of the buffers on both sides. The receiver notices
 * some operations by a receive completion. After comparing such an operation it counts it in the
 * sender's memory, and only then is the slot used again.
 */
#include <endian.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	SLOTS = 4,
	QPS_MAX = 16,
	POLL = 32,
	OPS_AHEAD = 64,
};
#define SLOT ((size_t)1 << 20)

/* Offsets in a QP's buffer. */
#define AT_IN(slot)   ((slot)*SLOT)		    /* data from the peer */
#define AT_OUT(slot)  ((SLOTS + (slot)) * SLOT)	    /* data to send */
#define AT_BACK(slot) ((2 * SLOTS + (slot)) * SLOT) /* data read from the peer */
#define AT_SOURCE     (3 * SLOTS * SLOT)	    /* data that the peer reads */
#define AT_WORDS      (AT_SOURCE + SLOT)
#define AT_ADD	      (AT_WORDS + 0)  /* the peer's fetch-and-add */
#define AT_SWAP	      (AT_WORDS + 8)  /* the peer's compare-and-swap */
#define AT_SEEN	      (AT_WORDS + 16) /* operations the peer has compared */
#define AT_COUNT      (AT_WORDS + 24) /* source of the write of that count */
#define BUFFER	      (AT_WORDS + 4096)
#define COUNT_WR      (1ull << 63) /* wr_id of that write */

enum op_type {
	OP_SEND,
	OP_SEND_IMM,
	OP_WRITE, /* followed by an empty send that announces it */
	OP_WRITE_IMM,
	OP_READ,
	OP_ADD,
	OP_SWAP,
	OP_TYPES
};

static const char *const op_names[] = {
	"send", "send with immediate", "write",		  "write with immediate",
	"read", "fetch and add",       "compare and swap"
};

struct op {
	enum op_type type;
	uint32_t length;
	uint64_t seed;
};

/* One direction of one QP, at the receiver. */
struct receiver {
	uint64_t posted; /* operations for which a receive is posted, if they need one */
	uint64_t done;	 /* operations that have ended, also those without a comparison */
	uint64_t seen;	 /* compared */
	uint64_t told;	 /* operations that were compared and reported to the sender */
	bool telling;
};

struct sender {
	uint64_t next;		    /* operation to begin */
	uint64_t noticed;	    /* operations so far that the receiver notices */
	uint64_t slot_needs[SLOTS]; /* how many of them must have been compared first */
	bool slot_busy[SLOTS];
	uint64_t adds, swaps; /* how many were begun */
	uint64_t expected[SLOTS];
	unsigned int outstanding;
	uint64_t bytes;
};

struct channel {
	struct rt_side side;
	struct rt_address peer;
	struct sender out;
	struct receiver in;
	uint64_t out_key, in_key;
};

static struct {
	double gigabytes;
	unsigned int seconds, qps, seed;
	const char *faults;
	bool ipv4, memory, wrong;
} options = {
	.gigabytes = 1,
	.seconds = 15,
	.qps = 4,
	.seed = 1,
	.faults = "drop=2%;duplicate=1%;reorder=1%;corrupt=1%",
};

static struct channel channels[QPS_MAX];
static uint64_t counts[OP_TYPES];
static double began;

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* --- bytes --- */

/* Each 8 bytes depend on seed and place. */
static uint64_t word_at(uint64_t seed, size_t i)
{
	uint64_t x = (seed + i) * 0x9e3779b97f4a7c15ull;

	return x ^ x >> 32;
}

static void fill(uint8_t *p, size_t length, uint64_t seed)
{
	uint64_t word;
	size_t i;

	for (i = 0; i < length / 8; i++) {
		word = word_at(seed, i);
		memcpy(p + 8 * i, &word, 8);
	}
	word = word_at(seed, i);
	memcpy(p + 8 * i, &word, length % 8);
}

static void compare(const uint8_t *p, size_t length, uint64_t seed, const char *what, uint64_t n)
{
	uint64_t word, found, wrong = 0;
	size_t i;

	for (i = 0; i < length / 8; i++) {
		memcpy(&found, p + 8 * i, 8);
		wrong |= found ^ word_at(seed, i);
	}
	word = word_at(seed, i);
	if (wrong || memcmp(p + 8 * i, &word, length % 8))
		for (i = 0; i < length; i++) {
			word = word_at(seed, i / 8);
			if (p[i] != ((uint8_t *)&word)[i % 8])
				FAIL("operation %llu, %s of %zu bytes: byte %zu is wrong",
				     (unsigned long long)n, what, length, i);
		}
}

/* --- operations --- */

static struct op op_get(uint64_t key, uint64_t n)
{
	uint64_t random = mix(key ^ n);
	struct op op = { .type = random % OP_TYPES, .seed = mix(random) };

	/* Sizes of every order of magnitude, 0 and 1 MiB among them. */
	random >>= 8;
	op.length = (random >> 8) % ((1u << random % 21) + 1);
	if (op.type >= OP_ADD)
		op.length = sizeof(uint64_t);
	return op;
}

static bool is_noticed(const struct op *op)
{
	return op->type <= OP_WRITE_IMM;
}

static struct ibv_sge sge_at(struct channel *c, size_t offset, uint32_t length)
{
	return rt_sge(&c->side, offset, length);
}

static void post(struct channel *c, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK_OK(ibv_post_send(c->side.qp, wr, &bad));
}

static void op_post(struct channel *c, uint64_t n, const struct op *op)
{
	unsigned int slot = n % SLOTS;
	bool inward = op->type >= OP_READ;
	struct ibv_sge sge = sge_at(c, inward ? AT_BACK(slot) : AT_OUT(slot), op->length);
	struct ibv_send_wr tell = { .wr_id = n,
				    .opcode = IBV_WR_SEND_WITH_IMM,
				    .send_flags = IBV_SEND_SIGNALED,
				    .imm_data = htobe32(n) };
	struct ibv_send_wr wr = {
		.wr_id = n,
		.sg_list = &sge,
		.num_sge = op->length ? 1 : 0,
		.send_flags = op->type == OP_WRITE ? 0 : IBV_SEND_SIGNALED,
		.imm_data = htobe32(n),
		.next = op->type == OP_WRITE ? &tell : NULL,
		.wr.rdma = { c->peer.addr + AT_IN(slot), c->peer.rkey },
	};
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};

	wr.opcode = opcodes[op->type];
	if (op->type == OP_READ)
		wr.wr.rdma.remote_addr = c->peer.addr + AT_SOURCE;
	if (op->type == OP_ADD) {
		wr.wr.atomic.remote_addr = c->peer.addr + AT_ADD;
		wr.wr.atomic.rkey = c->peer.rkey;
		wr.wr.atomic.compare_add = 3;
		c->out.expected[slot] = 3 * c->out.adds++;
	}
	if (op->type == OP_SWAP) {
		wr.wr.atomic.remote_addr = c->peer.addr + AT_SWAP;
		wr.wr.atomic.rkey = c->peer.rkey;
		wr.wr.atomic.compare_add = c->out.swaps;
		wr.wr.atomic.swap = c->out.swaps + 1;
		c->out.expected[slot] = c->out.swaps++;
	}
	post(c, &wr);
}

static uint64_t seen_by_peer(struct channel *c)
{
	return __atomic_load_n((uint64_t *)(c->side.buf.p + AT_SEEN), __ATOMIC_ACQUIRE);
}

static bool op_begin(struct channel *c)
{
	struct sender *out = &c->out;
	unsigned int slot = out->next % SLOTS;
	struct op op = op_get(c->out_key, out->next);

	if (out->slot_busy[slot] || seen_by_peer(c) < out->slot_needs[slot])
		return false;
	if (op.type < OP_READ)
		fill(c->side.buf.p + AT_OUT(slot), op.length, op.seed);
	if (options.wrong && out->next > 20 && op.type < OP_READ && op.length)
		c->side.buf.p[AT_OUT(slot) + op.length / 2] ^= 1;
	if (is_noticed(&op))
		out->slot_needs[slot] = ++out->noticed;
	op_post(c, out->next, &op);
	out->slot_busy[slot] = true;
	out->outstanding++;
	out->next++;
	return true;
}

static void op_completed(struct channel *c, uint64_t n)
{
	struct sender *out = &c->out;
	struct op op = op_get(c->out_key, n);
	unsigned int slot = n % SLOTS;
	const uint8_t *back = c->side.buf.p + AT_BACK(slot);
	uint64_t value;

	memcpy(&value, back, sizeof(value));
	if (op.type == OP_READ)
		compare(back, op.length, c->in_key, "read", n);
	if (op.type >= OP_ADD && value != out->expected[slot])
		FAIL("operation %llu, %s: %llu was there, not %llu", (unsigned long long)n,
		     op_names[op.type], (unsigned long long)value,
		     (unsigned long long)out->expected[slot]);
	counts[op.type]++;
	out->bytes += op.length;
	out->slot_busy[slot] = false;
	out->outstanding--;
}

/* --- the receiving side --- */

/* Post receives for the operations to come, up to the first whose slot still holds bytes to
 * compare. */
static void receives_post(struct channel *c)
{
	struct receiver *in = &c->in;

	while (in->posted < in->done + SLOTS) {
		struct op op = op_get(c->in_key, in->posted);
		bool data = op.type == OP_SEND || op.type == OP_SEND_IMM;

		if (is_noticed(&op))
			rt_recv(&c->side, in->posted, AT_IN(in->posted % SLOTS),
				data ? op.length : 0);
		in->posted++;
	}
}

static void skip_unnoticed(struct channel *c)
{
	struct op op;

	for (;; c->in.done++) {
		op = op_get(c->in_key, c->in.done);
		if (is_noticed(&op))
			break;
	}
	receives_post(c);
}

static void received(struct channel *c, const struct ibv_wc *wc)
{
	struct op op = op_get(c->in_key, c->in.done);
	uint64_t n = c->in.done;

	CHECK_INT(wc->wr_id, n);
	CHECK_INT(wc->opcode, op.type == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	CHECK_INT(wc->byte_len, op.type == OP_WRITE ? 0 : op.length);
	if (op.type != OP_SEND)
		CHECK_INT(be32toh(wc->imm_data), (uint32_t)n);
	compare(c->side.buf.p + AT_IN(n % SLOTS), op.length, op.seed, op_names[op.type], n);
	c->in.done++;
	c->in.seen++;
	skip_unnoticed(c);
}

static void tell(struct channel *c)
{
	struct ibv_sge sge = sge_at(c, AT_COUNT, sizeof(uint64_t));
	struct ibv_send_wr wr = {
		.wr_id = COUNT_WR,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { c->peer.addr + AT_SEEN, c->peer.rkey },
	};

	if (c->in.telling || c->in.told == c->in.seen)
		return;
	c->in.told = c->in.seen;
	memcpy(c->side.buf.p + AT_COUNT, &c->in.seen, sizeof(uint64_t));
	c->in.telling = true;
	post(c, &wr);
}

/* --- running --- */

static int channel_poll(struct channel *c)
{
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(c->side.cq, POLL, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			FAIL("after %.1f s: completion %llx: %s", seconds_now() - began,
			     (unsigned long long)wc[i].wr_id, ibv_wc_status_str(wc[i].status));
		if (wc[i].opcode & IBV_WC_RECV)
			received(c, &wc[i]);
		else if (wc[i].wr_id == COUNT_WR)
			c->in.telling = false;
		else
			op_completed(c, wc[i].wr_id);
	}
	tell(c);
	return n;
}

static uint64_t bytes_sent(void)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < options.qps; i++)
		total += channels[i].out.bytes;
	return total;
}

static bool is_over(void)
{
	return bytes_sent() >= options.gigabytes * 1e9 / 2 ||
	       seconds_now() - began >= options.seconds;
}

static bool all_compared(void)
{
	for (unsigned int i = 0; i < options.qps; i++)
		if (channels[i].out.outstanding ||
		    seen_by_peer(&channels[i]) != channels[i].out.noticed)
			return false;
	return true;
}

/* Run until this side has sent enough and the other has reported the same. */
static void traffic(int socket)
{
	bool over = false, said = false, heard = false;
	char byte = 0;

	for (unsigned int turn = 0; !said || !heard; turn++) {
		for (unsigned int i = 0; i < options.qps; i++) {
			channel_poll(&channels[i]);
			while (!over && op_begin(&channels[i]))
				;
		}
		if (turn % 256 && !over)
			continue;
		over = over || is_over();
		if (over && !said && all_compared())
			said = send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
		if (!heard) {
			ssize_t n = recv(socket, &byte, 1, MSG_DONTWAIT);

			if (n == 0)
				FAIL("the other process is gone");
			heard = n == 1;
		}
	}
	/* Let the last report be acknowledged while both sides still poll. */
	for (unsigned int i = 0; i < options.qps; i++)
		while (channels[i].in.telling)
			channel_poll(&channels[i]);
}

static void use_ipv6(struct rt_dev *dev)
{
	struct ibv_gid_entry entry;

	for (uint32_t i = 0; i < (uint32_t)dev->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(dev->ctx, dev->port_num, i, &entry, 0) || !entry.gid.raw[15] ||
		    entry.gid.raw[10])
			continue;
		dev->gid_index = i;
		dev->gid = entry.gid;
		return;
	}
	FAIL("no IPv6 address on the device");
}

static void channel_open(struct channel *c, struct rt_dev *dev, int socket, unsigned int number,
			 unsigned int who)
{
	static const struct rt_options qp_options = {
		.send_wr = OPS_AHEAD,
		.recv_wr = OPS_AHEAD,
		.cqe = 4 * OPS_AHEAD,
		.size = BUFFER,
		.rd_atomic = 4,
		.timeout = 18, /* a second: a busy machine must not count as a lost peer */
	};

	c->side = rt_side_open(dev, &qp_options, NULL);
	c->out_key = mix(options.seed * 1000 + number * 2 + who);
	c->in_key = mix(options.seed * 1000 + number * 2 + !who);
	/* The peer compares the data that it reads with the key in the message that it receives. */
	fill(c->side.buf.p + AT_SOURCE, SLOT, c->out_key);
	rt_side_init(&c->side);
	struct rt_address mine = rt_side_address(&c->side);

	c->peer = rt_exchange(socket, &mine);
	skip_unnoticed(c);
	rt_side_rtr(&c->side, &c->peer);
	rt_side_rts(&c->side);
}

static void report(unsigned int who)
{
	double seconds = seconds_now() - began;
	uint64_t bytes = bytes_sent(), all = 0;

	printf("process %u sent %.2f GB in %.1f s:", who, bytes / 1e9, seconds);
	for (int i = 0; i < OP_TYPES; i++) {
		printf(" %llu %s,", (unsigned long long)counts[i], op_names[i]);
		all += counts[i];
	}
	printf(" all compared; %.0f MB/s each way, both ways at once\n", bytes / seconds / 1e6);
	if (!all)
		FAIL("nothing was moved");
}

static void process(int socket, unsigned int who)
{
	struct rt_dev *dev = rt_open();
	char byte = 0;

	if (!options.ipv4)
		use_ipv6(dev);
	for (unsigned int i = 0; i < options.qps; i++)
		channel_open(&channels[i], dev, socket, i, who);
	/* Do not send before the other side is ready to receive. */
	CHECK_INT(send(socket, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(socket, &byte, 1, MSG_WAITALL), 1);
	began = seconds_now();
	traffic(socket);
	report(who);
	CHECK_INT(send(socket, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(socket, &byte, 1, MSG_WAITALL), 1);
	for (unsigned int i = 0; i < options.qps; i++)
		rt_side_close(&channels[i].side);
	rt_close(dev);
}

static void options_read(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "g:t:q:s:f:4mx")) >= 0) {
		if (c == 'g')
			options.gigabytes = atof(optarg);
		else if (c == 't')
			options.seconds = atoi(optarg);
		else if (c == 'q')
			options.qps = atoi(optarg);
		else if (c == 's')
			options.seed = atoi(optarg);
		else if (c == 'f')
			options.faults = optarg;
		else if (c == '4')
			options.ipv4 = true;
		else if (c == 'm')
			options.memory = true;
		else if (c == 'x')
			options.wrong = true;
		else
			exit(2);
	}
	if (!options.qps || options.qps > QPS_MAX) {
		fprintf(stderr, "soak: 1 to %d queue pairs\n", QPS_MAX);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	char faults[512];
	int sockets[2], status;
	pid_t child;

	options_read(argc, argv);
	net_own();
	snprintf(faults, sizeof(faults), "seed=%u;%s", options.seed, options.faults);
	if (!options.memory) {
		setenv("UROCE_FAULTS", faults, 1);
		setenv("UROCE_PATH", "udp", 1);
	}
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		process(sockets[1], 1);
		exit(0);
	}
	close(sockets[1]);
	process(sockets[0], 0);
	CHECK(waitpid(child, &status, 0) == child);
	return status != 0;
}
