/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fields of a connection manager's MAD that the device reads, see IBTA vol. 1, chapters 12
 * and 13.
 */
#ifndef UROCE_MAD_H
#define UROCE_MAD_H

enum {
	GSI_MAD_LEN = 256,
	MAD_VERSION = 1,
	MAD_CLASS_CM = 7,
	MAD_CLASS_VERSION = 2,
	MAD_SEND = 3,
};
#define GSI_QKEY 0x80010000u

/* Attributes. The numbers 0x10 to CM_LAST are for connections and datagram services. */
enum {
	CM_REQ = 0x10,
	CM_REJ = 0x12,
	CM_DREQ = 0x15,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
	CM_LAST = 0x1a,
};

/* Offsets in bytes from the beginning of the MAD. */
enum {
	MAD_AT_CLASS = 1,
	MAD_AT_ATTR_ID = 16,
	MAD_BODY = 24,
	/* The receiver's id of the connection. Missing in the two requests and in CM_SIDR_REP. */
	CM_AT_REMOTE_ID = MAD_BODY + 4,
	CM_AT_SIDR_ID = MAD_BODY, /* The receiver's id in CM_SIDR_REP. */
	CM_AT_SERVICE_ID = MAD_BODY + 8,
	CM_AT_REJ_REASON = MAD_BODY + 10,
};

#endif
