/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that wait in a channel. A change of an identifier touches its own events only, and not
 * those of a thousand others. Each event is on a page that can be made inaccessible. */
#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/table.h"
#include "tests/unit/unit.h"

#include "tests/unit/ibcm/host.h"

enum {
	ID = 0x22000001,
	QPN = 0x000111,
	BACKLOG = 64,
	OTHERS = 8,
	PAGES_MAX = 64,
};
#define SECOND 1000000000ull

static struct {
	bool on; /* calloc() now gives whole pages */
	long size;
	void *page[PAGES_MAX]; /* in the order they were asked for */
	unsigned int count;
} pages;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	void *p;

	if (!pages.on || count != 1 || size > (size_t)pages.size || pages.count == PAGES_MAX)
		return __real_calloc(count, size);
	/* the second page is for the allocator, which writes beside the memory that it returns */
	if (posix_memalign(&p, pages.size, 2 * pages.size))
		return NULL;
	memset(p, 0, size);
	pages.page[pages.count++] = p;
	return p;
}

static void page_protect(unsigned int n, int protection)
{
	assert_int_equal(mprotect(pages.page[n], pages.size, protection), 0);
}

static union ibv_gid peer;
static struct ibcm_id *listener;

static int begin(void **state)
{
	host_begin();
	peer = host_gid(2);
	listener = host_listen(BACKLOG);
	pages.size = sysconf(_SC_PAGESIZE);
	pages.count = 0;
	return 0;
}

static void destroy_id(struct ibcm_id *iid, void *arg)
{
	if (!iid->detached)
		host_destroy(iid);
}

static int end(void **state)
{
	pages.on = false;
	host_destroy(listener);
	ibcm_table_each(destroy_id, NULL);
	host_pass(200 * SECOND);
	assert_null(ibcm_heap_first());
	host_end();
	return 0;
}

/* --- the events that a change examines --- */

static void disconnected(uint32_t n, const struct ibcm_id *iid)
{
	struct ibcm_mad dreq = { .type = IBCM_DREQ,
				 .local_id = ID + n,
				 .remote_id = iid->conn.local_id,
				 .dreq = { .remote_qpn = iid->conn.qp.local_qpn } };

	host_arrive(&peer, &dreq);
}

/* Connections whose ends wait in the channel, unread: a page each. */
static void storm(struct ibcm_id *ids[OTHERS])
{
	for (uint32_t n = 0; n < OTHERS; n++) {
		ids[n] = host_connect(&peer, ID + n, QPN + 2 * n);
		assert_non_null(ids[n]);
	}
	pages.on = true;
	for (uint32_t n = 0; n < OTHERS; n++)
		disconnected(n, ids[n]);
	pages.on = false;
	assert_int_equal(pages.count, OTHERS);
}

/* The neighbours in the channel's list must be accessible, because the list is changed. */
static void protect_all_but_neighbours(unsigned int n, int protection)
{
	for (unsigned int i = 0; i < OTHERS; i++)
		if (i + 1 < n || i > n + 1)
			page_protect(i, protection);
}

static void test_destroyed_in_a_storm(void **state)
{
	struct ibcm_id *ids[OTHERS];
	struct cm_event event;

	storm(ids);
	protect_all_but_neighbours(OTHERS / 2, PROT_NONE);
	host_destroy(ids[OTHERS / 2]);
	protect_all_but_neighbours(OTHERS / 2, PROT_READ | PROT_WRITE);
	for (int i = 0; i < OTHERS - 1; i++)
		assert_int_equal(host_event(&event), RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(host_event(&event), -1);
}

static void test_moved_in_a_storm(void **state)
{
	struct ibcm_id *ids[OTHERS];
	struct cm_channel to = {};
	struct cm_event event;
	int fd;

	assert_int_equal(ibcm_open_channel(&to, &fd), 0);
	storm(ids);
	protect_all_but_neighbours(OTHERS / 2, PROT_NONE);
	ibcm_events_move(ids[OTHERS / 2], to.ibcm);
	protect_all_but_neighbours(OTHERS / 2, PROT_READ | PROT_WRITE);
	for (int i = 0; i < OTHERS - 1; i++)
		assert_int_equal(host_event(&event), RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(host_event(&event), -1);
	assert_int_equal(ibcm_get_event(&to, &event), 0);
	assert_int_equal(ibcm_get_event(&to, &event), -EAGAIN);
	ibcm_close_channel(&to);
}

/* --- unread requests that their clients withdraw --- */

static struct ibcm_id *child_of_table;

static void find_child(struct ibcm_id *iid, void *arg)
{
	child_of_table = iid;
}

static void withdraw(uint32_t id)
{
	uint64_t guid = htobe64(HOST_GUID);
	struct ibcm_mad rej = { .type = IBCM_REJ,
				.local_id = id,
				.rej = { .reason = IBCM_REJ_TIMEOUT,
					 .info_length = sizeof(guid) } };

	memcpy(rej.rej.info, &guid, sizeof(guid));
	host_arrive(&peer, &rej);
}

static void request(uint32_t id)
{
	struct ibcm_mad req = host_req(&peer, id, QPN, HOST_PORT);

	host_arrive(&peer, &req);
	child_of_table = NULL;
	ibcm_table_each(find_child, NULL);
	assert_non_null(child_of_table);
}

/* Migrate the listener to another channel and destroy the old one, before or after the
 * withdrawal. */
static void migrate(bool withdrawn_before)
{
	struct cm_channel to = {};
	struct cm_event event;
	int fd;

	assert_int_equal(ibcm_open_channel(&to, &fd), 0);
	request(ID);
	if (withdrawn_before)
		withdraw(ID);
	ibcm_events_move(listener, to.ibcm);
	assert_ptr_equal(child_of_table->channel, to.ibcm);
	ibcm_close_channel(&host.channel);
	assert_int_equal(ibcm_open_channel(&host.channel, &fd), 0);
	if (!withdrawn_before)
		withdraw(ID);
	assert_int_equal(child_of_table->conn.state, IBCM_IDLE);
	assert_int_equal(listener->waiting, 1);
	assert_int_equal(ibcm_get_event(&to, &event), 0);
	assert_int_equal(event.event.event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(listener->waiting, 0);
	assert_int_equal(host_accept(event.new_ibcm, QPN + 1), -EINVAL);
	assert_int_equal(ibcm_get_event(&to, &event), -EAGAIN);
	ibcm_request_refuse(child_of_table);
	ibcm_events_move(listener, host.channel.ibcm);
	ibcm_close_channel(&to);
}

static void test_withdrawn_and_migrated(void **state)
{
	migrate(true);
}

static void test_migrated_and_withdrawn(void **state)
{
	migrate(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_destroyed_in_a_storm, begin, end),
		cmocka_unit_test_setup_teardown(test_moved_in_a_storm, begin, end),
		cmocka_unit_test_setup_teardown(test_withdrawn_and_migrated, begin, end),
		cmocka_unit_test_setup_teardown(test_migrated_and_withdrawn, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
