/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backend of the kernel's connection manager. An operation is an initialised struct and a call.
 */
#include <string.h>
#include <unistd.h>

#include "libibverbs/convert.h"
#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "librdmacm/sockaddr.h"
#include "librdmacm/ucma/command.h"
#include "librdmacm/ucma/node.h"
#include "util/cancel.h"
#include "util/util.h"

/* ------------------------------------------------------------------ channels and identifiers */

static int ucma_open_channel(struct cm_channel *ch, int *ret_fd)
{
	int fd = ucma_node_open();

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

static void ucma_close_channel(struct cm_channel *ch)
{
	close(ch->ucma_fd);
}

/* Create nothing yet: the first command creates the identifier in the kernel (command.c). */
static int ucma_create_id(struct cm_id *id)
{
	id->in_kernel = false;
	return 0;
}

static int destroy_handle(int fd, uint32_t number, uint32_t handle, uint32_t *ret_events)
{
	struct ucma_abi_destroy_id_resp answer = {};
	struct ucma_abi_destroy_id cmd = {
		.response = ucma_answer_at(&answer),
		.id = handle,
	};
	_cleanup_cancel_ int cancel = cancel_off();
	int r = ucma_command(fd, number, &cmd, sizeof(cmd), sizeof(answer));

	if (!r)
		*ret_events = answer.events_reported;
	return r;
}

static int ucma_destroy_id(struct cm_id *id, uint32_t *ret_events)
{
	int r;

	if (!id->in_kernel) {
		*ret_events = 0;
		return 0;
	}
	r = destroy_handle(cm_id_channel(id)->ucma_fd, UCMA_CMD_DESTROY_ID, id->handle, ret_events);
	if (!r)
		id->in_kernel = false;
	return r;
}

static void ucma_drop_request(struct cm_channel *ch, struct cm_event *ev)
{
	uint32_t events;

	destroy_handle(ch->ucma_fd, UCMA_CMD_DESTROY_ID, ev->new_handle, &events);
}

static int ucma_migrate_id(struct cm_id *id, struct cm_channel *to, uint32_t *ret_events)
{
	struct ucma_abi_migrate_resp answer = {};
	struct ucma_abi_migrate_id cmd = {
		.response = ucma_answer_at(&answer),
		.id = id->handle,
		.fd = cm_id_channel(id)->ucma_fd,
	};
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	if (!id->in_kernel) {
		*ret_events = 0;
		return 0;
	}
	r = ucma_command(to->ucma_fd, UCMA_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(answer));

	if (!r)
		*ret_events = answer.events_reported;
	return r;
}

/* ------------------------------------------------------------------ addresses and routes */

static int ucma_bind_addr(struct cm_id *id, const struct sockaddr *addr)
{
	struct ucma_abi_bind cmd = {
		.addr_size = cm_addr_size(addr),
	};

	memcpy(&cmd.addr, addr, cmd.addr_size);
	return ucma_id_command(id, UCMA_CMD_BIND, &cmd, NO_ANSWER);
}

static int ucma_resolve_addr(struct cm_id *id, const struct sockaddr *src,
			     const struct sockaddr *dst, int timeout_ms)
{
	struct ucma_abi_resolve_addr cmd = {
		.timeout_ms = timeout_ms,
		.src_size = src ? cm_addr_size(src) : 0,
		.dst_size = cm_addr_size(dst),
	};

	if (src)
		memcpy(&cmd.src_addr, src, cmd.src_size);
	memcpy(&cmd.dst_addr, dst, cmd.dst_size);
	return ucma_id_command(id, UCMA_CMD_RESOLVE_ADDR, &cmd, NO_ANSWER);
}

/* ------------------------------------------------------------------ connections */

static int ucma_listen(struct cm_id *id, int backlog)
{
	struct ucma_abi_listen cmd = {
		.backlog = backlog,
	};

	return ucma_id_command(id, UCMA_CMD_LISTEN, &cmd, NO_ANSWER);
}

static void set_conn(struct ucma_abi_conn_param *to, const struct cm_conn *conn)
{
	*to = (struct ucma_abi_conn_param){
		.qp_num = conn->qp_num,
		.private_data_len = conn->private_data_len,
		.srq = conn->srq,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry_count,
		.valid = 1,
	};
	if (conn->private_data_len)
		memcpy(to->private_data, conn->private_data, conn->private_data_len);
}

static struct ucma_abi_ece ece_of(const struct cm_conn *conn)
{
	return (struct ucma_abi_ece){
		.vendor_id = conn->ece.vendor_id,
		.attr_mod = conn->ece.options,
	};
}

static int ucma_connect(struct cm_id *id, const struct cm_conn *conn)
{
	struct ucma_abi_connect cmd = {
		.ece = ece_of(conn),
	};

	set_conn(&cmd.conn_param, conn);
	return ucma_id_command(id, UCMA_CMD_CONNECT, &cmd, NO_ANSWER);
}

static int ucma_accept(struct cm_id *id, const struct cm_conn *conn)
{
	struct ucma_abi_accept cmd = {
		.uid = ucma_answer_at(id),
	};

	if (conn) {
		set_conn(&cmd.conn_param, conn);
		cmd.ece = ece_of(conn);
	}
	return ucma_id_command(id, UCMA_CMD_ACCEPT, &cmd, NO_ANSWER);
}

static int ucma_reject(struct cm_id *id, const struct cm_reject *reject)
{
	struct ucma_abi_reject cmd = {
		.private_data_len = reject->private_data_len,
		.reason = reject->reason,
	};

	if (reject->private_data_len)
		memcpy(cmd.private_data, reject->private_data, reject->private_data_len);
	return ucma_id_command(id, UCMA_CMD_REJECT, &cmd, NO_ANSWER);
}

static int ucma_disconnect(struct cm_id *id)
{
	struct ucma_abi_disconnect cmd = {};

	return ucma_id_command(id, UCMA_CMD_DISCONNECT, &cmd, NO_ANSWER);
}

static int ucma_notify(struct cm_id *id, enum ibv_event_type event)
{
	struct ucma_abi_notify cmd = {
		.event = event,
	};

	return ucma_id_command(id, UCMA_CMD_NOTIFY, &cmd, NO_ANSWER);
}

/* Query the attributes. The kernel returns those of RTS also before RTR is applied. */
static int ucma_init_qp_attr(struct cm_id *id, struct cm_qp_attr *attrs, int count)
{
	struct ib_uverbs_qp_attr answers[UCMA_REQUESTS_MAX] = {};
	struct ucma_abi_init_qp_attr cmds[UCMA_REQUESTS_MAX];
	struct ucma_request requests[UCMA_REQUESTS_MAX];
	int done = 0;

	for (int i = 0; i < count; i++) {
		cmds[i] = (struct ucma_abi_init_qp_attr){
			.response = ucma_answer_at(&answers[i]),
			.qp_state = attrs[i].attr.qp_state,
		};
		requests[i] = UCMA_REQUEST(UCMA_CMD_INIT_QP_ATTR, &cmds[i], sizeof(answers[i]));
	}
	while (done < count) {
		int r = ucma_requests(id, requests + done, count - done);

		if (r < 0) {
			cm_err(id, "the kernel gives no attributes for QP state %d: %s",
			       attrs[done].attr.qp_state, strerror(-r));
			return r;
		}
		done += r;
	}
	for (int i = 0; i < count; i++) {
		ibv_copy_qp_attr_from_kern(&attrs[i].attr, &answers[i]);
		attrs[i].mask = answers[i].qp_attr_mask;
	}
	return 0;
}

/* ------------------------------------------------------------------ multicast */

static int ucma_join(struct cm_mc *mc)
{
	const struct sockaddr *addr = (const struct sockaddr *)&mc->addr;
	struct ucma_abi_create_id_resp answer = {};
	struct ucma_abi_join_mcast cmd = {
		.response = ucma_answer_at(&answer),
		.uid = ucma_answer_at(mc),
		.addr_size = cm_addr_size(addr),
		.join_flags = mc->join_flags,
		.addr = mc->addr,
	};
	int r = ucma_id_command(mc->id, UCMA_CMD_JOIN_MCAST, &cmd, sizeof(answer));

	if (!r)
		mc->handle = answer.id;
	return r;
}

static int ucma_leave(struct cm_mc *mc, uint32_t *ret_events)
{
	return destroy_handle(cm_id_channel(mc->id)->ucma_fd, UCMA_CMD_LEAVE_MCAST, mc->handle,
			      ret_events);
}

/* ------------------------------------------------------------------ options, services */

static int ucma_set_option(struct cm_id *id, int level, int optname, const void *value,
			   size_t length)
{
	struct ucma_abi_set_option cmd = {
		.optval = ucma_answer_at((void *)value),
		.level = level,
		.optname = optname,
		.optlen = length,
	};

	return ucma_id_command(id, UCMA_CMD_SET_OPTION, &cmd, NO_ANSWER);
}

const struct cm_backend_ops ucma_ops = {
	.name = "kernel's",
	.open_channel = ucma_open_channel,
	.close_channel = ucma_close_channel,
	.get_event = ucma_get_event,
	.create_id = ucma_create_id,
	.destroy_id = ucma_destroy_id,
	.drop_request = ucma_drop_request,
	.migrate_id = ucma_migrate_id,
	.bind_addr = ucma_bind_addr,
	.resolve_addr = ucma_resolve_addr,
	.resolve_route = ucma_resolve_route,
	.query_addr = ucma_query_addr,
	.query_route = ucma_query_route,
	.listen = ucma_listen,
	.connect = ucma_connect,
	.accept = ucma_accept,
	.reject = ucma_reject,
	.disconnect = ucma_disconnect,
	.notify = ucma_notify,
	.init_qp_attr = ucma_init_qp_attr,
	.join = ucma_join,
	.leave = ucma_leave,
	.set_option = ucma_set_option,
	.resolve_service = ucma_resolve_service,
	.query_services = ucma_query_services,
	.write_event = ucma_write_event,
};
