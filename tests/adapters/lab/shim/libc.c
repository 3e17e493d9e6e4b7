/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of the C library that reach the device. Its command descriptor is a real /dev/null,
 * which is a character device and has a number, so that fstat and poll on it need no help. Of
 * the ways to duplicate it, fcntl is supported. */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

#define NODE	   "/dev/infiniband/uverbs0"
#define SYSFS	   "/sys/class/infiniband"
#define PUBLIC	   __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

enum {
	MAX_FD = 4096
};

const struct device *device;
static bool ours[MAX_FD];
static char sysfs_root[PATH_MAX];
/* The model's own library is running, and uses the real machine. */
__thread bool libc_untouched;

static void *real(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		abort();
	return symbol;
}

int real_open(const char *path, int flags, mode_t mode)
{
	return REAL(open64)(path, flags, mode);
}

int real_close(int fd)
{
	return REAL(close)(fd);
}

ssize_t real_write(int fd, const void *bytes, size_t length)
{
	return REAL(write)(fd, bytes, length);
}

int real_socket(int domain, int type, int protocol)
{
	return REAL(socket)(domain, type, protocol);
}

__attribute__((constructor)) static void choose(void)
{
#define ADDRESS(name) &device_##name,
	static const struct device *const all[] = { ALL_DEVICES(ADDRESS) };
#undef ADDRESS
	const char *name = getenv("DEVICES_DEVICE"), *folder = getenv("DEVICES_SYSFS");

	for (size_t i = 0; name && folder && i < sizeof(all) / sizeof(all[0]); i++) {
		if (!strcmp(all[i]->name, name))
			device = all[i];
	}
	if (!device)
		return;
	snprintf(sysfs_root, sizeof(sysfs_root), "%s/%d", folder, getpid());
	setenv("SYSFS_PATH", sysfs_root, 1);
}

static bool is_ours(int fd)
{
	return fd >= 0 && fd < MAX_FD && ours[fd];
}

static bool is_node(const char *path)
{
	return device && path && !strcmp(path, NODE);
}

/* Return the path to open: the fake tree stands for /sys/class/infiniband*, and is written
 * before the first read. */
static const char *lead(const char *path, char *buffer)
{
	if (!device || !path || libc_untouched)
		return path;
	if (!strcmp(path, NODE))
		return "/dev/null";
	if (!strncmp(path, SYSFS, strlen(SYSFS))) {
		snprintf(buffer, PATH_MAX, "%s%s", sysfs_root, path + strlen("/sys"));
		path = buffer;
	}
	if (!strncmp(path, sysfs_root, strlen(sysfs_root))) {
		libc_untouched = true; /* the tree's own writer comes by here too */
		sysfs_announce();
		libc_untouched = false;
	}
	return path;
}

static int open_node(int flags)
{
	int fd = real_open("/dev/null", (flags & ~O_CREAT) | O_RDWR, 0);

	if (fd >= MAX_FD) {
		real_close(fd);
		errno = EMFILE;
		return -1;
	}
	if (fd >= 0)
		ours[fd] = true;
	return fd;
}

/* The mode that follows the flags of open(), if it does. */
#define MODE(ret, flags)                       \
	mode_t ret = 0;                        \
	if ((flags) & (O_CREAT | O_TMPFILE)) { \
		va_list ap;                    \
		va_start(ap, flags);           \
		ret = va_arg(ap, mode_t);      \
		va_end(ap);                    \
	}

PUBLIC int open(const char *path, int flags, ...)
{
	char buffer[PATH_MAX];
	MODE(mode, flags)

	return is_node(path) ? open_node(flags) : REAL(open)(lead(path, buffer), flags, mode);
}

PUBLIC int open64(const char *path, int flags, ...)
{
	char buffer[PATH_MAX];
	MODE(mode, flags)

	return is_node(path) ? open_node(flags) : REAL(open64)(lead(path, buffer), flags, mode);
}

PUBLIC int openat(int folder, const char *path, int flags, ...)
{
	char buffer[PATH_MAX];
	MODE(mode, flags)

	return is_node(path) ? open_node(flags)
			     : REAL(openat)(folder, lead(path, buffer), flags, mode);
}

PUBLIC int openat64(int folder, const char *path, int flags, ...)
{
	char buffer[PATH_MAX];
	MODE(mode, flags)

	return is_node(path) ? open_node(flags)
			     : REAL(openat64)(folder, lead(path, buffer), flags, mode);
}

/* Calls that only need to know where the path leads. */
#define LED(type, name, parameters, arguments) \
	PUBLIC type name parameters            \
	{                                      \
		char buffer[PATH_MAX];         \
                                               \
		path = lead(path, buffer);     \
		return REAL(name) arguments;   \
	}
LED(int, stat, (const char *restrict path, struct stat *restrict s), (path, s))
LED(int, stat64, (const char *restrict path, struct stat64 *restrict s), (path, s))
LED(int, lstat, (const char *restrict path, struct stat *restrict s), (path, s))
LED(int, fstatat, (int folder, const char *restrict path, struct stat *restrict s, int flags),
    (folder, path, s, flags))
LED(int, access, (const char *path, int mode), (path, mode))
LED(int, faccessat, (int folder, const char *path, int mode, int flags),
    (folder, path, mode, flags))
LED(DIR *, opendir, (const char *path), (path))
LED(FILE *, fopen, (const char *restrict path, const char *restrict mode), (path, mode))
LED(FILE *, fopen64, (const char *restrict path, const char *restrict mode), (path, mode))
LED(ssize_t, readlink, (const char *restrict path, char *restrict buf, size_t size),
    (path, buf, size))
LED(char *, realpath, (const char *restrict path, char *restrict resolved), (path, resolved))

PUBLIC int socket(int domain, int type, int protocol)
{
	if (device && domain == AF_NETLINK && protocol == NETLINK_RDMA)
		return rdma_netlink_open(type);
	return real_socket(domain, type, protocol);
}

/* The model's own library sends its packets by this, so it is looked up once. */
PUBLIC ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static _Atomic(__typeof__(&sendmsg)) own;

	if (rdma_netlink_is(fd))
		return rdma_netlink_send(fd, msg);
	if (!own)
		own = REAL(sendmsg);
	return own(fd, msg, flags);
}

PUBLIC ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
	static _Atomic(__typeof__(&send)) own;
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = length };
	const struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (rdma_netlink_is(fd))
		return rdma_netlink_send(fd, &msg);
	if (!own)
		own = REAL(send);
	return own(fd, bytes, length, flags);
}

/* A sender that a program takes for the kernel has the number 0. */
PUBLIC ssize_t recvfrom(int fd, void *restrict bytes, size_t length, int flags,
			struct sockaddr *restrict from, socklen_t *restrict from_len)
{
	static _Atomic(__typeof__(&recvfrom)) own;
	ssize_t n;

	if (!own)
		own = REAL(recvfrom);
	n = own(fd, bytes, length, flags, from, from_len);
	if (n >= 0 && from && rdma_netlink_is(fd))
		((struct sockaddr_nl *)from)->nl_pid = 0;
	return n;
}

/* Take no lock for other descriptors, because the model's own library also closes files. */
PUBLIC int close(int fd)
{
	if (is_ours(fd)) {
		trace_flush();
		trace_line("close");
		ours[fd] = false;
	} else if (event_has(fd)) {
		model_command_begin();
		event_close(fd);
		model_command_end();
	}
	rdma_netlink_close(fd);
	return real_close(fd);
}

static int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

PUBLIC ssize_t write(int fd, const void *bytes, size_t length)
{
	if (!is_ours(fd))
		return real_write(fd, bytes, length);
	return result(command_write(fd, bytes, length)) ? -1 : (ssize_t)length;
}

PUBLIC int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (!is_ours(fd))
		return REAL(ioctl)(fd, request, argument);
	return result(request == RDMA_VERBS_IOCTL ? command_ioctl(fd, argument) : ENOTTY);
}

/* Used by a process that imports a context. */
static int duplicate(int fd, int command, long argument)
{
	int copy = REAL(fcntl)(fd, command, argument);

	if (is_ours(fd) && copy >= MAX_FD) {
		real_close(copy);
		errno = EMFILE;
		return -1;
	}
	if (is_ours(fd) && copy >= 0)
		ours[copy] = true;
	return copy;
}

#define FCNTL(name)                                                   \
	PUBLIC int name(int fd, int command, ...)                     \
	{                                                             \
		va_list ap;                                           \
		long argument;                                        \
                                                                      \
		va_start(ap, command);                                \
		argument = va_arg(ap, long);                          \
		va_end(ap);                                           \
		if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) \
			return duplicate(fd, command, argument);      \
		return REAL(name)(fd, command, argument);             \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

/* Where the device is mapped. Read without the lock, because the model's own library maps memory
 * too. */
enum {
	MAX_MAPS = 4096
};
static _Atomic(void *) maps[MAX_MAPS];

/* Puts `to` where `from` is: adds from NULL, removes to NULL. */
static bool replace_map(void *from, void *to)
{
	for (int i = 0; i < MAX_MAPS; i++) {
		void *there = from;

		if (maps[i] == from && atomic_compare_exchange_strong(&maps[i], &there, to))
			return true;
	}
	return false;
}

/* Map memory that begins a page of the played kernel. */
static void *map_page(size_t length, int protection, int flags)
{
	size_t page = host_page(), whole = length + page;
	char *map = REAL(mmap)(NULL, whole, protection, flags | MAP_ANONYMOUS, -1, 0), *at;

	if (map == MAP_FAILED)
		return map;
	at = (char *)(((uintptr_t)map + page - 1) & ~(page - 1));
	if (at != map)
		REAL(munmap)(map, at - map);
	REAL(munmap)(at + length, map + whole - (at + length));
	return at;
}

static bool has_large_pages(const void *at, size_t length)
{
	return device && !at && length && length % 65536 == 0 && host_is("large-pages");
}

/* No mapping of a device is larger: a program asks for more only after a wrong answer. */
#define MAP_MAX (64 << 20)

/* Called with device_lock. */
static void add_map(const char *name, enum region_kind kind, void *map, size_t length, off_t offset)
{
	if (device->mapped) {
		replace_map(NULL, map);
		device->mapped(offset, map, length);
	}
	if (kind == REGION_REGISTERS)
		trace_registers(name, map, length);
	else
		trace_watch(name, map, length);
}

static void *map_device(void *at, size_t length, int protection, int flags, off_t offset)
{
	char name[32];
	enum region_kind kind = device->region(offset, length, name, sizeof(name));
	int r = length > MAP_MAX ? ENOMEM : fault_of("MMAP");
	void *map;

	if (r) {
		trace_line("MMAP fails on demand: %d", r);
		errno = r;
		return MAP_FAILED;
	}
	if (has_large_pages(at, length))
		map = map_page(length, PROT_READ | PROT_WRITE, flags);
	else
		map = REAL(mmap)(at, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	model_command_begin();
	trace_flush();
	trace_line("mmap offset=0x%llx length=0x%zx protection=%d -> %s",
		   (unsigned long long)offset, length, protection, name);
	if (map != MAP_FAILED)
		add_map(name, kind, map, length, offset);
	model_command_end();
	return map;
}

/* The C library's name for the same function. Sanitizers call it before dlsym() is possible. */
long __sysconf(int name);

PUBLIC long sysconf(int name)
{
	if (device && name == _SC_PAGESIZE && !libc_untouched && host_is("large-pages"))
		return host_page();
	return __sysconf(name);
}

PUBLIC void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	if (flags & MAP_ANONYMOUS && !libc_untouched && has_large_pages(at, length))
		return map_page(length, protection, flags);
	if (!is_ours(fd) || flags & MAP_ANONYMOUS)
		return REAL(mmap)(at, length, protection, flags, fd, offset);
	return map_device(at, length, protection, flags, offset);
}

PUBLIC void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
	return mmap(at, length, protection, flags, fd, offset);
}

static void trace_unmapping(const void *at)
{
	const char *name;

	model_command_begin();
	name = trace_unmap(at);
	if (name) {
		trace_flush();
		trace_line("munmap %s", name);
	}
	model_command_end();
}

PUBLIC int munmap(void *at, size_t length)
{
	if (device && device->unmapped && at && replace_map(at, NULL)) {
		model_command_begin();
		device->unmapped(at);
		model_command_end();
	}
	if (trace_on())
		trace_unmapping(at);
	return REAL(munmap)(at, length);
}

/* A thread of the model's own library waits for packets by this function. */
int __real_epoll_wait(int fd, struct epoll_event *events, int count, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
	int n = __real_epoll_wait(fd, events, count, timeout);

	model_look();
	model_be_late();
	return n;
}

/* The model's own library reads the environment by this function (the linker's --wrap): it gets
 * the variables of its own device instead of those of the process. */
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
	if (!strcmp(name, "UROCE"))
		return getenv("DEVICES_BACKEND");
	return strncmp(name, "UROCE_", 6) && strncmp(name, "VERBS_LOG", 9)
		       ? NULL
		       : __real_secure_getenv(name);
}
