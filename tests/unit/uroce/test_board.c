/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Peers use regions and QPs without asking the owner. The owner takes them back and waits for the
 * peers that still use them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/uroce/host/host.h"

enum {
	KEYS_LENGTH = 100,
	SLOT = 9,
	OTHER_SLOT = 11,
	INDEX = 7, /* index of a QP */
	OWN_QPN = 3 << UROCE_QPN_BLOCK_BITS | INDEX,
	PEER_QPN = SLOT << UROCE_QPN_BLOCK_BITS | 5,
};

static struct {
	struct uroce_host host;
	struct uroce_shm shm;
	struct shm_peer peer;
	struct shm_uses uses;
	struct verbs_pd pd;
	struct uroce_key *key;
	uint8_t region[KEYS_LENGTH];
	int slept;
	int ends_after; /* number of sleeps after which the initiator is done; 0: never */
	int dies_after;
} t;

/* Return the use word of some strand. */
static atomic_uint *use(void)
{
	return &t.uses.use[PATH_STRANDS - 1][3];
}

void __wrap_uroce_call_sleep(long ns);
/* The initiator continues while the owner sleeps. */
void __wrap_uroce_call_sleep(long ns)
{
	t.slept++;
	if (t.slept == t.ends_after)
		*use() = 0;
	/* The initiator's process ends. */
	if (t.slept == t.dies_after)
		atomic_store(&t.shm.by_slot[SLOT], NULL);
}

static int setup(void **state)
{
	memset(&t, 0, sizeof(t));
	t.host.shm = &t.shm;
	t.shm.host = &t.host.paths;
	t.shm.board = calloc(1, sizeof(*t.shm.board));
	t.peer.used = &t.uses;
	atomic_store(&t.shm.by_slot[SLOT], &t.peer);
	atomic_store(&t.shm.inhabited[SLOT / SHM_WORD], 1ull << SLOT % SHM_WORD);
	if (!t.shm.board || uroce_keys_new(&t.host.engine.keys))
		return -1;
	uroce_regions_show(&t.host);
	return uroce_key_new(t.host.engine.keys, &t.pd.pd, t.region, sizeof(t.region),
			     (uintptr_t)t.region, 0, &t.key);
}

static int teardown(void **state)
{
	uroce_keys_free(t.host.engine.keys);
	free(t.shm.board);
	return 0;
}

/* Take the region back; return how often the owner slept. */
static int take_back(void)
{
	struct shm_key *entry = &t.shm.board->keys[t.key->key >> UROCE_KEY_VARIANT_BITS];

	assert_int_equal(entry->key, t.key->key);
	assert_int_equal(uroce_key_free(t.host.engine.keys, t.key), 0);
	assert_int_equal(entry->key, 0);
	return t.slept;
}

/* Return the use word for a key, used with the permission of OWN_QPN. */
static uint32_t key_use(uint32_t key)
{
	return shm_use(key, OWN_QPN);
}

static void test_unused(void **state)
{
	t.uses.use[0][0] = key_use(t.key->key + (1 << UROCE_KEY_VARIANT_BITS)); /* another one's */
	assert_int_equal(take_back(), 0);
}

static void test_in_use(void **state)
{
	*use() = key_use(t.key->key);
	t.ends_after = 5;
	assert_int_equal(take_back(), 5);
}

/* A peer may go on copying after its connection is dropped. */
static void test_dropped(void **state)
{
	*use() = key_use(t.key->key);
	t.peer.dead = true;
	t.ends_after = 5;
	assert_int_equal(take_back(), 5);
}

static void test_dies(void **state)
{
	*use() = key_use(t.key->key);
	t.dies_after = 7;
	assert_int_equal(take_back(), 7);
}

/* --- QPs --- */

static void qp_wait(void)
{
	uroce_board_qp_hide(&t.shm, OWN_QPN);
	uroce_board_qp_wait(&t.shm, OWN_QPN, PEER_QPN);
}

static void test_qp_in_use(void **state)
{
	*use() = shm_use(t.key->key, OWN_QPN);
	assert_true(uroce_board_qp_used(&t.shm, OWN_QPN, SLOT));
	t.ends_after = 3;
	qp_wait();
	assert_int_equal(t.slept, 3);
	assert_false(uroce_board_qp_used(&t.shm, OWN_QPN, SLOT));
}

static void test_qp_unused(void **state)
{
	*use() = shm_use(t.key->key, OWN_QPN + 1); /* another one's */
	qp_wait();
	assert_int_equal(t.slept, 0);
	*use() = shm_use(t.key->key, OWN_QPN);
	uroce_board_qp_wait(&t.shm, OWN_QPN, 0); /* it was never connected */
	uroce_board_qp_wait(&t.shm, OWN_QPN, OTHER_SLOT << UROCE_QPN_BLOCK_BITS);
	assert_int_equal(t.slept, 0);
}

static void test_qp_loses(void **state)
{
	assert_false(uroce_board_qp_loses(&t.shm, OWN_QPN, 0));
	uroce_board_qp_show(&t.shm, OWN_QPN, 1, shm_qp_state(IBV_ACCESS_REMOTE_WRITE, 0, 0),
			    PEER_QPN);
	assert_false(uroce_board_qp_loses(&t.shm, OWN_QPN, IBV_ACCESS_REMOTE_WRITE));
	assert_true(uroce_board_qp_loses(&t.shm, OWN_QPN, IBV_ACCESS_REMOTE_READ));
	uroce_board_qp_hide(&t.shm, OWN_QPN);
	assert_false(uroce_board_qp_loses(&t.shm, OWN_QPN, 0));
}

/* Sends before the QP stopped do not count as sends after its restart. */
static void test_qp_sends(void **state)
{
	const struct shm_qp *entry = &t.shm.board->qps[uroce_qpn_index(OWN_QPN)];
	uint32_t first;

	uroce_board_qp_sends(&t.shm, OWN_QPN, true);
	first = entry->sends;
	assert_int_not_equal(first, 0);
	uroce_board_qp_sends(&t.shm, OWN_QPN, true);
	assert_int_equal(entry->sends, first);
	uroce_board_qp_sends(&t.shm, OWN_QPN, false);
	assert_int_equal(entry->sends, 0);
	uroce_board_qp_sends(&t.shm, OWN_QPN, true);
	assert_int_not_equal(entry->sends, 0);
	assert_int_not_equal(entry->sends, first);
}

/* --- places --- */

/* A region that was registered again is a new edition. */
static void test_edition(void **state)
{
	struct shm_key *entry = &t.shm.board->keys[t.key->key >> UROCE_KEY_VARIANT_BITS];
	const struct shm_region region = { .length = 1 };
	uint32_t before = entry->edition;

	assert_int_not_equal(before, 0);
	uroce_board_key_hide(&t.shm, t.key->key);
	uroce_board_key_show(&t.shm, t.key->key, &region);
	assert_int_not_equal(entry->edition, before);
}

/* A key that is shown again has another place. */
static void test_place(void **state)
{
	struct shm_key *entry = &t.shm.board->keys[t.key->key >> UROCE_KEY_VARIANT_BITS];
	const struct shm_region region = { .length = 1 };

	uroce_board_key_place(&t.shm, t.key->key, 7, 100);
	assert_int_equal(entry->segment, 7);
	assert_int_equal(entry->place, 100);
	uroce_board_key_hide(&t.shm, t.key->key);
	uroce_board_key_show(&t.shm, t.key->key, &region);
	assert_int_equal(entry->segment, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qp_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qp_unused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qp_loses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qp_sends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
