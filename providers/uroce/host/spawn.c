/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Start a program through two processes, which use this process's memory while this thread waits,
 * as with vfork(). The first process starts the second and ends. The second is then a child of init
 * or of a subreaper.
 *
 * One process is not enough, because a child that calls exec() reports its end to its parent in any
 * case. The memory is not copied, because it may be large and registered with a device.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/host/spawn.h"

enum {
	STACK = 64 << 10, /* bytes of the stack of each of the two processes */
/* ThreadSanitizer would mistake a process that runs in this memory for the waiting thread. */
#ifdef __SANITIZE_THREAD__
	HOW = CLONE_VFORK,
#else
	HOW = CLONE_VFORK | CLONE_VM,
#endif
};

/*
 * State in a shared mapping, which all three processes see even if a debugging tool copies the
 * memory despite CLONE_VM.
 */
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
 * Run the second process. It only makes system calls, because functions of the C library may act on
 * behalf of the first process. It closes its descriptors itself: exec() resumes this process before
 * the kernel closes them, and by then the names of sockets that this process closes must be free.
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

/* Block all signals, so that no signal handler of this process runs in the other two. */
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
