/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mapping behind an address, as kernels old and new report it; and descriptors of memory
 * that other processes can map. */
#include <fcntl.h>
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

#include "providers/uroce/path/shm/shm_object.h"

enum {
	PAGE = 4096,
	SIZE = 4 * PAGE,
};

static struct {
	struct uroce_maps maps;
	int fd;
	uint8_t *shared; /* the file from its second page on */
	struct stat st;
} t;

static int setup(void **state)
{
	uroce_maps_open(&t.maps);
	t.fd = memfd_create("shared", MFD_CLOEXEC);
	if (t.fd < 0 || ftruncate(t.fd, SIZE) || fstat(t.fd, &t.st))
		return -1;
	t.shared = mmap(NULL, SIZE - PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, PAGE);
	t.shared[0] = 1;
	return t.shared == MAP_FAILED ? -1 : 0;
}

/* As on a kernel without the query for a single mapping. */
static int setup_old(void **state)
{
	int r = setup(state);

	if (t.maps.pages < 0)
		t.maps.pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	return r;
}

static int teardown(void **state)
{
	uroce_maps_close(&t.maps);
	munmap(t.shared, SIZE - PAGE);
	if (t.fd >= 0)
		close(t.fd);
	return 0;
}

static struct uroce_mapping look(const void *address)
{
	struct uroce_mapping mapping;

	assert_true(uroce_maps_may_share(&t.maps, (uintptr_t)address));
	assert_int_equal(uroce_maps_look(&t.maps, (uintptr_t)address, &mapping), 0);
	return mapping;
}

static void test_shared(void **state)
{
	struct uroce_mapping mapping = look(t.shared + 100);

	assert_true(mapping.start == (uintptr_t)t.shared);
	assert_true(mapping.end == (uintptr_t)t.shared + SIZE - PAGE);
	assert_int_equal(mapping.offset, PAGE);
	assert_true(mapping.device == t.st.st_dev && mapping.inode == t.st.st_ino);
	assert_true(mapping.shared && mapping.writable);
	assert_string_equal(mapping.name, "/memfd:shared (deleted)");
}

static void test_read_only(void **state)
{
	assert_int_equal(mprotect(t.shared, PAGE, PROT_READ), 0);
	assert_false(look(t.shared).writable);
}

static void test_private(void **state)
{
	uint8_t *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, t.fd, 0);
	uint8_t *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uroce_mapping mapping;

	own[0] = p[0] = 1;
	assert_false(uroce_maps_may_share(&t.maps, (uintptr_t)own));
	assert_int_equal(uroce_maps_look(&t.maps, (uintptr_t)p, &mapping), 0);
	assert_false(mapping.shared);
	munmap(p, SIZE);
	munmap(own, SIZE);
	assert_int_equal(uroce_maps_look(&t.maps, PAGE, &mapping), -ENOENT);
}

static void test_nothing_known(void **state)
{
	struct uroce_maps none = { -1, -1 };
	struct uroce_mapping mapping;

	assert_false(uroce_maps_may_share(&none, (uintptr_t)t.shared));
	assert_int_equal(uroce_maps_look(&none, (uintptr_t)t.shared, &mapping), -ENODATA);
}

static void test_lines(void **state)
{
	static const char *const wrong[] = { "",
					     "\n",
					     "7f00-7f01\n",
					     "7f00-7f01 rw 0 0:1 5 x\n",
					     "7f00-7f01 rw-s 0 0:1\n",
					     "7f00 rw-s 0 0:1 5 x\n",
					     "names without numbers\n" };
	struct uroce_mapping m;
	char line[600];

	assert_int_equal(
		uroce_mapping_parse("7f00-8f00 rw-s 00001000 00:1f 77      /a b (deleted)\n", &m),
		0);
	assert_true(m.start == 0x7f00 && m.end == 0x8f00 && m.offset == 0x1000 && m.inode == 77);
	assert_true(m.shared && m.writable);
	assert_string_equal(m.name, "/a b (deleted)");
	assert_int_equal(uroce_mapping_parse("1-2 r--p 0 0:0 0\n", &m), 0);
	assert_true(!m.shared && !m.writable && !m.name[0]);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(uroce_mapping_parse(wrong[i], &m), -EINVAL);
	memset(line, 'n', sizeof(line));
	memcpy(line, "1-2 rw-s 0 0:0 0 ", 17);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(uroce_mapping_parse(line, &m), 0);
	assert_int_equal(strlen(m.name), sizeof(m.name) - 1);
}

/* --- descriptors --- */

static void test_file(void **state)
{
	struct uroce_mapping mapping = look(t.shared);
	struct shm_object object;

	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), 0);
	assert_false(object.sysv);
	assert_int_not_equal(object.fd, t.fd);
	assert_true(shm_object_file_is(object.fd, t.st.st_dev, t.st.st_ino));
	assert_true(shm_object_is(&object, &mapping));
	mapping.inode++;
	assert_false(shm_object_is(&object, &mapping));
	shm_object_close(&object);
	assert_int_equal(object.fd, -1);
	/* No other mapping is opened. */
	mapping.end = mapping.start;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), -ENODATA);
}

/* If mappings cannot be opened: the application's own descriptor, if it is writable. */
static void test_descriptor(void **state)
{
	struct uroce_mapping mapping = look(t.shared);
	struct shm_object object;
	char path[64];
	int only;

	mapping.end = mapping.start;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), 0);
	shm_object_close(&object);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t.fd);
	only = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(only >= 0);
	close(t.fd);
	t.fd = -1;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), -ENODATA);
	close(only);
}

static void test_name(void **state)
{
	char path[] = "/dev/shm/test-mapping-XXXXXX", disk[] = "/var/tmp/test-mapping-XXXXXX";
	struct uroce_mapping mapping = { .device = 0 };
	struct shm_object object;
	struct stat st;
	int fd = mkstemp(path), other = mkstemp(disk);

	assert_true(fd >= 0 && other >= 0 && !fstat(fd, &st));
	mapping.device = st.st_dev;
	mapping.inode = st.st_ino;
	strcpy(mapping.name, path);
	close(fd);
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), 0);
	shm_object_close(&object);
	/* Another file has the name by now. */
	mapping.inode++;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), -ENODATA);
	unlink(path);
	assert_false(!fstat(other, &st) && st.st_dev != mapping.device &&
		     shm_object_file_is(other, mapping.device, st.st_ino));
	close(other);
	unlink(disk);
}

static void test_sysv(void **state)
{
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
	uint8_t *p = shmat(id, NULL, 0);
	struct uroce_mapping mapping;
	struct shm_object object;

	assert_true(p != (void *)-1);
	p[0] = 1;
	mapping = look(p);
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), 0);
	assert_true(object.sysv && object.id == id && object.fd < 0);
	/* A file with that number and another name is another file. */
	strcpy(mapping.name, "/memfd:x");
	assert_false(shm_object_is(&object, &mapping));
	strcpy(mapping.name, "/SYSV00000000 (deleted)");
	mapping.device++;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), -ENODATA);
	shmctl(id, IPC_RMID, NULL);
	shmdt(p);
	mapping.device--;
	assert_int_equal(shm_object_open(&t.maps, &mapping, &object), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared, setup_old, teardown),
		cmocka_unit_test_setup_teardown(test_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only, setup_old, teardown),
		cmocka_unit_test_setup_teardown(test_private, setup, teardown),
		cmocka_unit_test_setup_teardown(test_private, setup_old, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_known, setup, teardown),
		cmocka_unit_test(test_lines),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sysv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sysv, setup_old, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
