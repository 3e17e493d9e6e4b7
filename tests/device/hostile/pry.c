/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: pry [CASE]
 *
 * The access of a process to another process's memory. A peer with shared memory tries to write
 * to the memory that the other process shows to its peers, by every path to it. Processes of one
 * user in other PID namespaces, and users that only look equal from inside user namespaces,
 * share no memory, not even the memory for sharing. If they may share the port, their messages
 * arrive nevertheless.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	MAPPINGS = 2, /* of a board or a lane: the first page, and all of it */
	MESSAGES = 10,
	LENGTH = 300,
	USER = 1000, /* and the next number */
};

/* The places of the two processes, seen from this program. */
enum place {
	TOGETHER,
	APART,	  /* each in a PID namespace of its own */
	BELOW,	  /* the second one in a namespace below the first one's */
	NOBODY,	  /* two users, each in a user namespace that shows no user */
	ROOTS,	  /* two users, each in a user namespace that shows it as root */
	INSIDE,	  /* one user, the second process in a user namespace that shows it as root */
	ROOTLESS, /* the same, and in a PID namespace below the first one's */
};

static const struct situation {
	const char *name;
	enum place place;
	const char *path[2];
	int lanes;	   /* number of lanes that each maps, and of the other's boards */
	bool second_first; /* the second process opens its device first */
} situations[] = {
	{ "together", TOGETHER, { NULL, NULL }, 1, false },
	{ "apart", APART, { NULL, NULL }, 0, false },
	{ "apart-wanted", APART, { "user", "user" }, 1, false },
	{ "apart-wanted-by-one", APART, { "user", NULL }, 0, false },
	{ "apart-wanted-by-other", APART, { NULL, "user" }, 0, false },
	{ "below", BELOW, { NULL, NULL }, 0, false },
	{ "below-first", BELOW, { NULL, NULL }, 0, true },
	{ "below-wanted", BELOW, { "user", "user" }, 1, true },
	{ "nobody", NOBODY, { NULL, NULL }, 0, false },
	{ "nobody-wanted", NOBODY, { "user", "user" }, 0, false },
	{ "roots", ROOTS, { NULL, NULL }, 0, false },
	{ "inside", INSIDE, { NULL, NULL }, 1, false },
	{ "rootless", ROOTLESS, { NULL, NULL }, 0, false },
	{ "rootless-first", ROOTLESS, { NULL, NULL }, 0, true },
};

static struct world {
	struct rt_address address[2], shared[2];
	atomic_int opened, published, ready, talked, pried, skipped;
} * world;

static void await(const atomic_int *flag, int value)
{
	while (atomic_load(flag) < value)
		usleep(1000);
}

static void meet(atomic_int *place)
{
	atomic_fetch_add(place, 1);
	await(place, 2);
}

/* --- what is mapped --- */

struct mapping {
	unsigned long start, end, inode;
	char permissions[5];
};

#define CHECK_BETWEEN(value, least, most)                     \
	do {                                                  \
		int value_ = (value);                         \
		CHECK(value_ >= (least) && value_ <= (most)); \
	} while (0)

/* Return the number of mappings of files with that name. If @other is not 0, ignore mappings of
 * that inode. The first of them, up to MAPPINGS, are in @ret. */
static int mappings(const char *name, unsigned long other, struct mapping *ret)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		struct mapping m;

		if (!strstr(line, name))
			continue;
		CHECK_INT(sscanf(line, "%lx-%lx %4s %*s %*s %lu", &m.start, &m.end, m.permissions,
				 &m.inode),
			  4);
		if (m.inode == other)
			continue;
		if (ret && count < MAPPINGS)
			ret[count] = m;
		count++;
	}
	fclose(file);
	return count;
}

/* Open process @pid's own descriptor of its board again. */
static int board_open(const char *pid, int flags)
{
	char path[300], link[300];
	struct dirent *entry;
	DIR *dir;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	CHECK(dir);
	while (fd < 0 && (entry = readdir(dir))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		if (strstr(link, "uroce-board"))
			fd = open(path, flags | O_CLOEXEC);
	}
	closedir(dir);
	return fd;
}

/* --- the process that pries --- */

static void pry_mapping(const struct mapping *board)
{
	void *p = (void *)board->start;

	CHECK(!strchr(board->permissions, 'w'));
	CHECK(mprotect(p, board->end - board->start, PROT_READ | PROT_WRITE));
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE));
}

/* The peer belongs to the same user, so that its descriptors can be opened; that gives no write
 * access either. */
static void pry_file(const char *peer)
{
	int fd = board_open(peer, O_RDWR);
	struct stat st;
	size_t length;

	if (fd < 0)
		fd = board_open(peer, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st));
	length = st.st_size;
	CHECK(mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(pwrite(fd, "x", 1, 0) < 0);
	CHECK(ftruncate(fd, 0));
	CHECK(ftruncate(fd, 2 * length));
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	close(fd);
}

static void pry(const char *peer)
{
	int own = board_open("self", O_RDONLY);
	struct mapping board[MAPPINGS];
	struct stat st;
	int count;

	CHECK(own >= 0 && !fstat(own, &st));
	count = mappings("memfd:uroce-board", st.st_ino, board);
	CHECK_BETWEEN(count, 1, MAPPINGS);
	for (int i = 0; i < count; i++)
		pry_mapping(&board[i]);
	pry_file(peer);
	close(own);
}

/* --- the two --- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void leave_out(const char *why)
{
	printf("left out: %s: %m\n", why);
	fflush(stdout);
	atomic_store(&world->skipped, 1);
	_exit(0);
}

static void become(uid_t uid)
{
	if (setresuid(uid, uid, uid))
		leave_out("only root can become somebody else");
	CHECK_OK(prctl(PR_SET_DUMPABLE, 1)); /* otherwise its files in /proc belong to root */
}

/* Enter a user namespace as the user @uid outside. */
static void user_namespace(uid_t uid, bool as_root)
{
	char map[64];

	become(uid);
	if (unshare(CLONE_NEWUSER))
		leave_out("no user namespaces here");
	if (!as_root) {
		CHECK_INT(geteuid(), 65534);
		return;
	}
	CHECK_OK(prctl(PR_SET_DUMPABLE, 1)); /* otherwise its files in /proc belong to root */
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	CHECK_INT(geteuid(), 0);
}

static void talk(struct rt_side *side, int seed, int peer_seed)
{
	int sent = 0, received = 0;

	rt_fill(side->buf.p, LENGTH, seed);
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = rt_sge(side, 0, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

		POST(side, &wr);
	}
	while (sent < MESSAGES || received < MESSAGES) {
		struct ibv_wc wc = rt_wait(side);

		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 1)
			sent++;
		else
			VERIFY(side->buf.p + 32768 + received++ * LENGTH, LENGTH, peer_seed);
	}
}

/* Memory that peers can map. */
static struct rt_address share(struct rt_dev *dev)
{
	struct ibv_buf *buf;
	void *p = ibv_alloc_buf(dev->pd, 4096, &buf);
	struct ibv_mr *mr = p ? ibv_reg_buf_mr(dev->pd, buf, p, 4096, RT_ACCESS) : NULL;

	CHECK(mr);
	return (struct rt_address){ .addr = (uintptr_t)p, .rkey = mr->rkey };
}

/* Write to the peer's memory, which works in any case; processes that share all memory map it. */
static void reach(const struct situation *s, struct rt_side *side, const struct rt_address *shared)
{
	struct ibv_sge sge = rt_sge(side, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 3, &sge);

	wr.wr.rdma.remote_addr = shared->addr;
	wr.wr.rdma.rkey = shared->rkey;
	POST(side, &wr);
	EXPECT(side, 3, IBV_WC_RDMA_WRITE);
	if (!s->lanes || s->place == TOGETHER)
		CHECK_INT(mappings("memfd:uroce-memory", 0, NULL), 1 + s->lanes);
}

/* Two users do not share the port: their QPs have numbers of different blocks, and none becomes
 * ready. */
static void apart(struct rt_side *side, const struct rt_address *peer)
{
	CHECK(side->qp->qp_num >> 10 != peer->qpn >> 10);
	CHECK_INT(rt_side_try_rtr(side, peer), EADDRINUSE);
	CHECK_INT(mappings("memfd:uroce-lane", 0, NULL), 0);
	CHECK_INT(mappings("memfd:uroce-board", 0, NULL), 1);
}

static void process_main(const struct situation *s, int index)
{
	bool users = s->place == NOBODY || s->place == ROOTS;
	bool user = s->place == INSIDE || s->place == ROOTLESS;
	struct rt_side side;

	alarm(RT_SECONDS);
	if (users)
		user_namespace(USER + index, s->place == ROOTS);
	else if (user && index)
		user_namespace(USER, true);
	else if (user)
		become(USER);
	CHECK_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
	net_enter(NET_HERE);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	if (s->path[index])
		setenv("UROCE_PATH", s->path[index], 1);
	await(&world->opened, s->second_first ? !index : index);
	side = rt_side_open(rt_open(), NULL, NULL);
	world->address[index] = rt_side_address(&side);
	world->shared[index] = share(side.dev);
	atomic_fetch_add(&world->opened, 1);
	meet(&world->published);
	rt_side_init(&side);
	for (int i = 0; i < MESSAGES; i++)
		rt_recv(&side, 2, 32768 + i * LENGTH, LENGTH);
	if (users) {
		apart(&side, &world->address[!index]);
		meet(&world->talked);
		return;
	}
	rt_side_rtr(&side, &world->address[!index]);
	rt_side_rts(&side);
	meet(&world->ready);
	/* The first page of each, and the whole as a second mapping if it was needed. */
	CHECK_BETWEEN(mappings("memfd:uroce-lane", 0, NULL), s->lanes, 2 * s->lanes);
	CHECK_BETWEEN(mappings("memfd:uroce-board", 0, NULL), 1 + s->lanes, 1 + 2 * s->lanes);
	talk(&side, index, !index);
	reach(s, &side, &world->shared[!index]);
	meet(&world->talked);
}

/* Put the children into a PID namespace of their own; the first child continues. */
static void pid_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		leave_out("no PID namespaces here");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		return;
	CHECK_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	_exit(status != 0);
}

static pid_t process_start(const struct situation *s, int index, pid_t peer)
{
	char name[16];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	if (s->place == APART || ((s->place == BELOW || s->place == ROOTLESS) && index))
		pid_namespace();
	process_main(s, index);
	snprintf(name, sizeof(name), "%d", peer);
	if (s->place == TOGETHER && index)
		pry(name);
	meet(&world->pried);
	exit(0);
}

static void situation_run(const struct situation *s)
{
	pid_t pids[2];
	int status;

	printf("%s\n", s->name);
	memset(world, 0, sizeof(*world));
	pids[0] = process_start(s, 0, 0);
	pids[1] = process_start(s, 1, pids[0]);
	for (int left = 2; left;) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		CHECK(pid >= 0);
		CHECK_INT(pid ? status : 0, 0);
		left -= pid > 0;
		if (atomic_load(&world->skipped))
			break;
		usleep(1000);
	}
	for (int i = 0; atomic_load(&world->skipped) && i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int main(int argc, char **argv)
{
	alarm(RT_SECONDS);
	net_make("shm");
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	for (int i = 0; i < RT_COUNT(situations); i++)
		if (argc < 2 || !strcmp(argv[1], situations[i].name))
			situation_run(&situations[i]);
	return 0;
}
