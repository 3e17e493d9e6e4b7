/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory into which the peer of a stream over RDMA writes by offset. */
#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define SIZE 200000

static uint8_t first[SIZE], second[SIZE], bytes[2 * SIZE];

/* Connect; @writer has room for @mappings of @owner. */
static void connected(int mappings, int *ret_writer, int *ret_owner)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), messages = 16;
	struct sockaddr_storage address = rt_cm_address(port);

	*ret_writer = rsocket(address.ss_family, SOCK_STREAM, 0);
	CHECK_OK(rsetsockopt(*ret_writer, SOL_RDMA, RDMA_RQSIZE, &messages, sizeof(messages)));
	CHECK_OK(rsetsockopt(*ret_writer, SOL_RDMA, RDMA_IOMAPSIZE, &mappings, sizeof(mappings)));
	CHECK_OK(rconnect(*ret_writer, (struct sockaddr *)&address, rt_rs_size(&address)));
	*ret_owner = raccept(listening, NULL, NULL);
	CHECK(*ret_owner >= 0);
	CHECK_OK(rclose(listening));
	for (int i = 0; i < 2 * SIZE; i++)
		bytes[i] = i * 2654435761u >> 13;
	memset(first, 0, SIZE);
	memset(second, 0, SIZE);
}

static void pass(int from, int to)
{
	char byte;

	CHECK_INT(rsend(from, "x", 1, 0), 1);
	CHECK_INT(rrecv(to, &byte, 1, 0), 1);
}

/* Write across the end of one mapping into the next, and to the end of that. */
static void neighbours(void)
{
	int writer, owner;

	connected(2, &writer, &owner);
	CHECK_INT(riomap(owner, first, SIZE, PROT_WRITE, 0, 0x1000), 0x1000);
	CHECK_INT(riomap(owner, second, SIZE, PROT_WRITE, 0, 0x1000 + SIZE), 0x1000 + SIZE);
	CHECK_INT(riomap(owner, bytes, SIZE, PROT_WRITE, 0, 0), -1);
	CHECK_INT(errno, ENOMEM);
	pass(owner, writer);
	CHECK_INT(riowrite(writer, bytes, 10, 0xfff, 0), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(riowrite(writer, bytes, 2 * SIZE, 0x1000, 0), 2 * SIZE);
	pass(writer, owner);
	CHECK(!memcmp(first, bytes, SIZE));
	CHECK(!memcmp(second, bytes + SIZE, SIZE));
	CHECK_INT(riowrite(writer, bytes, 100, 0x1000 + 2 * SIZE - 30, 0), 30);
	pass(writer, owner);
	CHECK(!memcmp(second + SIZE - 30, bytes, 30));
	CHECK_INT(riowrite(writer, bytes, 1, 0x1000 + 2 * SIZE, 0), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_OK(rclose(writer));
	CHECK_OK(rclose(owner));
}

/* A freed entry is used for the next mapping. */
static void unmapped(void)
{
	int writer, owner;

	connected(1, &writer, &owner);
	CHECK_INT(riomap(owner, first, SIZE, PROT_WRITE, 0, -1), (uintptr_t)first);
	CHECK_INT(riomap(owner, second, SIZE, PROT_NONE, 0, 7), 7); /* takes no entry */
	pass(owner, writer);
	CHECK_INT(riowrite(writer, bytes, 8, (uintptr_t)first + 8, 0), 8);
	pass(writer, owner);
	CHECK(!memcmp(first + 8, bytes, 8));
	CHECK_OK(riounmap(owner, first, SIZE));
	CHECK_INT(riounmap(owner, first, SIZE), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_OK(riounmap(owner, second, SIZE));
	CHECK_INT(riomap(owner, second, SIZE, PROT_WRITE, 0, 0), 0);
	for (int i = 0; i < 40; i++) { /* and the credits of messages are unaffected */
		CHECK_OK(riounmap(owner, second, SIZE));
		CHECK_INT(riomap(owner, second, SIZE, PROT_WRITE, 0, 0), 0);
		pass(owner, writer);
	}
	CHECK_INT(riowrite(writer, bytes, 8, (uintptr_t)first, 0), -1);
	CHECK_INT(riowrite(writer, bytes, 8, 0, 0), 8);
	pass(writer, owner);
	CHECK(!memcmp(second, bytes, 8));
	CHECK_OK(rclose(writer));
	CHECK_OK(rclose(owner));
}

static void wrong_calls(void)
{
	int writer, owner;

	connected(0, &writer, &owner);
	CHECK_INT(riomap(owner, first, SIZE, PROT_WRITE, 0, 0), -1);
	CHECK_INT(errno, ENOMEM);
	CHECK_INT(riomap(owner, first, SIZE, PROT_READ, 0, 0), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(riomap(owner, first, 0, PROT_WRITE, 0, 0), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(riowrite(writer, bytes, 8, 0, 0), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_OK(rclose(writer));
	CHECK_OK(rclose(owner));
	CHECK_INT(riowrite(owner, bytes, 8, 0, 0), -1);
	CHECK_INT(errno, EBADF);
}

static const struct rt_case cases[] = {
	{ "neighbours", neighbours },
	{ "unmapped", unmapped },
	{ "wrong_calls", wrong_calls },
};
RT_MAIN(cases)
