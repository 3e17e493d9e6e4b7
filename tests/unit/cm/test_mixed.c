/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Channels of both backends: the fake kernel, and our own manager without a device behind it. */
#include "tests/unit/cm/fake_kernel.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/epoll.h>

#include <infiniband/ib.h>

static struct rdma_event_channel *channel;

static struct rdma_event_channel *channel_open(void)
{
	struct rdma_event_channel *opened = rdma_create_event_channel();

	assert_non_null(opened);
	assert_true(cm_channel_is_mixed(to_cm_channel(opened)));
	assert_int_equal(fcntl(opened->fd, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	return opened;
}

static int setup(void **state)
{
	kernel_setup(state);
	kernel.user_device = true;
	channel = channel_open();
	return 0;
}

static int teardown(void **state)
{
	rdma_destroy_event_channel(channel);
	return kernel_teardown(state);
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static struct sockaddr *address(const char *text)
{
	static struct sockaddr_in addr;

	addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7471) };
	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return (struct sockaddr *)&addr;
}

static bool readable(struct rdma_event_channel *ch)
{
	struct pollfd waiting = { .fd = ch->fd, .events = POLLIN };

	return poll(&waiting, 1, 0) == 1;
}

static struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type,
				    int status)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(ch, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	assert_int_equal(event->status, status);
	return event;
}

static void expect_none(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(ch, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(readable(ch));
}

/* No address has chosen a backend yet, but the channel takes events all the same. */
static void test_write_event(void **state)
{
	struct rdma_cm_id *id = new_id();
	struct rdma_cm_event *event;

	expect_none(channel);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, i, 10 + i), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(readable(channel));
		event = expect(channel, RDMA_CM_EVENT_USER, i);
		assert_ptr_equal(event->id, id);
		assert_int_equal(event->param.arg, 10 + i);
		assert_int_equal(rdma_ack_cm_event(event), 0);
	}
	expect_none(channel);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	for (unsigned int i = 0; i < kernel.log_length; i++)
		assert_int_equal(kernel.log[i], UCMA_CMD_GET_EVENT);
}

/* Take the next step before the event is acknowledged, as a program's handler does. */
static void test_resolve_addrinfo(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info;
	struct rdma_cm_id *id = new_id();
	struct rdma_cm_event *event;

	assert_int_equal(rdma_resolve_addrinfo(id, "192.0.2.2", "7471", &hints), 0);
	event = expect(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED, 0);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	assert_int_equal(rdma_resolve_addr(id, address("192.0.2.1"), info->ai_dst_addr, 1000), 0);
	rdma_freeaddrinfo(info);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	kernel_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0)), 0);
	kernel.events_reported = 1;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_resolve_addrinfo_fails(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_cm_id *id = new_id();

	assert_int_equal(rdma_resolve_addrinfo(id, "a name", "7471", &hints), 0);
	assert_logged("rdma_getaddrinfo: a name, service 7471: ");
	assert_int_equal(rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_ADDRINFO_ERROR, -ENOENT)),
			 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Events of the program and of both backends take turns. */
static void test_turns(void **state)
{
	struct rdma_cm_id *id = new_id(), *other = new_id();
	int users = 0, kernels = 0;

	assert_int_equal(rdma_bind_addr(other, address("192.0.2.1")), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
		kernel_event(other, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	}
	for (int i = 0; i < 4; i++) {
		struct rdma_cm_event *event;

		assert_int_equal(rdma_get_cm_event(channel, &event), 0);
		*(event->event == RDMA_CM_EVENT_USER ? &users : &kernels) += 1;
		assert_int_equal(rdma_ack_cm_event(event), 0);
	}
	assert_int_equal(users, 2);
	assert_int_equal(kernels, 2);
	kernel.events_reported = kernels;
	assert_int_equal(rdma_destroy_id(other), 0);
	kernel.event_count = 0;
	assert_int_equal(rdma_destroy_id(id), 0);
	expect_none(channel);
}

static void *ack_late(void *arg)
{
	while (!strstr(fake_log_look(), "rdma_destroy_id() waits for rdma_ack_cm_event() of "
					"RDMA_CM_EVENT_USER"))
		usleep(1000);
	rdma_ack_cm_event(arg);
	return NULL;
}

static void test_destroy_waits(void **state)
{
	struct rdma_cm_id *id = new_id();
	pthread_t thread;

	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	pthread_create(&thread, NULL, ack_late, expect(channel, RDMA_CM_EVENT_USER, 0));
	assert_int_equal(rdma_destroy_id(id), 0);
	pthread_join(thread, NULL);
}

static void test_migrate(void **state)
{
	struct rdma_event_channel *other = channel_open();
	struct rdma_cm_id *id = new_id();

	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 7, 0), 0);
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	assert_int_equal(rdma_migrate_id(id, other), 0);
	expect_none(channel);
	assert_int_equal(rdma_ack_cm_event(expect(other, RDMA_CM_EVENT_USER, 7)), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 8, 0), 0);
	assert_true(readable(other));
	rdma_destroy_event_channel(other); /* before its identifier, and with an event: no leak */
	id->channel = channel;
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_nested_epoll(void **state)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	struct rdma_cm_id *id = new_id();

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
	assert_int_equal(rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_USER, 0)), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	close(epoll);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Options set before an address are set on the backend that the address chooses. */
static void test_options_wait(void **state)
{
	const struct ucma_abi_set_option *cmd = (void *)kernel.last[UCMA_CMD_SET_OPTION];
	struct rdma_cm_id *id = new_id();
	uint8_t tos = 4;

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(kernel.calls, 0);
	assert_int_equal(rdma_bind_addr(id, address("192.0.2.1")), 0);
	assert_commands(UCMA_CMD_CREATE_ID, UCMA_CMD_SET_OPTION, UCMA_CMD_BIND,
			UCMA_CMD_QUERY_ROUTE);
	assert_int_equal(cmd->optname, RDMA_OPTION_ID_TOS);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* AF_IB always belongs to the kernel's backend. */
static void test_infiniband(void **state)
{
	struct sockaddr_ib any = { .sib_family = AF_IB }, there = any;
	struct rdma_cm_id *id;

	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &there.sib_addr), 1);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_IB), 0);
	kernel.route.port_num = 0;
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	assert_null(to_cm_id(id)->twin);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 100), 0);
	assert_ptr_equal(to_cm_id(id)->backend, &ucma_ops);
	assert_int_equal(rdma_destroy_id(id), 0);
	id = new_id();
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 100), 0);
	assert_ptr_equal(to_cm_id(id)->backend, &ucma_ops);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static struct rdma_cm_id *bind_any(uint16_t port, int expected)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_cm_id *id = new_id();

	if (expected) {
		assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&any), -1);
		assert_int_equal(errno, expected);
	} else {
		assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	}
	return id;
}

/* Port 0: the port that the kernel chooses may be in use on user-space devices. Then the kernel
 * must choose another one; a port that the program named is kept. */
static void test_port_of_both(void **state)
{
	static const uint16_t ports[] = { 20001, 20001, 20001, 20002 };
	struct rdma_cm_id *first, *second, *third;

	kernel.route.port_num = 0;
	kernel.route.src_addr = (struct sockaddr_in6){ .sin6_family = AF_INET };
	memcpy(kernel.ports, ports, sizeof(ports));
	first = bind_any(0, 0);
	assert_int_equal(ntohs(rdma_get_src_port(first)), 20001);
	second = bind_any(0, 0);
	assert_int_equal(kernel.binds, 4);
	assert_int_equal(ntohs(rdma_get_src_port(second)), 20002);
	third = bind_any(20002, EADDRNOTAVAIL);
	assert_int_equal(kernel.binds, 5);
	assert_int_equal(rdma_destroy_id(third), 0);
	assert_int_equal(rdma_destroy_id(second), 0);
	assert_int_equal(rdma_destroy_id(first), 0);
}

/* The number of tries is limited. */
static void test_no_port_of_both(void **state)
{
	struct rdma_cm_id *first, *second;

	kernel.route.port_num = 0;
	kernel.route.src_addr = (struct sockaddr_in6){ .sin6_family = AF_INET };
	for (size_t i = 0; i < ARRAY_SIZE(kernel.ports); i++)
		kernel.ports[i] = 20003;
	first = bind_any(0, 0);
	second = bind_any(0, EADDRNOTAVAIL);
	assert_int_equal(rdma_destroy_id(second), 0);
	assert_int_equal(rdma_destroy_id(first), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define UNIT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		UNIT(test_write_event),
		UNIT(test_resolve_addrinfo),
		UNIT(test_resolve_addrinfo_fails),
		UNIT(test_turns),
		UNIT(test_destroy_waits),
		UNIT(test_migrate),
		UNIT(test_nested_epoll),
		UNIT(test_options_wait),
		UNIT(test_infiniband),
		UNIT(test_port_of_both),
		UNIT(test_no_port_of_both),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
