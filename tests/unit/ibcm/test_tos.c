/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The type of service of a request is used for every message about its connection. */
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/id.h"
#include "tests/unit/unit.h"

#include "tests/unit/ibcm/host.h"

enum {
	ID = 0x22000001,
	QPN = 0x000111,
	BACKLOG = 64,
	STRANGE_PORT = HOST_PORT + 1, /* has no listener */
};
#define SECOND 1000000000ull

static union ibv_gid peer;
static struct ibcm_id *listener, *connection;

static int begin(void **state)
{
	host_begin();
	host.peers_are_here = false;
	peer = host_gid(2);
	listener = host_listen(BACKLOG);
	connection = host_connect(&peer, ID, QPN);
	assert_non_null(connection);
	return 0;
}

static int end(void **state)
{
	host_destroy(connection);
	host_destroy(listener);
	host_pass(200 * SECOND);
	host_end();
	return 0;
}

/* Check that a message of this type was sent, and return the last one. */
static const struct ibcm_mad *check_sent(enum ibcm_message type)
{
	for (unsigned int i = 1; i <= host.sent_count; i++) {
		unsigned int at = (host.sent_count - i) % HOST_SENT;

		if (host.sent[at].mad.type != type)
			continue;
		assert_int_equal(host.sent[at].traffic_class, HOST_TOS);
		return &host.sent[at].mad;
	}
	fail_msg("no message of kind %d", type);
	return NULL;
}

static void test_of_an_identifier(void **state)
{
	struct ibcm_out out = {};

	check_sent(IBCM_REP);
	ibcm_state_disconnect(&connection->conn, host.now, &out);
	ibcm_run(connection, &out, NULL);
	check_sent(IBCM_DREQ);
}

static void test_probe(void **state)
{
	host_pass(SECOND);
	assert_int_equal(host.probed, 1);
	check_sent(IBCM_LAP);
}

static void test_last_word(void **state)
{
	connection->guarded = ibcm_guard_begin(connection);
	ibcm_guard_update(connection);
	assert_int_equal(host.word.type, IBCM_DREQ);
	assert_int_equal(host.word_class, HOST_TOS);
}

/* --- refusals: there is no identifier --- */

static void check_refusal(struct ibcm_mad req, enum ibcm_reject_reason reason)
{
	host_arrive(&peer, &req);
	host_pass(SECOND); /* in which a listener could appear */
	assert_int_equal(check_sent(IBCM_REJ)->rej.reason, reason);
}

static void test_refused_stale(void **state)
{
	check_refusal(host_req(&peer, ID + 1, QPN, HOST_PORT), IBCM_REJ_STALE_CONN);
}

static void test_refused_transport(void **state)
{
	listener->ud = true;
	check_refusal(host_req(&peer, ID + 1, QPN + 1, HOST_PORT), IBCM_REJ_INVALID_TRANSPORT);
}

static void test_refused_address(void **state)
{
	struct ibcm_mad req = host_req(&peer, ID + 1, QPN + 1, HOST_PORT);

	req.private_data[0] ^= 0xff; /* no header of this kind */
	check_refusal(req, IBCM_REJ_INVALID_SERVICE_ID);
}

static void test_refused_service(void **state)
{
	check_refusal(host_req(&peer, ID + 1, QPN + 1, STRANGE_PORT), IBCM_REJ_INVALID_SERVICE_ID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_of_an_identifier, begin, end),
		cmocka_unit_test_setup_teardown(test_probe, begin, end),
		cmocka_unit_test_setup_teardown(test_last_word, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_stale, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_transport, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_address, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_service, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
