/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The message that is sent for this process if it is killed: it must fit the state of each
 * connection. */
#include "librdmacm/event.h"
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/id.h"
#include "tests/unit/unit.h"

#include "tests/unit/ibcm/host.h"

enum {
	ID = 0x22000001,
	QPN = 0x000111,
	BACKLOG = 64,
};
#define SECOND	1000000000ull
#define NOTHING ((enum ibcm_message)0)

static union ibv_gid peer;
static struct ibcm_id *listener, *connection;

static int begin(void **state)
{
	host_begin();
	peer = host_gid(2);
	listener = host_listen(BACKLOG);
	connection = host_connect(&peer, ID, QPN);
	host.peers_are_here = false;
	assert_non_null(connection);
	return 0;
}

static int end(void **state)
{
	if (connection)
		host_destroy(connection);
	host_destroy(listener);
	host_pass(200 * SECOND);
	host_end();
	return 0;
}

static void guard(void)
{
	connection->guarded = ibcm_guard_begin(connection);
	ibcm_guard_update(connection);
}

static void test_established(void **state)
{
	guard();
	assert_true(connection->guarded);
	assert_int_equal(host.word.type, IBCM_DREQ);
	assert_int_equal(host.word.local_id, connection->conn.local_id);
	assert_int_equal(host.word.remote_id, ID);
	assert_int_equal(host.word.dreq.remote_qpn, QPN);
}

/* The peer may not learn that its DREQ was received: the DREP is sent a second time. */
static void test_peer_disconnects(void **state)
{
	struct ibcm_mad dreq = { .type = IBCM_DREQ,
				 .local_id = ID,
				 .remote_id = connection->conn.local_id,
				 .dreq = { .remote_qpn = QPN + 1 } };
	struct cm_event event;

	guard();
	host.word.type = NOTHING;
	host_arrive(&peer, &dreq);
	assert_int_equal(host_event(&event), RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(host.word.type, IBCM_DREQ);
}

static void test_destroyed(void **state)
{
	guard();
	host_destroy(connection);
	connection = NULL;
	assert_int_equal(host.word.type, NOTHING);
}

static void test_said_at_the_end(void **state)
{
	guard();
	ibcm_guard_end(connection);
	assert_int_equal(host.word.type, NOTHING);
	assert_false(connection->guarded);
}

/* The device itself notifies peers on this host. */
static void test_near(void **state)
{
	host.peers_are_here = true;
	guard();
	assert_false(connection->guarded);
	assert_int_equal(host.word.type, NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_established, begin, end),
		cmocka_unit_test_setup_teardown(test_peer_disconnects, begin, end),
		cmocka_unit_test_setup_teardown(test_destroyed, begin, end),
		cmocka_unit_test_setup_teardown(test_said_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(test_near, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
