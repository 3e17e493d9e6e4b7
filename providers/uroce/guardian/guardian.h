/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Last words: messages of a process to peers on other hosts, to be sent after its end. They are in
 * memory that the process shares with a small program, guardian.c, which sends them. The program
 * may come from another release or have 32 bits. Therefore all numbers here have a fixed size, in
 * the byte order of the processor.
 *
 * Locks: none. The process alone writes, the program reads when there is no process any more.
 * Includes: base. Included by: host, and the program.
 */
#ifndef UROCE_GUARDIAN_H
#define UROCE_GUARDIAN_H

#include "providers/uroce/base/base.h"

#define GUARDIAN_PROGRAM "uroce-guardian"
/* The only argument of the program. The program refuses an unknown layout. */
#define GUARDIAN_LAYOUT "1"

enum {
	GUARDIAN_WORDS = 1 << 16,
	GUARDIAN_MAD_LEN = 48, /* bytes of a MAD; the rest of such a MAD is zero */
	/* Descriptors that the program starts with. */
	GUARDIAN_LIFE = 0,    /* a pipe that ends with the process */
	GUARDIAN_LIST = 1,    /* GUARDIAN_WORDS times struct guardian_word */
	GUARDIAN_PROCESS = 2, /* readable when the process has ended; or a copy of GUARDIAN_LIFE */
	GUARDIAN_FILES,
};

struct guardian_word {
	_Atomic(uint32_t) valid; /* 1: send this message */
	uint32_t ifindex;
	uint8_t local_gid[16], remote_gid[16];
	uint8_t traffic_class;
	uint8_t reserved[7];
	uint8_t mad[GUARDIAN_MAD_LEN];
};

static_assert(sizeof(struct guardian_word) == 96, "the layout is the same for all processors");

#endif
