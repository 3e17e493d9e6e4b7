/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/device/hostile/wire.h"
#include "tests/lib/rt.h"

enum {
	ROCE_PORT = 4791,
	UDP = 17,
	UDP_LEN = 8,
	BTH_LEN = 12,
	ICRC_LEN = 4,
	FRAME_MAX = 1 << 16,
	RCVBUF = 64 << 20,
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t length;
	uint8_t *udp; /* NULL: no RoCE packet */
};

/* --- one packet --- */

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t crc32_add(uint32_t crc, const uint8_t *p, size_t length)
{
	while (length--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Mask the fields that may change on the way as ones: IBTA annex A17. */
static void mask(struct frame *f)
{
	static const uint8_t ipv4[] = { 1, 8, 10, 11 }, ipv6[] = { 1, 2, 3, 7 };
	bool is_ipv4 = f->bytes[0] >> 4 == 4;

	for (int i = 0; i < 4; i++)
		f->bytes[is_ipv4 ? ipv4[i] : ipv6[i]] = 0xff;
	if (!is_ipv4)
		f->bytes[0] |= 0x0f;
	f->udp[6] = f->udp[7] = 0xff;
	f->udp[UDP_LEN + 4] = 0xff;
}

static bool icrc_right(struct frame *f)
{
	static const uint8_t lrh[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	uint32_t crc = crc32_add(UINT32_MAX, lrh, sizeof(lrh)), icrc;

	mask(f);
	crc = ~crc32_add(crc, f->bytes, f->length - ICRC_LEN);
	memcpy(&icrc, f->bytes + f->length - ICRC_LEN, sizeof(icrc));
	return crc == le32toh(icrc);
}

/* Parse a frame without its link header, which may be padded. */
static void frame_parse(struct frame *f, size_t length)
{
	bool ipv4 = f->bytes[0] >> 4 == 4;
	size_t header = ipv4 ? 20 : 40;

	f->udp = NULL;
	if (length < header + UDP_LEN + BTH_LEN + ICRC_LEN || f->bytes[ipv4 ? 9 : 6] != UDP ||
	    get16(f->bytes + header + 2) != ROCE_PORT)
		return;
	f->length = ipv4 ? get16(f->bytes + 2) : header + get16(f->bytes + 4);
	CHECK(f->length <= length && f->length >= header + UDP_LEN + BTH_LEN + ICRC_LEN);
	f->udp = f->bytes + header;
	if (get16(f->udp + 4) != f->length - header)
		FAIL("a datagram of %u bytes in a packet of %zu", get16(f->udp + 4), f->length);
}

/* --- all of them --- */

static int wire_open(const char *netdev)
{
	struct sockaddr_ll link = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = if_nametoindex(netdev) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = RCVBUF;

	CHECK(fd >= 0 && link.sll_ifindex);
	/* Packets without room in the buffer are not checked. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	CHECK_OK(bind(fd, (struct sockaddr *)&link, sizeof(link)));
	return fd;
}

/* Check a frame; return whether it came from a flow. */
static bool frame_check(struct frame *f)
{
	unsigned int port, id;

	if (!f->udp)
		return false;
	port = get16(f->udp);
	id = get16(f->bytes + 4);
	if (!icrc_right(f))
		FAIL("a packet of %zu bytes from port %u, number %u, has a wrong ICRC", f->length,
		     port, id);
	return port != ROCE_PORT;
}

/* Check frames until @stop is closed and none is left. */
static void watch(int fd, int stop)
{
	struct pollfd fds[] = { { fd, POLLIN, 0 }, { stop, POLLIN, 0 } };
	static struct frame f;
	unsigned int flows = 0;

	for (;;) {
		ssize_t n = recv(fd, f.bytes, sizeof(f.bytes), MSG_DONTWAIT);

		if (n > 0) {
			frame_parse(&f, n);
			flows += frame_check(&f);
			continue;
		}
		if (fds[1].revents)
			break;
		CHECK(poll(fds, 2, -1) > 0);
	}
	CHECK(flows > 0);
}

struct wire wire_watch(const char *netdev)
{
	int fd = wire_open(netdev), sockets[2];
	struct wire wire;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	wire.pid = fork();
	CHECK(wire.pid >= 0);
	if (!wire.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		watch(fd, sockets[1]);
		exit(0);
	}
	close(fd);
	close(sockets[1]);
	wire.socket = sockets[0];
	return wire;
}

void wire_end(struct wire *wire)
{
	int status;

	close(wire->socket);
	CHECK_INT(waitpid(wire->pid, &status, 0), wire->pid);
	CHECK_INT(status, 0);
}
