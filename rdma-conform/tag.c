/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-conform/event.h"
#include "util/util.h"

#define CHECK_SHIFT	 56
#define PROGRAM_SHIFT	 44
#define ID_SHIFT	 36
#define GENERATION_SHIFT 32
#define PROGRAM_MASK	 0xfff
#define GENERATION_MASK	 0xf

/* Eight bits. Foreign bytes match them by chance once in 256 words. */
static uint64_t check(uint64_t word)
{
	word *= 0x9e3779b97f4a7c15u;
	return (word ^ word >> 29) >> CHECK_SHIFT;
}

static uint64_t tag_word(struct tag tag, uint64_t index)
{
	uint64_t word = (uint64_t)(tag.program & PROGRAM_MASK) << PROGRAM_SHIFT |
			(uint64_t)tag.id << ID_SHIFT |
			(uint64_t)(tag.generation & GENERATION_MASK) << GENERATION_SHIFT |
			(uint32_t)index;

	return word | check(word) << CHECK_SHIFT;
}

void tag_fill(void *to, size_t length, struct tag tag, uint64_t offset)
{
	uint8_t *out = to;

	while (length) {
		uint64_t word = tag_word(tag, offset / 8);
		size_t skip = offset % 8, n = min_of(8 - skip, length);

		memcpy(out, (uint8_t *)&word + skip, n);
		out += n;
		offset += n;
		length -= n;
	}
}

size_t tag_match(const void *at, size_t length, struct tag tag, uint64_t offset)
{
	const uint8_t *bytes = at;
	uint8_t want[64];

	for (size_t done = 0; done < length; done += sizeof(want)) {
		size_t n = min_of(length - done, sizeof(want));

		tag_fill(want, n, tag, offset + done);
		for (size_t i = 0; i < n && memcmp(bytes + done, want, n); i++)
			if (bytes[done + i] != want[i])
				return done + i;
	}
	return length;
}

static bool word_read(uint64_t word, struct tag *ret_tag, uint64_t *ret_index)
{
	uint64_t rest = word & ((1ull << CHECK_SHIFT) - 1);

	if (check(rest) != word >> CHECK_SHIFT)
		return false;
	ret_tag->program = rest >> PROGRAM_SHIFT & PROGRAM_MASK;
	ret_tag->id = rest >> ID_SHIFT;
	ret_tag->generation = rest >> GENERATION_SHIFT & GENERATION_MASK;
	*ret_index = (uint32_t)rest;
	return true;
}

bool tag_read(const void *at, size_t length, uint16_t program, struct tag *ret_tag,
	      uint64_t *ret_offset)
{
	for (size_t skip = 0; skip < 8 && skip + 8 <= length; skip++) {
		uint64_t word, index;
		struct tag tag;

		memcpy(&word, (const uint8_t *)at + skip, sizeof(word));
		if (!word_read(word, &tag, &index) || tag.program != (program & PROGRAM_MASK))
			continue;
		if (index * 8 < skip || tag_match(at, skip, tag, index * 8 - skip) != skip)
			continue;
		*ret_tag = tag;
		*ret_offset = index * 8 - skip;
		return true;
	}
	return false;
}
