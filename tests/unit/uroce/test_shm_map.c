/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of a peer that is mapped here. This process plays both sides; its descriptors are the
 * peer's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "providers/uroce/base/copy.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	SIZE = 16384,
	INDEX = 3,
	ROUNDS = 200,
};

static struct {
	struct uroce_shm shm;
	struct shm_board *board;
	struct shm_peer peer;
	struct shm_uses uses;
	int fd;
	uint8_t *memory; /* as the peer has it */
	uint64_t id;
	atomic_bool end;
} t;

static struct shm_segment *entry(void)
{
	return &t.board->segments[INDEX];
}

static int setup(void **state)
{
	struct stat st;

	memset(&t, 0, sizeof(t));
	t.board = calloc(1, sizeof(*t.board));
	t.fd = memfd_create("theirs", MFD_CLOEXEC);
	if (!t.board || t.fd < 0 || ftruncate(t.fd, SIZE) || fstat(t.fd, &st))
		return -1;
	t.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, 0);
	t.shm.uid = geteuid();
	t.peer.shm = &t.shm;
	t.peer.pid = getpid();
	t.peer.board = t.board;
	t.peer.first_page = &t.board->first_page;
	t.peer.uses = &t.uses;
	t.id = SHM_SEGMENTS + INDEX;
	*entry() = (struct shm_segment){ .device = st.st_dev,
					 .inode = st.st_ino,
					 .where = t.fd,
					 .kind = SHM_SEGMENT_FILE,
					 .id = t.id };
	uroce_copy_init();
	return t.memory == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	shm_maps_free(&t.peer);
	munmap(t.memory, SIZE);
	close(t.fd);
	free(t.board);
	return 0;
}

/* An operation of 8 bytes. */
static int word(enum uroce_rdma_kind kind, uint64_t place, uint64_t *value)
{
	struct iovec iov = { value, sizeof(*value) };
	struct uroce_rdma rdma = { .kind = kind,
				   .iov = &iov,
				   .iovcnt = 1,
				   .length = sizeof(*value),
				   .swap_add = 7,
				   .compare = 100 };
	struct shm_place at = { .segment = t.id, .place = place };

	return uroce_map_rdma(&t.peer, &at, &rdma);
}

static int put(uint64_t place, uint64_t value)
{
	return word(UROCE_RDMA_WRITE, place, &value);
}

static uint64_t theirs(uint64_t place)
{
	uint64_t value;

	memcpy(&value, t.memory + place, sizeof(value));
	return value;
}

/* Return how often the file, or a System V segment, is mapped. */
static int mappings(const char *name)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (fgets(line, sizeof(line), file))
		count += strstr(line, name) != NULL;
	fclose(file);
	return count;
}

static void test_operations(void **state)
{
	uint64_t value = 0;

	assert_int_equal(put(80, 100), 0);
	assert_int_equal(theirs(80), 100);
	assert_int_equal(t.uses.maps, 1);
	assert_int_equal(word(UROCE_RDMA_READ, 80, &value), 0);
	assert_int_equal(value, 100);
	assert_int_equal(mappings("memfd:theirs"), 2);
}

/* An atomic goes as a packet if the processor has no instruction that survives a truncated file. */
static void test_atomics(void **state)
{
	uint64_t value = 0;

	assert_int_equal(put(80, 100), 0);
	if (!uroce_atomics_survive()) {
		assert_int_equal(word(UROCE_RDMA_CMP_SWAP, 80, &value), -EOPNOTSUPP);
		assert_int_equal(word(UROCE_RDMA_FETCH_ADD, 80, &value), -EOPNOTSUPP);
		assert_int_equal(theirs(80), 100);
		return;
	}
	assert_int_equal(word(UROCE_RDMA_CMP_SWAP, 80, &value), 0);
	assert_int_equal(value, 100);
	assert_int_equal(word(UROCE_RDMA_FETCH_ADD, 80, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(theirs(80), 14);
	assert_int_equal(word(UROCE_RDMA_FETCH_ADD, 84, &value), -EOPNOTSUPP);
	assert_int_equal(theirs(80), 14);
}

/* A write beyond the end of the mapping is refused, also if its end overflows. */
static void test_range(void **state)
{
	assert_int_equal(put(SIZE - 8, 1), 0);
	assert_int_equal(put(SIZE - 7, 1), -EOPNOTSUPP);
	assert_int_equal(put(UINT64_MAX - 3, 1), -EOPNOTSUPP);
}

static void test_grown(void **state)
{
	assert_int_equal(put(0, 1), 0);
	assert_int_equal(ftruncate(t.fd, 2 * SIZE), 0);
	assert_int_equal(put(SIZE, 9), 0);
	assert_int_equal(mappings("memfd:theirs"), 2);
}

static void test_cut(void **state)
{
	uint64_t value = 0;

	assert_int_equal(put(0, 1), 0);
	assert_int_equal(ftruncate(t.fd, 0), 0);
	assert_int_equal(put(0, 1), -EOPNOTSUPP);
	assert_int_equal(word(UROCE_RDMA_READ, 0, &value), -EOPNOTSUPP);
	assert_int_equal(word(UROCE_RDMA_FETCH_ADD, 0, &value), -EOPNOTSUPP);
	assert_int_equal(word(UROCE_RDMA_CMP_SWAP, 0, &value), -EOPNOTSUPP);
}

/* The result of a completed atomic has an unmapped destination. */
static void test_no_place(void **state)
{
	uint64_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (uroce_atomics_survive()) {
		assert_int_equal(word(UROCE_RDMA_FETCH_ADD, 0, gone), -EFAULT);
		assert_int_equal(theirs(0), 7);
	}
	munmap(gone, 4096);
}

static void test_swept(void **state)
{
	assert_int_equal(put(0, 1), 0);
	shm_maps_sweep(&t.peer);
	assert_int_equal(mappings("memfd:theirs"), 2);
	entry()->id = 0;
	shm_maps_sweep(&t.peer);
	assert_int_equal(mappings("memfd:theirs"), 1);
	assert_int_equal(put(0, 2), -EOPNOTSUPP);
	assert_int_equal(theirs(0), 1);
	/* The next segment takes its place. */
	entry()->id = t.id += SHM_SEGMENTS;
	assert_int_equal(put(0, 3), 0);
	assert_int_equal(theirs(0), 3);
}

static void assert_refused(void)
{
	assert_int_equal(put(0, 1), -EOPNOTSUPP);
	assert_int_equal(theirs(0), 0);
	assert_int_equal(mappings("memfd:theirs"), 1);
}

/* The descriptor's file differs from the announced one. */
static void test_other_file(void **state)
{
	entry()->inode++;
	assert_refused();
	entry()->inode--; /* it is not tried again */
	assert_refused();
}

static void test_no_file(void **state)
{
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	entry()->where = pipes[1];
	assert_refused();
	entry()->where = 100000;
	t.id = entry()->id += SHM_SEGMENTS;
	assert_refused();
	close(pipes[0]);
	close(pipes[1]);
}

/* A file that the peer could not open is not opened for it. */
static void test_other_user(void **state)
{
	t.shm.uid = geteuid() + 1;
	assert_refused();
}

static void test_other_id(void **state)
{
	t.id += SHM_SEGMENTS;
	assert_refused();
}

static void test_none(void **state)
{
	t.id = 0;
	assert_refused();
	assert_int_equal(t.uses.maps, 0);
}

static void test_sysv(void **state)
{
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600), before = mappings("/SYSV");
	uint64_t *p = shmat(id, NULL, 0);

	assert_true(p != (void *)-1);
	entry()->kind = SHM_SEGMENT_SYSV;
	entry()->where = id;
	assert_int_equal(put(8, 5), 0);
	assert_int_equal(p[1], 5);
	assert_int_equal(mappings("/SYSV"), before + 2);
	entry()->id = 0;
	shm_maps_sweep(&t.peer);
	assert_int_equal(mappings("/SYSV"), before + 1);
	shmctl(id, IPC_RMID, NULL);
	shmdt(p);
	t.id = entry()->id = t.id + SHM_SEGMENTS;
	assert_refused();
}

/* A peer that is this process needs no mapping. */
static void test_self(void **state)
{
	uint64_t mine = 1, value = 30;
	struct iovec iov = { &value, sizeof(value) };
	struct uroce_rdma rdma = {
		.kind = UROCE_RDMA_WRITE, .iov = &iov, .iovcnt = 1, .length = sizeof(value)
	};
	struct shm_place at = { .base = (uintptr_t)&mine };

	t.peer.self = true;
	assert_int_equal(uroce_map_rdma(&t.peer, &at, &rdma), 0);
	assert_int_equal(mine, 30);
}

static void *write_on(void *arg)
{
	int done = 0;

	/* On a busy machine the thread may get no turn before the end. */
	while (!atomic_load(&t.end) || !done)
		done += !put(*(int *)arg, 1);
	return (void *)(intptr_t)done;
}

/* Segments are removed while others write: no write goes astray, and no mapping is left. */
static void test_threads(void **state)
{
	int places[] = { 0, 64, 128 };
	pthread_t threads[ARRAY_SIZE(places)];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_on, &places[i]), 0);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&entry()->id, 0);
		shm_maps_sweep(&t.peer);
		atomic_store(&entry()->id, t.id);
		/* Each time a writer maps the segment again. */
		while (put(192, 1) < 0)
			sched_yield();
	}
	atomic_store(&t.end, true);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		void *written;

		assert_int_equal(pthread_join(threads[i], &written), 0);
		assert_true(written);
	}
	atomic_store(&entry()->id, 0);
	shm_maps_sweep(&t.peer);
	assert_int_equal(mappings("memfd:theirs"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_atomics, setup, teardown),
		cmocka_unit_test_setup_teardown(test_range, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_swept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sysv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_self, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
