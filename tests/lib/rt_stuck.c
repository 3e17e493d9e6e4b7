/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the state of each thread of a case that hangs. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#else
static int backtrace(void **frames, int size)
{
	return 0;
}

static void backtrace_symbols_fd(void *const *frames, int count, int fd)
{
}
#endif

#include "tests/lib/rt_stuck.h"

enum {
	FRAMES = 32,
	ANSWER_MS = 300, /* a thread that blocks the signal never answers */
	SAY_SECONDS = 5,
};

static volatile sig_atomic_t answers;

static void stack_say(int sig)
{
	void *frames[FRAMES];

	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDOUT_FILENO);
	answers = answers + 1;
}

static void file_say(pid_t tid, const char *name)
{
	char path[64], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	printf(" %s", text);
}

/* Print the thread's name, its wait channel in the kernel, its system call and its stack. */
static void thread_say(pid_t tid)
{
	int before = answers;

	printf("  thread %d:", tid);
	file_say(tid, "comm");
	file_say(tid, "wchan");
	file_say(tid, "syscall");
	printf("\n");
	fflush(stdout);
	if (syscall(SYS_tgkill, getpid(), tid, SIGUSR2) < 0)
		return;
	for (int ms = 0; ms < ANSWER_MS && answers == before; ms++)
		usleep(1000);
}

/* Print all threads. The functions called here are not async-signal-safe, but the process is
 * about to end anyway, and a failure only ends it sooner. */
static void stuck_say(int sig)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	alarm(SAY_SECONDS); /* ends the process if this handler hangs */
	signal(SIGUSR2, stack_say);
	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name))
			thread_say(atoi(entry->d_name));
	raise(SIGALRM);
}

/* SA_RESTART: some code checks whether a handler of the process interrupts its system calls. */
void rt_stuck_watch(unsigned int seconds)
{
	struct sigaction action = { .sa_handler = stuck_say,
				    .sa_flags = SA_NODEFER | SA_RESETHAND | SA_RESTART };
	void *frame;

	backtrace(&frame, 1); /* the first call loads a library */
	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
}
