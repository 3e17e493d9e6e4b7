/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random rules, and an interpreter that says where the API lets a frame end. */
#ifndef DEVICES_STEERED_RANDOM_H
#define DEVICES_STEERED_RANDOM_H

#include "tests/adapters/lab/steered/steered.h"

/* random_piece.c: a piece is a value of a frame that a matcher can compare, in up to 64 bits. */
enum piece {
	PIECE_DMAC,
	PIECE_SMAC,
	PIECE_VLAN, /* the number, and above it the bit that there is a tag */
	PIECE_ETHERTYPE,
	PIECE_VERSION,
	PIECE_SRC_HIGH, /* part of an IPv6 address */
	PIECE_SRC_LOW,
	PIECE_DST_HIGH,
	PIECE_DST_LOW,
	PIECE_SRC, /* the last word of both versions of IP */
	PIECE_DST,
	PIECE_DSCP,
	PIECE_TTL,
	PIECE_PROTOCOL,
	PIECE_UDP_SPORT,
	PIECE_UDP_DPORT,
	PIECE_TCP_SPORT,
	PIECE_TCP_DPORT,
	PIECE_TCP_FLAGS,
	PIECES
};

/* The masks of a matcher or the values of a rule. A mask of 0 is not compared. */
struct pieces {
	uint64_t of[PIECES];
};

uint32_t random_below(uint32_t limit);
/* Make a frame of values that few other frames have. */
struct frame random_frame(void);
/* Draw masks that an adapter can compare. A matcher that compares the version of IP has one version
 * in its mask, and its rules have that one. */
struct pieces random_masks(unsigned *ret_version);
struct pieces pieces_of(const struct frame *f);
/* Return whether all values that @masks select are equal. */
bool pieces_match(const struct pieces *a, const struct pieces *b, const struct pieces *masks);
/* Write pieces as the firmware's words. */
struct match pieces_write(const struct pieces *pieces, const struct pieces *masks);

#endif
