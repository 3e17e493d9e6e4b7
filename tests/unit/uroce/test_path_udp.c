/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP path on two loopback addresses: which packets leave together, and how arriving packets
 * are handled. */
#include <fcntl.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/unit/unit.h"

#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

enum {
	HOST_SLOT = 5,
	QPN = HOST_SLOT << UROCE_QPN_BLOCK_BITS | 0x234,
	OTHER_QPN = (HOST_SLOT + 1) << UROCE_QPN_BLOCK_BITS | 0x234,
	PACKETS_MAX = 256,
	WAIT_MS = 60000,
};

static struct path_host host;
static struct uroce_path *path;
static struct uroce_av av;
static int wire = -1; /* the other host: a plain socket */
static union uroce_address here, there;
static uint8_t payload[8192];

/* --- events that the host gets --- */

static struct {
	unsigned int count, forwarded, headers_wrong, grhs, marked;
	uint32_t bytes, last_psn;
	uint16_t forward_slot;
	uint8_t class, hop_limit;
	union ibv_gid sgid;
} seen;

static void told_packet(struct path_host *h, struct uroce_packet *pkt, const union ibv_gid *sgid,
			uint64_t now)
{
	seen.count++;
	seen.bytes += pkt->payload.length;
	seen.last_psn = pkt->hdr.psn;
	seen.sgid = *sgid;
	seen.grhs += pkt->grh != NULL;
	seen.marked += pkt->marked;
	if (pkt->grh) { /* an IPv4 header in its second half */
		seen.class = pkt->grh[20 + 1];
		seen.hop_limit = pkt->grh[20 + 8];
	}
	seen.headers_wrong +=
		pkt->hdr.dest_qpn != QPN || memcmp(pkt->payload.data, payload, pkt->payload.length);
}

static bool told_bytes(struct path_host *h, const union ibv_gid *sgid, const uint8_t *data,
		       uint32_t length)
{
	return false;
}

static bool is_expected(struct path_host *h, uint32_t qpn, const union ibv_gid *sgid)
{
	return qpn == QPN;
}

static void told_foreign(struct path_host *h, uint16_t slot, const struct path_origin *from,
			 const void *packet, uint32_t length, uint64_t now)
{
	seen.forwarded++;
	seen.forward_slot = slot;
	seen.bytes += length;
}

static int watch(struct path_host *h, int fd, enum path_watch what, void *pointer)
{
	return 0;
}

static void unwatch(struct path_host *h, int fd)
{
}

static const struct path_events events = {
	.packet = told_packet,
	.bytes = told_bytes,
	.expected = is_expected,
	.foreign = told_foreign,
	.watch = watch,
	.unwatch = unwatch,
};

/* --- the two ends --- */

static void gid_ipv4(uint32_t address, union ibv_gid *ret)
{
	union uroce_address a = { .in = { .sin_family = AF_INET, .sin_addr = { htonl(address) } } };

	uroce_address_to_gid(&a, ret);
}

static struct uroce_udp *udp(void)
{
	return to_udp(path);
}

/* All flow ports are taken by others: packets leave from port 4791. */
static void flows_refuse(void)
{
	for (int i = 0; i < UDP_TX_FLOWS; i++) {
		to_udp(path)->tx_flows[i].known = true;
		to_udp(path)->tx_flows[i].rest = UINT32_MAX;
	}
}

static void flows_allow(void)
{
	for (int i = 0; i < UDP_TX_FLOWS; i++)
		to_udp(path)->tx_flows[i].known = false;
}

static int setup(void **state)
{
	const struct udp_link link = { .name = "uroce_lo", .netdev = "lo", .ifindex = 1 };
	union ibv_gid own, other;
	int one = 1;

	host = (struct path_host){ .events = &events, .slot = HOST_SLOT };
	path_host_take(&host, HOST_SLOT);
	/* Addresses that no other test uses at this moment, because tests may run side by side. */
	gid_ipv4(0x7f000000 | (getpid() & 0x3fffff) << 2 | 1, &own);
	gid_ipv4(0x7f000000 | (getpid() & 0x3fffff) << 2 | 2, &other);
	uroce_address_from_gid(&own, UROCE_UDP_PORT, 0, &here);
	uroce_address_from_gid(&other, UROCE_UDP_PORT, 0, &there);
	assert_int_equal(uroce_udp_open(&host, &link, &path), 0);
	assert_int_equal(uroce_udp_bind(path, 0, &own), 0);
	flows_refuse();
	wire = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(wire, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	setsockopt(wire, IPPROTO_IP, IP_MTU_DISCOVER, &(int){ IP_PMTUDISC_DO }, sizeof(int));
	assert_int_equal(bind(wire, &there.sa, sizeof(there.in)), 0);
	av = (struct uroce_av){
		.path = path, .route = { .sgid = own, .dgid = other }, .addr = there, .mtu = 4096
	};
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = i * 7;
	seen = (__typeof__(seen)){};
	return 0;
}

static int teardown(void **state)
{
	close(wire);
	uroce_udp_close(path);
	return 0;
}

static int send_packet_to(uint32_t qpn, uint8_t opcode, uint32_t psn, uint32_t length)
{
	const struct uroce_hdr hdr = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = qpn, .psn = psn
	};
	const struct iovec iov = { payload, length };
	const struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = length };

	return path->ops->send(path, &av, &tx);
}

static int send_packet(uint8_t opcode, uint32_t psn, uint32_t length)
{
	return send_packet_to(QPN, opcode, psn, length);
}

static void send_many(unsigned int count, uint32_t length)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(send_packet(UROCE_RC | UROCE_SEND_ONLY, i, length), 0);
}

/*
 * Take @count datagrams off the wire: each a packet of @length payload bytes with its place's ICRC.
 */
static void expect_datagrams(unsigned int count, uint32_t length, bool numbered)
{
	struct timeval wait = { .tv_sec = WAIT_MS / 1000 };
	struct uroce_icrc icrc;
	uint8_t buf[9000];

	setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	uroce_icrc_init(&icrc, &here, &there);
	for (unsigned int i = 0; i < count; i++) {
		ssize_t n = recv(wire, buf, sizeof(buf), 0);
		uint16_t id = numbered ? i : 0;

		assert_int_equal(n, BTH_LEN + length + uroce_wire_pad(length) + ICRC_LEN);
		assert_int_equal(uroce_icrc_check(&icrc, &id, buf, n - ICRC_LEN), ICRC_RIGHT);
		assert_memory_equal(buf + BTH_LEN, payload, length);
	}
}

static void expect_silence(void)
{
	uint8_t byte;

	assert_int_equal(recv(wire, &byte, 1, MSG_DONTWAIT), -1);
}

/* --- sending --- */

static void test_one(void **state)
{
	send_many(1, 64);
	expect_silence();
	assert_true(path->pending);
	path->ops->flush(path);
	assert_false(path->pending);
	expect_datagrams(1, 64, true);
}

static void test_equal_sizes_together(void **state)
{
	send_many(40, 1000);
	assert_int_equal(udp()->count, 1);
	assert_int_equal(udp()->messages[0].count, 40);
	path->ops->flush(path);
	expect_datagrams(40, 1000, true);
	assert_true(udp()->segmentation);
}

static void test_shorter_ends(void **state)
{
	send_many(3, 1000);
	send_many(1, 500);
	assert_int_equal(udp()->count, 1);
	send_many(1, 500);
	assert_int_equal(udp()->count, 2);
	path->ops->flush(path);
	expect_datagrams(3, 1000, true);
}

static void test_longer_begins(void **state)
{
	send_many(3, 500);
	send_many(3, 1000);
	assert_int_equal(udp()->count, 2);
	assert_int_equal(udp()->messages[0].count, 3);
	assert_int_equal(udp()->messages[1].count, 3);
	path->ops->flush(path);
	expect_datagrams(3, 500, true);
	expect_datagrams(3, 1000, true);
}

static void test_at_most_64(void **state)
{
	send_many(UDP_SEGMENTS + 1, 100);
	assert_int_equal(udp()->count, 2);
	assert_int_equal(udp()->messages[0].count, UDP_SEGMENTS);
	path->ops->flush(path);
	expect_datagrams(UDP_SEGMENTS, 100, true);
	expect_datagrams(1, 100, true);
}

/* No send is longer than a datagram may be. */
static void test_at_most_a_datagram(void **state)
{
	send_many(16, 4096);
	assert_int_equal(udp()->count, 2);
	assert_int_equal(udp()->messages[0].count, 15);
	assert_in_range(udp()->messages[0].length, UDP_LARGEST - 4112, UDP_LARGEST);
	path->ops->flush(path);
	expect_datagrams(15, 4096, true);
	expect_datagrams(1, 4096, true);
	assert_true(udp()->segmentation);
}

/* If a packet does not fit as a whole, the others are sent first. The end of the buffer does not
 * split a large send. */
static void test_buffer_end(void **state)
{
	send_many(31, 4096);
	assert_int_equal(udp()->count, 1);
	assert_int_equal(udp()->messages[0].count, 1);
	expect_datagrams(15, 4096, true);
	expect_datagrams(15, 4096, true);
	expect_silence();
	send_many(14, 4096);
	assert_int_equal(udp()->count, 1);
	path->ops->flush(path);
	expect_datagrams(15, 4096, true);
}

/* A damaged packet is sent separately, so that later segmentation does not affect it. */
static void test_damage(void **state)
{
	const struct uroce_hdr hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY, .dest_qpn = QPN };
	const struct iovec iov = { payload, 100 };
	struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = 100 };
	struct uroce_icrc icrc;
	uint8_t buf[200];

	uroce_icrc_init(&icrc, &here, &there);
	for (tx.damage = 1; tx.damage < 8 * (BTH_LEN + 100); tx.damage++) {
		uint32_t received;

		send_many(1, 100);
		assert_int_equal(path->ops->send(path, &av, &tx), 0);
		send_many(1, 100);
		assert_int_equal(udp()->count, 3);
		path->ops->flush(path);
		expect_datagrams(1, 100, true);
		assert_int_equal(recv(wire, buf, sizeof(buf), 0), BTH_LEN + 100 + ICRC_LEN);
		memcpy(&received, buf + BTH_LEN + 100, sizeof(received));
		assert_int_not_equal(le32toh(received),
				     uroce_icrc_compute(&icrc, 0, buf, BTH_LEN + 100));
		expect_datagrams(1, 100, true);
	}
}

static void test_other_destination(void **state)
{
	struct uroce_av first = av;

	send_many(2, 100);
	av.addr.in.sin_addr.s_addr = htonl(0x7f000001);
	av.route.dgid.raw[15] = 1;
	send_many(2, 100);
	av = first;
	send_many(2, 100);
	assert_int_equal(udp()->count, 3);
	path->ops->flush(path);
	expect_datagrams(2, 100, true);
	expect_datagrams(2, 100, true);
	expect_silence();
}

/* Joined packets may arrive joined, at the process that the first packet is for. */
static void test_other_process(void **state)
{
	static const uint32_t qpns[] = { QPN, QPN + 1, OTHER_QPN, OTHER_QPN, 1, 1, QPN };

	for (unsigned int i = 0; i < ARRAY_SIZE(qpns); i++)
		assert_int_equal(send_packet_to(qpns[i], UROCE_UD | UROCE_SEND_ONLY, i, 100), 0);
	assert_int_equal(udp()->count, 5);
	assert_int_equal(udp()->messages[0].count, 2);
	assert_int_equal(udp()->messages[1].count, 2);
	path->ops->flush(path);
	for (unsigned int i = 0; i < ARRAY_SIZE(qpns); i++) {
		uint8_t buf[200];

		assert_true(recv(wire, buf, sizeof(buf), 0) > 0);
		assert_int_equal(uroce_wire_dest_qpn(buf), qpns[i]);
	}
}

/* Expect this traffic class in the next datagram. */
static void expect_class(uint8_t class)
{
	uint8_t buf[200], control[64];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = 64
	};

	assert_true(recvmsg(wire, &msg, 0) > 0);
	assert_int_equal(*CMSG_DATA(CMSG_FIRSTHDR(&msg)), class);
}

static void test_traffic_class(void **state)
{
	setsockopt(wire, IPPROTO_IP, IP_RECVTOS, &(int){ 1 }, sizeof(int));
	send_many(1, 100);
	av.route.traffic_class = 0x88;
	send_many(1, 100);
	assert_int_equal(udp()->count, 2);
	path->ops->flush(path);
	expect_class(0x00 | ECN_ECT0);
	expect_class(0x88 | ECN_ECT0);
	/* Two bits of the class do not belong to the application. */
	av.route.traffic_class = 0x88 | ECN_CE;
	send_many(1, 100);
	path->ops->flush(path);
	expect_class(0x88 | ECN_ECT0);
}

/* The same on a flow's socket, whose default class is ECT(0). */
static void test_traffic_class_flow(void **state)
{
	setsockopt(wire, IPPROTO_IP, IP_RECVTOS, &(int){ 1 }, sizeof(int));
	flows_allow();
	send_many(1, 100);
	assert_non_null(udp()->messages[0].flow);
	path->ops->flush(path);
	expect_class(ECN_ECT0);
	av.route.traffic_class = 0x88;
	send_many(1, 100);
	path->ops->flush(path);
	expect_class(0x88 | ECN_ECT0);
}

/* Packets whose receiver ignores congestion marks do not claim ECN support. */
static void test_traffic_class_other(void **state)
{
	static const uint8_t opcodes[] = { UROCE_UC | UROCE_SEND_ONLY, UROCE_UD | UROCE_SEND_ONLY,
					   UROCE_CNP };

	setsockopt(wire, IPPROTO_IP, IP_RECVTOS, &(int){ 1 }, sizeof(int));
	flows_allow();
	for (unsigned int i = 0; i < ARRAY_SIZE(opcodes); i++) {
		const struct uroce_hdr hdr = { .opcode = opcodes[i],
					       .pkey = UROCE_PKEY_DEFAULT,
					       .dest_qpn = QPN };
		const struct uroce_tx tx = { .hdr = &hdr };

		av.route.traffic_class = 0x88;
		assert_int_equal(path->ops->send(path, &av, &tx), 0);
		path->ops->flush(path);
		expect_class(0x88);
	}
}

static void test_no_segmentation(void **state)
{
	udp()->segmentation = false;
	send_many(UDP_MESSAGES + 3, 100);
	assert_int_equal(udp()->count, 3);
	path->ops->flush(path);
	expect_datagrams(UDP_MESSAGES + 3, 100, false);
}

/* Without UDP checksum the kernel refuses large sends: packets leave one by one, with matching
 * ICRCs. */
static void test_segmentation_refused(void **state)
{
	setsockopt(udp()->ports[0].fd, SOL_SOCKET, SO_NO_CHECK, &(int){ 1 }, sizeof(int));
	send_many(10, 1000);
	path->ops->flush(path);
	expect_datagrams(10, 1000, false);
	assert_false(udp()->segmentation);
	assert_false(path->pending);
}

static bool sent_as_rxe(void)
{
	struct uroce_icrc icrc;
	uint8_t buf[200];
	uint32_t received;
	ssize_t n = recv(wire, buf, sizeof(buf), 0);

	assert_int_equal(n, BTH_LEN + FETH_LEN + RETH_LEN + ICRC_LEN);
	memcpy(&received, buf + n - ICRC_LEN, sizeof(received));
	uroce_icrc_init(&icrc, &here, &there);
	if (le32toh(received) == uroce_icrc_compute(&icrc, 0, buf, n - ICRC_LEN))
		return false;
	assert_int_equal(le32toh(received),
			 uroce_icrc_compute_rxe_flush(&icrc, 0, buf, n - ICRC_LEN));
	return true;
}

/* A flush leaves in a send of its own. A repeated flush has the other form, which is used from then
 * on. */
static void test_flush(void **state)
{
	send_many(2, 100);
	assert_int_equal(send_packet(UROCE_RC | UROCE_FLUSH, 5, 0), 0);
	send_many(1, 0);
	assert_int_equal(udp()->count, 3);
	path->ops->flush(path);
	expect_datagrams(2, 100, true);
	assert_false(sent_as_rxe());
	expect_datagrams(1, 0, true);
	assert_int_equal(send_packet(UROCE_RC | UROCE_FLUSH, 6, 0), 0);
	assert_int_equal(send_packet(UROCE_RC | UROCE_FLUSH, 6, 0), 0);
	assert_int_equal(send_packet(UROCE_RC | UROCE_FLUSH, 7, 0), 0);
	assert_int_equal(send_packet(UROCE_RC | UROCE_FLUSH, 7, 0), 0);
	path->ops->flush(path);
	assert_false(sent_as_rxe());
	assert_true(sent_as_rxe());
	assert_true(sent_as_rxe());
	assert_false(sent_as_rxe());
}

static void test_payload_gone(void **state)
{
	uint8_t *gone =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct uroce_hdr hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY, .dest_qpn = QPN };
	const struct iovec iov = { gone, 100 };
	const struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = 100 };

	uroce_copy_init();
	munmap(gone, 4096);
	send_many(1, 100);
	assert_int_equal(path->ops->send(path, &av, &tx), -EFAULT);
	av.addr.in.sin_addr.s_addr = htonl(0x7f000001);
	assert_int_equal(path->ops->send(path, &av, &tx), -EFAULT);
	assert_int_equal(udp()->count, 1);
	path->ops->flush(path);
	expect_datagrams(1, 100, true);
	expect_silence();
}

static void test_no_socket(void **state)
{
	int fd = udp()->ports[0].fd;

	udp()->ports[0].fd = -1;
	assert_int_equal(send_packet(UROCE_RC | UROCE_SEND_ONLY, 0, 8), -ENETUNREACH);
	udp()->ports[0].fd = fd;
}

/* The index of a removed address now belongs to another address. Packets from the removed address
 * are not sent, neither through the socket of a flow nor through the common one. */
static void test_socket_of_another(void **state)
{
	union ibv_gid other;

	flows_allow();
	assert_int_equal(send_packet(UROCE_RC | UROCE_SEND_ONLY, 0, 8), 0);
	path->ops->flush(path);
	gid_ipv4(0x7f000000 | (getpid() & 0x3fffff) << 2 | 3, &other);
	uroce_udp_unbind(path, 0);
	assert_int_equal(uroce_udp_bind(path, 0, &other), 0);
	assert_int_equal(send_packet(UROCE_RC | UROCE_SEND_ONLY, 1, 8), -ENETUNREACH);
	assert_int_equal(send_packet(UROCE_UD | UROCE_SEND_ONLY, 1, 8), -ENETUNREACH);
	av.route.sgid = other;
	assert_int_equal(send_packet(UROCE_RC | UROCE_SEND_ONLY, 1, 8), 0);
	path->ops->flush(path);
}

/* --- flows, sending --- */

/* Expect a datagram of a flow with @length payload bytes and the number @id. Return its source
 * port. */
static uint16_t expect_numbered(uint32_t length, uint16_t id)
{
	struct timeval wait = { .tv_sec = WAIT_MS / 1000 };
	union uroce_address from;
	socklen_t from_length = sizeof(from);
	struct uroce_icrc icrc;
	uint16_t found = id;
	uint8_t buf[9000];
	ssize_t n;

	setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	n = recvfrom(wire, buf, sizeof(buf), 0, &from.sa, &from_length);
	assert_int_equal(n, BTH_LEN + length + ICRC_LEN);
	uroce_icrc_init(&icrc, &from, &there);
	assert_int_equal(uroce_icrc_check(&icrc, &found, buf, n - ICRC_LEN), ICRC_RIGHT);
	return uroce_address_port(&from);
}

static struct udp_tx_flow *flow_of(void)
{
	const struct uroce_hdr hdr = { .opcode = UROCE_RC, .dest_qpn = QPN };

	return uroce_udp_tx_flow(udp(), &av, &hdr);
}

/* One port for all RC packets to a process, another port for another process; a large send
 * counts once. */
static void test_flow(void **state)
{
	uint16_t id, port;

	flows_allow();
	assert_non_null(flow_of());
	assert_ptr_equal(flow_of(), flow_of());
	id = flow_of()->id;
	port = flow_of()->port;
	assert_in_range(port, UROCE_FLOW_PORT_MIN, UROCE_FLOW_PORT_MIN + UROCE_FLOW_PORTS - 1);
	for (int i = 0; i < 3; i++) {
		send_many(1, 64);
		path->ops->flush(path);
		assert_int_equal(expect_numbered(64, id++), port);
	}
	send_many(4, 1000);
	send_many(1, 2000);
	path->ops->flush(path);
	for (int i = 0; i < 4; i++)
		assert_int_equal(expect_numbered(1000, id + i), port);
	assert_int_equal(expect_numbered(2000, id + 1), port);
	expect_silence();
}

static void test_flow_only_rc(void **state)
{
	const struct uroce_hdr uc = { .opcode = UROCE_UC, .dest_qpn = QPN };
	const struct uroce_hdr ud = { .opcode = UROCE_UD | UROCE_SEND_ONLY, .dest_qpn = QPN };
	const struct uroce_hdr other = { .opcode = UROCE_RC, .dest_qpn = OTHER_QPN };

	flows_allow();
	assert_null(uroce_udp_tx_flow(udp(), &av, &uc));
	assert_null(uroce_udp_tx_flow(udp(), &av, &ud));
	assert_non_null(flow_of());
	assert_ptr_not_equal(uroce_udp_tx_flow(udp(), &av, &other), flow_of());
}

/* Packets that are queued for a refusing socket leave from port 4791, numbered as there, once. */
static void test_flow_refused(void **state)
{
	int broken;

	flows_allow();
	assert_non_null(flow_of());
	broken = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(dup2(broken, flow_of()->fd), flow_of()->fd);
	close(broken);
	send_many(3, 1000);
	send_many(1, 2000);
	path->ops->flush(path);
	expect_datagrams(3, 1000, true);
	expect_datagrams(1, 2000, true);
	expect_silence();
	assert_false(path->pending);
	assert_null(flow_of());
	udp()->begun += 5000; /* messages later it is tried again */
	assert_non_null(flow_of());
}

/* Packets that do not seem to arrive leave from port 4791, for longer each time. */
static void test_flow_lossy(void **state)
{
	flows_allow();
	assert_non_null(flow_of());
	send_many(2, 100);
	path->ops->reroute(path, &av, QPN);
	assert_null(flow_of());
	path->ops->flush(path);
	expect_datagrams(2, 100, true);
	udp()->begun += 5000;
	assert_null(flow_of());
	udp()->begun += 100000;
	assert_non_null(flow_of());
}

/* A packet whose append failed takes no number. */
static void test_flow_payload_gone(void **state)
{
	const struct uroce_hdr hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY, .dest_qpn = QPN };
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct iovec iov = { gone, 100 };
	const struct uroce_tx tx = { .hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = 100 };
	uint16_t id;

	uroce_copy_init();
	flows_allow();
	assert_non_null(flow_of());
	id = flow_of()->id;
	assert_int_equal(path->ops->send(path, &av, &tx), -EFAULT);
	send_many(1, 64);
	path->ops->flush(path);
	expect_numbered(64, id);
	munmap(gone, 4096);
}

/* --- receiving --- */

static void receive_until(unsigned int datagrams)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned int n = 0;

	uroce_lock(&host.progress_lock);
	for (int i = 0; i < WAIT_MS && n < datagrams; i++) {
		n += uroce_udp_poll(path, 32);
		if (n < datagrams)
			nanosleep(&ms, NULL);
	}
	uroce_unlock(&host.progress_lock);
	assert_int_equal(n, datagrams);
}

/* Build a packet as another RoCE device sends it, its identification unknown to a socket. */
static uint32_t packet_make_pkey(uint16_t pkey, uint8_t opcode, uint32_t qpn, uint32_t length,
				 uint16_t id, uint8_t *buf)
{
	const struct uroce_hdr hdr = { .opcode = opcode, .pkey = pkey, .dest_qpn = qpn, .psn = id };
	uint32_t used = uroce_wire_pack(&hdr, length, buf);
	struct uroce_icrc icrc;
	uint32_t crc;

	memcpy(buf + used, payload, length);
	used += length;
	memset(buf + used, 0, uroce_wire_pad(length));
	used += uroce_wire_pad(length);
	uroce_icrc_init(&icrc, &there, &here);
	crc = htole32(uroce_icrc_compute(&icrc, id, buf, used));
	memcpy(buf + used, &crc, sizeof(crc));
	return used + sizeof(crc);
}

static uint32_t packet_make(uint8_t opcode, uint32_t qpn, uint32_t length, uint16_t id,
			    uint8_t *buf)
{
	return packet_make_pkey(UROCE_PKEY_DEFAULT, opcode, qpn, length, id, buf);
}

static void wire_send(const void *buf, size_t length)
{
	assert_int_equal(sendto(wire, buf, length, 0, &here.sa, sizeof(here.in)), length);
}

static void test_receive(void **state)
{
	uint8_t buf[1200];

	wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 1000, 0, buf));
	wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 7, 0xfeed, buf));
	wire_send(buf, packet_make(UROCE_UD | UROCE_SEND_ONLY, QPN, 0, 0, buf));
	receive_until(3);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(seen.bytes, 1007);
	assert_int_equal(seen.grhs, 1);
	assert_memory_equal(&seen.sgid, &av.route.dgid, sizeof(seen.sgid));
}

/* 41 packets of 1000 bytes, the last of 100, numbered from 0, as one large send. */
static void wire_send_large(void)
{
	uint8_t buf[40 * 1016 + 116], control[CMSG_SPACE(2)] = {};
	struct iovec iov = { buf, 0 };
	struct msghdr msg = {
		.msg_name = &here,
		.msg_namelen = sizeof(here.in),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	for (int i = 0; i < 40; i++)
		iov.iov_len +=
			packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 1000, i, buf + iov.iov_len);
	iov.iov_len += packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 100, 40, buf + iov.iov_len);
	*c = (struct cmsghdr){ .cmsg_level = SOL_UDP,
			       .cmsg_type = UDP_SEGMENT,
			       .cmsg_len = CMSG_LEN(2) };
	memcpy(CMSG_DATA(c), &(uint16_t){ 1016 }, 2);
	assert_int_equal(sendmsg(wire, &msg, 0), iov.iov_len);
}

static void test_receive_large(void **state)
{
	wire_send_large();
	receive_until(41);
	assert_int_equal(seen.count, 41);
	assert_int_equal(seen.last_psn, 40);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(udp()->wrong, 0);
	assert_false(udp()->unseen_said);
}

static void poll_in_vain(int count)
{
	uroce_lock(&host.progress_lock);
	for (int i = 0; i < count; i++)
		assert_int_equal(uroce_udp_poll(path, 32), 0);
	uroce_unlock(&host.progress_lock);
}

/* Single datagrams are soon received unjoined, and a stream is joined again. No datagram is
 * misread in between. */
static void test_receive_lone(void **state)
{
	const struct udp_port *port = &udp()->ports[0];
	unsigned int count = 0;
	uint8_t buf[1200];

	assert_true(port->pace.joins);
	for (; port->pace.joins && count < 1000; count++) {
		wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 1000, 0, buf));
		receive_until(1);
		poll_in_vain(32);
	}
	assert_false(port->pace.joins);
	poll_in_vain(32);
	wire_send_large();
	receive_until(41);
	for (count += 41; !port->pace.joins && count < 1000; count++) {
		wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 1000, 0, buf));
		receive_until(1);
	}
	assert_true(port->pace.joins);
	wire_send_large();
	receive_until(41);
	assert_int_equal(seen.count, count + 41);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(udp()->wrong, 0);
}

/* The network's congestion mark is reported with each packet of a marked datagram. */
static void test_receive_marked(void **state)
{
	static const struct {
		uint8_t class;
		unsigned int marked;
	} cases[] = { { 0x00, 0 }, { 0x68 | ECN_ECT0, 0 }, { 0x68 | ECN_CE, 1 }, { 0x69, 0 } };
	uint8_t buf[1200];

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		seen.marked = 0;
		setsockopt(wire, IPPROTO_IP, IP_TOS, &(int){ cases[i].class }, sizeof(int));
		wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 8, 0, buf));
		receive_until(1);
		assert_int_equal(seen.marked, cases[i].marked);
	}
}

/* Class and hop limit are reported as soon as a program asks for them. */
static void test_receive_headers(void **state)
{
	uint8_t buf[1200];

	setsockopt(wire, IPPROTO_IP, IP_TOS, &(int){ 0x68 }, sizeof(int));
	setsockopt(wire, IPPROTO_IP, IP_TTL, &(int){ 7 }, sizeof(int));
	wire_send(buf, packet_make(UROCE_UD | UROCE_SEND_ONLY, QPN, 8, 0, buf));
	receive_until(1);
	assert_int_equal(seen.hop_limit, 64);
	uroce_lock(&host.progress_lock);
	uroce_udp_headers_show(path);
	uroce_unlock(&host.progress_lock);
	wire_send(buf, packet_make(UROCE_UD | UROCE_SEND_ONLY, QPN, 8, 0, buf));
	receive_until(1);
	assert_int_equal(seen.hop_limit, 7);
	assert_int_equal(seen.class, 0x68);
}

static void test_receive_odd(void **state)
{
	uint8_t buf[1200] = {};
	uint32_t length;

	for (length = 0; length < 16; length++)
		wire_send(buf, length);
	for (; length < 40; length++)
		wire_send(buf, length);
	receive_until(40);
	assert_int_equal(udp()->wrong, 24);
	length = packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 100, 0, buf);
	buf[20] ^= 1;
	wire_send(buf, length);
	receive_until(1);
	assert_int_equal(udp()->wrong, 25);
	/* The ICRC is right and the packet is not: an unknown opcode, or an unknown version. */
	length = packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 100, 0, buf);
	for (int i = 0; i < 2; i++) {
		struct uroce_icrc icrc;
		uint32_t crc;

		buf[i] = i ? 0x0f : 0x7f;
		uroce_icrc_init(&icrc, &there, &here);
		crc = htole32(uroce_icrc_compute(&icrc, 0, buf, length - ICRC_LEN));
		memcpy(buf + length - ICRC_LEN, &crc, sizeof(crc));
		wire_send(buf, length);
		buf[i] = UROCE_SEND_ONLY;
	}
	receive_until(2);
	assert_int_equal(udp()->wrong, 25);
	assert_int_equal(seen.count + seen.forwarded, 0);
}

/* Only the partition that every port is in, as a full or limited member, for this process or
 * another. */
static void test_receive_pkey(void **state)
{
	static const uint16_t others[] = { 0, 1, 0x8000, 0x8001, 0x7ffe, 0xfffe, 0x1234 };
	static const uint8_t opcodes[] = { UROCE_RC | UROCE_SEND_ONLY, UROCE_RC | UROCE_ACK,
					   UROCE_UC | UROCE_SEND_ONLY, UROCE_UD | UROCE_SEND_ONLY };
	uint8_t buf[200];

	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		for (unsigned int k = 0; k < 2 * ARRAY_SIZE(opcodes); k++)
			wire_send(buf, packet_make_pkey(others[i], opcodes[k / 2],
							k % 2 ? OTHER_QPN : QPN, 0, 0, buf));
	receive_until(2 * ARRAY_SIZE(opcodes) * ARRAY_SIZE(others));
	assert_int_equal(seen.count + seen.forwarded, 0);
	for (unsigned int k = 0; k < ARRAY_SIZE(opcodes); k++)
		wire_send(buf, packet_make_pkey(0x7fff, opcodes[k], QPN, 0, 0, buf));
	receive_until(ARRAY_SIZE(opcodes));
	assert_int_equal(seen.count, ARRAY_SIZE(opcodes));
}

static void wire_send_numbered(uint16_t id)
{
	uint8_t buf[200];

	wire_send(buf, packet_make(UROCE_RC | UROCE_SEND_ONLY, QPN, 100, id, buf));
	receive_until(1);
}

/* A sender that numbers packets as this device does must go on with the next number, until it is
 * clear that another sender uses its port. */
static void test_receive_numbers(void **state)
{
	for (int i = 0; i < 300; i++)
		wire_send_numbered(1000 + i);
	assert_int_equal(seen.count, 300);
	for (int i = 0; i < 256; i++)
		wire_send_numbered(i % UDP_SEGMENTS);
	assert_int_equal(seen.count, 556);
	for (int i = 0; i < 5; i++)
		wire_send_numbered(1000);
	assert_int_equal(seen.count, 556);
	assert_int_equal(udp()->wrong, 5);
	wire_send_numbered(0);
	for (int i = 0; i < 16; i++)
		wire_send_numbered(1000);
	assert_int_equal(seen.count, 557);
	wire_send_numbered(1000);
	assert_int_equal(seen.count, 558);
}

/* Silent sockets have their turn, and delay the others as little as possible. */
static void test_turns(void **state)
{
	unsigned int *idle[] = { &udp()->ports[0].pace.idle, &udp()->ports[1].pace.idle };

	gid_ipv4(0x7f000000 | (getpid() & 0x3fffff) << 2 | 3, &udp()->ports[1].gid);
	assert_int_equal(uroce_udp_socket_bound(udp(), &udp()->ports[1].gid, &udp()->ports[1].fd),
			 0);
	udp()->slots = 2;
	poll_in_vain(32);
	assert_int_equal(*idle[0], 32);
	assert_int_equal(*idle[1], 32);
	*idle[0] = *idle[1] = 1000;
	poll_in_vain(16);
	assert_int_equal(*idle[0], 1002);
	assert_int_equal(*idle[1], 1002);
	*idle[0] = 0;
	poll_in_vain(32);
	assert_int_equal(*idle[0], 32);
	assert_int_equal(*idle[1], 1004);
	*idle[0] = 1000;
	uroce_udp_ready(path);
	poll_in_vain(1);
	assert_int_equal(*idle[0], 1001);
	assert_int_equal(*idle[1], 1005);
	close(udp()->ports[1].fd);
	udp()->ports[1].fd = -1;
}

/* --- flows, receiving --- */

static int flow_wire(uint16_t port, union uroce_address *ret_from)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret_from = there;
	uroce_address_set_port(ret_from, port);
	assert_int_equal(bind(fd, &ret_from->sa, sizeof(ret_from->in)), 0);
	return fd;
}

static void flow_send_as(uint8_t opcode, int fd, const union uroce_address *from, uint16_t id,
			 uint32_t damage)
{
	uint8_t buf[200];
	uint32_t length = packet_make(opcode, QPN, 100, id, buf);
	struct uroce_icrc icrc;
	uint32_t crc;

	uroce_icrc_init(&icrc, from, &here);
	crc = htole32(uroce_icrc_compute(&icrc, id, buf, length - ICRC_LEN) ^ damage);
	memcpy(buf + length - ICRC_LEN, &crc, sizeof(crc));
	assert_int_equal(sendto(fd, buf, length, 0, &here.sa, sizeof(here.in)), length);
	receive_until(1);
}

static void flow_send(int fd, const union uroce_address *from, uint16_t id, uint32_t damage)
{
	flow_send_as(UROCE_RC | UROCE_SEND_ONLY, fd, from, id, damage);
}

/* A sender that keeps using a port of its own gets a socket; others still use the shared one. */
static void test_receive_flow(void **state)
{
	union uroce_address from;
	int fd = flow_wire(UROCE_FLOW_PORT_MIN + 77, &from);
	const struct udp_rx_flow *flow = &udp()->rx_flows[0];
	unsigned int polls;

	for (int i = 0; i < 64; i++) {
		assert_int_equal(flow->fd, -1);
		flow_send(fd, &from, i - 32, 0);
	}
	assert_in_range(flow->fd, 0, INT_MAX);
	assert_true(uroce_address_equal(&flow->from, &from));
	polls = udp()->ports[0].pace.idle;
	for (int i = 64; i < 100; i++)
		flow_send(fd, &from, i - 32, 0);
	/* no packet came by that socket */
	assert_in_range(udp()->ports[0].pace.idle, polls + 1, INT_MAX);
	wire_send_numbered(0);
	assert_int_equal(udp()->ports[0].pace.idle, 0);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(udp()->wrong, 0);
	close(fd);
}

/* Another device may send packets for RC and for UD QPs from one port. */
static void test_receive_flow_headers(void **state)
{
	union uroce_address from;
	int fd = flow_wire(UROCE_FLOW_PORT_MIN + 81, &from);

	setsockopt(fd, IPPROTO_IP, IP_TOS, &(int){ 0x68 }, sizeof(int));
	setsockopt(fd, IPPROTO_IP, IP_TTL, &(int){ 7 }, sizeof(int));
	for (int i = 0; i < 64; i++)
		flow_send(fd, &from, i, 0);
	assert_in_range(udp()->rx_flows[0].fd, 0, INT_MAX);
	flow_send_as(UROCE_UD | UROCE_SEND_ONLY, fd, &from, 64, 0);
	assert_int_equal(seen.hop_limit, 64);
	uroce_lock(&host.progress_lock);
	uroce_udp_headers_show(path);
	uroce_unlock(&host.progress_lock);
	flow_send_as(UROCE_UD | UROCE_SEND_ONLY, fd, &from, 65, 0);
	assert_int_equal(seen.hop_limit, 7);
	assert_int_equal(seen.class, 0x68);
	assert_int_equal(seen.grhs, 2);
	close(fd);
}

/* The fifth sender gets a flow only in place of a silent one. The packets of the silent one then
 * come by the shared socket, as the fifth's did. */
static void test_receive_flow_places(void **state)
{
	const struct udp_rx_flow *flows = udp()->rx_flows;
	union uroce_address from[UDP_RX_FLOWS + 1];
	int fds[UDP_RX_FLOWS + 1], silent = 2;

	for (int i = 0; i <= UDP_RX_FLOWS; i++) {
		fds[i] = flow_wire(UROCE_FLOW_PORT_MIN + 128 + i, &from[i]);
		for (int n = 0; n < 100; n++)
			flow_send(fds[i], &from[i], n, 0);
	}
	for (int i = 0; i < UDP_RX_FLOWS; i++)
		assert_int_equal(uroce_address_port(&flows[i].from), uroce_address_port(&from[i]));
	udp()->rx_flows[silent].pace.idle = 2000; /* polls without a packet */
	for (int n = 100; n < 200; n++)
		flow_send(fds[UDP_RX_FLOWS], &from[UDP_RX_FLOWS], n, 0);
	for (int i = 0; i < UDP_RX_FLOWS; i++)
		assert_int_equal(uroce_address_port(&flows[i].from),
				 uroce_address_port(&from[i == silent ? UDP_RX_FLOWS : i]));
	for (int i = 0; i <= UDP_RX_FLOWS; i++) {
		flow_send(fds[i], &from[i], 200, 0);
		close(fds[i]);
	}
	assert_int_equal(seen.count, (UDP_RX_FLOWS + 1) * 101 + 100);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(udp()->wrong, 0);
}

/* A flow whose packets do not arrive is tried ever more rarely. A flow that worked is tried
 * again soon. */
static void test_flow_rests(void **state)
{
	struct udp_tx_flow flow = { .fd = -1, .rest = 4096, .carried = 4095 };

	uroce_udp_tx_flow_break(udp(), &flow, false);
	assert_int_equal(flow.rest, 4096);
	uroce_udp_tx_flow_break(udp(), &flow, true);
	assert_int_equal(flow.rest, 65536);
	for (int i = 0; i < 10; i++)
		uroce_udp_tx_flow_break(udp(), &flow, true);
	assert_int_equal(flow.rest, 4096 << 16);
	flow.carried = 4096;
	uroce_udp_tx_flow_break(udp(), &flow, true);
	assert_int_equal(flow.rest, 4096);
}

/* The same holds for a sender whose packets for this process arrive at another process, which
 * passes them on. */
static void test_receive_flow_passed_on(void **state)
{
	const struct udp_rx_flow *flow = &udp()->rx_flows[0];
	struct path_origin origin = { .sgid = av.route.dgid,
				      .dgid = av.route.sgid,
				      .port = UROCE_UDP_PORT };
	union uroce_address from;
	int fd = flow_wire(UROCE_FLOW_PORT_MIN + 79, &from);

	uroce_lock(&host.progress_lock);
	for (int i = 0; i < 200; i++)
		assert_true(uroce_udp_passed_on(path, &origin));
	assert_int_equal(flow->fd, -1);
	origin.port = UROCE_FLOW_PORT_MIN + 79;
	for (int i = 0; i < 64; i++) {
		assert_int_equal(flow->fd, -1);
		assert_true(uroce_udp_passed_on(path, &origin));
	}
	uroce_unlock(&host.progress_lock);
	assert_in_range(flow->fd, 0, INT_MAX);
	assert_true(uroce_address_equal(&flow->from, &from));
	flow_send(fd, &from, 1234, 0);
	assert_int_equal(seen.count, 1);
	close(fd);
}

/* The numbers of a flow follow the last one, and no other number is accepted until it is clear
 * that the sequence has changed. */
static void test_receive_flow_numbers(void **state)
{
	union uroce_address from;
	int fd = flow_wire(UROCE_FLOW_PORT_MIN + 78, &from);
	uint16_t id = 65500;

	for (int i = 0; i < 300; i++)
		flow_send(fd, &from, id++, 0);
	assert_int_equal(seen.count, 300);
	id += 60; /* lost */
	flow_send(fd, &from, id, 0);
	flow_send(fd, &from, id - 10, 0); /* late */
	assert_int_equal(seen.count, 302);
	for (int i = 0; i < 16; i++) /* damaged, say */
		flow_send(fd, &from, id + 5000 - 100 * i, 0);
	assert_int_equal(seen.count, 302);
	assert_int_equal(udp()->wrong, 16);
	flow_send(fd, &from, id + 1000, 0);
	assert_int_equal(seen.count, 303);
	flow_send(fd, &from, id + 1001, 1);
	assert_int_equal(seen.count, 303);
	close(fd);
}

/* Another process at the port of an ended one numbers its packets from somewhere else. */
static void test_receive_flow_restarted(void **state)
{
	union uroce_address from;
	int fd = flow_wire(UROCE_FLOW_PORT_MIN + 80, &from);

	for (int i = 0; i < 300; i++)
		flow_send(fd, &from, i, 0);
	for (int i = 0; i < 10; i++)
		flow_send(fd, &from, 30000 + i, 0);
	assert_int_equal(seen.count, 308);
	assert_int_equal(udp()->wrong, 2);
	close(fd);
}

static void test_receive_other_process(void **state)
{
	uint8_t buf[1200];
	uint32_t length = packet_make(UROCE_RC | UROCE_SEND_ONLY, OTHER_QPN, 100, 0, buf);

	wire_send(buf, length);
	receive_until(1);
	assert_int_equal(seen.count, 0);
	assert_int_equal(seen.forwarded, 1);
	assert_int_equal(seen.forward_slot, HOST_SLOT + 1);
	assert_int_equal(seen.bytes, length - ICRC_LEN);
}

/* Both sides of the path, back to back. */
static void test_to_oneself(void **state)
{
	av.addr = here;
	av.route.dgid = udp()->ports[0].gid;
	send_many(50, 1024);
	path->ops->flush(path);
	receive_until(50);
	assert_int_equal(seen.count, 50);
	assert_int_equal(seen.headers_wrong, 0);
	assert_int_equal(seen.last_psn, 49);
}

/* --- many processes at one address --- */

enum {
	PROCESSES = 600,
	MAD_DATAGRAM = BTH_LEN + DETH_LEN + GSI_MAD_LEN + ICRC_LEN,
	NOBODY = -1,
};

static struct {
	struct path_host hosts[PROCESSES];
	union uroce_address to;
	int fd[PROCESSES]; /* [slot - 1] */
} crowd;

static int crowd_setup(void **state)
{
	struct uroce_udp *sockets = calloc(1, sizeof(*sockets));
	union ibv_gid gid;

	setup(state);
	assert_non_null(sockets);
	gid_ipv4(0x7f000000 | (getpid() & 0x3fffff) << 2 | 3, &gid);
	uroce_address_from_gid(&gid, UROCE_UDP_PORT, 0, &crowd.to);
	for (int i = 0; i < PROCESSES; i++) {
		crowd.hosts[i].slot = i + 1;
		sockets->path.host = &crowd.hosts[i];
		assert_int_equal(uroce_udp_socket_bound(sockets, &gid, &crowd.fd[i]), 0);
	}
	free(sockets);
	return 0;
}

static int crowd_teardown(void **state)
{
	uint8_t buf[64];

	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(recv(crowd.fd[i], buf, sizeof(buf), MSG_DONTWAIT), -1);
		close(crowd.fd[i]);
	}
	return teardown(state);
}

static void crowd_send(const uint8_t *buf, uint32_t length)
{
	assert_int_equal(sendto(wire, buf, length, 0, &crowd.to.sa, sizeof(crowd.to.in)), length);
}

/* Return the slot of the only process that got the packet. */
static int crowd_taker(void)
{
	int slot = NOBODY;
	uint8_t buf[MAD_DATAGRAM];

	for (int i = 0; i < PROCESSES; i++) {
		if (recv(crowd.fd[i], buf, sizeof(buf), MSG_DONTWAIT) < 0)
			continue;
		assert_int_equal(slot, NOBODY);
		slot = i + 1;
	}
	assert_int_not_equal(slot, NOBODY);
	return slot;
}

/* A packet goes to the socket of the process that owns the QP number's block, and to no other. */
static void test_steering(void **state)
{
	uint8_t buf[64];

	for (int i = 0; i < PROCESSES; i++) {
		/* a second number of the same process, if that makes a difference */
		uint32_t slot = i + 1 + (i % 2 && i < 255 ? UROCE_FIRST_SLOTS + 3 * 256 : 0);
		uint32_t qpn =
			slot << UROCE_QPN_BLOCK_BITS | (i * 7 & ((1 << UROCE_QPN_BLOCK_BITS) - 1));
		uint32_t length = packet_make(UROCE_RC | UROCE_SEND_ONLY, qpn, 4, 0, buf);

		crowd_send(buf, length);
		assert_int_equal(recv(crowd.fd[i], buf, sizeof(buf), MSG_DONTWAIT), length);
	}
}

/* A message of the connection manager as it comes to QP1. */
struct message {
	uint8_t opcode, qpn, class;
	uint16_t attr;
	uint32_t first, second; /* words of its body */
	uint32_t short_by;
};

#define DATAGRAM   (UROCE_UD | UROCE_SEND_ONLY)
#define CM_MESSAGE .opcode = DATAGRAM, .qpn = 1, .class = 7

static void message_send(const struct message *m)
{
	uint8_t buf[MAD_DATAGRAM] = {};
	uint8_t *mad = buf + BTH_LEN + DETH_LEN;

	buf[0] = m->opcode;
	put16(buf + 2, 0xffff);
	buf[7] = m->qpn;
	mad[0] = 1;
	mad[1] = m->class;
	mad[2] = 2;
	mad[3] = 3;
	put16(mad + 16, m->attr);
	put32(mad + 24, m->first);
	put32(mad + 28, m->second);
	crowd_send(buf, sizeof(buf) - m->short_by);
}

static uint32_t id_of(uint32_t slot)
{
	return slot << 19 | 0x1234;
}

/* The kernel's choice for packets without a target, and some other slots. */
static int kernels_choice(void)
{
	uint8_t buf[64];

	crowd_send(buf, packet_make(UROCE_UD | UROCE_SEND_ONLY, 0, 0, 0, buf));
	return crowd_taker();
}

static void expect_taker(const struct message *m, int slot)
{
	message_send(m);
	assert_int_equal(crowd_taker(), slot);
}

/* The id in the message names the receiver. The sender's own id does not matter. */
static void test_steering_by_id(void **state)
{
	static const uint16_t attrs[] = { 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x19, 0x1a };
	int choice = kernels_choice();

	for (int i = 0; i < (int)ARRAY_SIZE(attrs); i++) {
		int slot = (choice + 71 * i) % PROCESSES + 1, other = slot % PROCESSES + 1;

		expect_taker(&(struct message){ CM_MESSAGE, .attr = attrs[i], .first = id_of(other),
						.second = id_of(slot) },
			     slot);
		expect_taker(&(struct message){ CM_MESSAGE, .attr = 0x18, .first = id_of(slot),
						.second = id_of(other) },
			     slot);
	}
	for (int slot = 1; slot <= PROCESSES; slot += 199)
		expect_taker(&(struct message){ CM_MESSAGE, .attr = 0x13, .second = id_of(slot) },
			     slot);
}

/* A message that names no process, or has an id in another place, goes to the kernel's choice. */
static void test_steering_by_nothing(void **state)
{
	int choice = kernels_choice(), other = choice % PROCESSES + 1;
	const struct message messages[] = {
		{ CM_MESSAGE, .attr = 0x10, .first = id_of(other), .second = id_of(other) },
		{ CM_MESSAGE, .attr = 0x17, .first = id_of(other), .second = id_of(other) },
		{ CM_MESSAGE, .attr = 0x0f, .first = id_of(other), .second = id_of(other) },
		{ CM_MESSAGE, .attr = 0x1b, .first = id_of(other), .second = id_of(other) },
		{ CM_MESSAGE, .attr = 0x113, .first = id_of(other), .second = id_of(other) },
		{ CM_MESSAGE, .attr = 0x12, .first = id_of(other) },
		{ CM_MESSAGE, .attr = 0x13, .second = id_of(PROCESSES + 1) },
		{ CM_MESSAGE, .attr = 0x13, .second = id_of(UROCE_FIRST_SLOTS + other) },
		{ CM_MESSAGE, .attr = 0x13, .second = UINT32_MAX },
		{ CM_MESSAGE, .attr = 0x13, .second = id_of(other), .short_by = 1 },
		{ CM_MESSAGE, .attr = 0x13, .second = id_of(other), .short_by = 240 },
		{ CM_MESSAGE, .attr = 0x13, .second = id_of(other), .short_by = MAD_DATAGRAM - 8 },
		{ DATAGRAM, .qpn = 1, .class = 3, .attr = 0x13, .second = id_of(other) },
		{ DATAGRAM, .qpn = 0, .class = 7, .attr = 0x13, .second = id_of(other) },
		{ DATAGRAM, .qpn = 2, .class = 7, .attr = 0x13, .second = id_of(other) },
		{ UROCE_RC | UROCE_SEND_ONLY, 1, 7, .attr = 0x13, .second = id_of(other) },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(messages); i++)
		expect_taker(&messages[i], choice);
}

#define udp_test(f)   cmocka_unit_test_setup_teardown(f, setup, teardown)
#define crowd_test(f) cmocka_unit_test_setup_teardown(f, crowd_setup, crowd_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		udp_test(test_one),
		udp_test(test_equal_sizes_together),
		udp_test(test_shorter_ends),
		udp_test(test_longer_begins),
		udp_test(test_at_most_64),
		udp_test(test_at_most_a_datagram),
		udp_test(test_buffer_end),
		udp_test(test_damage),
		udp_test(test_other_destination),
		udp_test(test_other_process),
		udp_test(test_traffic_class),
		udp_test(test_traffic_class_flow),
		udp_test(test_traffic_class_other),
		udp_test(test_no_segmentation),
		udp_test(test_segmentation_refused),
		udp_test(test_flush),
		udp_test(test_payload_gone),
		udp_test(test_no_socket),
		udp_test(test_socket_of_another),
		udp_test(test_flow),
		udp_test(test_flow_only_rc),
		udp_test(test_flow_refused),
		udp_test(test_flow_lossy),
		udp_test(test_flow_payload_gone),
		udp_test(test_receive),
		udp_test(test_receive_large),
		udp_test(test_receive_lone),
		udp_test(test_receive_marked),
		udp_test(test_receive_headers),
		udp_test(test_receive_odd),
		udp_test(test_receive_pkey),
		udp_test(test_receive_numbers),
		udp_test(test_turns),
		udp_test(test_flow_rests),
		udp_test(test_receive_flow),
		udp_test(test_receive_flow_headers),
		udp_test(test_receive_flow_places),
		udp_test(test_receive_flow_passed_on),
		udp_test(test_receive_flow_numbers),
		udp_test(test_receive_flow_restarted),
		udp_test(test_receive_other_process),
		udp_test(test_to_oneself),
		crowd_test(test_steering),
		crowd_test(test_steering_by_id),
		crowd_test(test_steering_by_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
