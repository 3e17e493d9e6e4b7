/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "providers/uroce/wire/crc.h"
#include "providers/uroce/wire/icrc.h"
#include "util/util.h"

/* Offsets of fields in the IP headers: RFC 791, RFC 8200. */
enum {
	IPV4_TOS = 1,
	IPV4_LENGTH = 2,
	IPV4_ID = 4,
	IPV4_FLAGS = 6,
	IPV4_TTL = 8,
	IPV4_PROTOCOL = 9,
	IPV4_CHECKSUM = 10,
	IPV4_FROM = 12,
	IPV4_TO = 16,
	IPV6_LENGTH = 4,
	IPV6_NEXT = 6,
	IPV6_HOP_LIMIT = 7,
	IPV6_FROM = 8,
	IPV6_TO = 24,
	UDP_FROM = 0,
	UDP_TO = 2,
	UDP_LENGTH = 4,
	UDP_CHECKSUM = 6,
};
#define IPV4_VERSION_IHL   0x45
#define IPV4_FLAG_DF	   0x40
#define IPV6_VERSION_CLASS 0x6f

/*
 * If the register of a CRC starts at zero, zeros in front of the data have no effect. The register
 * of Ethernet's CRC starts with ones. This equals a start at zero with the first four bytes
 * inverted. Therefore the first four of the eight bytes of ones that replace the GRH become zeros,
 * like the block before them. The number of zeros is chosen so that all data consists of whole
 * blocks.
 */
#define ZERO_REGISTER 0xffffffffu /* isa-l inverts its input and its result */

static uint8_t *ip_header(struct uroce_icrc *icrc)
{
	return icrc->headers + ICRC_BLOCK + ICRC_GRH_LEN;
}

static uint32_t ip_length(const struct uroce_icrc *icrc)
{
	return icrc->ipv4 ? ICRC_IPV4_LEN : ICRC_IPV6_LEN;
}

static void ipv4_init(uint8_t *ip, const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	ip[0] = IPV4_VERSION_IHL;
	ip[IPV4_TOS] = 0xff;
	ip[IPV4_FLAGS] = IPV4_FLAG_DF;
	ip[IPV4_FLAGS + 1] = 0;
	ip[IPV4_TTL] = 0xff;
	ip[IPV4_PROTOCOL] = IPPROTO_UDP;
	put16(ip + IPV4_CHECKSUM, 0xffff);
	memcpy(ip + IPV4_FROM, &from->sin_addr, sizeof(from->sin_addr));
	memcpy(ip + IPV4_TO, &to->sin_addr, sizeof(to->sin_addr));
}

static void ipv6_init(uint8_t *ip, const struct sockaddr_in6 *from, const struct sockaddr_in6 *to)
{
	ip[0] = IPV6_VERSION_CLASS;
	memset(ip + 1, 0xff, IPV6_LENGTH - 1); /* traffic class, flow label */
	ip[IPV6_NEXT] = IPPROTO_UDP;
	ip[IPV6_HOP_LIMIT] = 0xff;
	memcpy(ip + IPV6_FROM, &from->sin6_addr, sizeof(from->sin6_addr));
	memcpy(ip + IPV6_TO, &to->sin6_addr, sizeof(to->sin6_addr));
}

void uroce_icrc_init(struct uroce_icrc *icrc, const union uroce_address *from,
		     const union uroce_address *to)
{
	uint8_t *ip = ip_header(icrc), *udp;

	icrc->ipv4 = to->sa.sa_family == AF_INET;
	memset(icrc->headers, 0, ICRC_BLOCK + ICRC_GRH_LEN / 2);
	memset(icrc->headers + ICRC_BLOCK + ICRC_GRH_LEN / 2, 0xff, ICRC_GRH_LEN / 2);
	udp = ip + ip_length(icrc);
	if (icrc->ipv4) {
		ipv4_init(ip, &from->in, &to->in);
		memcpy(udp + UDP_FROM, &from->in.sin_port, sizeof(from->in.sin_port));
		memcpy(udp + UDP_TO, &to->in.sin_port, sizeof(to->in.sin_port));
	} else {
		ipv6_init(ip, &from->in6, &to->in6);
		memcpy(udp + UDP_FROM, &from->in6.sin6_port, sizeof(from->in6.sin6_port));
		memcpy(udp + UDP_TO, &to->in6.sin6_port, sizeof(to->in6.sin6_port));
	}
	put16(udp + UDP_CHECKSUM, 0xffff);
}

uint32_t uroce_icrc_compute(struct uroce_icrc *icrc, uint16_t id, const uint8_t *packet,
			    uint32_t length)
{
	uint8_t *ip = ip_header(icrc), *udp = ip + ip_length(icrc), *bth = udp + ICRC_UDP_LEN;
	uint32_t udp_length = ICRC_UDP_LEN + length + ICRC_LEN;
	/*
	 * Headers and masked part of the BTH are whole blocks: 48 bytes for IPv4, 64 bytes for
	 * IPv6.
	 */
	uint32_t masked = icrc->ipv4 ? BTH_LEN : ICRC_BTH_MASKED;
	uint32_t rest = length - masked, odd = rest % ICRC_BLOCK, zeros = -odd % ICRC_BLOCK;
	uint32_t inside = rest <= ICRC_TOGETHER ? rest : odd;
	uint8_t *start = icrc->headers + ICRC_BLOCK - zeros;
	uint32_t crc;

	if (icrc->ipv4) {
		put16(ip + IPV4_LENGTH, ICRC_IPV4_LEN + udp_length);
		put16(ip + IPV4_ID, id);
	} else {
		put16(ip + IPV6_LENGTH, udp_length);
	}
	put16(udp + UDP_LENGTH, udp_length);
	memcpy(bth, packet, masked + inside);
	bth[BTH_RESERVED] = 0xff;
	crc = uroce_crc32(ZERO_REGISTER, start, bth + masked + inside - start);
	return inside == rest ? crc : uroce_crc32(crc, packet + masked + inside, rest - inside);
}

uint32_t uroce_icrc_compute_rxe_flush(struct uroce_icrc *icrc, uint16_t id, const uint8_t *packet,
				      uint32_t length)
{
	return uroce_crc32(uroce_icrc_compute(icrc, id, packet, length), packet, length);
}

/* --- the hidden word --- */

/*
 * CRC32 is linear. If two packets differ in one 32-bit word, their CRCs differ by that word
 * multiplied by x^(8 n) modulo the polynomial, where n bytes follow the word. Therefore dividing
 * the difference between the computed and the received CRC by that power gives the word. Here it is
 * the word of identification, flags and fragment offset, of which only identification and DF may
 * differ, 17 bits.
 *
 * Polynomials have x^0 in the most significant bit, as the reflected CRC has them.
 */
#define POLYNOMIAL 0xedb88320u
#define ONE	   0x80000000u

enum {
	WORD_BITS = 32,
	WORDS_MAX = (ICRC_IPV4_LEN + ICRC_UDP_LEN + UROCE_HEADER_MAX + 4096) / 4,
};

static uint32_t inverse[WORDS_MAX + 1]; /* x^-32n */
static pthread_once_t inverse_once = PTHREAD_ONCE_INIT;

static uint32_t times_x(uint32_t a)
{
	return a & 1 ? a >> 1 ^ POLYNOMIAL : a >> 1;
}

static uint32_t over_x(uint32_t a)
{
	return a & ONE ? (a ^ POLYNOMIAL) << 1 | 1 : a << 1;
}

static uint32_t product(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (; a; a <<= 1) {
		if (a & ONE)
			sum ^= b;
		b = times_x(b);
	}
	return sum;
}

static void inverse_fill(void)
{
	uint32_t power = ONE;

	for (int n = 0; n <= WORDS_MAX; n++) {
		inverse[n] = power;
		for (int bit = 0; bit < WORD_BITS; bit++)
			power = over_x(power);
	}
}

/*
 * Return the hidden word as it is in memory. @difference: XOR of two CRCs. Each
 * of them covers the packet up to @length bytes behind the UDP header.
 */
static uint32_t word_difference(uint32_t difference, uint32_t length)
{
	uint32_t words = (ICRC_IPV4_LEN - IPV4_ID + ICRC_UDP_LEN + length) / 4;

	pthread_once(&inverse_once, inverse_fill);
	return htole32(product(difference, inverse[words]));
}

static bool id_solve(uint32_t difference, uint32_t length, uint16_t *id)
{
	uint8_t word[4];
	uint32_t value;

	if (length % 4 || length > UROCE_HEADER_MAX + 4096)
		return false;
	value = word_difference(difference, length);
	memcpy(word, &value, sizeof(word));
	if ((word[2] & ~IPV4_FLAG_DF) || word[3])
		return false;
	*id ^= word[0] << 8 | word[1];
	return true;
}

/* @covered: bytes behind the UDP header that @crc covers */
static enum uroce_icrc_verdict compare(const struct uroce_icrc *icrc, uint32_t crc,
				       uint32_t received, uint32_t covered, uint16_t *id)
{
	if (likely(received == crc))
		return ICRC_RIGHT;
	return icrc->ipv4 && id_solve(crc ^ received, covered, id) ? ICRC_RIGHT_UNSEEN : ICRC_WRONG;
}

enum uroce_icrc_verdict uroce_icrc_check(struct uroce_icrc *icrc, uint16_t *id,
					 const uint8_t *packet, uint32_t length)
{
	uint32_t crc = uroce_icrc_compute(icrc, *id, packet, length), received;
	enum uroce_icrc_verdict verdict;

	memcpy(&received, packet + length, sizeof(received));
	received = le32toh(received);
	verdict = compare(icrc, crc, received, length, id);
	if (likely(verdict != ICRC_WRONG) || packet[0] != UROCE_FLUSH)
		return verdict;
	crc = uroce_icrc_compute_rxe_flush(icrc, *id, packet, length);
	return compare(icrc, crc, received, 2 * length, id);
}
