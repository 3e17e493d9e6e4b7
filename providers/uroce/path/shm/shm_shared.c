/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files in memory that two processes map and neither can shrink. */
#include <fcntl.h>
#include <sys/mman.h>

#include "providers/uroce/path/shm/shm_hello.h"

static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK);
}

/* Read the size by lseek(). This moves the file position, which no process uses. */
size_t shm_shared_size(int fd)
{
	off_t size = is_sealed(fd) ? lseek(fd, 0, SEEK_END) : 0;

	return size < 0 ? 0 : size;
}

void *shm_shared_map(int fd, size_t mapped, int protection)
{
	void *p = mmap(NULL, mapped, protection, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Seal a file. Linux before 5.1 lacks F_SEAL_FUTURE_WRITE. There a hostile peer can write to a
 * board.
 */
static int seal(int fd, bool own)
{
	static const int always = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (own && !fcntl(fd, F_ADD_SEALS, always | F_SEAL_FUTURE_WRITE))
		return 0;
	if (own && errno != EINVAL)
		return uroce_call_failed("fcntl");
	return fcntl(fd, F_ADD_SEALS, always) ? uroce_call_failed("fcntl") : 0;
}

/* The seals prevent a peer from causing SIGBUS in this process. */
int shm_shared_create(const char *name, size_t size, size_t mapped, bool own, void **ret_map)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;
	int r;

	if (fd < 0)
		return uroce_call_failed("memfd_create");
	r = uroce_file_grow(fd, size);
	if (r < 0)
		return r;
	map = shm_shared_map(fd, mapped, PROT_READ | PROT_WRITE);
	if (!map)
		return -ENOMEM;
	r = seal(fd, own);
	if (r < 0) {
		munmap(map, mapped);
		return r;
	}
	*ret_map = map;
	return take_fd(&fd);
}
