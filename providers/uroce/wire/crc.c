/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * isa-l computes a CRC by carry-less multiplication. An emulator that executes this instruction bit
 * by bit is much slower than a processor, and there a CRC by exclusive or takes half as long. The
 * faster method is measured once, and the debug log has the result. Without isa-l, tables replace
 * the multiplication.
 *
 * The way is S. Russell's ("Chorba: A novel CRC32 implementation", 2024). A CRC is the remainder of
 * a division by a polynomial, and any multiple of it may be subtracted from the data first. A
 * multiple with few terms is x^300 + x^155 + x^117 + x^89 + 1. Its eighth power is another
 * multiple: the exponents are eightfold and the coefficients stay, so it consists of whole bytes.
 * Subtract it, times a factor that makes a byte vanish: this adds the byte to those 145, 183, 211
 * and 300 places behind it. Do this with all bytes but the last 300. The CRC of these last bytes is
 * then the CRC of the whole data.
 */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "providers/uroce/wire/crc.h"
#include "util/log.h"
#include "util/util.h"

#ifdef RDMA_HAVE_ISAL
#include <isa-l/crc.h>

#define crc32_usual crc32_gzip_refl
#define USUAL_WAY   "multiplication"
#else
#define crc32_usual uroce_crc32_table
#define USUAL_WAY   "tables"
#endif

enum {
	TAP_0 = 300 - 155, /* distance from a byte to the places that it is added to */
	TAP_1 = 300 - 117,
	TAP_2 = 300 - 89,
	TAP_3 = 300,
	WORD = sizeof(uint64_t),
	BLOCK = 4 * WORD, /* of one round */
	TAIL_MAX = TAP_3 + BLOCK,
	FOLD_MIN = 512,	 /* shorter data is not worth the method */
	FOLD_MAX = 4608, /* bytes at a time: a packet of the largest MTU */
	SAMPLE = 4096,
	/* of a measurement. Only the fastest round counts: others may include other threads */
	ROUNDS = 5,
};
static_assert(FOLD_MIN >= TAIL_MAX, "something to fold");

static uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* Return the sum that the bytes in front of the word at @p add to it. */
static uint64_t added(const uint8_t *p)
{
	return word_at(p - TAP_0) ^ word_at(p - TAP_1) ^ word_at(p - TAP_2) ^ word_at(p - TAP_3);
}

static void fold_word(uint8_t *to, const uint8_t *data)
{
	uint64_t word = word_at(data) ^ added(to);

	memcpy(to, &word, sizeof(word));
}

static void fold(uint8_t *to, const uint8_t *data, size_t length)
{
	for (size_t at = 0; at < length; at += BLOCK) {
		fold_word(to + at, data + at);
		fold_word(to + at + WORD, data + at + WORD);
		fold_word(to + at + 2 * WORD, data + at + 2 * WORD);
		fold_word(to + at + 3 * WORD, data + at + 3 * WORD);
	}
}

/*
 * Compute the CRC of the tail. @folded: buffer for the @length bytes of @data, which are not added
 * to later bytes.
 */
static uint32_t tail_crc(uint8_t *folded, const uint8_t *data, size_t length)
{
	uint8_t tail[TAIL_MAX + WORD] = {};

	memset(folded, 0, TAP_3 - TAP_0 + WORD);
	memcpy(tail, data, length);
	for (size_t at = 0; at < TAP_3; at += WORD) {
		uint64_t word = word_at(tail + at) ^ added(folded + at);

		memcpy(tail + at, &word, sizeof(word));
	}
	/* crc32_usual() inverts its input, so pass the inverse of zero */
	return crc32_usual(~0u, tail, length);
}

static uint32_t fold_crc(uint32_t crc, const uint8_t *data, size_t length)
{
	size_t vanishing = (length - TAP_3) / BLOCK * BLOCK;
	uint8_t work[TAP_3 + FOLD_MAX], *folded = work + TAP_3;

	/*
	 * Add the CRC of the earlier bytes to the first four bytes, as if it came from the bytes
	 * TAP_3 before them.
	 */
	crc = htole32(~crc);
	memcpy(work, &crc, sizeof(crc));
	memset(work + sizeof(crc), 0, TAP_3 - sizeof(crc));
	fold(folded, data, vanishing);
	return tail_crc(folded + vanishing, data + vanishing, length - vanishing);
}

uint32_t uroce_crc32_fold(uint32_t crc, const uint8_t *data, size_t length)
{
	while (length >= FOLD_MIN) {
		size_t part = min_of(length, FOLD_MAX);

		crc = fold_crc(crc, data, part);
		data += part;
		length -= part;
	}
	return crc32_usual(crc, data, length);
}

/* --- choice of the method --- */

typedef uint32_t crc_fn(uint32_t crc, const uint8_t *data, size_t length);

static uint32_t crc_usual(uint32_t crc, const uint8_t *data, size_t length)
{
	return crc32_usual(crc, data, length);
}

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t crc_time(crc_fn *fn, const uint8_t *data)
{
	uint64_t best = UINT64_MAX;
	uint32_t crc = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = nanoseconds();

		crc = fn(crc, data, SAMPLE);
		best = min_of(best, nanoseconds() - start);
	}
	return best;
}

/* Measure both methods. This takes less than a tenth of a millisecond, even if isa-l is slow. */
static crc_fn *measure(void)
{
	static const uint8_t data[SAMPLE];
	uint64_t usual = crc_time(crc_usual, data), own = crc_time(uroce_crc32_fold, data);

	log_debug("uroce: a CRC of %d bytes takes %" PRIu64 " ns by " USUAL_WAY " and %" PRIu64
		  " ns by exclusive or",
		  SAMPLE, usual, own);
	return usual > own ? uroce_crc32_fold : crc_usual;
}

uint32_t uroce_crc32(uint32_t crc, const uint8_t *data, size_t length)
{
	/* two threads may both measure, and either result is correct */
	static _Atomic(crc_fn *) known;
	crc_fn *fn;

	if (length < FOLD_MIN)
		return crc32_usual(crc, data, length);
	fn = atomic_load_explicit(&known, memory_order_relaxed);
	if (unlikely(!fn)) {
		fn = measure();
		atomic_store_explicit(&known, fn, memory_order_relaxed);
	}
	return fn(crc, data, length);
}
