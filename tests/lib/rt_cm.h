/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that the end-to-end programs about connections share. Both ends are in one process,
 * step by step. */
#ifndef TESTS_LIB_RT_CM_H
#define TESTS_LIB_RT_CM_H

#include <rdma/rdma_cma.h>

#include "tests/lib/rt.h"

/* Return the address of the device under test, with @port in host order. */
struct sockaddr_storage rt_cm_address(uint16_t port);
/* Return whether the device under test and the connection manager belong to the kernel. */
bool rt_cm_is_kernel(void);
uint16_t rt_cm_port(struct rdma_cm_id *id);
/* Open a channel. Skips the case if there is no connection manager for the device. */
struct rdma_event_channel *rt_cm_channel(void);
struct rdma_cm_id *rt_cm_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* Open a listener on the device's address (the wildcard address if @any) and a free port. */
struct rdma_cm_id *rt_cm_listen(struct rdma_event_channel *channel, enum rdma_port_space ps,
				bool any);
/* Open an identifier and resolve address and route; create a QP if @qp. */
struct rdma_cm_id *rt_cm_client(struct rdma_event_channel *channel, enum rdma_port_space ps,
				uint16_t port, bool qp);
void rt_cm_qp(struct rdma_cm_id *id);

/* Wait for the next event, which must be a @type with @status. The caller acknowledges it. */
#define CM_EXPECT(channel, type, status) \
	rt_cm_expect(__FILE__, __LINE__, channel, RDMA_CM_EVENT_##type, status)
struct rdma_cm_event *rt_cm_expect(const char *file, int line, struct rdma_event_channel *channel,
				   enum rdma_cm_event_type type, int status);
/* Do the same, and acknowledge the event at once. */
#define CM_TAKE(channel, type, status) CHECK_OK(rdma_ack_cm_event(CM_EXPECT(channel, type, status)))

/* Check that a call of librdmacm fails with this errno. */
#define REFUSED(call, code)             \
	do {                            \
		CHECK_INT(call, -1);    \
		CHECK_INT(errno, code); \
	} while (0)

/* Check that no event waits. */
void rt_cm_expect_none(struct rdma_event_channel *channel);
/*
 * Wait until the manager has noticed the end of @id's connection or the withdrawal of its request.
 * Then the attributes of the peer are gone.
 */
void rt_cm_await_end(struct rdma_cm_id *id);

/* Connect two channels. *ret_server is the identifier of the listening side. */
struct rdma_cm_id *rt_cm_connect(struct rdma_event_channel *client, uint16_t port,
				 struct rdma_event_channel *server, struct rdma_cm_id **ret_server);
/* Disconnect from the client's side and destroy both identifiers with their QPs. */
void rt_cm_disconnect(struct rdma_cm_id *client, struct rdma_cm_id *server);
void rt_cm_destroy(struct rdma_cm_id *id);

#endif
