/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of Ethernet, and where they end. */
#include "tests/adapters/lab/steered/steered.h"

static unsigned checks;
struct lab_steered last_end;

const struct frame plain = {
	.dmac = 0x001122334455,
	.smac = 0x00aabbccddee,
	.ethertype = IPV4,
	.src = { 0x20010db8, 1, 2, 0x0a630001 },
	.dst = { 0x20010db8, 3, 4, 0x0a000001 },
	.protocol = UDP,
	.ttl = 64,
	.sport = 1000,
	.dport = 4791,
};

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*at++ = value >> (8 * bytes);
	return at;
}

static uint8_t *put_ip(uint8_t *at, const struct frame *f)
{
	if (f->ethertype == IPV4) {
		at = put(at, 0x45000040u | (uint32_t)f->dscp << 18, 4);
		at = put(at, 0, 4);
		at = put(at, (uint32_t)f->ttl << 24 | (uint32_t)f->protocol << 16, 4);
		at = put(at, f->src[3], 4);
		return put(at, f->dst[3], 4);
	}
	at = put(at, 0x60000000u | (uint32_t)f->dscp << 22, 4);
	at = put(at, (uint32_t)f->protocol << 8 | f->ttl, 4);
	for (int i = 0; i < 4; i++)
		at = put(at, f->src[i], 4);
	for (int i = 0; i < 4; i++)
		at = put(at, f->dst[i], 4);
	return at;
}

size_t frame_build(const struct frame *f, uint8_t bytes[FRAME])
{
	uint8_t *at = bytes;

	memset(bytes, 0, FRAME);
	at = put(at, f->dmac, 6);
	at = put(at, f->smac, 6);
	if (f->vlan)
		at = put(at, 0x81000000u | f->vlan, 4);
	at = put(at, f->ethertype, 2);
	if (f->ethertype != IPV4 && f->ethertype != IPV6)
		return FRAME;
	at = put_ip(at, f);
	at = put(at, f->sport, 2);
	at = put(at, f->dport, 2);
	if (f->protocol == TCP)
		put(at + 8, 0x5000u | f->flags, 2);
	return FRAME;
}

/* ---- expectations */

static void print_bytes(const char *name, const uint8_t *bytes, size_t length)
{
	fprintf(stderr, "%s ", name);
	for (size_t i = 0; i < length; i++)
		fprintf(stderr, "%02x", bytes[i]);
	fprintf(stderr, "\n");
}

void bytes_end_at(const uint8_t *frame, size_t length, const struct lab_origin *from,
		  const uint8_t *expected, size_t expected_length, uint64_t at, const char *what)
{
	int r = lab_steer(0, frame, length, from, &last_end);

	checks++;
	if (!r && last_end.at == at &&
	    (!expected || (last_end.length == expected_length &&
			   !memcmp(last_end.frame, expected, expected_length))))
		return;
	fprintf(stderr, "%s: %s: at 0x%llx instead of 0x%llx\n", what, strerror(r),
		(unsigned long long)last_end.at, (unsigned long long)at);
	print_bytes("bytes:   ", last_end.frame, last_end.length);
	if (expected)
		print_bytes("expected:", expected, expected_length);
	exit(1);
}

unsigned frames_checked(void)
{
	return checks;
}

/* Check the end of a frame. @r: result of its way through the tables */
static void check(int r, const struct lab_steered *end, uint64_t at, int tag, const char *what)
{
	checks++;
	if (!r && end->at == at && (tag >= 0) == end->has_tag &&
	    (tag < 0 || end->tag == (uint32_t)tag))
		return;
	fprintf(stderr, "%s: %s: at 0x%llx instead of 0x%llx, tag %d instead of %d, %u entries\n",
		what, strerror(r), (unsigned long long)end->at, (unsigned long long)at,
		end->has_tag ? (int)end->tag : -1, tag, end->entries);
	exit(1);
}

void ends_at(const struct frame *f, uint64_t at, int tag, const char *what)
{
	uint8_t bytes[FRAME];
	size_t length = frame_build(f, bytes);

	check(lab_steer(0, bytes, length, NULL, &last_end), &last_end, at, tag, what);
}

void arrives(const struct frame *f, unsigned tir, int tag, const char *what)
{
	ends_at(f, tir_at[tir], tag, what);
}

void lost(const struct frame *f, const char *what)
{
	ends_at(f, LAB_DROP_RX, -1, what);
}

void root_ends_at(const struct frame *f, uint64_t at, int tag, const char *what)
{
	struct lab_steered end;
	uint8_t bytes[FRAME];
	size_t length = frame_build(f, bytes);

	check(lab_steer_root(bytes, length, &end), &end, at, tag, what);
}

void root_passes(const struct frame *f, const char *what)
{
	struct lab_steered end;
	uint8_t bytes[FRAME];
	size_t length = frame_build(f, bytes);

	checks++;
	if (lab_steer_root(bytes, length, &end) == ENOENT)
		return;
	fprintf(stderr, "%s: a rule matches\n", what);
	exit(1);
}
