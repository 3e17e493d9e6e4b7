/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of buffers behind memory keys. */
#ifndef PCI_LOOP_PIECES_H
#define PCI_LOOP_PIECES_H

#include "tests/hosts/vm/pci/loop.h"

enum {
	MOST_PIECES = WORK_SGES + 1,
};

/* A list of buffers. A plain one is memory of this process: inline data or a GRH. */
struct pieces {
	struct {
		uint64_t address;
		uint32_t length, key;
		bool plain;
	} at[MOST_PIECES];
	int next, count;
	uint32_t pd, qp;
	unsigned access;
};

enum side {
	NEITHER,
	SOURCE,
	TARGET,
};

void pieces_add(struct pieces *p, uint64_t address, uint32_t length, uint32_t key, bool plain);
void pieces_add_work(struct pieces *p, const struct work *work);
uint64_t pieces_length(const struct pieces *p);
/* Return the side whose keys do not allow the move. */
enum side pieces_move(struct pieces *source, struct pieces *target, uint64_t length);

#endif
