/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two processes in a row, both in this one's memory while this thread waits, as by vfork(): the
 * first starts the second and ends, so that the second is init's, or that of who has said to care
 * for such processes. A child that becomes another program tells its parent when it ends, whatever
 * was asked of it, so one is not enough. Nothing of the memory is copied: it may be large, and
 * registered with a device.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/host/spawn.h"

enum {
	STACK = 64 << 10, /* of each */
/* ThreadSanitizer takes whoever runs in this memory for the thread that waits. */
#ifdef __SANITIZE_THREAD__
	HOW = CLONE_VFORK,
#else
	HOW = CLONE_VFORK | CLONE_VM,
#endif
};

/* In memory that all three share, whatever a debugger makes of it. */
struct spawn {
	const char *path;
	char *const *arguments;
	const int *files;
	unsigned int count;
	int error;
	char stack[2][STACK];
};

#ifndef SYS_close_range /* Linux 5.9 */
#define SYS_close_range 436
#endif

/*
 * The second. Calls of the kernel's alone: the C library's may do things for this process. What it
 * has open is closed here: the kernel lets this process go on before it closes what a new program
 * is not to have, and by then the name of a socket that was closed is to be free.
 */
static int program(void *arg)
{
	static char *const nothing[] = { NULL };
	struct spawn *spawn = arg;

	for (unsigned int i = 0; i < spawn->count; i++)
		if (syscall(SYS_dup3, spawn->files[i], i, 0) < 0) {
			spawn->error = errno;
			return 1;
		}
	(void)syscall(SYS_close_range, spawn->count, ~0u, 0);
	syscall(SYS_execve, spawn->path, spawn->arguments, nothing);
	spawn->error = errno;
	return 1;
}

static int first(void *arg)
{
	struct spawn *spawn = arg;

	if (clone(program, spawn->stack[0] + STACK, HOW, spawn) < 0)
		spawn->error = errno;
	return 0;
}

/* No handler of this process's runs in the other two. */
static void spawn_run(struct spawn *spawn)
{
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = clone(first, spawn->stack[1] + STACK, HOW, spawn);
	if (pid < 0)
		spawn->error = errno;
	else
		(void)waitpid(pid, NULL, __WCLONE);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int uroce_spawn(const char *path, char *const arguments[], const int *files, unsigned int count)
{
	struct spawn *spawn = mmap(NULL, sizeof(*spawn), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	if (spawn == MAP_FAILED)
		return -errno;
	spawn->path = path;
	spawn->arguments = arguments;
	spawn->files = files;
	spawn->count = count;
	spawn_run(spawn);
	error = spawn->error;
	munmap(spawn, sizeof(*spawn));
	return -error;
}
