/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A base transport header in three words, in the byte order of this processor. For code that
 * compares the whole header at once. header.h has the fields separately.
 */
#ifndef UROCE_BTH_H
#define UROCE_BTH_H

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "providers/uroce/wire/header.h"

struct uroce_bth {
	uint32_t opcode; /* flags, P_Key */
	uint32_t qpn;
	uint32_t psn; /* PSN, and whether an acknowledgement is requested */
};
#define BTH_OPCODE_SHIFT 24
#define BTH_SOLICITED	 (1u << 23)
#define BTH_MIGRATED	 (1u << 22)
#define BTH_VERSION	 (0xfu << 16)
#define BTH_PAD_SHIFT	 20
#define BTH_ACK_REQ	 (1u << 31)
static_assert(sizeof(struct uroce_bth) == BTH_LEN, "one BTH");

static inline void uroce_bth_write(uint8_t *to, const struct uroce_bth *bth)
{
	uint32_t word = htobe32(bth->opcode);

	memcpy(to, &word, sizeof(word));
	word = htobe32(bth->qpn);
	memcpy(to + 4, &word, sizeof(word));
	word = htobe32(bth->psn);
	memcpy(to + 8, &word, sizeof(word));
}

static inline uint32_t bth_word(const uint8_t *from)
{
	uint32_t word;

	memcpy(&word, from, sizeof(word));
	return be32toh(word);
}

static inline struct uroce_bth uroce_bth_read(const uint8_t *from)
{
	return (struct uroce_bth){ bth_word(from), bth_word(from + 4), bth_word(from + 8) };
}

#endif
