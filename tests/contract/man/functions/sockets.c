/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples: sockets over RDMA, and the records of paths
 * that librdmacm gets. */
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#include "ibv_copy_qp_attr_from_kern.h"
#include "repoll_create.h"
#include "riomap.h"

enum {
	LENGTH = 300,
};

static char target[4096];

/* Connect; @writer has room for one mapping of @owner. */
static void connected(int *ret_writer, int *ret_owner)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), one = 1;
	struct sockaddr_storage address = rt_cm_address(port);

	*ret_writer = rsocket(address.ss_family, SOCK_STREAM, 0);
	CHECK_OK(rsetsockopt(*ret_writer, SOL_RDMA, RDMA_IOMAPSIZE, &one, sizeof(one)));
	CHECK_OK(rconnect(*ret_writer, (struct sockaddr *)&address, rt_rs_size(&address)));
	*ret_owner = raccept(listening, NULL, NULL);
	CHECK(*ret_owner >= 0);
	CHECK_OK(rclose(listening));
}

static void mapped(void)
{
	char bytes[LENGTH], mark;
	int writer, owner;

	connected(&writer, &owner);
	CHECK_INT(riomap(owner, target, sizeof(target), PROT_WRITE, 0, 0), 0);
	CHECK_INT(rsend(owner, "?", 1, 0), 1);
	CHECK_INT(rrecv(writer, &mark, 1, 0), 1);
	rt_fill(bytes, LENGTH, 3);
	CHECK_OK(deliver(writer, bytes, LENGTH));
	CHECK_INT(rrecv(owner, &mark, 1, 0), 1);
	VERIFY(target, LENGTH, 3);
	CHECK_OK(rclose(writer));
	CHECK_OK(rclose(owner));
}

static void polled(void)
{
	int a[2], b[2];

	connected(&a[0], &b[0]);
	connected(&a[1], &b[1]);
	CHECK_INT(rsend(a[1], "x", 1, 0), 1);
	CHECK_INT(first(b, 2), b[1]);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(rclose(a[i]));
		CHECK_OK(rclose(b[i]));
	}
}

static void record(void)
{
	struct ib_user_path_rec kernel = { .mtu = IBV_MTU_1024, .mtu_selector = 2 };

	CHECK_INT(path_mtu(&kernel), 1024);
}

static const struct rt_case cases[] = { { "mapped", mapped },
					{ "polled", polled },
					{ "record", record } };
RT_MAIN(cases)
