/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The invariant CRC against packets that Linux's rxe sent (kernel 6.12), IP header on. */
#include "tests/unit/unit.h"

#include "providers/uroce/wire/icrc.h"
#include "util/util.h"

enum {
	PACKET_MAX = 256,
	IPV4_ID_OFFSET = 4,
};

static const struct {
	const char *name;
	const char *hex;
} vectors[] = {
	{ "RC send only, IPv4, 52 bytes",
	  "45000034767d400040114038c0000202c0000201f9b012b7002000000430ffff00123456801f0a82"
	  "7b7b7b7b7b0000002a073596" },
	{ "RC send only, IPv6, 72 bytes",
	  "600000000020114020010db800000000000000000000000220010db8000000000000000000000001"
	  "ee0612b7002000000430ffff00123456806cb1c17b7b7b7b7b0000003bc020d1" },
	{ "RC send only, IPv4, 108 bytes",
	  "4500006c7be5400040113a98c0000202c0000201e25012b7005800000400ffff0012345680218c68"
	  "7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b"
	  "7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7a459baf" },
	{ "UC send only, IPv4, 52 bytes",
	  "4500003481084000401135adc0000202c0000201cb2012b7002000002430ffff001234560074eb6d"
	  "7b7b7b7b7b000000f34e1534" },
	{ "UC send only, IPv6, 128 bytes",
	  "600000000058114020010db800000000000000000000000220010db8000000000000000000000001"
	  "e81812b7005800002400ffff00123456003097897b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b"
	  "7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b"
	  "7b7b7b7bc92fb312" },
	{ "UD send only, IPv4, 60 bytes",
	  "4500003c8a40400040112c6dc0000202c0000201e32512b7002800006430ffff0012345600a5363f"
	  "11111111000000197b7b7b7b7b000000dd48f45e" },
	{ "UD send only, IPv6, 80 bytes",
	  "600000000028114020010db800000000000000000000000220010db8000000000000000000000001"
	  "fb9712b7002800006430ffff0012345600064598111111110000001a7b7b7b7b7b00000015963ccf" },
};

struct packet {
	uint8_t bytes[PACKET_MAX]; /* from the IP header */
	uint32_t ip_length;
	uint32_t total;
	bool ipv4;
};

static void packet_read(const char *hex, struct packet *packet)
{
	packet->total = strlen(hex) / 2;
	for (uint32_t i = 0; i < packet->total; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		packet->bytes[i] = byte;
	}
	packet->ipv4 = packet->bytes[0] == 0x45;
	packet->ip_length = packet->ipv4 ? ICRC_IPV4_LEN : ICRC_IPV6_LEN;
}

static uint8_t *packet_bth(struct packet *packet)
{
	return packet->bytes + packet->ip_length + ICRC_UDP_LEN;
}

static uint32_t packet_length(const struct packet *packet)
{
	return packet->total - packet->ip_length - ICRC_UDP_LEN - ICRC_LEN;
}

static uint16_t packet_id(const struct packet *packet)
{
	return packet->ipv4 ? packet->bytes[IPV4_ID_OFFSET] << 8 | packet->bytes[IPV4_ID_OFFSET + 1]
			    : 0;
}

/* Fill in addresses and ports as a socket reports them. */
static void packet_icrc(const struct packet *packet, struct uroce_icrc *icrc)
{
	const uint8_t *ports = packet->bytes + packet->ip_length;
	union uroce_address from = {}, to = {};

	if (packet->ipv4) {
		from.in.sin_family = to.in.sin_family = AF_INET;
		memcpy(&from.in.sin_addr, packet->bytes + 12, 4);
		memcpy(&to.in.sin_addr, packet->bytes + 16, 4);
		memcpy(&from.in.sin_port, ports, 2);
		memcpy(&to.in.sin_port, ports + 2, 2);
	} else {
		from.in6.sin6_family = to.in6.sin6_family = AF_INET6;
		memcpy(&from.in6.sin6_addr, packet->bytes + 8, 16);
		memcpy(&to.in6.sin6_addr, packet->bytes + 24, 16);
		memcpy(&from.in6.sin6_port, ports, 2);
		memcpy(&to.in6.sin6_port, ports + 2, 2);
	}
	uroce_icrc_init(icrc, &from, &to);
}

static enum uroce_icrc_verdict check(struct packet *packet, uint16_t *id)
{
	struct uroce_icrc icrc;

	packet_icrc(packet, &icrc);
	return uroce_icrc_check(&icrc, id, packet_bth(packet), packet_length(packet));
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct uroce_icrc icrc;
		struct packet packet;
		uint32_t crc, received;
		uint16_t id;

		packet_read(vectors[i].hex, &packet);
		packet_icrc(&packet, &icrc);
		id = packet_id(&packet);
		crc = uroce_icrc_compute(&icrc, id, packet_bth(&packet), packet_length(&packet));
		memcpy(&received, packet.bytes + packet.total - ICRC_LEN, sizeof(received));
		assert_int_equal(crc, le32toh(received));
		assert_int_equal(check(&packet, &id), ICRC_RIGHT);
	}
}

/* Damage every bit from the BTH on, including the ICRC itself. */
static void test_corrupt_bytes(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct packet good;

		packet_read(vectors[i].hex, &good);
		for (uint32_t byte = good.ip_length + ICRC_UDP_LEN; byte < good.total; byte++) {
			for (int bit = 0; bit < 8; bit++) {
				struct packet bad = good;
				uint16_t id = packet_id(&good);
				bool reserved = byte == good.ip_length + ICRC_UDP_LEN + 4;

				bad.bytes[byte] ^= 1 << bit;
				assert_int_equal(check(&bad, &id),
						 reserved ? ICRC_RIGHT : ICRC_WRONG);
			}
		}
	}
}

/* The ICRC covers addresses, ports and length. */
static void test_corrupt_headers(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct packet good;
		uint32_t from;

		packet_read(vectors[i].hex, &good);
		from = good.ipv4 ? 12 : 8;
		for (uint32_t byte = from; byte < good.ip_length + 4; byte++) {
			struct packet bad = good;
			uint16_t id = packet_id(&good);

			bad.bytes[byte] ^= 0x10;
			assert_int_equal(check(&bad, &id), ICRC_WRONG);
		}
	}
}

static void test_shorter(void **state)
{
	struct packet packet;
	uint16_t id;

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		packet_read(vectors[i].hex, &packet);
		id = packet_id(&packet);
		packet.total -= 4;
		assert_int_equal(check(&packet, &id), ICRC_WRONG);
	}
}

/* A socket that reports neither identification nor DF finds both. The fields that a router
 * changes have no influence. */
static void test_unseen_id(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct packet packet;
		uint16_t id = 0;

		packet_read(vectors[i].hex, &packet);
		assert_int_equal(check(&packet, &id), packet.ipv4 ? ICRC_RIGHT_UNSEEN : ICRC_RIGHT);
		assert_int_equal(id, packet_id(&packet));
	}
}

static void test_unseen_df(void **state)
{
	static const uint8_t packet[BTH_LEN + 8 + ICRC_LEN] = { 0x64, 0, 0xff, 0xff, 0, 1, 2, 3 };
	/* The CRC for 192.0.2.1:4791 to 192.0.2.2:4791, identification 0x1234, DF clear; by
	 * Python's zlib.
	 */
	const uint32_t crc = htole32(0x8e78f5d6);
	union uroce_address from = { .in = { .sin_family = AF_INET,
					     .sin_port = htons(UROCE_UDP_PORT) } };
	union uroce_address to = from;
	uint8_t copy[sizeof(packet)];
	struct uroce_icrc icrc;
	uint16_t id = 0;

	from.in.sin_addr.s_addr = htonl(0xc0000201);
	to.in.sin_addr.s_addr = htonl(0xc0000202);
	memcpy(copy, packet, sizeof(copy));
	memcpy(copy + sizeof(copy) - ICRC_LEN, &crc, ICRC_LEN);
	uroce_icrc_init(&icrc, &from, &to);
	assert_int_equal(uroce_icrc_check(&icrc, &id, copy, sizeof(copy) - ICRC_LEN),
			 ICRC_RIGHT_UNSEEN);
	assert_int_equal(id, 0x1234);
}

/* Of random ICRCs about one in 2^15 may pass if the identification is unknown, and none if it is
 * known. */
static void test_random(void **state)
{
	unsigned int passed = 0;
	struct packet packet;
	uint32_t random = 1;

	packet_read(vectors[0].hex, &packet);
	for (int i = 0; i < 1 << 18; i++) {
		uint16_t id = 0;

		random = random * 1664525 + 1013904223;
		memcpy(packet.bytes + packet.total - ICRC_LEN, &random, ICRC_LEN);
		passed += check(&packet, &id) != ICRC_WRONG;
	}
	assert_in_range(passed, 1, 32);
	packet_read(vectors[1].hex, &packet);
	for (int i = 0; i < 1 << 18; i++) {
		uint16_t id = 0;

		random = random * 1664525 + 1013904223;
		memcpy(packet.bytes + packet.total - ICRC_LEN, &random, ICRC_LEN);
		assert_int_equal(check(&packet, &id), ICRC_WRONG);
	}
}

/* A flush as rxe of the same kernel sends it, and a correct flush. */
static void test_rxe_flush(void **state)
{
	static const char hex[] =
		"45000040577c400040115f2dc0000202c0000201c2f812b7002c00001c00ffff0001299680fffff9"
		"0000000100007f8374a00000002b9aa6000010009ca6a149";
	struct packet packet, bad;
	struct uroce_icrc icrc;
	uint16_t id;
	uint32_t crc;

	packet_read(hex, &packet);
	id = packet_id(&packet);
	assert_int_equal(check(&packet, &id), ICRC_RIGHT);
	id = 0;
	assert_int_equal(check(&packet, &id), ICRC_RIGHT_UNSEEN);
	assert_int_equal(id, packet_id(&packet));
	for (uint32_t byte = packet.total - packet_length(&packet); byte < packet.total; byte++) {
		bad = packet;
		bad.bytes[byte] ^= 4;
		id = packet_id(&packet);
		assert_int_equal(check(&bad, &id), ICRC_WRONG);
	}
	packet_icrc(&packet, &icrc);
	id = packet_id(&packet);
	crc = htole32(uroce_icrc_compute(&icrc, id, packet_bth(&packet), packet_length(&packet)));
	memcpy(packet.bytes + packet.total - ICRC_LEN, &crc, ICRC_LEN);
	assert_int_equal(check(&packet, &id), ICRC_RIGHT);
}

/* The kernel numbers the segments of a large send: the ICRC of each is valid for its own number
 * only. */
static void test_numbered(void **state)
{
	struct packet packet;
	struct uroce_icrc icrc;

	packet_read(vectors[2].hex, &packet);
	packet_icrc(&packet, &icrc);
	for (uint16_t number = 0; number < 64; number++) {
		uint32_t crc = htole32(uroce_icrc_compute(&icrc, number, packet_bth(&packet),
							  packet_length(&packet)));
		uint16_t id = number, other = number + 1;

		memcpy(packet.bytes + packet.total - ICRC_LEN, &crc, ICRC_LEN);
		assert_int_equal(check(&packet, &id), ICRC_RIGHT);
		assert_int_equal(check(&packet, &other), ICRC_RIGHT_UNSEEN);
		assert_int_equal(other, number);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),		cmocka_unit_test(test_corrupt_bytes),
		cmocka_unit_test(test_corrupt_headers), cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_unseen_id),	cmocka_unit_test(test_unseen_df),
		cmocka_unit_test(test_random),		cmocka_unit_test(test_numbered),
		cmocka_unit_test(test_rxe_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
