/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: strangers shm
 * udp
 *
 * Two processes write to and read from each other and verify every byte, while an attacker sends
 * them arbitrary messages. Over UDP these are datagrams with any content and a right ICRC, from
 * its own address and from the peer's, with packet numbers at random and around the expected
 * one. On one host they are messages to the sockets over which processes of one user meet, as
 * that user and as another. A process that is connected through shared memory accepts no
 * datagrams, even if every number in them is right.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "providers/uroce/wire/icrc.h"
#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	LENGTH = 3000,
	CANARY = 32768, /* offset of bytes that no process may change */
	SEED = 99,
	ATTACKS = 2000,
	SPOOFS = 500, /* few: the right PSN, one of 2^24, would be a right packet */
	NEAR = 300,   /* packet numbers on each side of the expected one */
	OTHER_USER = 65534,
};

#define LOCAL "127.0.0.1"

/* Shared by all processes. */
static struct world {
	struct rt_address server; /* as its peer sees it */
	atomic_uint rounds;	  /* of verified traffic */
	atomic_bool stop;
	/* the traffic is to pause, has paused; then psn is the number of the next packet */
	atomic_bool pause, paused;
	uint32_t psn;
} * world;

/* --- the two --- */

static void write_and_read(struct rt_side *side, int round)
{
	struct ibv_sge from = rt_sge(side, 0, LENGTH), to = rt_sge(side, 8192, LENGTH);
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 1, &from);
	struct ibv_send_wr read = rt_wr(IBV_WR_RDMA_READ, 2, &to);

	write.wr.rdma.remote_addr = read.wr.rdma.remote_addr = world->server.addr;
	write.wr.rdma.rkey = read.wr.rdma.rkey = world->server.rkey;
	rt_fill(side->buf.p, LENGTH, round);
	POST(side, &write);
	EXPECT(side, 1, IBV_WC_RDMA_WRITE);
	POST(side, &read);
	EXPECT(side, 2, IBV_WC_RDMA_READ);
	VERIFY(side->buf.p + 8192, LENGTH, round);
}

static void pause_traffic(struct rt_side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(side->qp, &attr, IBV_QP_SQ_PSN, &init));
	world->psn = attr.sq_psn;
	world->paused = true;
	while (world->pause)
		usleep(1000);
	world->paused = false;
}

static void end_main(int socket, bool server)
{
	static const struct rt_options options = { .timeout = 16 };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &options, NULL);
	struct rt_address mine = rt_side_address(&side), theirs;

	rt_fill(side.buf.p + CANARY, CANARY, SEED);
	if (server)
		world->server = mine;
	theirs = rt_exchange(socket, &mine);
	rt_side_connect(&side, &theirs);
	rt_exchange(socket, &mine);
	while (!server && !world->stop) {
		if (world->pause)
			pause_traffic(&side);
		write_and_read(&side, world->rounds);
		world->rounds++;
	}
	rt_exchange(socket, &mine); /* the server waits here and has no other work */
	VERIFY(side.buf.p + CANARY, CANARY, SEED);
	rt_side_close(&side);
	rt_close(dev);
}

static pid_t end_start(int host, const int sockets[2])
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(RT_SECONDS);
	close(sockets[!host]);
	net_enter(host);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	end_main(sockets[host], host == NET_THERE);
	exit(0);
}

/* Wait for so many further rounds of verified traffic. */
static void await_rounds(unsigned int count)
{
	unsigned int until = world->rounds + count;

	while ((int)(world->rounds - until) < 0) {
		CHECK(waitpid(-1, NULL, WNOHANG) == 0); /* no process has ended */
		usleep(1000);
	}
}

/* --- datagrams --- */

struct attacker {
	int fd;
	union uroce_address from, to;
	unsigned int random;
};

static struct attacker attacker_make(const char *address, const char *server)
{
	struct attacker a = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), .random = 1 };
	socklen_t length = sizeof(a.from.in);

	CHECK(a.fd >= 0);
	setsockopt(a.fd, IPPROTO_IP, IP_MTU_DISCOVER, &(int){ IP_PMTUDISC_DO }, sizeof(int));
	a.from.in = (struct sockaddr_in){ .sin_family = AF_INET };
	a.to.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(UROCE_UDP_PORT) };
	inet_pton(AF_INET, address, &a.from.in.sin_addr);
	inet_pton(AF_INET, server, &a.to.in.sin_addr);
	CHECK_OK(bind(a.fd, &a.from.sa, sizeof(a.from.in)));
	CHECK_OK(getsockname(a.fd, &a.from.sa, &length));
	return a;
}

/* Send a packet. @packet has room for the ICRC behind @length bytes. */
static void attack(struct attacker *a, uint8_t *packet, uint32_t length)
{
	struct uroce_icrc icrc;
	uint32_t crc;

	uroce_icrc_init(&icrc, &a->from, &a->to);
	crc = htole32(uroce_icrc_compute(&icrc, 0, packet, length));
	memcpy(packet + length, &crc, sizeof(crc));
	(void)!sendto(a->fd, packet, length + sizeof(crc), 0, &a->to.sa, sizeof(a->to.in));
}

static void random_fill(struct attacker *a, uint8_t *p, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		p[i] = rand_r(&a->random) >> 8;
}

static void put_bytes(uint8_t *p, uint64_t value, int bytes)
{
	while (bytes--) {
		p[bytes] = value;
		value >>= 8;
	}
}

static void garbage(struct attacker *a)
{
	uint8_t packet[1400 + BTH_LEN];

	for (int i = 0; i < ATTACKS; i++) {
		uint32_t length = rand_r(&a->random) % 1396;

		random_fill(a, packet, sizeof(packet));
		if (i % 2)
			(void)!sendto(a->fd, packet, length, 0, &a->to.sa, sizeof(a->to.in));
		else
			attack(a, packet, BTH_LEN + (length & ~3u));
		if (i % 64 == 0)
			usleep(500);
	}
}

/* Send a write over the server's canary, which is valid if @key and @psn are right. */
static void attack_write(struct attacker *a, uint32_t key, uint32_t psn)
{
	uint8_t packet[BTH_LEN + RETH_LEN + 512 + 4];

	random_fill(a, packet, sizeof(packet));
	packet[0] = UROCE_RC | UROCE_WRITE_ONLY;
	packet[1] = 0x40;
	put_bytes(packet + 2, 0xffff, 2);
	put_bytes(packet + 4, world->server.qpn, 4);
	put_bytes(packet + 8, 0x80000000 | (psn & 0xffffff), 4);
	put_bytes(packet + BTH_LEN, world->server.addr + CANARY, 8);
	put_bytes(packet + BTH_LEN + 8, key, 4);
	put_bytes(packet + BTH_LEN + 12, 512, 4);
	attack(a, packet, sizeof(packet) - 4);
}

/* Send writes with random packet numbers. */
static void writes(struct attacker *a, int count, uint32_t key)
{
	for (int i = 0; i < count; i++) {
		attack_write(a, key, rand_r(&a->random) >> 4);
		if (i % 64 == 0)
			usleep(500);
	}
}

static void pause_until(void)
{
	world->pause = true;
	while (!world->paused)
		usleep(1000);
}

/* Send packets with PSNs near the expected one while no other traffic moves. Packets with earlier
 * PSNs were executed already, and packets with later PSNs leave a gap. A packet with the expected
 * PSN is accepted only from the peer's address. */
static void writes_near(struct attacker *stranger, struct attacker *spoofer)
{
	pause_until();
	for (int i = 1; i <= NEAR; i++) {
		attack_write(stranger, world->server.rkey, world->psn);
		attack_write(spoofer, world->server.rkey, world->psn - i);
		attack_write(spoofer, world->server.rkey, world->psn + i);
		if (i % 32 == 0)
			usleep(500);
	}
	world->pause = false;
}

static void attack_udp(void)
{
	struct attacker stranger, spoofer;

	if (system("ip addr add 192.0.2.3/24 dev here0"))
		rt_skip("cannot have a second address");
	stranger = attacker_make("192.0.2.3", "192.0.2.2");
	spoofer = attacker_make("192.0.2.1", "192.0.2.2");
	garbage(&stranger);
	writes(&stranger, ATTACKS, world->server.rkey);
	await_rounds(20);
	garbage(&spoofer);
	writes(&spoofer, SPOOFS, world->server.rkey + 1);
	await_rounds(20);
	writes_near(&stranger, &spoofer);
	await_rounds(20);
	close(stranger.fd);
	close(spoofer.fd);
}

/* The two processes are connected through shared memory. Every user of the host can send from
 * their address, and this attacker also knows the numbers of the connection. */
static void attack_shm_by_udp(void)
{
	struct attacker local = attacker_make(LOCAL, LOCAL);

	pause_until();
	for (int i = 0; i < NEAR; i++) {
		attack_write(&local, world->server.rkey, world->psn + i);
		usleep(100);
	}
	world->pause = false;
	await_rounds(20);
	close(local.fd);
}

/* --- sockets --- */

/* Connect to each process's socket and send a message, which must not be answered. Return the
 * number of processes. */
static int knock(unsigned int seed)
{
	FILE *file = fopen("/proc/self/net/unix", "r");
	char line[512], *name;
	int count = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		uint8_t message[40];
		int fd;

		/* Use listeners only, because connections have the name too. */
		name = strstr(line, "@uroce-");
		if (!name || !strstr(line, " 00010000 "))
			continue;
		name[strcspn(name, "\n")] = '\0';
		strncpy(address.sun_path + 1, name + 1, sizeof(address.sun_path) - 2);
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		CHECK(fd >= 0);
		CHECK_OK(connect(fd, (struct sockaddr *)&address,
				 offsetof(struct sockaddr_un, sun_path) + strlen(name)));
		for (size_t i = 0; i < sizeof(message); i++)
			message[i] = rand_r(&seed) >> 8;
		(void)!send(fd, message, seed % sizeof(message), MSG_NOSIGNAL);
		CHECK(recv(fd, message, sizeof(message), 0) <= 0);
		close(fd);
		count++;
	}
	fclose(file);
	return count;
}

static void knock_as_other_user(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (setuid(OTHER_USER)) {
			printf("the part as another user was left out: only root can become one (%m)\n");
			exit(0);
		}
		for (int i = 0; i < 50; i++)
			CHECK_INT(knock(i), 2);
		exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void attack_shm(void)
{
	knock_as_other_user();
	await_rounds(20);
	for (int i = 0; i < 50; i++)
		CHECK_INT(knock(i), 2);
	await_rounds(20);
	attack_shm_by_udp();
}

int main(int argc, char **argv)
{
	int sockets[2], status;
	pid_t pids[2];

	if (argc != 2)
		return 2;
	alarm(RT_SECONDS);
	net_make(argv[1]);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	for (int i = 0; i < 2; i++)
		pids[i] = end_start(i, sockets);
	await_rounds(20);
	if (net_is_udp())
		attack_udp();
	else
		attack_shm();
	world->stop = true;
	for (int i = 0; i < 2; i++) {
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_INT(status, 0);
	}
	printf("%u rounds of verified traffic meanwhile\n", world->rounds);
	return 0;
}
