/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A region is taken back from those who use it without asking: whom its owner waits for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "providers/uroce/host/host.h"

enum {
	KEYS_LENGTH = 100,
	SLOT = 9,
	PATIENCE = 1000, /* ms, as the page says */
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
	int ends_after; /* sleeps, after which the initiator is through; 0: never */
	int dies_after;
} t;

/* Some strand's. */
static atomic_uint *use(void)
{
	return &t.uses.key[PATH_STRANDS - 1][3];
}

/* In place of the system's: the initiator goes on while the owner waits. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	t.slept++;
	if (t.slept == t.ends_after)
		*use() = 0;
	if (t.slept == t.dies_after)
		t.peer.dead = true;
	return 0;
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

/* Return: how often the owner slept. */
static int take_back(void)
{
	struct shm_key *entry = &t.shm.board->keys[t.key->key >> UROCE_KEY_VARIANT_BITS];

	/* Keys are random, and a board has room for some. */
	if (t.key->key >> UROCE_KEY_VARIANT_BITS < SHM_KEYS)
		assert_int_equal(entry->key, t.key->key);
	assert_int_equal(uroce_key_free(t.host.engine.keys, t.key), 0);
	assert_int_equal(entry->key, 0);
	return t.slept;
}

static void test_unused(void **state)
{
	t.uses.key[0][0] = t.key->key + 1; /* another one's */
	assert_int_equal(take_back(), 0);
}

static void test_in_use(void **state)
{
	*use() = t.key->key;
	t.ends_after = 5;
	assert_int_equal(take_back(), 5);
}

static void test_dead(void **state)
{
	*use() = t.key->key;
	t.peer.dead = true;
	assert_int_equal(take_back(), 0);
}

static void test_dies(void **state)
{
	*use() = t.key->key;
	t.dies_after = 7;
	assert_int_equal(take_back(), 7);
}

static void test_stopped(void **state)
{
	*use() = t.key->key;
	assert_int_equal(take_back(), PATIENCE);
}

/* A key that is shown anew lies where it did not before. */
static void test_place(void **state)
{
	struct shm_key *entry = &t.shm.board->keys[t.key->key >> UROCE_KEY_VARIANT_BITS];
	const struct shm_region region = { .length = 1 };

	if (t.key->key >> UROCE_KEY_VARIANT_BITS >= SHM_KEYS)
		return;
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
		cmocka_unit_test_setup_teardown(test_dead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
