/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces libc.c, fault.c and trace.c of tests/adapters/lab's shim. The linker's --wrap leads the
 * provider's calls of the kernel here, and the input changes the answers. A mapping has an
 * inaccessible page at either end. */
#include "tests/fuzz/devices/session.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	MAPS = 4096,
	MAP_MAX = 16 << 20,
	NEVER = 0xff,
	ANSWERS_SPOILT = 1,
};

const struct device *device;
__thread bool libc_untouched;

static struct input *input;
static int command_fd = -1;
static unsigned flags, fails_after; /* commands until one fails */
static bool spoils_completion;
static struct {
	uint8_t *at;
	size_t length; /* 0: free */
	bool of_device;
} maps[MAPS];

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t length);
int __wrap_munmap(void *at, size_t length);
int __real_close(int fd);
int __wrap_close(int fd);

void kernel_start(struct input *in, const struct device *played_device)
{
	input = in;
	device = played_device;
	flags = input_u8(in);
	fails_after = input_u8(in);
	spoils_completion = false;
}

void kernel_stop(void)
{
	object_forget_all();
	for (int i = 0; i < MAPS; i++)
		MUST(!maps[i].length);
	input = NULL;
}

int kernel_open(void)
{
	command_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return command_fd;
}

/* ---- changes by the input */

/* Whether the command ends an object: such commands do not fail. */
static bool is_end(const char *command)
{
	static const char *const ends[] = { "DESTROY", "DEALLOC", "DEREG", "CLOSE" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!strncmp(command, ends[i], strlen(ends[i])))
			return true;
	}
	return false;
}

int fault_of(const char *command)
{
	if (!input || fails_after == NEVER || is_end(command) || fails_after--)
		return 0;
	fails_after = NEVER;
	return ENOMEM;
}

static void spoil(uint8_t *bytes, size_t length)
{
	for (unsigned n = input_u8(input) % 8; n; n--) {
		size_t at = input_u16(input) % length;

		bytes[at] = input_u8(input);
	}
}

void fault_spoil(void *answer, size_t length)
{
	if (input && length && flags & ANSWERS_SPOILT)
		spoil(answer, length);
}

void kernel_spoil_completion(void)
{
	spoils_completion = true;
}

void trace_device_writes(void *to, const void *bytes, size_t length)
{
	memcpy(to, bytes, length);
	if (spoils_completion)
		spoil(to, length);
	spoils_completion = false;
}

void trace_device_hides(void *to, const void *bytes, size_t length)
{
	trace_device_writes(to, bytes, length);
}

/* ---- nothing is traced */

bool trace_on(void)
{
	return false;
}

void trace_line(const char *format, ...)
{
}

void trace_fields(const struct field *fields, const void *request, size_t length)
{
}

const char *trace_pointer(uint64_t address)
{
	return "";
}

void trace_hex(char *ret, const uint8_t *bytes, size_t length)
{
	*ret = 0;
}

void trace_flush(void)
{
}

void trace_watch_object(const struct object *object, const char *what, const void *at,
			size_t length)
{
}

void trace_unwatch(const struct object *object)
{
}

struct region *trace_find(uint64_t address)
{
	return NULL;
}

/* ---- calls of the C library */

int real_open(const char *path, int how, mode_t mode)
{
	return open(path, how, mode);
}

int real_close(int fd)
{
	return __real_close(fd);
}

int real_socket(int domain, int type, int protocol)
{
	return socket(domain, type, protocol);
}

ssize_t real_write(int fd, const void *bytes, size_t length)
{
	return write(fd, bytes, length);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list ap;
	int r;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (fd != command_fd || command_fd < 0)
		return __real_ioctl(fd, request, argument);
	r = request == RDMA_VERBS_IOCTL ? command_ioctl(fd, argument) : ENOTTY;
	if (!r)
		return 0;
	errno = r;
	return -1;
}

int __wrap_close(int fd)
{
	if (fd == command_fd)
		command_fd = -1;
	else if (event_has(fd))
		event_close(fd);
	return __real_close(fd);
}

static size_t pages_of(size_t length)
{
	return (length + PAGE - 1) / PAGE * PAGE;
}

static void *map_between(size_t length, bool of_device)
{
	uint8_t *whole;

	for (int i = 0; i < MAPS; i++) {
		if (maps[i].length)
			continue;
		whole = __real_mmap(NULL, pages_of(length) + 2 * PAGE, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(whole != MAP_FAILED);
		MUST(!mprotect(whole + PAGE, pages_of(length), PROT_READ | PROT_WRITE));
		maps[i].at = whole + PAGE;
		maps[i].length = length;
		maps[i].of_device = of_device;
		return maps[i].at;
	}
	abort();
}

void *__wrap_mmap(void *at, size_t length, int protection, int how, int fd, off_t offset)
{
	char name[64];
	void *map;

	if (!input)
		return __real_mmap(at, length, protection, how, fd, offset);
	if (!length || length > MAP_MAX || fault_of("MMAP")) {
		errno = length ? ENOMEM : EINVAL;
		return MAP_FAILED;
	}
	if (fd < 0)
		return map_between(length, false);
	MUST(fd == command_fd);
	device->region(offset, length, name, sizeof(name));
	map = map_between(length, true);
	if (device->mapped)
		device->mapped(offset, map, length);
	return map;
}

void *__wrap_mmap64(void *at, size_t length, int protection, int how, int fd, off_t offset)
{
	return __wrap_mmap(at, length, protection, how, fd, offset);
}

/* A range that is unmapped was mapped, from its beginning to its end. */
int __wrap_munmap(void *at, size_t length)
{
	if (!input)
		return __real_munmap(at, length);
	for (int i = 0; i < MAPS; i++) {
		if (maps[i].at != at || !maps[i].length)
			continue;
		MUST(pages_of(maps[i].length) == pages_of(length));
		if (maps[i].of_device && device->unmapped)
			device->unmapped(at);
		maps[i].length = 0;
		return __real_munmap((uint8_t *)at - PAGE, pages_of(length) + 2 * PAGE);
	}
	abort();
}
