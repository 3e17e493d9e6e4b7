/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The limits of the device, and of the engine's packets in flight. */
#ifndef UROCE_ENGINE_LIMITS_H
#define UROCE_ENGINE_LIMITS_H

/* The limits of the device; query_device and the create checks read the same numbers. */
enum {
	UROCE_MAX_QP = 65000, /* QPs of one process: the QPN has 16 bits for them */
	UROCE_MAX_CQ = 65536,
	UROCE_MAX_SRQ = 65536,
	UROCE_MAX_WR = 1 << 16,
	UROCE_MAX_CQE = 1 << 22,
	UROCE_MAX_INLINE = 1024,
	UROCE_MAX_RD_ATOMIC = 128, /* outstanding read and atomic requests of each role */
	UROCE_MAX_MCAST_QP = 1024,
	UROCE_MAX_DM = 1 << 30,	  /* bytes of one device memory */
	UROCE_MAX_KEYS = 1 << 20, /* regions and windows of one process */
	/* "URO": not 0 or 0xffffff, which other programs take for rxe */
	UROCE_VENDOR_ID = 0x55524f,
	UROCE_VENDOR_PART = 1,
};
/* Packets in flight, at most; congestion.c chooses the current number. */
enum {
	UROCE_WINDOW = 256,
	UROCE_WINDOW_LOSSLESS = 1 << 22,
	/*
	 * Packets that one read request asks for, because a long read consists of several requests.
	 * This is the number while the window is small. With a large window the number is half of
	 * the window.
	 */
	UROCE_READ_PART = 64,		/* packets */
	UROCE_READ_PART_BYTES = 131072, /* bytes, for a large MTU */
	/* messages that a withheld acknowledgement covers, at most */
	UROCE_ACK_WITHHELD = 32,
	/* passes with packets in a row; the last one is handled as if it had no packets */
	UROCE_BUSY_PASSES = 16,
	UROCE_ACK_COALESCE =
		16, /* messages of a busy lossless peer that one acknowledgement may cover */
};

#endif
