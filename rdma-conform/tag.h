/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every byte that a program moves is tagged: a word of eight bytes names the program, the message,
 * the generation of its content and the offset in the message. A run of bytes in a buffer therefore
 * shows its origin.
 */
#ifndef RDMA_CONFORM_TAG_H
#define RDMA_CONFORM_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tag {
	uint16_t program;   /* modulo 4096 */
	uint8_t id;	    /* of the message */
	uint8_t generation; /* modulo 16: how often the buffer was filled before */
};

/* Write @length bytes of the message @tag, from its @offset on. */
void tag_fill(void *to, size_t length, struct tag tag, uint64_t offset);
/* Return how many bytes at @at belong to the message @tag from @offset on. */
size_t tag_match(const void *at, size_t length, struct tag tag, uint64_t offset);
/* Read the tag of the bytes at @at, which may begin within a word. Return false if they have no tag
 * of @program. */
bool tag_read(const void *at, size_t length, uint16_t program, struct tag *ret_tag,
	      uint64_t *ret_offset);

#endif
