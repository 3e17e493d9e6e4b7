/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <endian.h>
#include <sys/socket.h>

#include "tests/device/hostile/stranger.h"
#include "tests/lib/rt.h"

enum {
	GSI_QPN = 1,
	PKEY = 0xffff,
};
#define GSI_QKEY 0x80010000u

static union uroce_address address_of(const char *text, uint16_t port)
{
	union uroce_address address = {
		.in = { .sin_family = AF_INET, .sin_port = htons(port) },
	};

	CHECK_INT(inet_pton(AF_INET, text, &address.in.sin_addr), 1);
	return address;
}

struct stranger stranger_at(const char *from, uint16_t port, const char *to)
{
	struct stranger s = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
			      .from = address_of(from, port),
			      .to = address_of(to, STRANGER_ROCE_PORT) };
	socklen_t length = sizeof(s.from.in);

	CHECK(s.fd >= 0);
	setsockopt(s.fd, IPPROTO_IP, IP_MTU_DISCOVER, &(int){ IP_PMTUDISC_DO }, sizeof(int));
	CHECK_OK(bind(s.fd, &s.from.sa, sizeof(s.from.in)));
	CHECK_OK(getsockname(s.fd, &s.from.sa, &length));
	uroce_icrc_init(&s.icrc, &s.from, &s.to);
	return s;
}

void stranger_say(struct stranger *s, const struct ibcm_mad *mad)
{
	struct uroce_hdr hdr = {
		.opcode = STRANGER_UD_SEND_ONLY,
		.pkey = PKEY,
		.dest_qpn = GSI_QPN,
		.qkey = GSI_QKEY,
		.src_qpn = GSI_QPN,
	};
	uint8_t packet[UROCE_HEADER_MAX + IBCM_MAD_LEN + ICRC_LEN];
	uint32_t length = uroce_wire_pack(&hdr, IBCM_MAD_LEN, packet), crc;

	CHECK_OK(ibcm_mad_pack(mad, packet + length));
	length += IBCM_MAD_LEN;
	crc = htole32(uroce_icrc_compute(&s->icrc, 0, packet, length));
	memcpy(packet + length, &crc, sizeof(crc));
	(void)!sendto(s->fd, packet, length + ICRC_LEN, 0, &s->to.sa, sizeof(s->to.in));
	s->sent++;
}

bool stranger_hear(struct stranger *s, struct ibcm_mad *ret_mad)
{
	union uroce_address from;
	socklen_t from_length = sizeof(from);
	uint8_t packet[2048];
	ssize_t n = recvfrom(s->fd, packet, sizeof(packet), 0, &from.sa, &from_length);
	struct uroce_icrc icrc;
	uint32_t length = STRANGER_BTH_DETH_LEN + IBCM_MAD_LEN, crc;

	if (n != length + ICRC_LEN || packet[0] != STRANGER_UD_SEND_ONLY)
		return false;
	/* Ignore a packet with a wrong ICRC, which a kernel would drop. */
	uroce_icrc_init(&icrc, &from, &s->from);
	crc = htole32(uroce_icrc_compute(&icrc, 0, packet, length));
	return !memcmp(packet + length, &crc, sizeof(crc)) &&
	       ibcm_mad_unpack(packet + STRANGER_BTH_DETH_LEN, ret_mad) == 0;
}
