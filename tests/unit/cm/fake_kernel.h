/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's connection manager in this process, in place of librdmacm/ucma/node.c. It
 * remembers commands, answers them as the test has prepared, and fails on demand. */
#ifndef TESTS_UNIT_CM_FAKE_KERNEL_H
#define TESTS_UNIT_CM_FAKE_KERNEL_H

#include <rdma/rdma_cma_abi.h>

#include "tests/unit/fake_device.h"

/* cm.h has its own ret_neg1() */
#define ret_neg1 cm_ret_neg1
#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#undef ret_neg1

enum {
	KERNEL_COMMANDS = 25,
	KERNEL_LOG = 64,
	KERNEL_EVENTS = 8,
};

struct fake_kernel {
	int result[KERNEL_COMMANDS]; /* 0 or the -errno that the command ends with */
	bool short_write;	     /* take less than the whole command */
	bool no_device;		     /* cm_device_find() finds none */
	bool device_list; /* libibverbs offers a good device and one that does not open */
	bool user_device; /* there is also a device of user space, so that channels are mixed */

	uint32_t log[KERNEL_LOG]; /* numbers of commands, in order */
	unsigned int log_length;
	unsigned int calls; /* system calls; one call can carry several commands */
	/* last command of each number */
	uint8_t last[KERNEL_COMMANDS][512] __attribute__((aligned(8)));

	struct ucma_abi_event_resp events[KERNEL_EVENTS]; /* to be read in this order */
	unsigned int event_count;
	uint32_t events_reported; /* answer of DESTROY_ID and the like */
	struct ucma_abi_query_route_resp route;
	struct ib_uverbs_qp_attr qp_attr[8]; /* [state] */
	uint32_t services; /* records, numbered from 1 on, of which an answer has those that fit */
	uint32_t next_handle;
	uint16_t ports[8]; /* ports chosen for port 0, in this order; 0: none */
	unsigned int binds;

	bool random; /* answers and results are random */
	uint64_t seed;
};

extern struct fake_kernel kernel;
extern struct cm_device fake_cm_device;

/* cmocka's setup and teardown of a test: an empty kernel and the device, open. */
int kernel_setup(void **state);
int kernel_teardown(void **state);

/* Put an event about @owner (an identifier or group) in the queue. */
struct ucma_abi_event_resp *kernel_event(void *owner, enum rdma_cm_event_type type, int status);

/* Check that the commands since the last call are exactly these. */
void kernel_assert_log(const uint32_t *numbers, size_t count);
#define assert_commands(...)                                                      \
	do {                                                                      \
		static const uint32_t numbers_[] = { __VA_ARGS__ };               \
		kernel_assert_log(numbers_, sizeof(numbers_) / sizeof(uint32_t)); \
	} while (0)

uint32_t kernel_random(void);

#endif
