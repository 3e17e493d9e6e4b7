/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process that a message of the connection manager is for: boards of three processes, no
 * rings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "providers/uroce/base/mapping.h"
#include "providers/uroce/host/gsi.h"

enum {
	OWN_SLOT = 1,
	PEER_SLOT = 2,
	OTHER_SLOT = 3,
	DEAD_SLOT = 9,
	PEERS = 2,
	REQ = 0x10,
	REJ = 0x12,
	REP = 0x13,
	DREQ = 0x15,
	REJ_REASON = 24 + 10,
	REJ_TIMEOUT = 4,
	REJ_CONSUMER = 28,
	SIDR_REP = 0x18,
};
/* A communication id of the slot's process. */
#define ID(slot) ((uint32_t)(slot) << (32 - VERBS_GSI_PREFIX_BITS) | 5)
#define SERVICE	 0x0000000001061d1full

static struct {
	struct uroce_host host;
	struct uroce_shm shm;
	struct shm_peer peer[PEERS];
	struct shm_board *board[PEERS]; /* theirs */
	bool complete, manager, full;
	unsigned int delivered;
	uint16_t forwarded_to;
	unsigned int forwards;
	unsigned int borrowed; /* number of boards that were mapped for reading */
	const struct shm_board *last_borrowed;
	uint8_t reason; /* reason of a REJ */
} fix;

/* --- neighbours --- */

int __wrap_uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
			     const void *packet, uint32_t length);
bool __wrap_uroce_shm_complete(struct uroce_shm *shm, uint64_t now);
bool __wrap_uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot);
bool __wrap_uroce_gsi_deliver(struct uroce_host *host, const struct gsi_transit *transit);

int __wrap_uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
			     const void *packet, uint32_t length)
{
	assert_true(from->passed_on);
	fix.forwarded_to = slot;
	fix.forwards++;
	return fix.full ? -EAGAIN : 0;
}

bool __wrap_uroce_shm_complete(struct uroce_shm *shm, uint64_t now)
{
	return fix.complete;
}

bool __wrap_uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot)
{
	return slot != DEAD_SLOT;
}

const struct shm_board *__real_uroce_shm_board_borrow(struct shm_peer *peer);
const struct shm_board *__wrap_uroce_shm_board_borrow(struct shm_peer *peer);

const struct shm_board *__wrap_uroce_shm_board_borrow(struct shm_peer *peer)
{
	fix.borrowed++;
	fix.last_borrowed = __real_uroce_shm_board_borrow(peer);
	return fix.last_borrowed;
}

bool __wrap_uroce_gsi_deliver(struct uroce_host *host, const struct gsi_transit *transit)
{
	fix.delivered += fix.manager;
	return fix.manager;
}

/* --- fixture --- */

static int setup(void **state)
{
	memset(&fix, 0, sizeof(fix));
	fix.host.paths.slot = OWN_SLOT;
	path_host_take(&fix.host.paths, OWN_SLOT);
	fix.host.shm = &fix.shm;
	fix.shm.host = &fix.host.paths;
	fix.shm.board = calloc(1, sizeof(*fix.shm.board));
	for (int i = 0; i < PEERS; i++) {
		fix.peer[i].slot = PEER_SLOT + i;
		fix.peer[i].board = fix.board[i] = calloc(1, sizeof(*fix.board[i]));
		fix.peer[i].first_page = &fix.board[i]->first_page;
		LIST_INSERT_HEAD(&fix.shm.peers, &fix.peer[i], entry);
		atomic_store(&fix.shm.by_slot[PEER_SLOT + i], &fix.peer[i]);
	}
	fix.manager = true;
	return 0;
}

static int teardown(void **state)
{
	free(fix.shm.board);
	for (int i = 0; i < PEERS; i++)
		free(fix.board[i]);
	return 0;
}

static struct uroce_shm *shm_of(unsigned int peer)
{
	static struct uroce_shm shm;

	shm.board = fix.board[peer];
	return &shm;
}

static const union ibv_gid here = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };

static enum gsi_verdict route_held(const struct gsi_transit *transit, bool last, uint16_t *ret_slot)
{
	enum gsi_verdict verdict;

	uroce_lock(&fix.host.paths.progress_lock);
	verdict = uroce_gsi_route(&fix.host, transit, last, 1, ret_slot);
	uroce_unlock(&fix.host.paths.progress_lock);
	return verdict;
}

/* @id: remote communication id, or the service id of a request. */
static enum gsi_verdict route(uint8_t attr, uint64_t id, bool passed_on, bool last)
{
	uint8_t mad[GSI_MAD_LEN] = { 1, 7, 2, 3, [17] = attr };
	struct gsi_transit transit = { .from = { .dgid = here, .passed_on = passed_on },
				       .mad = mad };
	unsigned int at = attr == REQ ? 24 + 8 : attr == SIDR_REP ? 24 : 24 + 4;
	unsigned int bytes = attr == REQ ? 8 : 4;
	uint16_t slot = 0;

	for (unsigned int i = 0; i < bytes; i++)
		mad[at + i] = id >> 8 * (bytes - 1 - i);
	if (attr == REJ)
		mad[REJ_REASON + 1] = fix.reason;
	fix.delivered = 0;
	fix.forwarded_to = fix.forwards = 0;
	return route_held(&transit, last, &slot);
}

/* --- answers --- */

static void test_answer(void **state)
{
	assert_int_equal(route(REP, ID(1), false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	assert_int_equal(route(REP, ID(3), false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
	assert_int_equal(fix.delivered, 0);
	assert_int_equal(route(SIDR_REP, ID(2), false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, PEER_SLOT);
	fix.full = true;
	assert_int_equal(route(REP, ID(3), false, false), GSI_FULL);
}

static void test_answer_to_others(void **state)
{
	/* a process that is there, but not connected */
	assert_int_equal(route(REP, ID(7), false, false), GSI_LATER);
	assert_int_equal(route(REP, ID(7), false, true), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	/* a process that is gone: this process answers for it */
	assert_int_equal(route(REP, ID(9), false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	/* any message is passed on at most once */
	assert_int_equal(route(REP, ID(3), true, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, 0);
}

/* A peer that gave up waiting for an answer has no id to name: the message goes to all
 * processes. No other message does. */
static void test_answer_without_id(void **state)
{
	fix.reason = REJ_TIMEOUT;
	assert_int_equal(route(REJ, 0, false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	assert_int_equal(fix.forwards, PEERS);
	fix.reason = REJ_CONSUMER;
	for (unsigned int attr = REJ; attr <= DREQ; attr++) {
		assert_int_equal(route(attr, 0, false, false), GSI_DONE);
		assert_int_equal(fix.delivered, 1);
		assert_int_equal(fix.forwards, 0);
	}
}

static void test_no_manager_here(void **state)
{
	fix.manager = false;
	assert_int_equal(route(REP, ID(9), false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, 0);
	uroce_board_manager(shm_of(1));
	assert_int_equal(route(REP, ID(9), false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
}

static void test_other_class(void **state)
{
	uint8_t mad[GSI_MAD_LEN] = { 1, 4, 1, 1 };
	struct gsi_transit transit = { .mad = mad };
	uint16_t slot;

	assert_int_equal(route_held(&transit, false, &slot), GSI_DONE);
	assert_int_equal(fix.delivered, 0);
}

/* --- requests --- */

static void test_request(void **state)
{
	static const union ibv_gid elsewhere = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 9 } };

	assert_int_equal(uroce_board_service(shm_of(0), SERVICE, NULL, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, PEER_SLOT);
	/* a listener on another address does not count, and one on this address comes first */
	assert_int_equal(uroce_board_service(shm_of(1), SERVICE, &elsewhere, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, PEER_SLOT);
	assert_int_equal(uroce_board_service(shm_of(1), SERVICE, &here, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
	/* the listener of this process comes before all others */
	assert_int_equal(uroce_board_service(&fix.shm, SERVICE, &here, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
}

/* A board is read once for a request if it has listeners, and is not kept mapped. */
static void test_boards_are_borrowed(void **state)
{
	struct shm_board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct uroce_shm owner = { .board = board };

	/* on other systems a peer's board is mapped as a whole from the start */
	if (!uroce_maps_again())
		skip();
	assert_ptr_not_equal(board, MAP_FAILED);
	fix.peer[1].board = NULL;
	fix.peer[1].first_page = &board->first_page;
	fix.complete = true;
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.borrowed, 0);
	assert_int_equal(uroce_board_service(&owner, SERVICE, NULL, true), 0);
	assert_int_equal(uroce_board_service(&owner, SERVICE, NULL, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
	assert_int_equal(fix.borrowed, 1);
	assert_null(fix.peer[1].board);
	assert_non_null(fix.last_borrowed);
	/* nothing is mapped there any more */
	assert_int_equal(msync((void *)fix.last_borrowed, 1, MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(uroce_board_service(&owner, SERVICE, NULL, false), 0);
	assert_int_equal(uroce_board_service(&owner, SERVICE, NULL, false), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.borrowed, 1);
	munmap(board, sizeof(*board));
}

/* A listener on any address of the other family does not match. A listener on any address of
 * this family precedes one on all addresses. */
static void test_request_by_family(void **state)
{
	static const union ibv_gid any4 = { .raw = VERBS_GSI_ANY_IPV4 },
				   any6 = { .raw = VERBS_GSI_ANY_IPV6 };

	fix.complete = true;
	assert_int_equal(uroce_board_service(shm_of(1), SERVICE, &any6, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, 0);
	assert_int_equal(fix.delivered, 1);
	assert_int_equal(uroce_board_service(shm_of(1), SERVICE, NULL, true), 0);
	assert_int_equal(uroce_board_service(shm_of(0), SERVICE, &any4, true), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, PEER_SLOT);
	assert_int_equal(uroce_board_service(shm_of(0), SERVICE, &any4, false), 0);
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
}

static void test_request_for_nobody(void **state)
{
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_LATER); /* some are not connected */
	assert_int_equal(route(REQ, SERVICE, false, true), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	fix.complete = true;
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
	/* the mark of a free place is no service id */
	assert_int_equal(route(REQ, 0, false, false), GSI_DONE);
	assert_int_equal(route(REQ, SHM_SERVICE_GONE, false, false), GSI_DONE);
	assert_int_equal(uroce_board_service(&fix.shm, 0, NULL, true), -EINVAL);
	assert_int_equal(uroce_board_service(&fix.shm, SHM_SERVICE_GONE, NULL, true), -EINVAL);
}

/* A request that came before any process listened. */
static void test_request_again(void **state)
{
	uint8_t mad[GSI_MAD_LEN] = { 1, 7, 2, 3, [17] = REQ };
	const struct gsi_transit transit = { .from = { .dgid = here }, .mad = mad };

	for (unsigned int i = 0; i < 8; i++)
		mad[24 + 8 + i] = SERVICE >> 8 * (7 - i);
	fix.complete = true;
	uroce_lock(&fix.host.paths.progress_lock);
	/* a process may have started since the search that found all of them */
	fix.shm.complete_begun = 4;
	assert_int_equal(uroce_gsi_route_again(&fix.host, &transit, 5, 9), -EAGAIN);
	fix.shm.complete_begun = 5;
	assert_int_equal(uroce_gsi_route_again(&fix.host, &transit, 5, 9), -ENOENT);
	assert_int_equal(uroce_board_service(shm_of(1), SERVICE, NULL, true), 0);
	assert_int_equal(uroce_gsi_route_again(&fix.host, &transit, 5, 9), 0);
	assert_int_equal(fix.forwarded_to, OTHER_SLOT);
	fix.full = true;
	assert_int_equal(uroce_gsi_route_again(&fix.host, &transit, 5, 9), -EAGAIN);
	/* the caller's own */
	assert_int_equal(uroce_board_service(&fix.shm, SERVICE, NULL, true), 0);
	assert_int_equal(uroce_gsi_route_again(&fix.host, &transit, 5, 9), -ENOENT);
	uroce_unlock(&fix.host.paths.progress_lock);
}

/* Listeners come and go. They are found while they exist, and entries of former listeners do not
 * fill the board. */
static void test_board(void **state)
{
	uint32_t used = 0;

	fix.complete = true;
	for (uint64_t id = SERVICE; id < SERVICE + SHM_SERVICES; id++)
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, true), 0);
	assert_int_equal(uroce_board_service(&fix.shm, 1, NULL, true), -ENOSPC);
	assert_int_equal(route(REQ, SERVICE + SHM_SERVICES, false, false), GSI_DONE);
	for (uint64_t id = SERVICE; id < SERVICE + SHM_SERVICES; id += 2)
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, false), 0);
	for (uint64_t id = SERVICE + 1; id < SERVICE + SHM_SERVICES; id += 2) {
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, true),
				 0); /* there already */
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, false), 0);
	}
	for (uint64_t id = SERVICE; id < SERVICE + 100000; id++) {
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, true), 0);
		assert_int_equal(uroce_board_service(&fix.shm, id, NULL, false), 0);
	}
	for (uint32_t i = 0; i < SHM_SERVICES; i++)
		used += atomic_load(&fix.shm.board->services[i].id) != SHM_SERVICE_GONE &&
			atomic_load(&fix.shm.board->services[i].id) != 0;
	assert_int_equal(used, 0);
}

/* Another process may write anything to its board. */
static void test_hostile_board(void **state)
{
	for (int i = 0; i < PEERS; i++)
		fix.board[i]->first_page.services = UINT32_MAX;
	memset(fix.board[0]->services, 0x5a, sizeof(fix.board[0]->services));
	memset(fix.board[1]->services, 0xff, sizeof(fix.board[1]->services));
	fix.complete = true;
	assert_int_equal(route(REQ, SERVICE, false, false), GSI_DONE);
	assert_int_equal(fix.delivered, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer_to_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer_without_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_manager_here, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_class, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boards_are_borrowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_by_family, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_for_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_board, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_board, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
