/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of a peer of rdma-doctor: what is accepted is in range, and is the same after a round
 * trip. */
#include <stdlib.h>
#include <string.h>

#include "rdma-doctor/peer_message.h"
#include "tests/fuzz/input.h"
static void check(bool right)
{
	if (!right)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t wire[PEER_WIRE_BYTES] = {}, again[PEER_WIRE_BYTES];
	struct peer_message message, same;

	memcpy(wire, data, size < sizeof(wire) ? size : sizeof(wire));
	if (peer_message_parse(wire, &message))
		return 0;
	check(message.type > 0 && message.type < PEER_TYPES);
	check(memchr(message.text, 0, sizeof(message.text)));
	if (message.type == PEER_HELLO)
		check(message.hello.mtu >= 1 && message.hello.mtu <= 5);
	if (message.type == PEER_FLOW && message.flow.kind == FLOW_DATAGRAMS)
		check(message.flow.count <= 32 && message.flow.bytes <= 4096);
	peer_message_format(&message, again);
	check(!peer_message_parse(again, &same) && !memcmp(&message, &same, sizeof(same)));
	return 0;
}
