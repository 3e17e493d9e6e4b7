/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands to the kernel's connection manager. A command is an initialised struct and a call, which
 * fills the header and the number of the identifier.
 *
 * The kernel executes the commands of one writev() one after the other. Therefore commands that
 * follow each other cost one system call.
 */
#ifndef LIBRDMACM_UCMA_COMMAND_H
#define LIBRDMACM_UCMA_COMMAND_H

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"

#define NO_ANSWER 0 /* size of the answer of a command without one */

/*
 * A command about an identifier.
 * @id_at: the command's member for the number of the identifier
 * @out: bytes of the answer
 */
struct ucma_request {
	uint32_t number;
	void *command;
	size_t size;
	uint32_t *id_at;
	size_t out;
};

#define UCMA_REQUEST(request_number, cmd, answer_size) \
	((struct ucma_request){                        \
		.number = (request_number),            \
		.command = (cmd),                      \
		.size = sizeof(*(cmd)),                \
		.id_at = &(cmd)->id,                   \
		.out = (answer_size),                  \
	})

static inline uint64_t ucma_answer_at(const void *p)
{
	return (uintptr_t)p;
}

/* Send a command without an identifier. */
int ucma_command(int fd, uint32_t number, void *command, size_t size, size_t out);

/*
 * Send up to UCMA_REQUESTS_MAX commands about @id, until one fails. The first command of an
 * identifier also creates it in the kernel.
 * Return: number of successful commands, at least 1; -errno if the first failed.
 */
enum {
	UCMA_REQUESTS_MAX = 2
};
int ucma_requests(struct cm_id *id, const struct ucma_request *requests, int count);

/* Send one command. Return: 0 or -errno. */
int ucma_request_one(struct cm_id *id, struct ucma_request request);
#define ucma_id_command(id, number, cmd, out) ucma_request_one(id, UCMA_REQUEST(number, cmd, out))

/*
 * query.c: the operations of the same names. ucma_resolve_route() may also query the route before
 * its event.
 */
int ucma_query_addr(struct cm_id *id);
int ucma_query_route(struct cm_id *id);
int ucma_resolve_route(struct cm_id *id, int timeout_ms);

/* service.c: operations of the same names. */
int ucma_resolve_service(struct cm_id *id, const struct cm_service *service);
int ucma_query_services(struct cm_id *id, struct rdma_addrinfo **ret_info);
int ucma_write_event(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);

/* event.c: the operation of the same name. */
int ucma_get_event(struct cm_channel *ch, struct cm_event *ev);

#endif
