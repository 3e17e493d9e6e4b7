/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that two processes of a host have mapped: device memory, buffers of ibv_alloc_buf(),
 * and shared memory of the application. The initiator's mappings show whether it uses that path. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include "tests/lib/rt_child.h"

enum {
	SIZE = 1 << 16,
	PLACE = 4096, /* offset of the region in its memory, if there is a choice */
	LENGTH = SIZE - PLACE,
	USER = 65534,
	ROUNDS = 2000,
	SEED = 40,
};

enum kind {
	DM,
	BUFFER,
	MEMFD,
	SYSV,
	TMPFS,
	PRIVATE, /* is never mapped */
	READ_ONLY,
	ON_DEMAND,
};

static const char *const shown[] = {
	[DM] = "memfd:uroce-memory", [BUFFER] = "memfd:uroce-memory",
	[MEMFD] = "memfd:rt-shared", [SYSV] = "/SYSV",
	[TMPFS] = "/rt-shared-",     [PRIVATE] = "memfd:rt-",
	[READ_ONLY] = "memfd:rt-",   [ON_DEMAND] = "memfd:rt-",
};

/* Words of the owner. */
enum word {
	READY = 1,
	CHECK_DATA,
	FILL,
	WORD, /* value of the first word */
	DEREGISTER,
	MOVE,	 /* replace the region's memory by memory that is not shared */
	CUT,	 /* the file is empty */
	REPLACE, /* map other memory at the same addresses */
	IN_FILE, /* value of the first word in the file */
	END,
	ANSWER,
};

struct memory {
	enum kind kind;
	struct ibv_dm *dm;
	struct ibv_buf *buf;
	uint8_t *p;
	int fd;
	struct ibv_mr *mr;
};

static void become_user(void)
{
	if (!getuid())
		CHECK_OK(setresuid(USER, USER, USER));
	CHECK_OK(prctl(PR_SET_DUMPABLE, 1));
}

/* --- the owner --- */

static uint8_t *file_map(int fd, int protection)
{
	uint8_t *p;

	CHECK(fd >= 0);
	CHECK_OK(ftruncate(fd, SIZE));
	p = mmap(NULL, SIZE, protection, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	return p;
}

static uint8_t *sysv_map(void)
{
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
	uint8_t *p;

	CHECK(id >= 0);
	p = shmat(id, NULL, 0);
	CHECK(p != (void *)-1);
	CHECK_OK(shmctl(id, IPC_RMID, NULL));
	return p;
}

static uint8_t *tmpfs_map(struct memory *m)
{
	char name[64];

	snprintf(name, sizeof(name), "/rt-shared-%d", getpid());
	m->fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	m->p = file_map(m->fd, PROT_READ | PROT_WRITE);
	shm_unlink(name);
	return m->p;
}

static int access_of(enum kind kind)
{
	return kind == READ_ONLY   ? IBV_ACCESS_REMOTE_READ
	       : kind == ON_DEMAND ? RT_ACCESS | IBV_ACCESS_ON_DEMAND
	       : kind == DM	   ? RT_ACCESS | IBV_ACCESS_ZERO_BASED
				   : RT_ACCESS;
}

static struct memory memory_open(struct rt_dev *dev, enum kind kind)
{
	struct memory m = { .kind = kind, .fd = -1 };
	struct ibv_alloc_dm_attr attr = { .length = SIZE };

	if (kind == DM) {
		m.dm = ibv_alloc_dm(dev->ctx, &attr);
		CHECK(m.dm);
		m.mr = ibv_reg_dm_mr(dev->pd, m.dm, PLACE, LENGTH, access_of(kind));
		CHECK(m.mr);
		return m;
	}
	if (kind == BUFFER)
		m.p = ibv_alloc_buf(dev->pd, SIZE, &m.buf);
	else if (kind == SYSV)
		m.p = sysv_map();
	else if (kind == TMPFS)
		m.p = tmpfs_map(&m);
	else if (kind == PRIVATE)
		m.p = aligned_alloc(4096, SIZE);
	else
		m.fd = memfd_create(kind == MEMFD ? "rt-shared" : "rt-other", 0);
	if (!m.p)
		m.p = file_map(m.fd, kind == READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE);
	CHECK(m.p);
	m.mr = kind == BUFFER ? ibv_reg_buf_mr(dev->pd, m.buf, m.p + PLACE, LENGTH, access_of(kind))
			      : ibv_reg_mr(dev->pd, m.p + PLACE, LENGTH, access_of(kind));
	CHECK(m.mr);
	return m;
}

static void memory_read(struct memory *m, void *to, size_t length)
{
	if (m->dm)
		CHECK_OK(ibv_memcpy_from_dm(to, m->dm, PLACE, length));
	else
		memcpy(to, m->p + PLACE, length);
}

static void memory_fill(struct memory *m, uint32_t seed)
{
	static uint8_t bytes[LENGTH];

	rt_fill(bytes, LENGTH, seed);
	if (m->dm)
		CHECK_OK(ibv_memcpy_to_dm(m->dm, PLACE, bytes, LENGTH));
	else
		memcpy(m->p + PLACE, bytes, LENGTH);
}

static void memory_deregister(struct memory *m)
{
	CHECK_OK(ibv_dereg_mr(m->mr));
	if (m->dm)
		CHECK_OK(ibv_free_dm(m->dm));
	if (m->buf)
		ibv_free_buf(m->buf);
}

static uint16_t owner_obey(struct memory *m, uint16_t word)
{
	static uint8_t bytes[LENGTH];
	uint64_t value;

	switch (word) {
	case CHECK_DATA:
		memory_read(m, bytes, LENGTH);
		VERIFY(bytes, LENGTH, SEED);
		return ANSWER;
	case FILL:
		memory_fill(m, SEED + 1);
		return ANSWER;
	case WORD:
		memory_read(m, &value, sizeof(value));
		return value;
	case DEREGISTER:
		memory_deregister(m);
		return ANSWER;
	case MOVE:
		memset(m->p, 0, SIZE);
		m->p = aligned_alloc(4096, SIZE);
		CHECK(m->p);
		CHECK_OK(ibv_rereg_mr(m->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, m->p + PLACE,
				      LENGTH, 0));
		return ANSWER;
	case CUT:
		CHECK_OK(ftruncate(m->fd, 0));
		return ANSWER;
	case REPLACE:
		CHECK(mmap(m->p, SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == m->p);
		return ANSWER;
	case IN_FILE:
		CHECK(pread(m->fd, &value, sizeof(value), PLACE) == sizeof(value));
		return value;
	}
	FAIL("word %d", word);
}

static struct rt_address tell_addresses(int socket, struct rt_side *side, struct memory *m)
{
	struct rt_address mine = rt_side_address(side), peer;

	if (m) {
		mine.rkey = m->mr->rkey;
		mine.addr = (uintptr_t)m->mr->addr;
	}
	peer = rt_exchange(socket, &mine);
	rt_side_connect(side, &peer);
	rt_exchange(socket, &mine);
	return peer;
}

static void owner(int socket, int kind)
{
	static const struct rt_options options = { .rd_atomic = 4 };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &options, NULL);
	struct memory m = memory_open(dev, kind);
	uint16_t word;

	tell_addresses(socket, &side, &m);
	while ((word = rt_hear(socket)) != END)
		rt_tell(socket, owner_obey(&m, word));
	exit(0);
}

static void owner_user(int socket, int kind)
{
	become_user();
	owner(socket, kind);
}

/* --- the initiator --- */

struct initiator {
	struct rt_child owner;
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address remote;
};

static uint16_t ask(struct initiator *in, enum word word)
{
	rt_tell(in->owner.socket, word);
	return rt_hear(in->owner.socket);
}

static struct initiator initiator_open(enum kind kind, bool user)
{
	static const struct rt_options options = {
		.rd_atomic = 4, .retry_cnt = 1, .timeout = 10, .inline_data = 64
	};
	struct initiator in = { .owner = rt_child_start(user ? owner_user : owner, kind) };

	if (user)
		become_user();
	in.dev = rt_open();
	in.side = rt_side_open(in.dev, &options, NULL);
	in.remote = tell_addresses(in.owner.socket, &in.side, NULL);
	return in;
}

static void initiator_close(struct initiator *in)
{
	rt_side_close(&in->side);
	rt_close(in->dev);
}

static void finish(struct initiator *in)
{
	rt_tell(in->owner.socket, END);
	rt_child_finish(&in->owner);
	initiator_close(in);
}

static void post(struct initiator *in, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&in->side, 0, length);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = in->remote.addr;
		wr.wr.atomic.rkey = in->remote.rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 77;
	} else {
		wr.wr.rdma.remote_addr = in->remote.addr;
		wr.wr.rdma.rkey = in->remote.rkey;
	}
	POST(&in->side, &wr);
}

static void write_all(struct initiator *in, uint32_t seed)
{
	rt_fill(in->side.buf.p, LENGTH, seed);
	post(in, IBV_WR_RDMA_WRITE, LENGTH);
	EXPECT(&in->side, 1, IBV_WC_RDMA_WRITE);
}

static bool is_mapped(enum kind kind)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, shown[kind]) != NULL;
	fclose(file);
	return found;
}

/* --- cases --- */

static void transfer(enum kind kind, bool user)
{
	struct initiator in = initiator_open(kind, user);

	write_all(&in, SEED);
	CHECK(is_mapped(kind));
	CHECK_INT(ask(&in, CHECK_DATA), ANSWER);
	CHECK_INT(ask(&in, FILL), ANSWER);
	memset(in.side.buf.p, 0, LENGTH);
	post(&in, IBV_WR_RDMA_READ, LENGTH);
	EXPECT(&in.side, 1, IBV_WC_RDMA_READ);
	VERIFY(in.side.buf.p, LENGTH, SEED + 1);
	finish(&in);
}

static void data(const void *arg)
{
	transfer(*(const enum kind *)arg, false);
}

/* A user that may not open mappings finds the file in other ways. */
static void data_of_user(const void *arg)
{
	transfer(*(const enum kind *)arg, true);
}

static void unmapped(const void *arg)
{
	enum kind kind = *(const enum kind *)arg;
	struct initiator in = initiator_open(kind, false);

	if (kind != READ_ONLY)
		write_all(&in, SEED);
	post(&in, IBV_WR_RDMA_READ, LENGTH);
	EXPECT(&in.side, 1, IBV_WC_RDMA_READ);
	CHECK(!is_mapped(kind));
	if (kind != READ_ONLY)
		CHECK_INT(ask(&in, CHECK_DATA), ANSWER);
	finish(&in);
}

static void atomics(const void *arg)
{
	struct initiator in = initiator_open(*(const enum kind *)arg, false);
	uint64_t *result = (uint64_t *)in.side.buf.p;

	for (uint64_t i = 0; i < 10; i++) {
		post(&in, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
		EXPECT(&in.side, 1, IBV_WC_FETCH_ADD);
		CHECK(*result == 5 * i);
	}
	CHECK(is_mapped(*(const enum kind *)arg));
	post(&in, IBV_WR_ATOMIC_CMP_AND_SWP, 8); /* not 5 */
	EXPECT(&in.side, 1, IBV_WC_COMP_SWAP);
	CHECK(*result == 50);
	CHECK_INT(ask(&in, WORD), 50);
	*result = 5;
	post(&in, IBV_WR_RDMA_WRITE, 8);
	EXPECT(&in.side, 1, IBV_WC_RDMA_WRITE);
	post(&in, IBV_WR_ATOMIC_CMP_AND_SWP, 8);
	EXPECT(&in.side, 1, IBV_WC_COMP_SWAP);
	CHECK(*result == 5);
	CHECK_INT(ask(&in, WORD), 77);
	finish(&in);
}

/* After the deregistration access is refused at once, and the mapping is removed. */
static void deregistered(const void *arg)
{
	enum kind kind = *(const enum kind *)arg;
	struct initiator in = initiator_open(kind, false);

	write_all(&in, SEED);
	CHECK(is_mapped(kind));
	CHECK_INT(ask(&in, CHECK_DATA), ANSWER);
	CHECK_INT(ask(&in, DEREGISTER), ANSWER);
	post(&in, IBV_WR_RDMA_WRITE, 8);
	EXPECT_STATUS(&in.side, 1, IBV_WC_REM_ACCESS_ERR);
	while (is_mapped(kind))
		usleep(1000);
	finish(&in);
}

/* The key stays, and refers to other memory. */
static void moved(void)
{
	struct initiator in = initiator_open(MEMFD, false);
	struct ibv_sge sge = rt_sge(&in.side, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, 1, &sge);

	write_all(&in, SEED);
	CHECK(is_mapped(MEMFD));
	CHECK_INT(ask(&in, MOVE), ANSWER);
	while (is_mapped(MEMFD))
		usleep(1000);
	/* The address has changed: the old one is refused. */
	wr.wr.rdma.remote_addr = in.remote.addr;
	wr.wr.rdma.rkey = in.remote.rkey;
	POST(&in.side, &wr);
	EXPECT_STATUS(&in.side, 1, IBV_WC_REM_ACCESS_ERR);
	finish(&in);
}

/* Kill the owner in the middle of a stream of writes. */
static void killed(const void *arg)
{
	enum kind kind = *(const enum kind *)arg;
	struct initiator in = initiator_open(kind, false);
	struct ibv_wc wc;

	write_all(&in, SEED);
	CHECK(is_mapped(kind));
	CHECK_OK(kill(in.owner.pid, SIGKILL));
	do {
		post(&in, IBV_WR_RDMA_WRITE, 8);
		wc = rt_wait(&in.side);
	} while (wc.status == IBV_WC_SUCCESS);
	CHECK_INT(wc.status, IBV_WC_RETRY_EXC_ERR);
	while (is_mapped(kind))
		usleep(1000);
	rt_child_kill(&in.owner);
	initiator_close(&in);
}

/* The owner truncates the file under the mapping. */
static void cut(const void *arg)
{
	struct initiator in = initiator_open(MEMFD, false);
	enum ibv_wr_opcode opcode = *(const enum ibv_wr_opcode *)arg;

	write_all(&in, SEED);
	CHECK(is_mapped(MEMFD));
	CHECK_INT(ask(&in, CUT), ANSWER);
	post(&in, opcode, 8);
	CHECK(rt_wait(&in.side).status != IBV_WC_SUCCESS);
	finish(&in);
}

/* Write one word after the owner has replaced the memory of its region. */
static void write_replaced(struct initiator *in)
{
	CHECK_INT(ask(in, REPLACE), ANSWER);
	*(uint64_t *)in->side.buf.p = 77;
	post(in, IBV_WR_RDMA_WRITE, 8);
	EXPECT(&in->side, 1, IBV_WC_RDMA_WRITE);
}

/* The region is a range of addresses, so the write changes the new memory. */
static void replaced_private(void)
{
	struct initiator in = initiator_open(PRIVATE, false);

	write_all(&in, SEED);
	CHECK_INT(ask(&in, CHECK_DATA), ANSWER);
	write_replaced(&in);
	CHECK_INT(ask(&in, WORD), 77);
	finish(&in);
}

/* The initiator has mapped the file, so the write changes the file and not the new memory. */
static void replaced_memfd(void)
{
	struct initiator in = initiator_open(MEMFD, false);

	write_all(&in, SEED);
	CHECK(is_mapped(MEMFD));
	write_replaced(&in);
	CHECK_INT(ask(&in, WORD), 0);
	CHECK_INT(ask(&in, IN_FILE), 77);
	finish(&in);
}

/* Three initiators count in one word: by the mapping, by packets and in the owner itself. */
static void count(struct initiator *in)
{
	for (int i = 0; i < ROUNDS; i++) {
		post(in, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
		EXPECT(&in->side, 1, IBV_WC_FETCH_ADD);
	}
}

static void counter(int socket, int path)
{
	static const struct rt_options options = { .rd_atomic = 4 };
	struct initiator in = {};

	if (path)
		setenv("UROCE_PATH", "udp", 1);
	in.dev = rt_open();
	in.side = rt_side_open(in.dev, &options, NULL);
	in.remote = tell_addresses(socket, &in.side, NULL);
	count(&in);
	CHECK(is_mapped(DM) == !path);
	rt_tell(socket, END);
	rt_hear(socket);
	exit(0);
}

static void together(void)
{
	struct rt_child children[] = { rt_child_start(counter, 0), rt_child_start(counter, 1) };
	static const struct rt_options options = { .rd_atomic = 4 };
	struct rt_dev *dev = rt_open();
	struct memory m = memory_open(dev, DM);
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct initiator own = { .dev = dev, .side = pair.a };
	struct rt_side sides[RT_COUNT(children)];
	uint64_t value;

	for (int i = 0; i < RT_COUNT(children); i++) {
		sides[i] = rt_side_open(dev, &options, NULL);
		tell_addresses(children[i].socket, &sides[i], &m);
	}
	own.remote.rkey = m.mr->rkey;
	count(&own);
	for (int i = 0; i < RT_COUNT(children); i++)
		CHECK_INT(rt_hear(children[i].socket), END);
	memory_read(&m, &value, sizeof(value));
	CHECK_INT(value, 3 * 5 * ROUNDS);
	for (int i = 0; i < RT_COUNT(children); i++) {
		rt_tell(children[i].socket, END);
		rt_child_finish(&children[i]);
		rt_side_close(&sides[i]);
	}
	rt_pair_close(&pair);
	memory_deregister(&m);
	rt_close(dev);
}

/* Create and free repeatedly, without any leak. */
static void again(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_use use = rt_use();

	for (int i = 0; i < 600; i++) {
		struct memory m = memory_open(dev, i & 1 ? DM : BUFFER);

		memory_deregister(&m);
		if (!i)
			use = rt_use(); /* descriptors of the first one stay open */
	}
	CHECK_INT(rt_use().descriptors, use.descriptors);
	CHECK(!is_mapped(DM));
	rt_close(dev);
}

/* More objects than can be shared, and no free descriptor: the memory works all the same. */
static void many(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_alloc_dm_attr attr = { .length = 100 };
	struct ibv_dm *dm[400];

	for (int i = 0; i < RT_COUNT(dm); i++) {
		dm[i] = ibv_alloc_dm(dev->ctx, &attr);
		CHECK(dm[i]);
		CHECK_OK(ibv_memcpy_to_dm(dm[i], 0, &i, sizeof(i)));
	}
	for (int i = 0, value; i < RT_COUNT(dm); i++) {
		CHECK_OK(ibv_memcpy_from_dm(&value, dm[i], 0, sizeof(value)));
		CHECK_INT(value, i);
		CHECK_OK(ibv_free_dm(dm[i]));
	}
	rt_close(dev);
}

static const enum kind dm = DM, buffer = BUFFER, memfd = MEMFD, sysv = SYSV, tmpfs = TMPFS,
		       private_memory = PRIVATE, read_only = READ_ONLY, on_demand = ON_DEMAND;
static const enum ibv_wr_opcode write_opcode = IBV_WR_RDMA_WRITE, read_opcode = IBV_WR_RDMA_READ,
				atomic_opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;

static const struct rt_case cases[] = {
	{ "data_dm", .run_with = data, .arg = &dm },
	{ "data_buffer", .run_with = data, .arg = &buffer },
	{ "data_memfd", .run_with = data, .arg = &memfd },
	{ "data_sysv", .run_with = data, .arg = &sysv },
	{ "data_tmpfs", .run_with = data, .arg = &tmpfs },
	{ "data_of_user_dm", .run_with = data_of_user, .arg = &dm },
	{ "data_of_user_memfd", .run_with = data_of_user, .arg = &memfd },
	{ "data_of_user_sysv", .run_with = data_of_user, .arg = &sysv },
	{ "data_of_user_tmpfs", .run_with = data_of_user, .arg = &tmpfs },
	{ "unmapped_private", .run_with = unmapped, .arg = &private_memory },
	{ "unmapped_read_only", .run_with = unmapped, .arg = &read_only },
	{ "unmapped_on_demand", .run_with = unmapped, .arg = &on_demand },
	{ "atomics_dm", .run_with = atomics, .arg = &dm },
	{ "atomics_buffer", .run_with = atomics, .arg = &buffer },
	{ "atomics_memfd", .run_with = atomics, .arg = &memfd },
	{ "atomics_sysv", .run_with = atomics, .arg = &sysv },
	{ "deregistered_dm", .run_with = deregistered, .arg = &dm },
	{ "deregistered_buffer", .run_with = deregistered, .arg = &buffer },
	{ "deregistered_memfd", .run_with = deregistered, .arg = &memfd },
	{ "deregistered_sysv", .run_with = deregistered, .arg = &sysv },
	{ "moved", moved },
	{ "killed_dm", .run_with = killed, .arg = &dm },
	{ "killed_memfd", .run_with = killed, .arg = &memfd },
	{ "cut_write", .run_with = cut, .arg = &write_opcode },
	{ "cut_read", .run_with = cut, .arg = &read_opcode },
	{ "cut_atomic", .run_with = cut, .arg = &atomic_opcode },
	{ "replaced_private", replaced_private },
	{ "replaced_memfd", replaced_memfd },
	{ "together", together },
	{ "again", again },
	{ "many", many },
};
RT_MAIN(cases)
