/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Somebody with a UDP socket who knows what messages of the connection manager look like, and has
 * no device. */
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

/* At an IPv4 address and UDP port (0: any), speaking to another's device. */
struct stranger stranger_at(const char *from, uint16_t port, const char *to);
void stranger_say(struct stranger *s, const struct ibcm_mad *mad);
/* Waits for a message. False: it was something else. */
bool stranger_hear(struct stranger *s, struct ibcm_mad *ret_mad);

#endif
