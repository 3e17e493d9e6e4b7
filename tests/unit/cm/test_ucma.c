/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The core of librdmacm on the kernel's commands: the requests, and the handling of the answers. */
#include <infiniband/ib.h>

#include "tests/unit/cm/fake_kernel.h"

#include <arpa/inet.h>

static struct rdma_event_channel *channel;
static struct ibv_cq *cq;

static int setup(void **state)
{
	kernel_setup(state);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	cq = ibv_create_cq(fake_cm_device.verbs, 8, NULL, NULL, 0);
	assert_non_null(cq);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(ibv_destroy_cq(cq), 0);
	rdma_destroy_event_channel(channel);
	return kernel_teardown(state);
}

static struct sockaddr *address(const char *text)
{
	static struct sockaddr_in addr;

	addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7471) };
	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return (struct sockaddr *)&addr;
}

static struct rdma_cm_id *new_id(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, &kernel, ps), 0);
	return id;
}

/* Read an event, check it and acknowledge it. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	assert_int_equal(event->status, status);
	id = event->id;
	assert_int_equal(rdma_ack_cm_event(event), 0);
	kernel.events_reported++;
	return id;
}

static void expect_none(void)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

static struct rdma_cm_id *resolved_id(void)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	kernel.route.num_paths = 0;
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0), id);
	kernel.route.num_paths = 1;
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
}

/* ------------------------------------------------------------------ identifiers */

static void test_create_and_destroy(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_UDP);
	const struct ucma_abi_create_id *cmd = (void *)kernel.last[UCMA_CMD_CREATE_ID];

	assert_int_equal(kernel.log_length, 0);
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_int_equal(cmd->ps, RDMA_PS_UDP);
	assert_int_equal(cmd->qp_type, IBV_QPT_UD);
	assert_int_equal(cmd->uid, (uintptr_t)id);
	assert_int_equal(cmd->out, sizeof(struct ucma_abi_create_id_resp));
	assert_ptr_equal(id->context, &kernel);
	assert_ptr_equal(id->channel, channel);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_commands(UCMA_CMD_CREATE_ID, UCMA_CMD_BIND, UCMA_CMD_QUERY_ROUTE,
			UCMA_CMD_DESTROY_ID);
}

/* An identifier that is not used is never created in the kernel. */
static void test_create_unused(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(rdma_migrate_id(id, other), 0);
	assert_ptr_equal(id->channel, other);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(other);
	assert_int_equal(kernel.calls, 0);
}

static void test_create_fails(void **state)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, 0x77), -1);
	assert_int_equal(errno, EINVAL);
	assert_logged("port space 0x77");
	assert_int_equal(rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP), -1);
	assert_int_equal(errno, EINVAL);
	kernel.result[UCMA_CMD_CREATE_ID] = -ENOMEM;
	id = new_id(RDMA_PS_TCP);
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), -1);
	assert_int_equal(errno, ENOMEM);
	assert_commands(UCMA_CMD_CREATE_ID);
	kernel.result[UCMA_CMD_CREATE_ID] = 0;
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_short_write(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	kernel.short_write = true;
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(rdma_destroy_id(id), 0);
}

struct late {
	struct rdma_cm_event *event;
};

/* Acknowledge only after the log reports what the other thread waits for. */
static void *ack_late(void *arg)
{
	struct late *late = arg;

	while (!strstr(fake_log_look(), "rdma_ack_cm_event() of RDMA_CM_EVENT_ADDR_ERROR"))
		usleep(1000);
	rdma_ack_cm_event(late->event);
	return NULL;
}

static void test_destroy_waits(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct late late;
	pthread_t thread;

	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_int_equal(rdma_get_cm_event(channel, &late.event), 0);
	kernel.events_reported = 1;
	pthread_create(&thread, NULL, ack_late, &late);
	assert_int_equal(rdma_destroy_id(id), 0);
	pthread_join(thread, NULL);
}

static void test_migrate(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	const struct ucma_abi_migrate_id *cmd = (void *)kernel.last[UCMA_CMD_MIGRATE_ID];

	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_int_equal(rdma_migrate_id(id, other), 0);
	assert_int_equal(cmd->fd, channel->fd);
	assert_ptr_equal(id->channel, other);
	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	assert_ptr_not_equal(id->channel, other);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(other);
}

static void test_options(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	int on = 1;
	uint8_t tos = 1;

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_logged("RDMA_OPTION_ID_TOS: 4 bytes; it needs 1");
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &on, 4), -1);
	kernel.result[UCMA_CMD_SET_OPTION] = -EINVAL;
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), -1);
	assert_logged("rdma_set_option RDMA_OPTION_ID_AFONLY on the kernel's connection manager: "
		      "Invalid argument");
	assert_int_equal(rdma_set_option(id, 7, 0, &on, 4), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* ------------------------------------------------------------------ addresses */

static void test_resolve(void **state)
{
	struct rdma_cm_id *id = resolved_id();

	assert_commands(UCMA_CMD_CREATE_ID, UCMA_CMD_RESOLVE_ADDR, UCMA_CMD_GET_EVENT,
			UCMA_CMD_QUERY_ROUTE, UCMA_CMD_RESOLVE_ROUTE, UCMA_CMD_QUERY_ROUTE,
			UCMA_CMD_GET_EVENT);
	assert_int_equal(kernel.calls, 5);
	assert_ptr_equal(id->verbs, fake_cm_device.verbs);
	assert_ptr_equal(id->pd, fake_cm_device.pd);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(id->route.num_paths, 1);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 1234);
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7471);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* If the route is resolved late, its paths are queried after the event. */
static void test_route_late(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	kernel.route.num_paths = 0;
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	assert_int_equal(id->route.num_paths, 0);
	kernel.route.num_paths = 2;
	kernel_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 2);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* The failure of the second command does not fail the first one: the route is being resolved. */
static void test_route_early_query_fails(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	kernel.result[UCMA_CMD_QUERY_ROUTE] = -ENODEV;
	id->route.num_paths = 0;
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ROUTE_ERROR, -ENODEV);
	kernel.result[UCMA_CMD_RESOLVE_ROUTE] = -EINVAL;
	assert_int_equal(rdma_resolve_route(id, 1000), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A bound identifier knows its device: no query is made when another address is resolved. */
static void test_resolve_bound(void **state)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 192, 0, 2, 2 };
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	memset(&kernel.route.dst_addr, 0, sizeof(kernel.route.dst_addr));
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_commands(UCMA_CMD_CREATE_ID, UCMA_CMD_BIND, UCMA_CMD_QUERY_ROUTE,
			UCMA_CMD_RESOLVE_ADDR, UCMA_CMD_GET_EVENT);
	assert_memory_equal(id->route.addr.addr.ibaddr.dgid.raw, gid, sizeof(gid));
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7471);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* An address that resolves to no device is an error. */
static void test_resolve_without_device(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	kernel.route.port_num = 0;
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_logged("192.0.2.2:7471 cannot be used: No such device");
	assert_null(id->verbs);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_resolve_fails(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct sockaddr unknown = { .sa_family = AF_UNIX };

	assert_int_equal(rdma_resolve_addr(id, NULL, &unknown, 1), -1);
	assert_int_equal(errno, EINVAL);
	kernel.result[UCMA_CMD_RESOLVE_ADDR] = -ENODEV;
	fake_log_take();
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1), -1);
	assert_int_equal(errno, ENODEV);
	assert_logged("RDMA devices: ");
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_bind(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_ptr_equal(id->verbs, fake_cm_device.verbs);
	assert_int_equal(rdma_destroy_id(id), 0);

	id = new_id(RDMA_PS_TCP);
	kernel.route.port_num = 0;
	assert_int_equal(rdma_bind_addr(id, address("0.0.0.0")), 0);
	assert_null(id->verbs);
	/* the kernel also binds 127.0.0.1 without a device */
	assert_int_equal(rdma_bind_addr(id, address("127.0.0.1")), 0);
	assert_null(id->verbs);
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.7")), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A device that does not open is reported, and does not hinder the others. */
static void test_bad_device(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct ibv_context **list;
	int count;

	kernel.device_list = true;
	list = rdma_get_devices(&count);
	assert_non_null(list);
	assert_int_equal(count, 1);
	assert_ptr_equal(list[0]->device, fake_cm_device.device);
	assert_null(list[1]);
	rdma_free_devices(list);
	assert_logged("bad0: cannot be opened for connections: Input/output error");
	kernel.result[UCMA_CMD_BIND] = -ENODEV;
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.7")), -1);
	assert_logged("bad0 cannot be opened");
	kernel.result[UCMA_CMD_BIND] = 0;
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_addr_error_says_why(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.9"), 1000), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	expect(RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	assert_logged("192.0.2.9:7471 cannot be used: No route to host");
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* ------------------------------------------------------------------ connections */

static void test_connect(void **state)
{
	struct fake_device *device = fake_of(fake_cm_device.verbs);
	struct rdma_conn_param param = { .private_data = "hello", .private_data_len = 5 };
	const struct ucma_abi_connect *cmd = (void *)kernel.last[UCMA_CMD_CONNECT];
	struct rdma_cm_id *id = resolved_id();

	kernel.log_length = kernel.calls = 0;
	create_qp(id);
	assert_int_equal(device->state, IBV_QPS_INIT);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(cmd->conn_param.qp_num, id->qp->qp_num);
	assert_int_equal(cmd->conn_param.private_data_len, 5);
	assert_memory_equal(cmd->conn_param.private_data, "hello", 5);
	assert_int_equal(cmd->conn_param.valid, 1);
	kernel_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	expect(RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(device->state, IBV_QPS_RTS);
	assert_commands(UCMA_CMD_CONNECT, UCMA_CMD_GET_EVENT, UCMA_CMD_INIT_QP_ATTR,
			UCMA_CMD_INIT_QP_ATTR, UCMA_CMD_ACCEPT);
	assert_int_equal(kernel.calls, 4);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(device->state, IBV_QPS_ERR);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A connection that this side cannot complete is refused, and later events of the kernel are
 * dropped. */
static void test_connect_fails_here(void **state)
{
	struct rdma_cm_id *id = resolved_id();

	create_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	kernel.result[UCMA_CMD_INIT_QP_ATTR] = -EINVAL;
	kernel.log_length = 0;
	kernel_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	expect(RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	assert_commands(UCMA_CMD_GET_EVENT, UCMA_CMD_INIT_QP_ATTR, UCMA_CMD_REJECT);
	kernel_event(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_none();
	kernel.events_reported++;
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_own_qp(void **state)
{
	struct rdma_conn_param param = { .qp_num = 0x123, .srq = 1 };
	const struct ucma_abi_connect *cmd = (void *)kernel.last[UCMA_CMD_CONNECT];
	const struct ucma_abi_accept *accept = (void *)kernel.last[UCMA_CMD_ACCEPT];
	struct rdma_cm_id *id = resolved_id();

	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(cmd->conn_param.qp_num, 0x123);
	assert_int_equal(cmd->conn_param.srq, 1);
	kernel_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	expect(RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(rdma_establish(id), 0);
	assert_int_equal(accept->conn_param.valid, 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_depth_limits(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 17 };
	struct rdma_cm_id *id = resolved_id();

	assert_int_equal(rdma_connect(id, &param), -1);
	assert_int_equal(errno, EINVAL);
	assert_logged("responder_resources 17; the device's limit is 16");
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_rejected(void **state)
{
	struct rdma_cm_id *id = resolved_id();
	struct rdma_cm_event *event;
	struct ucma_abi_event_resp *raw;

	assert_int_equal(rdma_connect(id, NULL), 0);
	raw = kernel_event(id, RDMA_CM_EVENT_REJECTED, 28);
	raw->param.conn.private_data_len = 3;
	memcpy(raw->param.conn.private_data, "why", 3);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_int_equal(event->param.conn.private_data_len, 3);
	assert_memory_equal(event->param.conn.private_data, "why", 3);
	rdma_ack_cm_event(event);
	kernel.events_reported++;
	assert_non_null(strstr(rdma_reject_str(28), "consumer reject"));
	assert_string_equal(rdma_reject_str(-ECONNREFUSED), "Connection refused");
	assert_non_null(rdma_reject_str(999));
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* ------------------------------------------------------------------ requests */

static void test_request(void **state)
{
	struct rdma_cm_id *listener = new_id(RDMA_PS_TCP), *id;
	const struct ucma_abi_accept *cmd = (void *)kernel.last[UCMA_CMD_ACCEPT];
	struct ucma_abi_event_resp *raw;
	struct rdma_cm_event *event;

	assert_int_equal(rdma_bind_addr(listener, address("192.0.2.1")), 0);
	assert_int_equal(rdma_listen(listener, 5), 0);
	raw = kernel_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	raw->id = 77;
	raw->param.conn.initiator_depth = 200;
	raw->param.conn.responder_resources = 3;
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_ptr_equal(event->listen_id, listener);
	id = event->id;
	assert_ptr_not_equal(id, listener);
	assert_ptr_equal(id->verbs, fake_cm_device.verbs);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_accept(id, NULL), 0);
	assert_int_equal(cmd->id, 77);
	assert_int_equal(cmd->uid, (uintptr_t)id);
	assert_int_equal(cmd->conn_param.initiator_depth, 16);
	assert_int_equal(cmd->conn_param.responder_resources, 3);
	assert_int_equal(rdma_destroy_id(id), 0);
	kernel.events_reported = 1;
	assert_int_equal(rdma_destroy_id(listener), 0);
}

/* A request on an unusable device is refused without an event for the program. */
static void test_request_dropped(void **state)
{
	struct rdma_cm_id *listener = new_id(RDMA_PS_TCP);
	const struct ucma_abi_destroy_id *cmd = (void *)kernel.last[UCMA_CMD_DESTROY_ID];

	kernel.no_device = true;
	kernel_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id = 78;
	expect_none();
	assert_int_equal(cmd->id, 78);
	assert_logged("a connection request is dropped");
	kernel.events_reported = 1;
	assert_int_equal(rdma_destroy_id(listener), 0);
}

/* The event of a request taken by rdma_get_request() does not hold the listener. */
static void test_listener_goes_first(void **state)
{
	struct rdma_cm_id *listener, *id;

	assert_int_equal(rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP), 0);
	kernel_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id = 79;
	assert_int_equal(rdma_get_request(listener, &id), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	kernel.events_reported = 1;
	assert_int_equal(rdma_destroy_id(listener), 0);
	kernel.events_reported = 0;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_get_request_needs_sync(void **state)
{
	struct rdma_cm_id *listener = new_id(RDMA_PS_TCP), *id;

	assert_int_equal(rdma_get_request(listener, &id), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(listener), 0);
}

/* ------------------------------------------------------------------ synchronous, datagrams, groups
 */

/* Answer for the subnet administrator: the first query has room for some records, the second for
 * all. */
static void query_services(struct rdma_cm_id *id, uint32_t count)
{
	struct rdma_addrinfo *list, *info;
	uint32_t n = 0;

	kernel.services = count;
	assert_int_equal(rdma_query_addrinfo(id, &list), 0);
	for (info = list; info; info = info->ai_next) {
		const struct sockaddr_ib *to = (const struct sockaddr_ib *)info->ai_dst_addr;

		n++;
		assert_int_equal(info->ai_family, AF_IB);
		assert_int_equal(info->ai_dst_len, sizeof(*to));
		assert_int_equal(be64toh(to->sib_sid), n);
		assert_int_equal(to->sib_addr.sib_raw[15], n & 0xff);
		assert_int_equal(to->sib_pkey, htobe16(0x8001));
	}
	assert_int_equal(n, count);
	rdma_freeaddrinfo(list);
}

static void test_services(void **state)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_cm_id *id = resolved_id();
	const struct ucma_abi_resolve_ib_service *cmd =
		(const void *)kernel.last[UCMA_CMD_RESOLVE_IB_SERVICE];
	struct rdma_addrinfo *list;

	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "0x17", &hints), 0);
	assert_int_equal(cmd->ibs.service_id, 0x17);
	assert_int_equal(cmd->ibs.flags, UCMA_IB_SERVICE_FLAG_ID);
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "a service", &hints), 0);
	assert_string_equal((const char *)cmd->ibs.service_name, "a service");
	kernel_event(id, RDMA_CM_EVENT_ADDRINFO_RESOLVED, 0);
	expect(RDMA_CM_EVENT_ADDRINFO_RESOLVED, 0);
	query_services(id, 1);
	query_services(id, 16);
	query_services(id, 17);
	query_services(id, 370);
	kernel.services = 0;
	assert_int_equal(rdma_query_addrinfo(id, &list), -1);
	assert_int_equal(errno, ENOENT);
	kernel.result[UCMA_CMD_QUERY] = -ENODATA;
	assert_int_equal(rdma_query_addrinfo(id, &list), -1);
	assert_int_equal(errno, ENOENT);
	kernel.events_reported = 3;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_sync_status(void **state)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_int_equal(rdma_resolve_addr(id, NULL, address("192.0.2.2"), 10), -1);
	assert_int_equal(errno, ETIMEDOUT);
	kernel_event(id, RDMA_CM_EVENT_REJECTED, 8);
	assert_int_equal(rdma_connect(id, NULL), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_REJECTED);
	kernel.events_reported = 2;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_datagram_established(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_UDP);
	struct ucma_abi_event_resp *raw;
	struct rdma_cm_event *event;

	raw = kernel_event(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	raw->param.ud.qp_num = 0x55;
	raw->param.ud.qkey = RDMA_UDP_QKEY;
	raw->param.ud.ah_attr.port_num = 1;
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->param.ud.qp_num, 0x55);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	rdma_ack_cm_event(event);
	kernel.events_reported = 1;
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A reason given by the other side is no errno. */
static void test_datagram_refused(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_UDP);

	kernel_event(id, RDMA_CM_EVENT_UNREACHABLE, 1);
	expect(RDMA_CM_EVENT_UNREACHABLE, 1);
	assert_logged("RDMA_CM_EVENT_UNREACHABLE: nobody listens on that port there "
		      "(SIDR status 1)");
	kernel_event(id, RDMA_CM_EVENT_UNREACHABLE, 77);
	expect(RDMA_CM_EVENT_UNREACHABLE, 77);
	assert_logged("(SIDR status 77)");
	kernel_event(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	expect(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	assert_logged("RDMA_CM_EVENT_UNREACHABLE: Connection timed out");
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_unreachable(void **state)
{
	static const struct {
		int status;
		const char *text;
	} known[] = {
		{ -EHOSTUNREACH, "No route to host; no host on the link answers" },
		{ -ETIMEDOUT, "Connection timed out; the other side did not answer; RoCE" },
		{ -ECONNRESET, "Connection reset by peer; the other side's process ended" },
		{ -ENETUNREACH, "Network is unreachable\n" },
	};
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++) {
		kernel_event(id, RDMA_CM_EVENT_UNREACHABLE, known[i].status);
		expect(RDMA_CM_EVENT_UNREACHABLE, known[i].status);
		assert_logged(known[i].text);
	}
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_multicast(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_UDP);
	const struct ucma_abi_join_mcast *cmd = (void *)kernel.last[UCMA_CMD_JOIN_MCAST];
	struct rdma_cm_event *event;
	int context;

	assert_int_equal(rdma_join_multicast(id, address("224.0.0.1"), &context), 0);
	kernel_event((void *)(uintptr_t)cmd->uid, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->param.ud.private_data, &context);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_leave_multicast(id, address("224.0.0.2")), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_logged("rdma_leave_multicast 224.0.0.2:7471: not a member");
	kernel.events_reported = 1;
	assert_int_equal(rdma_leave_multicast(id, address("224.0.0.1")), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* ------------------------------------------------------------------ anything at all */

/* Make one event of any kind with any content, about an object that the kernel may name. */
static void random_event(struct rdma_cm_id *id, void *group)
{
	struct ucma_abi_event_resp *event = &kernel.events[0];
	uint8_t *bytes = (uint8_t *)event;
	bool of_group;

	for (size_t i = 0; i < sizeof(*event); i++)
		bytes[i] = kernel_random();
	event->event = kernel_random() % 24;
	event->status = kernel_random() % 3 ? 0 : (uint32_t) - (int)(kernel_random() % 130);
	of_group = event->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
		   event->event == RDMA_CM_EVENT_MULTICAST_ERROR;
	event->uid = of_group ? (uintptr_t)group : (uintptr_t)id;
	if (kernel_random() % 10 == 0)
		event->uid = 0;
	kernel.event_count = 1;
}

static void random_round(enum rdma_port_space ps)
{
	const struct ucma_abi_join_mcast *join = (void *)kernel.last[UCMA_CMD_JOIN_MCAST];
	struct rdma_cm_id *id = new_id(ps);
	struct rdma_cm_event *event;
	unsigned int reported = 0;

	rdma_resolve_addr(id, NULL, address("192.0.2.2"), 1);
	assert_int_equal(rdma_join_multicast(id, address("224.0.0.1"), NULL), 0);
	for (int i = 0; i < 8; i++) {
		random_event(id, (void *)(uintptr_t)join->uid);
		reported +=
			kernel.events[0].uid && kernel.events[0].event <= RDMA_CM_EVENT_INTERNAL;
		if (rdma_get_cm_event(channel, &event))
			continue;
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			assert_ptr_equal(event->listen_id, id);
			kernel.events_reported = 0;
			rdma_destroy_id(event->id);
		}
		assert_int_equal(rdma_ack_cm_event(event), 0);
	}
	kernel.events_reported = reported;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_random_answers(void **state)
{
	kernel.random = true;
	kernel.seed = 20240601;
	for (int i = 0; i < 400; i++)
		random_round(i % 2 ? RDMA_PS_TCP : RDMA_PS_UDP);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_create_and_destroy),
		UNIT(test_create_unused),
		UNIT(test_create_fails),
		UNIT(test_short_write),
		UNIT(test_destroy_waits),
		UNIT(test_migrate),
		UNIT(test_options),
		UNIT(test_resolve),
		UNIT(test_route_late),
		UNIT(test_route_early_query_fails),
		UNIT(test_resolve_bound),
		UNIT(test_resolve_without_device),
		UNIT(test_resolve_fails),
		UNIT(test_bind),
		UNIT(test_bad_device),
		UNIT(test_addr_error_says_why),
		UNIT(test_connect),
		UNIT(test_connect_fails_here),
		UNIT(test_own_qp),
		UNIT(test_depth_limits),
		UNIT(test_rejected),
		UNIT(test_request),
		UNIT(test_request_dropped),
		UNIT(test_listener_goes_first),
		UNIT(test_get_request_needs_sync),
		UNIT(test_services),
		UNIT(test_sync_status),
		UNIT(test_datagram_established),
		UNIT(test_datagram_refused),
		UNIT(test_unreachable),
		UNIT(test_multicast),
		UNIT(test_random_answers),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
