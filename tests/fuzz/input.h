/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fuzzer's bytes, taken from the front. An input that ends early goes on with zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Called by libFuzzer and replay.c, once for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static inline void input_bytes(struct input *in, void *dst, size_t length)
{
	size_t part = length < in->size ? length : in->size;

	memset(dst, 0, length);
	if (part)
		memcpy(dst, in->data, part);
	in->data += part;
	in->size -= part;
}

static inline uint8_t input_u8(struct input *in)
{
	uint8_t value;

	input_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint16_t input_u16(struct input *in)
{
	uint16_t value;

	input_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint32_t input_u32(struct input *in)
{
	uint32_t value;

	input_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint64_t input_u64(struct input *in)
{
	uint64_t value;

	input_bytes(in, &value, sizeof(value));
	return value;
}

#endif
