/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads of the process that wait for a descriptor and for nothing else, as the kernel tells in
 * /proc: in read(), in poll() of one descriptor, or for an epoll descriptor that has only this one.
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "providers/uroce/strict/record.h"

/* A system call in which a thread sleeps, and its first arguments. */
struct call {
	long number; /* -1: none */
	unsigned long args[4];
};

static bool call_read(const char *thread, struct call *ret_call)
{
	char path[64];
	FILE *file;
	int n;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/syscall", thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fscanf(file, "%ld %lx %lx %lx %lx", &ret_call->number, &ret_call->args[0],
		   &ret_call->args[1], &ret_call->args[2], &ret_call->args[3]);
	fclose(file);
	return n >= 3;
}

/* Return whether the first descriptor of a poll() is @fd. */
static bool poll_is_for(unsigned long address, int fd)
{
	struct pollfd one;
	struct iovec local = { &one, sizeof(one) }, memory = { (void *)address, sizeof(one) };

	return process_vm_readv(getpid(), &local, 1, &memory, 1, 0) == sizeof(one) && one.fd == fd;
}

static bool epoll_is_for(int epoll, int fd)
{
	int only = -1, found = 0, target;
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "tfd: %d", &target) == 1) {
			only = target;
			found++;
		}
	fclose(file);
	return found == 1 && only == fd;
}

static bool call_is_for(const struct call *call, int fd)
{
	switch (call->number) {
	case SYS_read:
		return (int)call->args[0] == fd;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return call->args[1] == 1 && poll_is_for(call->args[0], fd);
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return epoll_is_for(call->args[0], fd);
	default:
		return false;
	}
}

/* Return whether a system call waits for another thread without a limit. */
static bool call_is_for_threads(const struct call *call)
{
	switch (call->number) {
#ifdef SYS_futex
	case SYS_futex:
#endif
#ifdef SYS_futex_time64
	case SYS_futex_time64:
#endif
		return !call->args[3];
	default:
		return false;
	}
}

/* Return whether a thread exists that does not wait, or waits for something else. */
static bool is_at_work(pid_t thread, int fd)
{
	char path[64], name[16];
	struct call call;

	snprintf(name, sizeof(name), "%d", thread);
	snprintf(path, sizeof(path), "/proc/self/task/%s", name);
	if (!thread || access(path, F_OK) < 0)
		return false;
	return !call_read(name, &call) || (!call_is_for(&call, fd) && !call_is_for_threads(&call));
}

static bool any_waits_for(int fd)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;
	bool found = false;
	struct call call;

	while (threads && !found && (entry = readdir(threads)))
		found = entry->d_name[0] != '.' && call_read(entry->d_name, &call) &&
			call_is_for(&call, fd);
	if (threads)
		closedir(threads);
	return found;
}

bool strict_waits_for(int fd, pid_t poller)
{
	if (is_at_work(poller, fd))
		return false;
	return any_waits_for(fd);
}
