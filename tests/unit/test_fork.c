/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fork protection. Its state belongs to the process and moves one way only, so that each case
 * runs in a child. The stand-ins for netlink below decide whether the kernel copies pinned
 * pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <rdma/rdma_netlink.h>

#include "libibverbs/library.h"
#include "util/netlink.h"

#define PAGES 64

static bool kernel_copies;
static size_t page_size;

/* In place of util/netlink.c. */

int netlink_open(int protocol, struct nl_sock **ret_sock)
{
	*ret_sock = nl_socket_alloc();
	return *ret_sock ? 0 : -ENOMEM;
}

int netlink_ask(struct nl_sock *sock, struct nl_msg *msg, netlink_answer_fn answer, void *arg)
{
	struct nl_msg *reply = nlmsg_alloc_simple(nlmsg_hdr(msg)->nlmsg_type, 0);

	nla_put_u8(reply, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	if (kernel_copies)
		nla_put_u8(reply, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	answer(nlmsg_hdr(reply), arg);
	nlmsg_free(reply);
	return 0;
}

#define check(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                                 \
		}                                                                                 \
	} while (0)

static void in_child(void (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		body();
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static char *map_pages(size_t count)
{
	char *p = mmap(NULL, count * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	check(p != MAP_FAILED);
	return p;
}

/* Return which of the pages from @base a child would not inherit: flag "dc" in smaps. */
static void read_protected(char *base, size_t count, bool *ret_protected)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	uintptr_t start = 0, end = 0, from, to;
	char line[512];

	check(smaps);
	memset(ret_protected, 0, count);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
			start = from;
			end = to;
		}
		if (strncmp(line, "VmFlags:", 8) || !strstr(line, " dc"))
			continue;
		for (size_t i = 0; i < count; i++) {
			uintptr_t page = (uintptr_t)base + i * page_size;

			ret_protected[i] |= page >= start && page < end;
		}
	}
	fclose(smaps);
}

static bool is_protected(char *page)
{
	bool answer;

	read_protected(page, 1, &answer);
	return answer;
}

static void unneeded(void)
{
	char *p = map_pages(1);

	kernel_copies = true;
	check(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
	check(!ibv_dontfork_range(p, page_size));
	/* It is not too late: memory that is registered already is safe as well. */
	check(!ibv_fork_init());
	check(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
	check(!ibv_dontfork_range(p, page_size));
	check(!is_protected(p));
	check(!ibv_dofork_range(p, page_size));
}

static void test_unneeded(void **state)
{
	in_child(unneeded);
}

static void counts(void)
{
	char *p = map_pages(4);

	check(ibv_is_fork_initialized() == IBV_FORK_DISABLED);
	check(!ibv_fork_init());
	check(!ibv_fork_init());
	check(ibv_is_fork_initialized() == IBV_FORK_ENABLED);
	check(!ibv_dontfork_range(p, 0));
	check(!is_protected(p));
	/* One byte protects its page. Two bytes across a boundary protect two pages. */
	check(!ibv_dontfork_range(p + page_size - 1, 1));
	check(!ibv_dontfork_range(p + page_size - 1, 2));
	check(is_protected(p) && is_protected(p + page_size) && !is_protected(p + 2 * page_size));
	check(!ibv_dofork_range(p + page_size - 1, 2));
	check(is_protected(p) && !is_protected(p + page_size));
	check(!ibv_dofork_range(p + page_size - 1, 1));
	check(!is_protected(p));
	/* Further releases without a protection have no effect. */
	check(!ibv_dofork_range(p, page_size));
	check(!ibv_dontfork_range(p, page_size));
	check(is_protected(p));
}

static void test_counts(void **state)
{
	in_child(counts);
}

/* Compare random ranges with a plain count per page. */
static void model(void)
{
	static struct {
		size_t first, count;
	} held[200];
	unsigned int refs[PAGES] = {}, held_count = 0, seed = 1;
	char *p = map_pages(PAGES);
	bool protected[PAGES];

	check(!ibv_fork_init());
	for (int step = 0; step < 4000; step++) {
		bool take = held_count < ARRAY_SIZE(held) && (!held_count || rand_r(&seed) % 2);
		unsigned int i = take ? held_count : rand_r(&seed) % held_count;

		if (take) {
			held[i].first = rand_r(&seed) % PAGES;
			held[i].count = 1 + rand_r(&seed) % (PAGES - held[i].first);
			held_count++;
		}
		for (size_t page = 0; page < held[i].count; page++)
			refs[held[i].first + page] += take ? 1 : -1;
		check(!(take ? ibv_dontfork_range : ibv_dofork_range)(p + held[i].first * page_size,
								      held[i].count * page_size));
		if (!take)
			held[i] = held[--held_count];
		if (step % 40)
			continue;
		read_protected(p, PAGES, protected);
		for (size_t page = 0; page < PAGES; page++)
			check(protected[page] == (refs[page] > 0));
	}
}

static void test_model(void **state)
{
	in_child(model);
}

static void hole(void)
{
	char *p = map_pages(4);

	check(!ibv_fork_init());
	check(!ibv_dontfork_range(p + page_size, page_size));
	check(!munmap(p + 3 * page_size, page_size));
	check(ibv_dontfork_range(p, 4 * page_size) == ENOMEM);
	check(!is_protected(p) && is_protected(p + page_size) && !is_protected(p + 2 * page_size));
	check(ibv_dontfork_range((void *)-2, 16) == EINVAL);
	/* Unmapped memory may be released. */
	check(!munmap(p + page_size, page_size));
	check(!ibv_dofork_range(p + page_size, page_size));
}

static void test_hole(void **state)
{
	in_child(hole);
}

static void children(void)
{
	char *p = map_pages(2);
	unsigned char present;
	int status;
	pid_t child;

	check(!ibv_fork_init());
	check(!ibv_dontfork_range(p, page_size));
	child = fork();
	if (!child) {
		check(mincore(p, page_size, &present) && errno == ENOMEM);
		check(!mincore(p + page_size, page_size, &present));
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && !status);
}

static void test_children(void **state)
{
	in_child(children);
}

/* A registration somewhere in the library. */
static int register_something(void *base, size_t size)
{
	return verbs_dontfork_range(base, size);
}

static void read_text(FILE *file, char *text, size_t size)
{
	rewind(file);
	text[fread(text, 1, size - 1, file)] = 0;
}

static void too_late(void)
{
	FILE *log = tmpfile();
	char *p = map_pages(1), text[2048] = "", address[32];

	check(log && dup2(fileno(log), STDERR_FILENO) >= 0);
	setenv("VERBS_LOG_LEVEL", "1", 1);
	check(!register_something(p, 100));
	check(ibv_fork_init() == EINVAL);
	check(errno == EINVAL);
	check(ibv_is_fork_initialized() == IBV_FORK_DISABLED);
	read_text(log, text, sizeof(text));
	snprintf(address, sizeof(address), "%p, 100 bytes", p);
	check(strstr(text, "too late") && strstr(text, "register_something"));
	check(strstr(text, address));
	check(!is_protected(p));
	check(!ibv_dofork_range(p, 100));

	setenv("IBV_FORK_SAFE", "1", 1);
	fork_init_from_env();
	read_text(log, text, sizeof(text));
	check(strstr(text, "libibverbs: Warning: fork()-safety requested but init failed"));
}

static void test_too_late(void **state)
{
	in_child(too_late);
}

static void environment(void)
{
	fork_init_from_env();
	check(ibv_is_fork_initialized() == IBV_FORK_DISABLED);
	setenv("RDMAV_FORK_SAFE", "", 1);
	fork_init_from_env();
	check(ibv_is_fork_initialized() == IBV_FORK_ENABLED);
}

static void test_environment(void **state)
{
	in_child(environment);
}

static pthread_barrier_t start;

static void *race_register(void *p)
{
	pthread_barrier_wait(&start);
	check(!ibv_dontfork_range(p, page_size));
	return NULL;
}

static void *race_init(void *arg)
{
	pthread_barrier_wait(&start);
	return (void *)(intptr_t)ibv_fork_init();
}

/* Whichever is first: either the range is protected or init has failed. */
static void race(void)
{
	char *p = map_pages(1);
	pthread_t first, second;
	void *init;

	check(!pthread_barrier_init(&start, NULL, 2));
	check(!pthread_create(&first, NULL, race_register, p));
	check(!pthread_create(&second, NULL, race_init, NULL));
	check(!pthread_join(first, NULL) && !pthread_join(second, &init));
	check(!init || (intptr_t)init == EINVAL);
	check(is_protected(p) == !init);
}

static void test_race(void **state)
{
	for (int i = 0; i < 50; i++)
		in_child(race);
}

static void huge_pages(void)
{
	size_t size = 2 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
	char *small = map_pages(2);

	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	check(!ibv_fork_init());
	check(!ibv_dontfork_range(small, 1));
	check(is_protected(small) && !is_protected(small + page_size));
	if (p == MAP_FAILED) {
		printf("no huge pages of 2 MiB are reserved here: only small pages were tried\n");
		return;
	}
	check(!ibv_dontfork_range(p + 4096, 1));
	check(is_protected(p) && is_protected(p + size - page_size));
	check(!ibv_dofork_range(p + 4096, 1));
	check(!is_protected(p));
}

static void test_huge_pages(void **state)
{
	in_child(huge_pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unneeded),    cmocka_unit_test(test_counts),
		cmocka_unit_test(test_model),	    cmocka_unit_test(test_hole),
		cmocka_unit_test(test_children),    cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_race),
		cmocka_unit_test(test_huge_pages),
	};

	page_size = sysconf(_SC_PAGESIZE);
	unsetenv("IBV_FORK_SAFE");
	unsetenv("RDMAV_FORK_SAFE");
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	unsetenv("VERBS_LOG_FILE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
