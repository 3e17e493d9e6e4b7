/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers that any host can send to a datagram socket, by UDP and by RDMA.
 *
 * An input is a byte (the path, and the family of the sender's address), the sender's address,
 * and the message.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/envelope.h"
#include "tests/fuzz/input.h"
#include "util/util.h"

#define MESSAGE_MAX 5000

enum {
	BY_UDP = 1 << 0,
	OF_IPV6 = 1 << 1,
};

/* Checked even if assertions are compiled out. */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* A header that is written for a name is read as the same name. */
static void header_check(const uint8_t *message, size_t length)
{
	uint8_t again[DS_HEADER_MAX], grh[DS_GRH_SIZE] = {};
	union ds_name sender, back;
	struct sockaddr_storage addr;
	int size = ds_get_header(message, length, &sender);

	if (size < 0)
		return;
	MUST((size_t)size <= length && size <= DS_HEADER_MAX);
	MUST((size == 8) == (sender.any.sa_family == AF_INET));
	MUST(ds_put_header(again, &sender) == (size_t)size);
	MUST(!memcmp(again, message, size));
	MUST(ds_get_header(again, size, &back) == size);
	MUST(ds_name_equal(&sender, &back) && ds_name_hash(&sender) == ds_name_hash(&back));
	MUST(ds_payload_max(&sender) + size == DS_MESSAGE_MAX);
	MUST(ds_name_give(&sender, AF_INET6, &addr) == sizeof(struct sockaddr_in6));
	memcpy(grh, message, min_of(length, sizeof(grh)));
	ds_is_sender(grh, &sender);
}

static void udp_header_check(const uint8_t *message, size_t length, const union ds_name *sender)
{
	struct ds_udp_header header, back;
	uint8_t again[DS_UDP_HEADER_MAX];
	int size = ds_get_udp_header(message, length, sender, &header);

	if (size < 0)
		return;
	MUST((size_t)size <= length && size <= DS_UDP_HEADER_MAX);
	MUST(header.op == DS_DATA || header.op == DS_ANSWER);
	MUST(header.qpn >= 2 && header.qpn < 0xffffff);
	MUST(ds_put_udp_header(again, &header, sender) == (size_t)size);
	MUST(ds_get_udp_header(again, size, sender, &back) == size);
	MUST(back.op == header.op && back.qpn == header.qpn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	uint8_t kind = input_u8(&input), *message;
	union ds_name sender = { .any.sa_family = kind & OF_IPV6 ? AF_INET6 : AF_INET };
	size_t length;

	if (kind & OF_IPV6)
		input_bytes(&input, sender.v6.sin6_addr.s6_addr, 16);
	else
		input_bytes(&input, (uint8_t *)&sender.v4.sin_addr, 4);
	/* A separate allocation, so that a checker sees reads behind it. */
	length = min_of(input.size, (size_t)MESSAGE_MAX);
	message = malloc(length ? length : 1);
	MUST(message);
	input_bytes(&input, message, length);
	if (kind & BY_UDP)
		udp_header_check(message, length, &sender);
	else
		header_check(message, length);
	free(message);
	return 0;
}
