/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer of a datagram socket, built from a UDP socket and a queue pair. It checks the messages
 * byte by byte, and sends wrong ones. */
#include <endian.h>
#include <netinet/in.h>
#include <poll.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define GRH	 40
#define QKEY	 0x01234567 /* of datagrams by the connection manager */
#define SIZE	 4096
#define RECEIVES 8
#define CROWD	 600 /* more than the strangers that are remembered */

enum {
	OP_DATA = 0,
	OP_ANSWER = 7,
};

struct peer {
	struct rt_dev *dev;
	struct rt_side side;
	struct ibv_ah *ah;
	int udp;
	struct sockaddr_storage name;
	/* The socket under test. */
	int fd;
	struct sockaddr_storage to;
	uint32_t qpn;
};

static bool is_v6(const struct peer *p)
{
	return p->name.ss_family == AF_INET6;
}

static size_t host_copy(const struct sockaddr_storage *name, uint8_t *to)
{
	const struct sockaddr_in6 *v6 = (const void *)name;
	const struct sockaddr_in *v4 = (const void *)name;

	if (name->ss_family == AF_INET6)
		memcpy(to, &v6->sin6_addr, 16);
	else
		memcpy(to, &v4->sin_addr, 4);
	return name->ss_family == AF_INET6 ? 16 : 4;
}

static uint16_t port_of(const struct sockaddr_storage *name)
{
	return name->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)name)->sin6_port
					   : ((struct sockaddr_in *)name)->sin_port;
}

/* ---- making it ---- */

static int udp_new(struct sockaddr_storage *ret_name)
{
	struct sockaddr_storage name = rt_cm_address(0);
	socklen_t size = rt_rs_size(&name);
	int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_OK(bind(fd, (struct sockaddr *)&name, size));
	CHECK_OK(getsockname(fd, (struct sockaddr *)&name, &size));
	*ret_name = name;
	return fd;
}

static void receive_post(struct peer *p, int i)
{
	rt_recv(&p->side, i, i * (size_t)SIZE, SIZE);
}

static void side_open(struct peer *p)
{
	static const struct rt_options options = { .type = IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = p->dev->port_num,
				    .qkey = QKEY };

	p->side = rt_side_open(p->dev, &options, NULL);
	CHECK_OK(ibv_modify_qp(p->side.qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	rt_qp_state(p->side.qp, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_OK(ibv_modify_qp(p->side.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	for (int i = 0; i < RECEIVES; i++)
		receive_post(p, i);
}

static struct peer peer_open(void)
{
	struct sockaddr_storage own = rt_cm_address(0);
	struct peer p = { .fd = rsocket(own.ss_family, SOCK_DGRAM, 0) };
	socklen_t size = sizeof(p.to);
	struct rt_address address;
	struct ibv_ah_attr attr;

	CHECK(p.fd >= 0);
	CHECK_OK(rbind(p.fd, (struct sockaddr *)&own, rt_rs_size(&own)));
	CHECK_OK(rgetsockname(p.fd, (struct sockaddr *)&p.to, &size));
	p.udp = udp_new(&p.name);
	p.dev = rt_open();
	side_open(&p);
	address = rt_side_address(&p.side);
	attr = rt_ah_attr(p.dev, &address);
	p.ah = ibv_create_ah(p.dev->pd, &attr);
	CHECK(p.ah);
	return p;
}

static void peer_close(struct peer *p)
{
	CHECK_OK(ibv_destroy_ah(p->ah));
	rt_side_close(&p->side);
	rt_close(p->dev);
	close(p->udp);
	CHECK_OK(rclose(p->fd));
}

/* ---- sending ---- */

static size_t udp_header(const struct peer *p, uint8_t *to, uint8_t op)
{
	const uint32_t tag = htobe32(0x55555555), qpn = htobe32(p->side.qp->qp_num);

	memset(to, 0, 28);
	memcpy(to, &tag, 4);
	to[4] = is_v6(p) ? 6 : 4;
	to[5] = op;
	to[6] = is_v6(p) ? 28 : 16;
	memcpy(to + 8, &qpn, 4);
	return 12 + host_copy(&p->name, to + 12);
}

static size_t header(const struct peer *p, uint8_t *to)
{
	uint16_t port = port_of(&p->name);

	memset(to, 0, 24);
	to[0] = is_v6(p) ? 6 : 4;
	to[1] = is_v6(p) ? 24 : 8;
	memcpy(to + 2, &port, 2);
	return (is_v6(p) ? 8 : 4) + host_copy(&p->name, to + (is_v6(p) ? 8 : 4));
}

static void udp_bytes(const struct peer *p, const void *bytes, size_t size)
{
	CHECK_INT(sendto(p->udp, bytes, size, 0, (struct sockaddr *)&p->to, rt_rs_size(&p->to)),
		  size);
}

static void udp_say(const struct peer *p, uint8_t op, const char *text)
{
	uint8_t bytes[128];
	size_t size = udp_header(p, bytes, op);

	memcpy(bytes + size, text, strlen(text));
	udp_bytes(p, bytes, size + strlen(text));
}

static void rdma_bytes(struct peer *p, const void *bytes, size_t size)
{
	struct ibv_sge sge = rt_sge(&p->side, RECEIVES * (size_t)SIZE, size);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 100, &sge), *bad;
	struct ibv_wc wc;
	int n;

	memcpy(p->side.buf.p + RECEIVES * (size_t)SIZE, bytes, size);
	wr.wr.ud.ah = p->ah;
	wr.wr.ud.remote_qpn = p->qpn;
	wr.wr.ud.remote_qkey = QKEY;
	CHECK_OK(ibv_post_send(p->side.qp, &wr, &bad));
	do {
		n = ibv_poll_cq(p->side.cq, 1, &wc);
		if (n == 1 && wc.opcode == IBV_WC_RECV)
			receive_post(p, wc.wr_id);
	} while (n == 0 || (n == 1 && wc.wr_id != 100));
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
}

static void rdma_say(struct peer *p, const char *text)
{
	uint8_t bytes[128];
	size_t size = header(p, bytes);

	memcpy(bytes + size, text, strlen(text));
	rdma_bytes(p, bytes, size + strlen(text));
}

/* ---- receiving ---- */

/* Receive a message by UDP. Check its header, and that it has this text. Return its op. */
static int udp_hear(struct peer *p, const char *text)
{
	uint8_t bytes[SIZE], right[28];
	size_t size = udp_header(p, right, 0);
	uint32_t qpn;

	CHECK_INT(recv(p->udp, bytes, sizeof(bytes), 0), size + strlen(text));
	CHECK(!memcmp(bytes + size, text, strlen(text)));
	memcpy(&qpn, bytes + 8, 4);
	p->qpn = be32toh(qpn);
	CHECK(p->qpn >= 2 && p->qpn < 0xffffff);
	/* Both addresses belong to one host. */
	memcpy(right + 8, &qpn, 4);
	right[5] = bytes[5];
	CHECK(!memcmp(bytes, right, size));
	return bytes[5];
}

/* Poll a message by RDMA, which must be right with this text. Return whether there was one. */
static bool rdma_hear(struct peer *p, const char *text)
{
	uint8_t right[24];
	size_t size = header(p, right);
	uint16_t port = port_of(&p->to);
	const uint8_t *packet;
	struct ibv_wc wc;

	if (ibv_poll_cq(p->side.cq, 1, &wc) == 0)
		return false;
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	CHECK_INT(wc.opcode, IBV_WC_RECV);
	CHECK_INT(wc.src_qp, p->qpn);
	CHECK_INT(wc.byte_len, GRH + size + strlen(text));
	packet = p->side.buf.p + wc.wr_id * SIZE + GRH;
	memcpy(right + 2, &port, 2);
	CHECK(!memcmp(packet, right, size));
	CHECK(!memcmp(packet + size, text, strlen(text)));
	receive_post(p, wc.wr_id);
	return true;
}

static void send_text(struct peer *p, const char *text)
{
	CHECK_INT(rsendto(p->fd, text, strlen(text), 0, (struct sockaddr *)&p->name,
			  rt_rs_size(&p->name)),
		  strlen(text));
}

/* Send until a message goes by RDMA, and answer each that goes by UDP. */
static void meet(struct peer *p)
{
	struct pollfd udp = { .fd = p->udp, .events = POLLIN };

	do {
		send_text(p, "meet");
		while (poll(&udp, 1, 1) > 0)
			if (udp_hear(p, "meet") == OP_DATA)
				udp_say(p, OP_ANSWER, "");
	} while (!rdma_hear(p, "meet"));
}

static void expect(struct peer *p, const char *text)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char bytes[SIZE];

	CHECK_INT(rrecvfrom(p->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size),
		  strlen(text));
	CHECK(!memcmp(bytes, text, strlen(text)));
	CHECK_INT(size, rt_rs_size(&p->name));
	CHECK(!memcmp(&from, &p->name, size));
}

/* ---- the cases ---- */

static void first_by_udp(void)
{
	struct peer p = peer_open();

	send_text(&p, "hello");
	CHECK_INT(udp_hear(&p, "hello"), OP_DATA);
	CHECK(!rdma_hear(&p, ""));
	udp_say(&p, OP_ANSWER, "");
	meet(&p);
	rdma_say(&p, "back");
	expect(&p, "back");
	peer_close(&p);
}

static void answers(void)
{
	struct peer p = peer_open();

	for (int i = 0; i < 3; i++) {
		udp_say(&p, OP_DATA, "hello");
		expect(&p, "hello");
		CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	}
	udp_say(&p, OP_DATA, "");
	expect(&p, "");
	CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	/* The socket also has the RDMA path to a peer that it answered. */
	meet(&p);
	peer_close(&p);
}

/* A new queue pair at the same port is found, although it sends no message first. */
static void another_queue_pair(void)
{
	struct peer p = peer_open();

	meet(&p);
	rt_side_close(&p.side);
	side_open(&p);
	meet(&p);
	peer_close(&p);
}

/* Send a datagram by UDP that exceeds a packet of RDMA. */
static void long_by_udp(void)
{
	struct peer p = peer_open();
	uint8_t bytes[SIZE], got[SIZE];
	size_t size = udp_header(&p, bytes, OP_DATA);

	rt_fill(bytes + size, sizeof(bytes) - size, 1);
	udp_bytes(&p, bytes, sizeof(bytes));
	CHECK_INT(rrecv(p.fd, got, sizeof(got), 0), sizeof(bytes) - size);
	CHECK(!memcmp(got, bytes + size, sizeof(bytes) - size));
	CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	meet(&p);
	peer_close(&p);
}

/* The socket drops wrong messages by UDP, and serves the next valid message. */
static void rude_udp(void)
{
	struct peer p = peer_open();
	static const struct {
		int at; /* -1: the length */
		uint8_t value;
	} wrong[] = {
		{ -1, 0 }, { -1, 1 }, { -1, 11 }, { -1, 15 }, { 0, 0 }, { 3, 0x54 },
		{ 4, 0 },  { 4, 5 },  { 4, 255 }, { 5, 1 },   { 5, 4 }, { 5, 255 },
		{ 6, 0 },  { 6, 8 },  { 6, 17 },  { 6, 255 },
	};
	static const uint32_t numbers[] = { 0, 1, 0xffffff, 0xff000000 };
	uint8_t bytes[SIZE];
	size_t size;

	for (int i = 0; i < RT_COUNT(wrong); i++) {
		size = udp_header(&p, bytes, OP_DATA) + 4;
		memcpy(bytes + size - 4, "rude", 4);
		if (wrong[i].at < 0)
			size = wrong[i].value;
		else
			bytes[wrong[i].at] = wrong[i].value;
		udp_bytes(&p, bytes, size);
		udp_say(&p, OP_DATA, "right");
		expect(&p, "right");
		CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	}
	for (int i = 0; i < RT_COUNT(numbers); i++) {
		uint32_t number = htobe32(numbers[i]);

		size = udp_header(&p, bytes, OP_DATA);
		memcpy(bytes + 8, &number, 4);
		udp_bytes(&p, bytes, size);
		bytes[5] = OP_ANSWER;
		udp_bytes(&p, bytes, size);
	}
	/* of the other family's form */
	udp_header(&p, bytes, OP_DATA);
	bytes[4] = is_v6(&p) ? 4 : 6;
	bytes[6] = is_v6(&p) ? 16 : 28;
	udp_bytes(&p, bytes, 28);
	udp_say(&p, OP_DATA, "right");
	expect(&p, "right");
	CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	meet(&p);
	peer_close(&p);
}

/* The address in the header of a UDP message is ignored: the network gives the sender. */
static void foreign_address_by_udp(void)
{
	struct peer p = peer_open();
	uint8_t bytes[64];
	size_t size = udp_header(&p, bytes, OP_DATA);

	memset(bytes + 12, 99, is_v6(&p) ? 16 : 4);
	memcpy(bytes + size, "x", 1);
	udp_bytes(&p, bytes, size + 1);
	expect(&p, "x");
	CHECK_INT(udp_hear(&p, ""), OP_ANSWER);
	meet(&p);
	peer_close(&p);
}

static void rude_packets(void)
{
	struct peer p = peer_open();
	static const uint8_t heads[][4] = {
		{ 0, 0 }, { 4, 0 },  { 4, 7 },	 { 4, 9 }, { 4, 24 },	 { 4, 255 },
		{ 6, 8 }, { 6, 25 }, { 6, 255 }, { 5, 8 }, { 255, 255 },
	};
	uint8_t bytes[SIZE];
	size_t size;

	meet(&p);
	for (size_t length = 0; length < header(&p, bytes); length++)
		rdma_bytes(&p, bytes, length);
	for (int i = 0; i < RT_COUNT(heads); i++) {
		/* the port and all behind it are right */
		size = header(&p, bytes);
		memcpy(bytes, heads[i], 2);
		rdma_bytes(&p, bytes, size);
		rdma_bytes(&p, bytes, 2);
		rdma_bytes(&p, bytes, 100);
	}
	/* a header of IPv6 that ends early */
	memset(bytes, 0, 24);
	bytes[0] = 6;
	bytes[1] = 24;
	for (size_t length = 8; length <= 23; length++)
		rdma_bytes(&p, bytes, length);
	rdma_say(&p, "right");
	expect(&p, "right");
	meet(&p);
	peer_close(&p);
}

/* A packet of the greatest length, longer than other builds send. */
static void long_packet(void)
{
	struct peer p = peer_open();
	size_t size, most = 128u << p.dev->port.active_mtu;
	uint8_t bytes[SIZE], got[SIZE];

	meet(&p);
	for (int i = 0; i < 20; i++) {
		rt_fill(bytes, sizeof(bytes), i);
		size = header(&p, bytes);
		rdma_bytes(&p, bytes, most);
		CHECK_INT(rrecv(p.fd, got, sizeof(got), 0), most - size);
		CHECK(!memcmp(got, bytes + size, most - size));
	}
	peer_close(&p);
}

/* A packet that names another host as its sender is dropped. */
static void foreign_address(void)
{
	struct peer p = peer_open();
	uint8_t bytes[64];
	size_t size;

	if (p.dev->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		rt_skip("the network does not say where a packet comes from");
	meet(&p);
	size = header(&p, bytes);
	bytes[size - 1] ^= 4;
	rdma_bytes(&p, bytes, size);
	rdma_say(&p, "right");
	expect(&p, "right");
	peer_close(&p);
}

/* Return whether messages go by RDMA to a peer that does not answer by UDP. A socket that
 * received nothing for a second uses UDP: therefore send something first. */
static bool is_known(struct peer *p)
{
	struct pollfd udp = { .fd = p->udp, .events = POLLIN };

	for (int i = 0; i < 1000; i++) {
		rdma_say(p, "still there");
		expect(p, "still there");
		send_text(p, "meet");
		while (poll(&udp, 1, 1) == 0)
			if (rdma_hear(p, "meet"))
				return true;
		udp_hear(p, "meet");
	}
	return false;
}

/* Strangers do not displace the program's peers, even if more of them come than are remembered. */
static void crowd(void)
{
	struct peer p = peer_open();
	struct pollfd udp = { .fd = p.udp, .events = POLLIN };
	struct sockaddr_storage name;
	uint8_t bytes[28];
	char got[8];

	meet(&p);
	for (int i = 0; i < CROWD; i++) {
		int fd = udp_new(&name);

		CHECK(sendto(fd, bytes, udp_header(&p, bytes, OP_DATA), 0, (struct sockaddr *)&p.to,
			     rt_rs_size(&p.to)) > 0);
		CHECK_INT(rrecv(p.fd, got, sizeof(got), 0), 0);
		close(fd);
		/* Let the send finish, because a destination with a send under way is never
		 * forgotten. */
		send_text(&p, "meet");
		while (!rdma_hear(&p, "meet") && poll(&udp, 1, 1) == 0)
			;
	}
	CHECK(is_known(&p));
	peer_close(&p);
}

static const struct rt_case cases[] = {
	{ "first_by_udp", first_by_udp },
	{ "answers", answers },
	{ "another_queue_pair", another_queue_pair },
	{ "long_by_udp", long_by_udp },
	{ "rude_udp", rude_udp },
	{ "foreign_address_by_udp", foreign_address_by_udp },
	{ "rude_packets", rude_packets },
	{ "long_packet", long_packet },
	{ "foreign_address", foreign_address },
	{ "crowd", crowd },
};
RT_MAIN(cases)
