/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups. The driver keeps them in a table with a hash, and reads and writes its entries.
 */
#include "tests/hosts/vm/pci/mlx4.h"

#include <stdlib.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

enum {
	GROUPS = 1 << 13,
	HASHES = GROUPS / 2, /* the rest of the table has entries with the same hash */
	ENTRY = 1024,
	MEMBERS = 4,
	GID = 16,
	QPS = 32,
	MOST = (ENTRY - QPS) / 4,
	BLOCK_LOOPBACK = 1 << 30,
};

static uint8_t *groups[GROUPS];

enum hcr_status hca_hash_group(struct hcr_call *call)
{
	const uint8_t *gid = hcr_in(call);
	uint32_t hash = 0;

	for (int i = 0; i < 16; i++)
		hash = hash * 31 + gid[i];
	call->out = hash % HASHES;
	return HCR_OK;
}

enum hcr_status hca_read_group(struct hcr_call *call)
{
	uint8_t *out = hcr_out(call);

	if (call->modifier >= GROUPS)
		return HCR_BAD_INDEX;
	if (groups[call->modifier])
		memcpy(out, groups[call->modifier], ENTRY);
	else
		memset(out, 0, ENTRY);
	return HCR_OK;
}

enum hcr_status hca_write_group(struct hcr_call *call)
{
	if (call->modifier >= GROUPS)
		return HCR_BAD_INDEX;
	if (!groups[call->modifier])
		groups[call->modifier] = malloc(ENTRY);
	if (!groups[call->modifier])
		play_die("memory for a group");
	memcpy(groups[call->modifier], hcr_in(call), ENTRY);
	return HCR_OK;
}

void hca_forget_groups(void)
{
	for (int i = 0; i < GROUPS; i++) {
		free(groups[i]);
		groups[i] = NULL;
	}
}

uint32_t hca_next_member(const uint8_t *gid, uint32_t sender, uint32_t *cursor)
{
	for (; *cursor < GROUPS * MOST; (*cursor)++) {
		const uint8_t *group = groups[*cursor / MOST];
		uint32_t n = *cursor % MOST, member;

		if (!group || memcmp(group + GID, gid, 16) ||
		    n >= (get32(group + MEMBERS) & 0xffffff)) {
			*cursor += MOST - 1 - n;
			continue;
		}
		member = get32(group + QPS + 4 * n);
		if (member & BLOCK_LOOPBACK && (member & 0xffffff) == sender)
			continue;
		(*cursor)++;
		return member & 0xffffff;
	}
	return 0;
}
