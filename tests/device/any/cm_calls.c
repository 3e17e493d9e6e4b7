/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rarely used calls: each case shows that the call has its effect. */
#include <sys/mman.h>

#include <rdma/rdma_verbs.h>

#include "tests/lib/rt_cm.h"

enum {
	CLIENT_QPN = 0x123456, /* no such QP exists */
	SERVER_QPN = 0x654321,
	NO_ECE = 35, /* the reason of rdma_reject_ece() */
	REJECT_DATA = 148,
	LENGTH = 256,
};

struct two {
	struct rdma_event_channel *client_events, *server_events;
	struct rdma_cm_id *listener, *client, *server;
};

/* Return a client that asked without a queue pair, and the identifier of its request. */
static struct two asked(void)
{
	struct two t = { .client_events = rt_cm_channel(), .server_events = rt_cm_channel() };
	struct rdma_conn_param param = { .qp_num = CLIENT_QPN, .responder_resources = 1 };
	struct rdma_cm_event *event;

	t.listener = rt_cm_listen(t.server_events, RDMA_PS_TCP, false);
	t.client = rt_cm_client(t.client_events, RDMA_PS_TCP, rt_cm_port(t.listener), false);
	CHECK_OK(rdma_connect(t.client, &param));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	t.server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	return t;
}

static void two_close(struct two *t)
{
	rt_cm_destroy(t->client);
	rt_cm_destroy(t->server);
	CHECK_OK(rdma_destroy_id(t->listener));
	rdma_destroy_event_channel(t->client_events);
	rdma_destroy_event_channel(t->server_events);
}

/* The first packet arrives before the message for it: that is enough for ESTABLISHED. */
static void notify(void)
{
	struct rdma_conn_param param = { .qp_num = SERVER_QPN, .responder_resources = 1 };
	struct two t = asked();

	REFUSED(rdma_notify(t.server, IBV_EVENT_COMM_EST), EINVAL);
	CHECK_OK(rdma_accept(t.server, &param));
	CM_TAKE(t.client_events, CONNECT_RESPONSE, 0);
	rt_cm_expect_none(t.server_events);
	REFUSED(rdma_notify(t.server, IBV_EVENT_QP_FATAL), EINVAL);
	CHECK_OK(rdma_notify(t.server, IBV_EVENT_COMM_EST));
	CM_TAKE(t.server_events, ESTABLISHED, 0);
	REFUSED(rdma_notify(t.server, IBV_EVENT_COMM_EST), EISCONN);
	/* the message itself, which arrives only now, raises no event */
	CHECK_OK(rdma_establish(t.client));
	CHECK_OK(rdma_disconnect(t.client));
	CM_TAKE(t.server_events, DISCONNECTED, 0);
	two_close(&t);
}

static void reject_ece(void)
{
	uint8_t data[REJECT_DATA];
	struct two t = asked();
	struct rdma_cm_event *event;

	rt_fill(data, sizeof(data), 5);
	CHECK_OK(rdma_reject_ece(t.server, data, sizeof(data)));
	event = CM_EXPECT(t.client_events, REJECTED, NO_ECE);
	CHECK_INT(event->param.conn.private_data_len, REJECT_DATA);
	VERIFY(event->param.conn.private_data, REJECT_DATA, 5);
	CHECK_OK(rdma_ack_cm_event(event));
	two_close(&t);
}

/* ---- queue pairs and SRQs: messages pass through them ---- */

/* Return a pair whose server has no queue pair yet. */
static struct two requested(void)
{
	struct two t = { .client_events = rt_cm_channel(), .server_events = rt_cm_channel() };
	struct rdma_cm_event *event;

	t.listener = rt_cm_listen(t.server_events, RDMA_PS_TCP, false);
	t.client = rt_cm_client(t.client_events, RDMA_PS_TCP, rt_cm_port(t.listener), true);
	CHECK_OK(rdma_connect(t.client, NULL));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	t.server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	return t;
}

static void complete(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	CHECK_INT(n, 1);
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	CHECK_INT(wc.wr_id, wr_id);
}

static void accepted(struct two *t)
{
	CHECK_OK(rdma_accept(t->server, NULL));
	CM_TAKE(t->client_events, ESTABLISHED, 0);
	CM_TAKE(t->server_events, ESTABLISHED, 0);
}

static void send_from(struct rdma_cm_id *id, void *data)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, data, LENGTH);

	CHECK(mr);
	rt_fill(data, LENGTH, 7);
	CHECK_OK(rdma_post_send(id, (void *)1, data, LENGTH, mr, IBV_SEND_SIGNALED));
	complete(id->send_cq, 1);
	CHECK_OK(rdma_dereg_mr(mr));
}

static void post_to_srq(struct ibv_srq *srq, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LENGTH, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_srq_recv(srq, &wr, &bad));
}

/* Receives posted to the identifier's SRQ serve the queue pair that is created afterwards. */
static void through_srq(struct two *t)
{
	static uint8_t from[LENGTH], to[LENGTH];
	struct ibv_srq_attr attr;
	struct ibv_mr *mr;

	CHECK(t->server->srq && t->server->pd);
	CHECK_OK(ibv_query_srq(t->server->srq, &attr));
	CHECK(attr.max_wr >= 4 && attr.max_sge >= 1);
	rt_cm_qp(t->server);
	CHECK(t->server->qp->srq == t->server->srq);
	mr = rdma_reg_msgs(t->server, to, LENGTH);
	CHECK(mr);
	post_to_srq(t->server->srq, mr);
	accepted(t);
	send_from(t->client, from);
	complete(t->server->recv_cq, 2);
	VERIFY(to, LENGTH, 7);
	CHECK_OK(rdma_dereg_mr(mr));
	rdma_destroy_qp(t->server);
	rdma_destroy_srq(t->server);
	CHECK(!t->server->srq);
	two_close(t);
}

static void create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct two t = requested();

	CHECK_OK(rdma_create_srq(t.server, NULL, &attr));
	REFUSED(rdma_create_srq(t.server, NULL, &attr), EINVAL);
	through_srq(&t);
}

static void create_srq_ex(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
	};
	struct two t = requested();

	CHECK_OK(rdma_create_srq_ex(t.server, &attr));
	CHECK(attr.pd == t.server->pd);
	through_srq(&t);
}

/* With a protection domain of the program, and the sending calls of ibv_qp_ex. */
static void create_qp_ex(void)
{
	static uint8_t from[LENGTH], to[LENGTH];
	struct two t = requested();
	struct ibv_pd *pd = ibv_alloc_pd(t.server->verbs);
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_mr *mr, *source;
	struct ibv_qp_ex *ex;

	CHECK(pd);
	CHECK_OK(rdma_create_qp_ex(t.server, &attr));
	CHECK(t.server->pd == pd && t.server->qp->pd == pd);
	REFUSED(rdma_create_qp_ex(t.server, &attr), EINVAL);
	mr = rdma_reg_msgs(t.client, to, LENGTH);
	CHECK(mr);
	CHECK_OK(rdma_post_recv(t.client, (void *)3, to, LENGTH, mr));
	accepted(&t);
	ex = ibv_qp_to_qp_ex(t.server->qp);
	CHECK(ex);
	source = ibv_reg_mr(pd, from, LENGTH, 0);
	CHECK(source);
	rt_fill(from, LENGTH, 9);
	ibv_wr_start(ex);
	ex->wr_id = 4;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, source->lkey, (uintptr_t)from, LENGTH);
	CHECK_OK(ibv_wr_complete(ex));
	complete(t.server->send_cq, 4);
	complete(t.client->recv_cq, 3);
	VERIFY(to, LENGTH, 9);
	CHECK_OK(rdma_dereg_mr(mr));
	CHECK_OK(ibv_dereg_mr(source));
	rdma_destroy_qp(t.server);
	CHECK_OK(ibv_dealloc_pd(pd));
	two_close(&t);
}

/* ---- groups ---- */

static void group_address(struct sockaddr_storage *ret)
{
	struct sockaddr_storage own = rt_cm_address(0);

	*ret = (struct sockaddr_storage){ .ss_family = own.ss_family };
	if (own.ss_family == AF_INET)
		((struct sockaddr_in *)ret)->sin_addr.s_addr = htonl(0xefc00063);
	else
		rt_skip("the device has no IPv4 address");
}

static struct rdma_cm_id *member(struct rdma_event_channel *channel, uint16_t flags,
				 struct rdma_ud_param *ret_group)
{
	struct sockaddr_storage own = rt_cm_address(0), group;
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = flags,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_UDP);
	struct rdma_cm_event *event;

	group_address(&group);
	/* resolve by the group: on Linux 6.1 the route to an own address leads to no group */
	CHECK_OK(rdma_resolve_addr(id, (struct sockaddr *)&own, (struct sockaddr *)&group, 60000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	rt_cm_qp(id);
	attr.comp_mask |= 1 << 7;
	REFUSED(rdma_join_multicast_ex(id, &attr, NULL), EOPNOTSUPP);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	REFUSED(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	REFUSED(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.join_flags = flags;
	CHECK_OK(rdma_join_multicast_ex(id, &attr, id));
	event = CM_EXPECT(channel, MULTICAST_JOIN, 0);
	CHECK(event->param.ud.private_data == id);
	*ret_group = event->param.ud;
	CHECK_OK(rdma_ack_cm_event(event));
	return id;
}

/* A full member receives messages to the group, but a send-only member does not. */
static void join_ex(void)
{
	static uint8_t from[LENGTH], full_to[LENGTH + 40], sender_to[LENGTH + 40];
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_ud_param group, same;
	struct rdma_cm_id *full = member(channel, RDMA_MC_JOIN_FLAG_FULLMEMBER, &group),
			  *sender = member(channel, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, &same);
	struct ibv_mr *full_mr = rdma_reg_msgs(full, full_to, sizeof(full_to)),
		      *sender_mr = rdma_reg_msgs(sender, sender_to, sizeof(sender_to)),
		      *mr = rdma_reg_msgs(sender, from, LENGTH);
	struct ibv_ah *ah;
	struct ibv_wc wc;

	CHECK(full_mr && sender_mr && mr);
	CHECK(!memcmp(&group.ah_attr.grh.dgid, &same.ah_attr.grh.dgid, 16));
	CHECK_OK(rdma_post_recv(full, (void *)5, full_to, sizeof(full_to), full_mr));
	CHECK_OK(rdma_post_recv(sender, (void *)6, sender_to, sizeof(sender_to), sender_mr));
	ah = ibv_create_ah(sender->pd, &group.ah_attr);
	CHECK(ah);
	rt_fill(from, LENGTH, 11);
	CHECK_OK(rdma_post_ud_send(sender, (void *)7, from, LENGTH, mr, IBV_SEND_SIGNALED, ah,
				   group.qp_num));
	complete(sender->send_cq, 7);
	complete(full->recv_cq, 5);
	VERIFY(full_to + 40, LENGTH, 11);
	CHECK_INT(ibv_poll_cq(sender->recv_cq, 1, &wc), 0);
	CHECK_OK(ibv_destroy_ah(ah));
	CHECK_OK(rdma_dereg_mr(full_mr));
	CHECK_OK(rdma_dereg_mr(sender_mr));
	CHECK_OK(rdma_dereg_mr(mr));
	rt_cm_destroy(sender);
	rt_cm_destroy(full);
	rdma_destroy_event_channel(channel);
}

/* ---- queries to a subnet's administrator, which Ethernet does not have ---- */

static int look_up(const char *node, const char *service, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags }, *info;

	return rdma_getaddrinfo(node, service, &hints, &info);
}

static void administrator(void)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage address = rt_cm_address(7);
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);

	REFUSED(look_up("192.0.2.7", "7471", RAI_SA), EOPNOTSUPP);
	REFUSED(look_up(NULL, "7471", RAI_SA | RAI_DNS), EOPNOTSUPP);
	REFUSED(look_up(NULL, NULL, RAI_SA), EINVAL);
	REFUSED(look_up(NULL, "7471", RAI_SA), ENOENT);
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 60000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	REFUSED(rdma_resolve_addrinfo(id, NULL, "7471", &hints), EOPNOTSUPP);
	rt_cm_expect_none(channel);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* A program built before the field rate_limit: no byte behind its attributes is read or written. */
static void old_attributes(void)
{
	const size_t old = offsetof(struct ibv_qp_attr, rate_limit);
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(channel, RDMA_PS_TCP, 7, false);
	long page = sysconf(_SC_PAGESIZE);
	char *end =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_qp_attr *attr;
	int mask = 0;

	CHECK(end != MAP_FAILED);
	end += page;
	CHECK_OK(mprotect(end, page, PROT_NONE));
	attr = (struct ibv_qp_attr *)(end - old);
	attr->qp_state = IBV_QPS_INIT;
	CHECK_OK(rdma_init_qp_attr(id, attr, &mask));
	CHECK(mask & IBV_QP_PORT);
	CHECK_INT(attr->port_num, id->port_num);
	CHECK_OK(munmap(end - page, 2 * page));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static const struct rt_case cases[] = {
	{ "RAI_SA", administrator },
	{ "rdma_init_qp_attr, old", old_attributes },
	{ "rdma_notify", notify },
	{ "rdma_reject_ece", reject_ece },
	{ "rdma_create_srq", create_srq },
	{ "rdma_create_srq_ex", create_srq_ex },
	{ "rdma_create_qp_ex", create_qp_ex },
	{ "rdma_join_multicast_ex", join_ex },
};
RT_MAIN(cases)
