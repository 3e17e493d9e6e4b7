/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages from hosts that are not part of a connection. They have no effect on other connections.
 * This host keeps state for them only in a limited number and for a limited time. */
#include <arpa/inet.h>
#include <endian.h>

#include "librdmacm/event.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/table.h"
#include "tests/unit/unit.h"

#include "librdmacm/rsocket/wire.h"
#include "tests/unit/ibcm/host.h"

enum {
	ID = 0x22000001,
	QPN = 0x000111,
	OUR_QPN = QPN + 1, /* see host_connect() */
	BACKLOG = 64,
	OTHERS = 2000,
	SECONDS_MAX = 60,
	IDS = 1 << 16,		    /* number of communication ids */
	LATER_PORT = HOST_PORT + 1, /* has no listener yet */
	PENDING_MAX = 256,
	PENDING_OF_HOST = 16,
};
#define SECOND 1000000000ull

static union ibv_gid peer, stranger;
static struct ibcm_id *listener, *connection;

static int begin(void **state)
{
	host_begin();
	peer = host_gid(2);
	stranger = host_gid(3);
	listener = host_listen(BACKLOG);
	connection = host_connect(&peer, ID, QPN);
	assert_non_null(connection);
	return 0;
}

static void destroy_id(struct ibcm_id *iid, void *arg)
{
	if (!iid->detached)
		host_destroy(iid);
}

static int end(void **state)
{
	host_destroy(listener);
	ibcm_table_each(destroy_id, NULL);
	host_pass(2 * SECONDS_MAX * SECOND);
	assert_null(ibcm_heap_first());
	host_end();
	return 0;
}

/* Check that the connection is established and that the program got no event. */
static void check_alive(void)
{
	struct cm_event event;

	assert_int_equal(connection->conn.state, IBCM_ESTABLISHED);
	assert_int_equal(host_event(&event), -1);
}

static struct ibcm_mad about(enum ibcm_message type)
{
	return (struct ibcm_mad){ .type = type,
				  .local_id = ID,
				  .remote_id = connection->conn.local_id };
}

/* --- strangers --- */

/* A queue pair that a stranger names never belongs to the peer. */
static void test_stale_is_the_peers_to_say(void **state)
{
	struct ibcm_mad req = host_req(&stranger, ID + 1, QPN, HOST_PORT);
	struct cm_event event;

	host_arrive(&stranger, &req);
	assert_int_equal(connection->conn.state, IBCM_ESTABLISHED);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
	check_alive();
}

static void test_stale_by_the_peer(void **state)
{
	struct ibcm_mad req = host_req(&peer, ID + 1, QPN, HOST_PORT);

	host_arrive(&peer, &req);
	assert_int_equal(connection->conn.state, IBCM_DREQ_SENT);
}

/* Two hosts may use the same id for their connections. */
static void test_same_id_of_another(void **state)
{
	struct ibcm_mad req = host_req(&stranger, ID, QPN + 7, HOST_PORT);
	struct cm_event event;

	host_arrive(&stranger, &req);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
	check_alive();
}

static void test_foreign_messages(void **state)
{
	static const enum ibcm_message types[] = { IBCM_MRA,  IBCM_REJ,	 IBCM_REP, IBCM_RTU,
						   IBCM_DREQ, IBCM_DREP, IBCM_LAP, IBCM_APR };

	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibcm_mad mad = about(types[i]);

		if (types[i] == IBCM_DREQ)
			mad.dreq.remote_qpn = OUR_QPN;
		host_arrive(&stranger, &mad);
		check_alive();
	}
}

/* A REJ with the reason timeout names its target by GUID and id: from another host it is
 * ignored. */
static void test_foreign_timeout(void **state)
{
	uint64_t guid = htobe64(HOST_GUID);
	struct ibcm_mad mad = { .type = IBCM_REJ,
				.local_id = ID,
				.rej = { .reason = IBCM_REJ_TIMEOUT,
					 .info_length = sizeof(guid) } };

	memcpy(mad.rej.info, &guid, sizeof(guid));
	host_arrive(&stranger, &mad);
	check_alive();
}

static struct ibcm_mad req_of(const union ibv_gid *from, uint32_t id, int family, const char *src)
{
	struct ibcm_mad req = host_req(from, id, id, HOST_PORT);
	struct ibcm_ip ip;

	assert_int_equal(ibcm_ip_unpack(req.private_data, req.private_len, &ip), 0);
	ip.family = family;
	memcpy(&ip.dst, host.gid.raw, sizeof(ip.dst));
	ip.src = (struct in6_addr){};
	inet_pton(family, src, family == AF_INET ? ip.src.s6_addr + 12 : ip.src.s6_addr);
	ibcm_ip_pack(&ip, req.private_data);
	return req;
}

/* Programs may trust peers of their own host. */
static void test_source_that_no_host_has(void **state)
{
	static const struct {
		int family;
		const char *src;
		int event;
	} cases[] = {
		{ AF_INET, "127.0.0.1", -1 },
		{ AF_INET, "127.255.0.1", -1 },
		{ AF_INET, "0.0.0.0", -1 },
		{ AF_INET, "0.1.2.3", -1 },
		{ AF_INET, "224.0.0.1", -1 },
		{ AF_INET, "255.255.255.255", -1 },
		{ AF_INET6, "::1", -1 },
		{ AF_INET6, "::", -1 },
		{ AF_INET6, "ff02::1", -1 },
		{ AF_INET6, "::ffff:127.0.0.1", -1 },
		/* an address that the host could have */
		{ AF_INET, "198.51.100.7", RDMA_CM_EVENT_CONNECT_REQUEST },
		{ AF_INET6, "fe80::1", RDMA_CM_EVENT_CONNECT_REQUEST },
	};
	struct cm_event event;

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibcm_mad req = req_of(&stranger, i + 1, cases[i].family, cases[i].src);
		unsigned int before = host.sent_count;

		host_arrive(&stranger, &req);
		assert_int_equal(host_event(&event), cases[i].event);
		assert_int_equal(host.sent_count - before, cases[i].event < 0);
		if (cases[i].event < 0)
			assert_int_equal(host_last()->rej.reason, IBCM_REJ_INVALID_SERVICE_ID);
	}
}

/* On a device of lo it is the sender's own address. */
static void test_source_on_loopback(void **state)
{
	union ibv_gid lo = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	struct ibcm_mad req = req_of(&lo, 1, AF_INET, "127.0.0.1");
	struct cm_event event;

	host_arrive(&lo, &req);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
}

/* --- messages of the peer, by the checks of the kernel --- */

static void test_dreq_names_the_queue_pair(void **state)
{
	struct ibcm_mad dreq = about(IBCM_DREQ);
	struct cm_event event;

	dreq.dreq.remote_qpn = OUR_QPN + 1;
	host_arrive(&peer, &dreq);
	check_alive();
	dreq.dreq.remote_qpn = OUR_QPN;
	host_arrive(&peer, &dreq);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_DISCONNECTED);
}

static void test_messages_name_the_connection(void **state)
{
	static const enum ibcm_message types[] = { IBCM_REJ, IBCM_DREQ };

	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibcm_mad mad = about(types[i]);

		if (types[i] == IBCM_DREQ)
			mad.dreq.remote_qpn = OUR_QPN;
		mad.local_id = 0;
		host_arrive(&peer, &mad);
		check_alive();
		mad.local_id = ID + 1;
		host_arrive(&peer, &mad);
		check_alive();
	}
}

/* --- bounds --- */

/* A request with the longest times that a message can name. */
static struct ibcm_mad patient_req(uint32_t id)
{
	struct ibcm_mad req = host_req(&stranger, id, id & 0xffffff, HOST_PORT);

	req.req.local_response_timeout = req.req.remote_response_timeout = 31;
	req.req.primary.ack_timeout = 31;
	req.req.max_cm_retries = 15;
	return req;
}

/* Let the time pass in steps that are short compared with the times of messages. */
static void pass_the_time(void)
{
	for (int i = 0; i < 100 * (SECONDS_MAX + 1); i++)
		host_pass(SECOND / 100);
}

static void test_half_open_ends(void **state)
{
	struct ibcm_mad req = patient_req(1);
	struct cm_event event;

	host_arrive(&stranger, &req);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
	host_accept(event.new_ibcm, OUR_QPN);
	pass_the_time();
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_UNREACHABLE);
	pass_the_time();
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

static void test_extension_ends(void **state)
{
	struct ibcm_mad req = patient_req(1), mra = { .type = IBCM_MRA, .local_id = 1 };
	struct cm_event event;

	host_arrive(&stranger, &req);
	host_event(&event);
	host_accept(event.new_ibcm, OUR_QPN);
	mra.remote_id = event.new_ibcm->conn.local_id;
	mra.mra.answered = IBCM_ANSWERS_REP;
	mra.mra.service_timeout = 31;
	host_arrive(&stranger, &mra);
	assert_true(event.new_ibcm->conn.deadline <= host.now + 2 * SECONDS_MAX * SECOND);
}

static unsigned int count;

static void count_one(struct ibcm_id *iid, void *arg)
{
	count++;
}

/* Send requests from a host that never continues, to a program that takes them all. */
static unsigned int flood(const union ibv_gid *from, unsigned int requests)
{
	struct cm_event event;
	unsigned int taken = 0;

	for (unsigned int i = 1; i <= requests; i++) {
		struct ibcm_mad req = host_req(from, i, i, HOST_PORT);

		host_arrive(from, &req);
		if (host_event(&event) != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		host_accept(event.new_ibcm, OUR_QPN);
		taken++;
	}
	return taken;
}

static void test_flood_leaves_ids_for_others(void **state)
{
	unsigned int taken = flood(&stranger, 2 * IDS);

	printf("one host's half-open connections: %u of %u ids, %zu bytes each\n", taken, IDS,
	       sizeof(struct ibcm_id));
	count = 0;
	ibcm_table_each(count_one, NULL);
	assert_int_equal(count, taken + 1);
	assert_true(taken <= IDS / 3 + 1);
	assert_non_null(host_connect(&peer, ID + 1, QPN + 1));
}

/* The flood of one host is not counted against other hosts. */
static void test_flood_is_counted_to_its_host(void **state)
{
	union ibv_gid other = host_gid(0);

	flood(&stranger, 2 * IDS);
	for (unsigned int i = 0; i < OTHERS; i++) {
		other.raw[12] = 10;
		other.raw[13] = i >> 8;
		other.raw[14] = i;
		assert_int_equal(flood(&other, 1), 1);
	}
}

/* A program accepts no request. A full backlog still has a place for a host without a request in
 * it. */
static void test_flood_leaves_a_place_for_others(void **state)
{
	struct ibcm_mad req;

	for (unsigned int i = 1; i <= 4 * BACKLOG; i++) {
		req = host_req(&stranger, i, i, HOST_PORT);
		host_arrive(&stranger, &req);
	}
	assert_int_equal(listener->waiting, BACKLOG);
	req = host_req(&peer, ID + 1, QPN + 1, HOST_PORT);
	host_arrive(&peer, &req);
	assert_int_equal(listener->waiting, BACKLOG + 1);
}

/* --- requests before there is a listener --- */

static struct ibcm_mad early_req(const union ibv_gid *from, uint32_t id)
{
	return host_req(from, id, QPN + id % 1000, LATER_PORT);
}

static void check_refused(void)
{
	assert_int_equal(host_last()->type, IBCM_REJ);
	assert_int_equal(host_last()->rej.reason, IBCM_REJ_INVALID_SERVICE_ID);
}

static struct ibcm_id *listen_later(void)
{
	struct ibcm_id *late = host_listen(BACKLOG);

	ibcm_listener_remove(late);
	((struct sockaddr_in *)&late->src)->sin_port = htons(LATER_PORT);
	ibcm_listener_add(late);
	return late;
}

static void test_early_request_is_taken(void **state)
{
	struct ibcm_mad req = early_req(&peer, 1);
	unsigned int before = host.sent_count;
	struct ibcm_id *late;
	struct cm_event event;

	host_arrive(&peer, &req);
	host_arrive(&peer, &req); /* twice the same is one */
	host_pass(SECOND / 2);
	assert_int_equal(host.sent_count, before);
	late = listen_later();
	host_pass(SECOND / 100);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(host_event(&event), -1);
	host_pass(2 * SECOND);
	assert_int_equal(host.sent_count, before);
	host_destroy(late);
}

static void test_early_request_of_another_process(void **state)
{
	struct ibcm_mad req = early_req(&peer, 1);
	unsigned int before = host.sent_count;

	host_arrive(&peer, &req);
	host_pass(SECOND / 100);
	assert_int_equal(host.offered, 1);
	host.others_listen = true;
	host_pass(SECOND / 100);
	assert_int_equal(host.offered, 2);
	host_pass(2 * SECOND);
	assert_int_equal(host.offered, 2);
	assert_int_equal(host.sent_count, before);
}

static void test_early_request_is_refused(void **state)
{
	struct ibcm_mad req = early_req(&peer, 1);
	unsigned int before = host.sent_count;

	host_arrive(&peer, &req);
	host_pass(SECOND);
	assert_int_equal(host.sent_count, before + 1);
	check_refused();
}

/* A socket's request is refused at once, as TCP does, after all processes were asked. A request
 * without a socket's data waits like any other. */
static void test_early_socket_is_refused_at_once(void **state)
{
	const struct rs_wire_data data = { .credits = 8, .list.length = RS_WIRE_ENTRIES };
	struct ibcm_mad req = early_req(&peer, 1);
	unsigned int before = host.sent_count;

	host_arrive(&peer, &req);
	assert_int_equal(host.sent_count, before);
	req = early_req(&peer, 2);
	rs_wire_put_data(req.private_data + IBCM_IP_LEN, &data);
	req.private_len += RS_WIRE_DATA_SIZE;
	host.others_unknown = true;
	host_arrive(&peer, &req);
	host_pass(SECOND / 10);
	assert_int_equal(host.sent_count, before);
	host.others_unknown = false;
	host_pass(0);
	assert_int_equal(host.sent_count, before + 1);
	assert_int_equal(host_last()->remote_id, 2);
	check_refused();
}

static void test_early_request_is_withdrawn(void **state)
{
	struct ibcm_mad req = early_req(&peer, 1),
			rej = { .type = IBCM_REJ,
				.local_id = 1,
				.rej = { .reason = IBCM_REJ_TIMEOUT, .info_length = 8 } };
	unsigned int before = host.sent_count;
	struct ibcm_id *late;

	host_arrive(&peer, &req);
	host_arrive(&stranger, &rej);
	host_arrive(&peer, &rej);
	late = listen_later();
	host_pass(2 * SECOND);
	assert_int_equal(late->waiting, 0);
	assert_int_equal(host.sent_count, before);
	host_destroy(late);
}

/* A request of a host displaces the oldest one of this host. Requests of many hosts displace the
 * oldest of all. */
static void test_early_requests_are_few(void **state)
{
	struct ibcm_mad req = early_req(&peer, 1);
	unsigned int before = host.sent_count;
	struct ibcm_id *late;

	host_arrive(&peer, &req);
	for (uint32_t id = 1; id <= 1000; id++) {
		req = early_req(&stranger, id);
		host_arrive(&stranger, &req);
		host_pass(1000);
	}
	assert_int_equal(host.sent_count, before + 1000 - PENDING_OF_HOST);
	assert_int_equal(host_last()->remote_id, 1000 - PENDING_OF_HOST);
	check_refused();
	late = listen_later();
	host_pass(SECOND / 100);
	assert_int_equal(late->waiting, 1 + PENDING_OF_HOST);
	host_destroy(late);
}

static void test_early_requests_of_many_hosts(void **state)
{
	unsigned int before = host.sent_count;

	for (uint32_t n = 0; n < 2 * PENDING_MAX; n++) {
		union ibv_gid gid = host_gid(2);
		struct ibcm_mad req;

		gid.raw[14] = n / 8;
		req = early_req(&gid, n + 1);
		host_arrive(&gid, &req);
	}
	assert_int_equal(host.sent_count, before + PENDING_MAX);
	assert_int_equal(host_last()->remote_id, PENDING_MAX);
	host_pass(SECOND);
	assert_int_equal(host.sent_count, before + 2 * PENDING_MAX);
}

/* --- probes for a peer --- */

static int begin_far(void **state)
{
	begin(state);
	host.peers_are_here = false;
	return 0;
}

static struct ibcm_mad apr_to(const struct ibcm_mad *lap, uint32_t status)
{
	return (struct ibcm_mad){ .type = IBCM_APR,
				  .tid = lap->tid,
				  .local_id = lap->remote_id,
				  .remote_id = lap->local_id,
				  .apr.status = status };
}

/* Another process of the peer's host answers that no process has the connection. */
static void test_probe_ends_a_connection(void **state)
{
	struct ibcm_id *same = host_connect(&peer, ID + 1, QPN + 1),
		       *other = host_connect(&peer, ID + (1 << 24), QPN + 2);
	struct ibcm_mad apr;
	struct cm_event event;

	assert_non_null(same);
	assert_non_null(other);
	host_pass(SECOND);
	assert_int_equal(host.probed, 3);
	apr = apr_to(&host.sent[(host.sent_count - 1) % HOST_SENT].mad, IBCM_APR_NO_CONNECTION);
	host_arrive(&stranger, &apr);
	assert_int_equal(host_event(&event), -1);
	host_arrive(&peer, &apr);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_DISCONNECTED);
	/* connections with the same process are probed at once */
	host_pass(0);
	assert_int_equal(host.probed, apr.remote_id == other->conn.local_id ? 3 : 4);
}

static void test_no_probe_on_this_host(void **state)
{
	host.peers_are_here = true;
	host_pass(1000 * SECOND);
	assert_int_equal(host.probed, 0);
	assert_null(ibcm_heap_first());
	check_alive();
}

/* --- a request's copies --- */

static void reject(struct ibcm_id *child)
{
	struct ibcm_out out = {};

	assert_int_equal(
		ibcm_state_reject(&child->conn, IBCM_REJ_CONSUMER, "no", 3, host.now, &out), 0);
	ibcm_run(child, &out, NULL);
}

static struct ibcm_id *arrive_new(const struct ibcm_mad *request)
{
	struct cm_event event;

	host_arrive(&peer, request);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
	return event.new_ibcm;
}

/* Deliver a copy: the program gets no event, and the answer is @first. */
static void arrive_again(const struct ibcm_mad *request, const struct ibcm_mad *first)
{
	unsigned int before = host.sent_count;
	struct cm_event event;

	host_arrive(&peer, request);
	assert_int_equal(host_event(&event), -1);
	assert_int_equal(host.sent_count, before + 1);
	assert_memory_equal(host_last(), first, sizeof(*first));
}

/* A copy of a refused request gets the same answer, whether or not the program has destroyed the
 * identifier. */
static void test_refused_request_has_copies(void **state)
{
	struct ibcm_mad req = host_req(&peer, ID + 1, QPN + 2, HOST_PORT), first;

	for (int destroyed = 0; destroyed <= 1; destroyed++, req.tid++) {
		struct ibcm_id *child = arrive_new(&req);

		reject(child);
		if (destroyed)
			host_destroy(child);
		first = *host_last();
		assert_int_equal(first.type, IBCM_REJ);
		assert_string_equal(first.private_data, "no");
		arrive_again(&req, &first);
		host_pass(5 * SECOND);
		arrive_again(&req, &first);
	}
	/* A client does not repeat a request that was refused a long time ago. */
	req.tid--;
	host_pass(6 * SECOND);
	arrive_new(&req);
	/* None of many requests is taken for another one. */
	for (uint32_t i = 2; i < 500; i++) {
		req = host_req(&peer, ID + i, QPN + 1 + i, HOST_PORT);
		host_destroy(arrive_new(&req));
	}
	for (uint32_t i = 2; i < 500; i++) {
		req = host_req(&peer, ID + i, QPN + 1 + i, HOST_PORT);
		host_arrive(&peer, &req);
		assert_int_equal(host_last()->remote_id, ID + i);
		assert_int_equal(host_last()->type, IBCM_REJ);
	}
	check_alive();
}

/* An answer to a request for a datagram service ends it, even if the answer is positive. */
static void test_resolved_service_has_copies(void **state)
{
	struct ibcm_mad rep = { .type = IBCM_SIDR_REP, .sidr_rep = { .qpn = QPN, .qkey = 7 } };
	struct ibcm_mad req = host_req(&peer, ID + 1, QPN, HOST_PORT), first;
	uint64_t service = req.req.service_id;
	struct ibcm_out out = {};
	struct ibcm_id *child;

	req.type = IBCM_SIDR_REQ;
	req.sidr_req = (struct ibcm_sidr_req){ .service_id = service };
	listener->ud = true;
	child = arrive_new(&req);
	assert_int_equal(ibcm_state_reply(&child->conn, &rep, host.now, &out), 0);
	ibcm_run(child, &out, NULL);
	first = *host_last();
	assert_int_equal(first.type, IBCM_SIDR_REP);
	arrive_again(&req, &first);
	req.tid++; /* another one */
	arrive_new(&req);
}

/* The process that had the request may have died with it: another process of the host then
 * refuses it. */
static void test_request_repeats_on_this_host(void **state)
{
	struct ibcm_mad req = host_req(&host.gid, ID, QPN, HOST_PORT);
	struct ibcm_id *iid = ibcm_id_new(host.channel.ibcm, RDMA_PS_TCP, false);
	struct ibcm_out out = {};
	unsigned int before, early, repeated = 0;

	host.peers_are_here = true;
	iid->dev = &host.dev;
	iid->local.gid = host.gid;
	iid->remote_gid = peer;
	assert_int_equal(ibcm_state_request(&iid->conn, &req, host.now, &out), 0);
	ibcm_run(iid, &out, NULL);
	before = host.sent_count;
	/* early repetitions, which probe for a receiver on another host */
	while (iid->conn.ask_until)
		host_pass(iid->conn.deadline - host.now);
	early = host.sent_count - before;
	for (unsigned int n = 1; n <= 3; n++) {
		host_pass(iid->conn.deadline - host.now);
		repeated += host.sent_count == before + n && host_last()->type == IBCM_REQ;
	}
	host_destroy(iid);
	assert_int_equal(early, 0);
	assert_int_equal(repeated, 3);
	assert_int_equal(host.probed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stale_is_the_peers_to_say, begin, end),
		cmocka_unit_test_setup_teardown(test_stale_by_the_peer, begin, end),
		cmocka_unit_test_setup_teardown(test_same_id_of_another, begin, end),
		cmocka_unit_test_setup_teardown(test_foreign_messages, begin, end),
		cmocka_unit_test_setup_teardown(test_foreign_timeout, begin, end),
		cmocka_unit_test_setup_teardown(test_source_that_no_host_has, begin, end),
		cmocka_unit_test_setup_teardown(test_source_on_loopback, begin, end),
		cmocka_unit_test_setup_teardown(test_dreq_names_the_queue_pair, begin, end),
		cmocka_unit_test_setup_teardown(test_messages_name_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(test_half_open_ends, begin, end),
		cmocka_unit_test_setup_teardown(test_extension_ends, begin, end),
		cmocka_unit_test_setup_teardown(test_flood_leaves_ids_for_others, begin, end),
		cmocka_unit_test_setup_teardown(test_flood_is_counted_to_its_host, begin, end),
		cmocka_unit_test_setup_teardown(test_flood_leaves_a_place_for_others, begin, end),
		cmocka_unit_test_setup_teardown(test_probe_ends_a_connection, begin_far, end),
		cmocka_unit_test_setup_teardown(test_no_probe_on_this_host, begin, end),
		cmocka_unit_test_setup_teardown(test_request_repeats_on_this_host, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_request_has_copies, begin, end),
		cmocka_unit_test_setup_teardown(test_resolved_service_has_copies, begin, end),
		cmocka_unit_test_setup_teardown(test_early_request_is_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_early_request_of_another_process, begin, end),
		cmocka_unit_test_setup_teardown(test_early_request_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_early_socket_is_refused_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_early_request_is_withdrawn, begin, end),
		cmocka_unit_test_setup_teardown(test_early_requests_are_few, begin, end),
		cmocka_unit_test_setup_teardown(test_early_requests_of_many_hosts, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
