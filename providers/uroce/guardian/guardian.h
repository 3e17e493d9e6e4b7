/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process leaves behind for the moment after its death: its last words to peers on other
 * hosts, in memory that a small program, guardian.c, shares with it and sends when the process is
 * gone. The program may be of another release, or of 32 bits: all numbers here have one size, and
 * their order is the processor's.
 *
 * Locks: none. The process alone writes, the program reads when there is no process any more.
 * Includes: base. Included by: host, and the program.
 */
#ifndef UROCE_GUARDIAN_H
#define UROCE_GUARDIAN_H

#include "providers/uroce/base/base.h"

#define GUARDIAN_PROGRAM "uroce-guardian"
/* The program's only argument: it refuses to do anything for a layout it does not know. */
#define GUARDIAN_LAYOUT "1"

enum {
	GUARDIAN_WORDS = 1 << 16,
	GUARDIAN_MAD_LEN = 48, /* the rest of such a MAD is zero */
	/* Descriptors that the program starts with. */
	GUARDIAN_LIFE = 0,    /* a pipe that ends with the process */
	GUARDIAN_LIST = 1,    /* GUARDIAN_WORDS times struct guardian_word */
	GUARDIAN_PROCESS = 2, /* readable when the process has ended; or GUARDIAN_LIFE once more */
	GUARDIAN_FILES,
};

struct guardian_word {
	_Atomic(uint32_t) valid; /* 1: to be said */
	uint32_t ifindex;
	uint8_t local_gid[16], remote_gid[16];
	uint8_t traffic_class;
	uint8_t reserved[7];
	uint8_t mad[GUARDIAN_MAD_LEN];
};

static_assert(sizeof(struct guardian_word) == 96, "the layout is the same for all processors");

#endif
