/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The name of a device, and the index of each address in its GID table: in every process, and
 * while addresses are added and removed. */
#include <arpa/inet.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	SOON_MS = 60000,
};

static void run(const char *command)
{
	CHECK_OK(system(command));
}

static void prepare(const char *links)
{
	net_own();
	if (system("ip link add probe0 type veth peer name probe1 && ip link del probe0"))
		rt_skip("no interfaces can be made here");
	if (links)
		run(links);
}

static struct rt_dev *open_device(const char *name)
{
	setenv("RT_DEVICE", name, 1);
	return rt_open();
}

/* Return the GID of the slot as text, or "" for an empty slot. */
static const char *gid_text(struct rt_dev *dev, uint32_t index)
{
	static char text[INET6_ADDRSTRLEN];
	struct ibv_gid_entry entry;

	text[0] = '\0';
	if (!ibv_query_gid_ex(dev->ctx, 1, index, &entry, 0))
		inet_ntop(AF_INET6, &entry.gid, text, sizeof(text));
	return text;
}

static void expect_gid(struct rt_dev *dev, uint32_t index, const char *expected)
{
	for (int ms = 0; ms < SOON_MS; ms += 10) {
		if (!strcmp(gid_text(dev, index), expected))
			return;
		usleep(10000);
	}
	FAIL("GID %u is '%s' instead of '%s'", index, gid_text(dev, index), expected);
}

/* Check the whole table in a process that starts now. */
static void expect_elsewhere(const char *device, const char *const *expected, uint32_t count)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		char number[16];

		snprintf(number, sizeof(number), "%u", count);
		setenv("RT_CASE", "as another process", 1);
		setenv("RT_DEVICE", device, 1);
		setenv("GIDS_COUNT", number, 1);
		for (uint32_t i = 0; i < count; i++) {
			snprintf(number, sizeof(number), "GIDS_%u", i);
			setenv(number, expected[i], 1);
		}
		execl("/proc/self/exe", "gids", NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

/* The process of expect_elsewhere(), which has no other task. */
static void another_process(void)
{
	const char *count = getenv("GIDS_COUNT");
	struct rt_dev *dev;

	if (!count)
		return;
	dev = rt_open();
	for (int i = 0; i < atoi(count); i++) {
		char name[16];

		snprintf(name, sizeof(name), "GIDS_%d", i);
		CHECK(getenv(name));
		if (strcmp(gid_text(dev, i), getenv(name)))
			FAIL("elsewhere GID %d is '%s' instead of '%s'", i, gid_text(dev, i),
			     getenv(name));
	}
	rt_close(dev);
}

#define EXPECT_TABLE(dev, device, ...)                                  \
	do {                                                            \
		const char *const table[] = { __VA_ARGS__ };            \
		for (uint32_t slot = 0; slot < RT_COUNT(table); slot++) \
			expect_gid(dev, slot, table[slot]);             \
		expect_elsewhere(device, table, RT_COUNT(table));       \
	} while (0)

/* --- names --- */

static void names(void)
{
	static const char *const expected[] = { "uroce_fifteen.letters", "uroce_a=2bb",
						"uroce_x=3dy", "uroce_=c3=a4" };
	struct ibv_device **list;
	struct rt_dev *dev;
	int count;

	prepare("ip link add fifteen.letters type veth peer name a+b &&"
		" ip link add x=y type veth peer name \xc3\xa4 && ip link set a+b up && ip link set fifteen.letters up");
	/* interfaces, and names of devices in their place */
	setenv("UROCE", "on:fifteen.letters,a+b,uroce_x=3dy,uroce_=c3=a4", 1);
	list = ibv_get_device_list(&count);
	CHECK(list);
	CHECK_INT(count, RT_COUNT(expected));
	for (int i = 0; i < count; i++)
		if (strcmp(ibv_get_device_name(list[i]), expected[i]))
			FAIL("device %d is %s instead of %s", i, ibv_get_device_name(list[i]),
			     expected[i]);
	ibv_free_device_list(list);
	dev = open_device("uroce_a=2bb");
	CHECK_INT(dev->port.link_layer, IBV_LINK_LAYER_ETHERNET);
	rt_close(dev);
}

/* Names stay when other devices come or go. */
static void names_stay(void)
{
	struct rt_dev *dev;

	prepare("ip link add one type veth peer name two && ip link set one addrgenmode none up &&"
		" ip addr add 192.0.2.1/24 dev one && ip link set two up && ip addr add 192.0.2.2/24 dev two");
	setenv("UROCE", "on", 1);
	dev = open_device("uroce_two");
	expect_gid(dev, 1, "::ffff:192.0.2.2");
	rt_close(dev);
	run("ip addr flush dev one"); /* it is no device any more */
	dev = open_device("uroce_two");
	expect_gid(dev, 1, "::ffff:192.0.2.2");
	rt_close(dev);
}

/* --- places --- */

#define LINK                                                            \
	"ip link add it type veth peer name at && ip link set at up &&" \
	" ip link set it address 02:00:00:00:00:05 "
#define LINK_LOCAL "fe80::ff:fe00:5"

/* An address keeps its index; a new address takes the first free one. */
static void places(void)
{
	struct rt_dev *dev;

	prepare(LINK "up && ip addr add 2001:db8::5/64 dev it nodad");
	setenv("UROCE", "on:it", 1);
	dev = open_device("uroce_it");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "", "2001:db8::5", "");
	run("ip addr add 192.0.2.5/24 dev it");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.5", "2001:db8::5", "");
	run("sleep 0.02; ip addr add 2001:db8::6/64 dev it nodad; sleep 0.02;"
	    " ip addr add 192.0.2.6/24 dev it; sleep 0.02; ip addr add 2001:db8::4/64 dev it nodad");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.5", "2001:db8::5", "2001:db8::6",
		     "::ffff:192.0.2.6", "2001:db8::4", "");
	run("ip addr del 2001:db8::5/64 dev it");
	expect_gid(dev, 2, "");
	expect_gid(dev, 3, "2001:db8::6");
	expect_gid(dev, 4, "::ffff:192.0.2.6");
	expect_gid(dev, 5, "2001:db8::4");
	run("ip addr add 2001:db8::7/64 dev it nodad");
	expect_gid(dev, 2, "2001:db8::7");
	expect_gid(dev, 3, "2001:db8::6");
	EXPECT_EVENT(dev, IBV_EVENT_GID_CHANGE);
	rt_close(dev);
}

/* During duplicate address detection, and after it. */
static void places_at_once(void)
{
	struct rt_dev *dev;

	prepare(LINK
		"&& sysctl -qw net.ipv6.conf.it.dad_transmits=3 && ip addr add 192.0.2.5/24 dev it &&"
		" ip link set it up && ip addr add 2001:db8::5/64 dev it");
	setenv("UROCE", "on:it", 1);
	dev = open_device("uroce_it");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.5", "2001:db8::5", "");
	run("while ip addr show dev it | grep -q tentative; do sleep 0.1; done");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.5", "2001:db8::5", "");
	rt_close(dev);
}

/* Open a side for datagrams by GID 0. */
static struct rt_side datagram_side(void)
{
	static const struct rt_options ud = { .type = IBV_QPT_UD };
	struct rt_dev *dev = open_device("uroce_it");

	dev->gid_index = 0;
	CHECK_OK(ibv_query_gid(dev->ctx, 1, 0, &dev->gid));
	return rt_side_open(dev, &ud, NULL);
}

/* Send the own address as soon as the queue pair can receive. */
static void datagram_receive(int fd)
{
	struct rt_side side = datagram_side();
	struct rt_dev *dev = side.dev;
	struct rt_address address = rt_side_address(&side);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &address);
	struct ibv_ah *ah;

	rt_side_init(&side);
	rt_side_rtr(&side, &address);
	rt_recv(&side, 1, 0, 1000);
	ah = ibv_create_ah(dev->pd, &attr); /* as for an answer */
	CHECK(ah);
	CHECK_INT(write(fd, &address, sizeof(address)), (ssize_t)sizeof(address));
	EXPECT(&side, 1, IBV_WC_RECV);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_side_close(&side);
	rt_close(dev);
}

/* Stay until the receiver has the datagram. The first one may come back to its sender, if
 * sockets were bound in another order than processes started, and is passed on from there. */
static void datagram_send(int fd, pid_t receiver)
{
	struct rt_side side = datagram_side();
	struct rt_dev *dev = side.dev;
	struct ibv_sge sge = rt_sge(&side, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 2, &sge);
	struct rt_address address;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	int status;

	CHECK_INT(read(fd, &address, sizeof(address)), (ssize_t)sizeof(address));
	rt_side_init(&side);
	rt_side_rtr(&side, &address);
	rt_side_rts(&side);
	attr = rt_ah_attr(dev, &address);
	ah = ibv_create_ah(dev->pd, &attr);
	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = address.qpn;
	wr.wr.ud.remote_qkey = RT_QKEY;
	POST(&side, &wr);
	EXPECT(&side, 2, IBV_WC_SEND);
	CHECK_INT(waitpid(receiver, &status, 0), receiver);
	CHECK_INT(status, 0);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_side_close(&side);
	rt_close(dev);
}

/* A datagram between two processes during duplicate address detection of its address: it would
 * not be repeated. */
static void datagram_at_once(void)
{
	int fds[2];
	pid_t pid;

	prepare(LINK "&& sysctl -qw net.ipv6.conf.it.dad_transmits=3 && ip link set it up");
	setenv("UROCE", "on:it", 1);
	CHECK_OK(pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		datagram_receive(fds[1]);
		_exit(0);
	}
	datagram_send(fds[0], pid);
}

/* Addresses of the same hundredth of a second, which the kernel reports as equally old, are in
 * the order in which they were added. */
static void places_of_one_moment(void)
{
	struct rt_dev *dev;

	prepare(LINK "up");
	run("printf 'addr add %s dev it nodad\\n' 2001:db8::5/64 2001:db8::7/64 2001:db8::6/64 | ip -batch -;"
	    " sleep 0.02; printf 'addr add %s dev it\\n' 192.0.2.7/24 192.0.2.5/24 | ip -batch -");
	setenv("UROCE", "on:it", 1);
	dev = open_device("uroce_it");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.7", "2001:db8::5", "2001:db8::7",
		     "2001:db8::6", "::ffff:192.0.2.5", "");
	rt_close(dev);
}

/* --- GID 0 is used, whatever it is --- */

static void send_by(struct rt_dev *dev, uint32_t index)
{
	struct rt_pair pair;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	dev->gid_index = index;
	CHECK_OK(ibv_query_gid(dev->ctx, 1, index, &dev->gid));
	pair = rt_pair_open(dev, NULL);
	rt_fill(pair.a.buf.p, 1000, index);
	rt_recv(&pair.b, 1, 0, 1000);
	sge = rt_sge(&pair.a, 0, 1000);
	wr = rt_wr(IBV_WR_SEND, 2, &sge);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	EXPECT(&pair.b, 1, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 1000, index);
	rt_pair_close(&pair);
}

/* Send between GID 0 and another GID of the same interface. */
static void send_between(struct rt_dev *dev, uint32_t a, uint32_t b)
{
	struct rt_dev other = *dev;
	struct rt_side sa, sb;
	struct rt_address aa, ab;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	dev->gid_index = a;
	CHECK_OK(ibv_query_gid(dev->ctx, 1, a, &dev->gid));
	other.gid_index = b;
	CHECK_OK(ibv_query_gid(dev->ctx, 1, b, &other.gid));
	sa = rt_side_open(dev, &(struct rt_options){}, NULL);
	sb = rt_side_open(&other, &(struct rt_options){}, NULL);
	aa = rt_side_address(&sa);
	ab = rt_side_address(&sb);
	rt_side_connect(&sa, &ab);
	rt_side_connect(&sb, &aa);
	rt_recv(&sb, 1, 0, 100);
	sge = rt_sge(&sa, 0, 100);
	wr = rt_wr(IBV_WR_SEND, 2, &sge);
	POST(&sa, &wr);
	EXPECT(&sa, 2, IBV_WC_SEND);
	EXPECT(&sb, 1, IBV_WC_RECV);
	rt_side_close(&sa);
	rt_side_close(&sb);
}

static void loopback(void)
{
	struct rt_dev *dev;

	prepare(NULL);
	setenv("UROCE", "on:lo", 1);
	dev = open_device("uroce_lo");
	EXPECT_TABLE(dev, "uroce_lo", "fe80::200:ff:fe00:0", "::ffff:127.0.0.1", "::1", "");
	for (uint32_t i = 0; i < 3; i++)
		send_by(dev, i);
	send_between(dev, 0, 2);
	rt_close(dev);
}

static void loopback_udp(void)
{
	setenv("UROCE_PATH", "udp", 1);
	loopback();
}

/* IPv6 is off: the GID is derived from the MAC address, and reaches no other host. */
static void stand_in(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 77,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};
	struct rt_side side;
	struct rt_dev *dev;

	rt_log_capture();
	prepare(LINK "addrgenmode none up && ip addr add 192.0.2.5/24 dev it");
	setenv("UROCE", "on:it", 1);
	dev = open_device("uroce_it");
	EXPECT_TABLE(dev, "uroce_it", LINK_LOCAL, "::ffff:192.0.2.5", "");
	send_by(dev, 0);
	side = rt_side_open(dev, &(struct rt_options){}, NULL);
	rt_side_init(&side);
	CHECK_INT(inet_pton(AF_INET6, "fe80::1", &attr.ah_attr.grh.dgid), 1);
	CHECK_INT(ibv_modify_qp(side.qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER),
		  EADDRNOTAVAIL);
	CHECK(strstr(rt_log_text(), "sgid_index 0 leads to no other host"));
	rt_side_close(&side);

	run("ip addr add fe80::77/64 dev it nodad");
	EXPECT_TABLE(dev, "uroce_it", "fe80::77", "::ffff:192.0.2.5", "");
	send_by(dev, 0);
	rt_close(dev);
	rt_log_discard();
}

static void stand_in_udp(void)
{
	setenv("UROCE_PATH", "udp", 1);
	stand_in();
}

static const struct rt_case cases[] = {
	{ "as another process", another_process },
	{ "names", names },
	{ "names stay", names_stay },
	{ "places", places },
	{ "places at once", places_at_once },
	{ "places of one moment", places_of_one_moment },
	{ "datagram at once", datagram_at_once },
	{ "lo", loopback },
	{ "lo, UDP", loopback_udp },
	{ "no link-local address", stand_in },
	{ "no link-local address, UDP", stand_in_udp },
};
RT_MAIN(cases)
