/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every call on an identifier in every state: which calls are allowed, and the errno of the
 * others. The table has the answers of the kernel's manager; the library's own manager answers
 * the same. */
#include "tests/lib/rt_cm.h"

enum state {
	NEW,
	BOUND, /* to any address */
	LISTENING,
	ADDR,
	ROUTE,
	ASKED,	   /* a client whose request was not answered */
	REQUESTED, /* the server's identifier of that request */
	ACCEPTED,  /* a server whose answer the client does not confirm */
	ANSWERED,  /* that client */
	CLIENT,	   /* client of a connection */
	SERVER,
	LEFT, /* a client that disconnected, and the server has not answered yet */
	TOLD, /* that server */
	OVER, /* a client after the end */
	REFUSED,
	STATES,
};

enum call {
	BIND,
	RESOLVE_ADDR,
	RESOLVE_ROUTE,
	LISTEN,
	CONNECT,
	ACCEPT,
	ESTABLISH,
	REJECT,
	DISCONNECT,
	NOTIFY,
	ATTR_INIT,
	ATTR_RTR,
	ATTR_RTS,
	SET_TOS,
	SET_REUSEADDR,
	SET_AFONLY,
	SET_ACK_TIMEOUT,
	CALLS,
};

/* Numbers that no queue pair has; the kernel remembers them from case to case. */
static uint32_t next_qpn;

static struct rdma_conn_param param(void)
{
	if (!next_qpn)
		next_qpn = 0x10000 + (getpid() % 0x3f00) * 0x400;
	return (struct rdma_conn_param){ .qp_num = next_qpn++, .responder_resources = 1 };
}

/* ---- objects of a step are destroyed with it ---- */

static struct rdma_cm_id *made[3];
static int made_count;

static struct rdma_cm_id *keep(struct rdma_cm_id *id)
{
	CHECK(made_count < RT_COUNT(made));
	return made[made_count++] = id;
}

static void destroy_all(void)
{
	while (made_count)
		CHECK_OK(rdma_destroy_id(made[--made_count]));
}

/* ---- steps into the states; the server uses @channel too ---- */

static struct rdma_cm_id *bound(struct rdma_event_channel *channel)
{
	/* not the device's address, which may be a loopback address */
	struct sockaddr_storage any = { .ss_family = rt_cm_address(0).ss_family };
	struct rdma_cm_id *id = keep(rt_cm_id(channel, RDMA_PS_TCP));

	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&any));
	return id;
}

static struct rdma_cm_id *listening(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = bound(channel);

	CHECK_OK(rdma_listen(id, 0));
	return id;
}

static struct rdma_cm_id *asked(struct rdma_event_channel *channel, struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *listener = keep(rt_cm_listen(channel, RDMA_PS_TCP, false));
	struct rdma_cm_id *id =
		keep(rt_cm_client(channel, RDMA_PS_TCP, rt_cm_port(listener), false));
	struct rdma_conn_param ask = param();
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(id, &ask));
	event = CM_EXPECT(channel, CONNECT_REQUEST, 0);
	*ret_server = keep(event->id);
	CHECK_OK(rdma_ack_cm_event(event));
	return id;
}

static struct rdma_cm_id *answered(struct rdma_event_channel *channel,
				   struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *id = asked(channel, ret_server);
	struct rdma_conn_param answer = param();

	CHECK_OK(rdma_accept(*ret_server, &answer));
	CM_TAKE(channel, CONNECT_RESPONSE, 0);
	return id;
}

static struct rdma_cm_id *connected(struct rdma_event_channel *channel,
				    struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *id = answered(channel, ret_server);

	CHECK_OK(rdma_establish(id));
	CM_TAKE(channel, ESTABLISHED, 0);
	return id;
}

static struct rdma_cm_id *left(struct rdma_event_channel *channel, struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *id = connected(channel, ret_server);

	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(channel, DISCONNECTED, 0);
	return id;
}

static struct rdma_cm_id *over(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *server, *id = left(channel, &server);

	CHECK_OK(rdma_disconnect(server));
	CM_TAKE(channel, DISCONNECTED, 0);
	return id;
}

static struct rdma_cm_id *refused(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *server, *id = asked(channel, &server);

	CHECK_OK(rdma_reject(server, NULL, 0));
	CM_TAKE(channel, REJECTED, 28);
	return id;
}

static struct rdma_cm_id *make(struct rdma_event_channel *channel, enum state state)
{
	struct rdma_cm_id *server, *client;
	struct sockaddr_storage address;

	switch (state) {
	case NEW:
		return keep(rt_cm_id(channel, RDMA_PS_TCP));
	case BOUND:
		return bound(channel);
	case LISTENING:
		return listening(channel);
	case ADDR:
		client = keep(rt_cm_id(channel, RDMA_PS_TCP));
		address = rt_cm_address(7);
		CHECK_OK(rdma_resolve_addr(client, NULL, (struct sockaddr *)&address, 60000));
		CM_TAKE(channel, ADDR_RESOLVED, 0);
		return client;
	case ROUTE:
		return keep(rt_cm_client(channel, RDMA_PS_TCP, 7, false));
	case ASKED:
		return asked(channel, &server);
	case REQUESTED:
		asked(channel, &server);
		return server;
	case ACCEPTED:
		answered(channel, &server);
		return server;
	case ANSWERED:
		return answered(channel, &server);
	case CLIENT:
		return connected(channel, &server);
	case SERVER:
		connected(channel, &server);
		return server;
	case LEFT:
		return left(channel, &server);
	case TOLD:
		left(channel, &server);
		return server;
	case OVER:
		return over(channel);
	default:
		return refused(channel);
	}
}

/* ---- calls ---- */

static int attributes(struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	return rdma_init_qp_attr(id, &attr, &mask);
}

static int option(struct rdma_cm_id *id, int name, size_t length)
{
	int value = name == RDMA_OPTION_ID_ACK_TIMEOUT ? 14 : 1;

	return rdma_set_option(id, RDMA_OPTION_ID, name, &value, length);
}

static int call(struct rdma_cm_id *id, enum call number)
{
	struct sockaddr_storage address = rt_cm_address(number == BIND ? 0 : 7);
	struct rdma_conn_param with = param();

	switch (number) {
	case BIND:
		return rdma_bind_addr(id, (struct sockaddr *)&address);
	case RESOLVE_ADDR:
		return rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 60000);
	case RESOLVE_ROUTE:
		return rdma_resolve_route(id, 60000);
	case LISTEN:
		return rdma_listen(id, 0);
	case CONNECT:
		return rdma_connect(id, &with);
	case ACCEPT:
		return rdma_accept(id, &with);
	case ESTABLISH:
		return rdma_establish(id);
	case REJECT:
		return rdma_reject(id, NULL, 0);
	case DISCONNECT:
		return rdma_disconnect(id);
	case NOTIFY:
		return rdma_notify(id, IBV_EVENT_COMM_EST);
	case ATTR_INIT:
		return attributes(id, IBV_QPS_INIT);
	case ATTR_RTR:
		return attributes(id, IBV_QPS_RTR);
	case ATTR_RTS:
		return attributes(id, IBV_QPS_RTS);
	case SET_TOS:
		return option(id, RDMA_OPTION_ID_TOS, 1);
	case SET_REUSEADDR:
		return option(id, RDMA_OPTION_ID_REUSEADDR, sizeof(int));
	case SET_AFONLY:
		return option(id, RDMA_OPTION_ID_AFONLY, sizeof(int));
	default:
		return option(id, RDMA_OPTION_ID_ACK_TIMEOUT, 1);
	}
}

/* ---- the answers ---- */

static const char *const state_names[STATES] = {
	[NEW] = "new",
	[BOUND] = "bound",
	[LISTENING] = "listening",
	[ADDR] = "address resolved",
	[ROUTE] = "route resolved",
	[ASKED] = "request sent",
	[REQUESTED] = "request received",
	[ACCEPTED] = "answer sent",
	[ANSWERED] = "answer received",
	[CLIENT] = "established, client",
	[SERVER] = "established, server",
	[LEFT] = "disconnecting",
	[TOLD] = "told to disconnect",
	[OVER] = "disconnected",
	[REFUSED] = "rejected",
};

static const char *const call_names[CALLS] = {
	"rdma_bind_addr",
	"rdma_resolve_addr",
	"rdma_resolve_route",
	"rdma_listen",
	"rdma_connect",
	"rdma_accept",
	"rdma_establish",
	"rdma_reject",
	"rdma_disconnect",
	"rdma_notify",
	"rdma_init_qp_attr, INIT",
	"rdma_init_qp_attr, RTR",
	"rdma_init_qp_attr, RTS",
	"RDMA_OPTION_ID_TOS",
	"RDMA_OPTION_ID_REUSEADDR",
	"RDMA_OPTION_ID_AFONLY",
	"RDMA_OPTION_ID_ACK_TIMEOUT",
};

#define I EINVAL
#define C EISCONN
/* clang-format off */
static const int answers[STATES][CALLS] = {
	/*              bind resolve listen conn acc est rej disc not  attributes  options */
	[NEW] =       { 0,   0, I,   0,     I,   I,  I,  I,  I,   I,   I, I, I,    0, 0, 0, 0 },
	[BOUND] =     { I,   0, I,   0,     I,   I,  I,  I,  I,   I,   I, I, I,    0, 0, 0, 0 },
	[LISTENING] = { I,   I, I,   I,     I,   I,  I,  I,  I,   I,   I, I, I,    0, I, I, 0 },
	[ADDR] =      { I,   I, 0,   I,     I,   I,  I,  I,  I,   I,   0, 0, 0,    0, 0, I, 0 },
	[ROUTE] =     { I,   I, I,   I,     0,   I,  I,  I,  I,   I,   0, 0, 0,    0, 0, I, 0 },
	[ASKED] =     { I,   I, I,   I,     I,   I,  I,  0,  0,   I,   0, I, I,    0, 0, I, 0 },
	[REQUESTED] = { I,   I, I,   I,     I,   0,  I,  0,  0,   I,   0, 0, 0,    0, 0, I, 0 },
	[ACCEPTED] =  { I,   I, I,   I,     I,   I,  I,  0,  0,   0,   0, 0, 0,    0, 0, I, 0 },
	[ANSWERED] =  { I,   I, I,   I,     I,   I,  0,  0,  0,   I,   0, 0, 0,    0, 0, I, 0 },
	[CLIENT] =    { I,   I, I,   I,     I,   I,  I,  I,  0,   C,   0, 0, 0,    0, 0, I, 0 },
	[SERVER] =    { I,   I, I,   I,     I,   I,  I,  I,  0,   C,   0, 0, 0,    0, 0, I, 0 },
	[LEFT] =      { I,   I, I,   I,     I,   I,  I,  I,  0,   I,   I, I, I,    0, 0, I, 0 },
	[TOLD] =      { I,   I, I,   I,     I,   I,  I,  I,  0,   I,   I, I, I,    0, 0, I, 0 },
	[OVER] =      { I,   I, I,   I,     I,   I,  I,  I,  0,   I,   I, I, I,    0, 0, I, 0 },
	[REFUSED] =   { I,   I, I,   I,     I,   I,  I,  I,  0,   I,   I, I, I,    0, 0, I, 0 },
};
/* clang-format on */

/* A refusal leaves a message of the kernel unanswered, also the refusal after a failed accept.
 * Destroying the identifier waits until that message was repeated for the last time, which takes
 * minutes. */
static bool kernel_takes_minutes(enum state state, enum call number)
{
	return (state == ASKED || state == ACCEPTED) &&
	       (number == ACCEPT || number == ESTABLISH || number == REJECT);
}

static void in_state(const void *arg)
{
	enum state state = (const char *const *)arg - state_names;
	bool kernel = rt_cm_is_kernel();

	for (enum call number = 0; number < CALLS; number++) {
		struct rdma_event_channel *channel;
		struct rdma_cm_id *id;
		int r, expected = answers[state][number];

		if (kernel && kernel_takes_minutes(state, number))
			continue;
		channel = rt_cm_channel();
		id = make(channel, state);
		errno = 0;
		r = call(id, number);
		if (r != (expected ? -1 : 0) || (r && errno != expected))
			FAIL("%s in state '%s': %d, %m; expected %s", call_names[number],
			     state_names[state], r, strerror(expected));
		rdma_destroy_event_channel(channel);
		destroy_all();
	}
}

static struct rt_case cases[STATES];

int main(void)
{
	for (int i = 0; i < STATES; i++)
		cases[i] = (struct rt_case){ .name = state_names[i],
					     .run_with = in_state,
					     .arg = &state_names[i] };
	return rt_main(cases, STATES);
}
