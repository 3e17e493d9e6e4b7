/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of the played function, and the calls of the C library that reach them. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/adapters/lab/vfio/played.h"

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FOLDER "/sys/bus/pci/devices/" PCI_NAME

enum fault fault;
unsigned int fault_number;
static int log_fd = -1;

static const char *const fault_names[FAULTS] = {
	[FAULT_REFUSE] = "refuse",
	[FAULT_MUTE] = "mute",
	[FAULT_DELIVERY] = "delivery",
	[FAULT_UAR] = "uar",
	[FAULT_MANY_PAGES] = "many-pages",
	[FAULT_NO_PAGES] = "no-pages",
	[FAULT_MORE] = "more",
	[FAULT_FOREIGN] = "foreign",
	[FAULT_FLOOD] = "flood",
	[FAULT_STUCK] = "stuck",
	[FAULT_GONE] = "gone",
	[FAULT_SMALL] = "small",
	[FAULT_NO_VECTORS] = "no-vectors",
	[FAULT_OTHER_QUEUE] = "other-queue",
	[FAULT_RANGES] = "ranges",
	[FAULT_BUSY] = "busy",
};

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("VFIO_FAULT"), *file = getenv("VFIO_LOG");
	size_t length = name ? strcspn(name, ":") : 0;

	for (int i = 1; i < FAULTS && length; i++)
		if (!strncmp(name, fault_names[i], length) && !fault_names[i][length])
			fault = i;
	if (length && name[length])
		fault_number = atoi(name + length + 1);
	if (file)
		log_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void trace(const char *format, ...)
{
	char line[4096];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (log_fd >= 0 && write(log_fd, line, length) != length)
		abort();
}

int state_hold(void)
{
	int fd = open(getenv("VFIO_STATE"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = EBUSY;
	return -1;
}

static int text_open(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (write(fd, text, strlen(text)) < 0)
		abort();
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Return whether the path is that of a file of the function in sysfs, with any number of slashes.
 */
static bool is_file(const char *path, const char *name)
{
	const char *rest = path + strlen(FOLDER);

	return !strncmp(path, FOLDER, strlen(FOLDER)) && !strcmp(rest + strspn(rest, "/"), name);
}

/* Return the descriptor of a file of the function; -2: another file. */
static int played_open(const char *path)
{
	if (!strcmp(path, "/dev/vfio/vfio"))
		return container_fd = memfd_create("container", MFD_CLOEXEC);
	if (!strcmp(path, "/dev/vfio/7"))
		return group_fd = state_hold();
	if (is_file(path, "vendor"))
		return text_open("0x15b3\n");
	if (is_file(path, "device"))
		return text_open(getenv("VFIO_OTHER_MODEL") ? "0x1003\n" : "0x101d\n");
	return -2;
}

static mode_t mode_of(int flags, va_list list)
{
	return flags & O_CREAT ? va_arg(list, int) : 0;
}

#define OPEN(name)                                              \
	EXPORT int name(const char *path, int flags, ...)       \
	{                                                       \
		int fd = played_open(path);                     \
		va_list list;                                   \
		mode_t mode;                                    \
		REAL(name);                                     \
		va_start(list, flags);                          \
		mode = mode_of(flags, list);                    \
		va_end(list);                                   \
		return fd != -2 ? fd : real(path, flags, mode); \
	}
#define OPENAT(name)                                                    \
	EXPORT int name(int folder, const char *path, int flags, ...)   \
	{                                                               \
		int fd = played_open(path);                             \
		va_list list;                                           \
		mode_t mode;                                            \
		REAL(name);                                             \
		va_start(list, flags);                                  \
		mode = mode_of(flags, list);                            \
		va_end(list);                                           \
		return fd != -2 ? fd : real(folder, path, flags, mode); \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define STAT(name, type)                                               \
	EXPORT int name(const char *path, type *st)                    \
	{                                                              \
		REAL(name);                                            \
		if (!is_file(path, "") && strcmp(path, "/dev/vfio/7")) \
			return real(path, st);                         \
		memset(st, 0, sizeof(*st));                            \
		return 0;                                              \
	}
STAT(stat, struct stat)
STAT(stat64, struct stat64)

EXPORT ssize_t readlink(const char *path, char *buf, size_t size)
{
	static const char group[] = "../../../../kernel/iommu_groups/7";

	REAL(readlink);
	if (!is_file(path, "iommu_group"))
		return real(path, buf, size);
	if (size > strlen(group))
		size = strlen(group);
	memcpy(buf, group, size);
	return size;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	bool known = false;
	va_list list;
	void *arg;
	int r;

	REAL(ioctl);
	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	r = fd >= 0 ? bus_ioctl(fd, request, arg, &known) : -1;
	return known ? r : real(fd, request, arg);
}

/* A function that is mute is so for a long time: each look at the clock takes a second. */
EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int ahead;
	int r;

	REAL(clock_gettime);
	r = real(clock, ts);
	if (fault == FAULT_MUTE || fault == FAULT_STUCK)
		ts->tv_sec += __atomic_add_fetch(&ahead, 1, __ATOMIC_RELAXED);
	return r;
}
