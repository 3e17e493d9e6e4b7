/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sender with a UDP socket that knows the messages of the connection manager and has no
 * device. */
#ifndef TESTS_HOSTILE_STRANGER_H
#define TESTS_HOSTILE_STRANGER_H

#include "librdmacm/ibcm/mad.h"
#include "providers/uroce/wire/header.h"
#include "providers/uroce/wire/icrc.h"

enum {
	STRANGER_BTH_DETH_LEN = 20,
	STRANGER_UD_SEND_ONLY = 0x64,
	STRANGER_ROCE_PORT = 4791,
};

struct stranger {
	int fd;
	union uroce_address from, to;
	struct uroce_icrc icrc;
	unsigned int sent;
};

/* Return a sender at an IPv4 address and UDP port (0: any) that talks to the device at @to. */
struct stranger stranger_at(const char *from, uint16_t port, const char *to);
void stranger_say(struct stranger *s, const struct ibcm_mad *mad);
/* Wait for a message; false: another kind of packet came. */
bool stranger_hear(struct stranger *s, struct ibcm_mad *ret_mad);

#endif
