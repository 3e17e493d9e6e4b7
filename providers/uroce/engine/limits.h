/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the device promises, and how much the engine has on its way. */
#ifndef UROCE_ENGINE_LIMITS_H
#define UROCE_ENGINE_LIMITS_H

/* What the device promises; query_device and the create checks read the same numbers. */
enum {
	UROCE_MAX_QP = 65000, /* of one process: 16 bits of the QPN */
	UROCE_MAX_CQ = 65536,
	UROCE_MAX_SRQ = 65536,
	UROCE_MAX_WR = 1 << 16,
	UROCE_MAX_CQE = 1 << 22,
	UROCE_MAX_INLINE = 1024,
	UROCE_MAX_RD_ATOMIC = 128, /* read and atomic requests outstanding, either role */
	UROCE_MAX_MCAST_QP = 1024,
	UROCE_MAX_DM = 1 << 30,	    /* bytes of one device memory */
	UROCE_MAX_KEYS = 1 << 20,   /* regions and windows of one process */
	UROCE_VENDOR_ID = 0x55524f, /* "URO": neither 0 nor 0xffffff, which others take for rxe */
	UROCE_VENDOR_PART = 1,
};
/* Packets in flight, at most; how many it really is: congestion.c. */
enum {
	UROCE_WINDOW = 256,
	UROCE_WINDOW_LOSSLESS = 1 << 22,
	/*
	 * What one read request asks for, at most: a long read is several. So much while the window
	 * is small, and half of a large one.
	 */
	UROCE_READ_PART = 64,		/* packets */
	UROCE_READ_PART_BYTES = 131072, /* of a large MTU */
	UROCE_ACK_WITHHELD = 32,	/* messages that wait for one acknowledgement */
	UROCE_BUSY_PASSES = 16,		/* with packets, in a row: the last counts as without */
	UROCE_ACK_COALESCE =
		16, /* messages of a busy lossless peer that one acknowledgement may cover */
};

#endif
