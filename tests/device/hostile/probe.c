/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Do a little of everything that an environment variable may change, and print the results, the
 * same each time. The first line tells whether the program has more privilege than its caller. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <infiniband/verbs.h>

/* Exported, although it is not in a public header. */
const char *ibv_get_sysfs_path(void);

/* The dynamic linker gives the library this function, which prints the files that the library
 * opens by name. (With 64-bit offsets the name is that of the function behind fopen().) */
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode) = dlsym(RTLD_NEXT, "fopen64");

	printf("reads %s\n", path);
	return real(path, mode);
}

static void device_use(struct ibv_device *device)
{
	static char memory[4096];
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	printf("%s: open %d\n", ibv_get_device_name(device), context ? 0 : errno);
	if (!context)
		return;
	pd = ibv_alloc_pd(context);
	printf("alloc_pd %d\n", pd ? 0 : errno);
	if (pd) {
		mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
		printf("reg_mr %d\n", mr ? 0 : errno);
		if (mr)
			printf("dereg_mr %d\n", ibv_dereg_mr(mr));
		printf("dealloc_pd %d\n", ibv_dealloc_pd(pd));
	}
	printf("close %d\n", ibv_close_device(context));
}

/* Exported, although it never was in a header. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

/* Protect pages as the library does for kernel devices. This reads the page size from a file. */
static void pages_protect(void)
{
	static char memory[4096];

	printf("dontfork %d\n", ibv_dontfork_range(memory, sizeof(memory)));
	printf("dofork %d\n", ibv_dofork_range(memory, sizeof(memory)));
}

int main(void)
{
	struct ibv_device **list;
	int count = 0;

	printf("privileged %lu\n", getauxval(AT_SECURE));
	printf("sysfs %s\n", ibv_get_sysfs_path());
	list = ibv_get_device_list(&count);
	printf("%d devices\nfork %d\n", count, (int)ibv_is_fork_initialized());
	ibv_fork_init();
	pages_protect();
	for (int i = 0; i < count; i++)
		device_use(list[i]);
	ibv_free_device_list(list);
	return 0;
}
