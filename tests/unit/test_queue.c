/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lists for C libraries without <sys/queue.h>: the same order as in an array. */
#include "tests/unit/unit.h"

#include "util/compat/sys/queue.h"
#include "util/util.h"

enum {
	COUNT = 8,
	STEPS = 20000,
};

struct item {
	bool in;
	SLIST_ENTRY(item) slist;
	STAILQ_ENTRY(item) stailq;
	LIST_ENTRY(item) list;
	TAILQ_ENTRY(item) tailq;
};

static struct item items[COUNT];

/* The expected content of a list. */
struct model {
	struct item *order[COUNT];
	int count;
};

static void model_insert(struct model *m, int at, struct item *item)
{
	memmove(m->order + at + 1, m->order + at, (m->count - at) * sizeof(*m->order));
	m->order[at] = item;
	m->count++;
	item->in = true;
}

static void model_remove(struct model *m, int at)
{
	m->order[at]->in = false;
	m->count--;
	memmove(m->order + at, m->order + at + 1, (m->count - at) * sizeof(*m->order));
}

static struct item *item_new(void)
{
	struct item *item = &items[random() % COUNT];

	return item->in ? NULL : item;
}

static int items_clear(void **state)
{
	memset(items, 0, sizeof(items));
	srandom(1);
	return 0;
}

static void test_slist(void **state)
{
	SLIST_HEAD(, item) head = {};
	struct model m = {};

	for (int i = 0; i < STEPS; i++) {
		struct item *item = item_new();
		int n = 0;

		if (item) {
			SLIST_INSERT_HEAD(&head, item, slist);
			model_insert(&m, 0, item);
		} else {
			SLIST_REMOVE_HEAD(&head, slist);
			model_remove(&m, 0);
		}
		SLIST_FOREACH(item, &head, slist)
			assert_ptr_equal(item, m.order[n++]);
		assert_int_equal(n, m.count);
		assert_int_equal(SLIST_EMPTY(&head), !m.count);
		assert_ptr_equal(SLIST_FIRST(&head), m.count ? m.order[0] : NULL);
	}
}

static void test_stailq(void **state)
{
	STAILQ_HEAD(, item) head = STAILQ_HEAD_INITIALIZER(head);
	struct model m = {};
	struct item *item;

	for (int i = 0; i < STEPS; i++) {
		int n = 0;

		if ((item = item_new()) && random() % 2) {
			STAILQ_INSERT_HEAD(&head, item, stailq);
			model_insert(&m, 0, item);
		} else if (item) {
			STAILQ_INSERT_TAIL(&head, item, stailq);
			model_insert(&m, m.count, item);
		} else {
			STAILQ_REMOVE_HEAD(&head, stailq);
			model_remove(&m, 0);
		}
		STAILQ_FOREACH(item, &head, stailq)
			assert_ptr_equal(item, m.order[n++]);
		assert_int_equal(n, m.count);
	}
}

static void test_list(void **state)
{
	LIST_HEAD(, item) head = LIST_HEAD_INITIALIZER(head);
	struct model m = {};
	struct item *item;

	for (int i = 0; i < STEPS; i++) {
		int n = 0, at = m.count ? random() % m.count : 0;

		if ((item = item_new()) && m.count && random() % 2) {
			LIST_INSERT_AFTER(m.order[at], item, list);
			model_insert(&m, at + 1, item);
		} else if (item) {
			LIST_INSERT_HEAD(&head, item, list);
			model_insert(&m, 0, item);
		} else {
			LIST_REMOVE(m.order[at], list);
			model_remove(&m, at);
		}
		LIST_FOREACH(item, &head, list)
			assert_ptr_equal(item, m.order[n++]);
		assert_int_equal(n, m.count);
	}
}

TAILQ_HEAD(tailq, item);

static void test_tailq(void **state)
{
	struct tailq head = TAILQ_HEAD_INITIALIZER(head), other = TAILQ_HEAD_INITIALIZER(other);
	struct model m = {};
	struct item *item;

	for (int i = 0; i < STEPS; i++) {
		int n = 0, at = m.count ? random() % m.count : 0;

		if (random() % 10 == 0) {
			TAILQ_CONCAT(&other, &head, tailq);
			assert_true(TAILQ_EMPTY(&head));
			TAILQ_CONCAT(&head, &other, tailq);
		} else if ((item = item_new()) && m.count && random() % 3 == 0) {
			TAILQ_INSERT_BEFORE(m.order[at], item, tailq);
			model_insert(&m, at, item);
		} else if (item && random() % 2) {
			TAILQ_INSERT_HEAD(&head, item, tailq);
			model_insert(&m, 0, item);
		} else if (item) {
			TAILQ_INSERT_TAIL(&head, item, tailq);
			model_insert(&m, m.count, item);
		} else {
			TAILQ_REMOVE(&head, m.order[at], tailq);
			model_remove(&m, at);
		}
		TAILQ_FOREACH(item, &head, tailq)
			assert_ptr_equal(item, m.order[n++]);
		assert_int_equal(n, m.count);
		for (item = TAILQ_LAST(&head, tailq); item; item = TAILQ_PREV(item, tailq, tailq))
			assert_ptr_equal(item, m.order[--n]);
		assert_int_equal(n, 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_slist, items_clear),
		cmocka_unit_test_setup(test_stailq, items_clear),
		cmocka_unit_test_setup(test_list, items_clear),
		cmocka_unit_test_setup(test_tailq, items_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
