/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "rdma-doctor/child.h"
#include "util/util.h"

#define CHILD_SECONDS 60

static volatile pid_t current; /* process of child_run() in progress, or 0 */

void child_interrupt(int signal)
{
	if (current > 0)
		kill(current, signal);
}

static int child_wait(pid_t pid, int *ret_signal)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return *ret_signal == SIGALRM ? -ETIMEDOUT : -EFAULT;
}

/* fork() and set @current, without a handler in between. */
static pid_t fork_known(void)
{
	sigset_t interrupt, before;
	pid_t pid;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	pid = fork();
	current = pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int child_run(child_job_fn job, const void *arg, void *result, size_t size, int *ret_signal)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t caller = getpid();
	pid_t pid;
	int r;

	*ret_signal = 0;
	if (shared == MAP_FAILED)
		return -errno;
	fflush(NULL);
	pid = fork_known();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		signal(SIGSYS, SIG_DFL);
		/* The job ends with its caller, because it would keep stdout open. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != caller)
			_exit(1);
		alarm(CHILD_SECONDS);
		job(arg, shared);
		_exit(0);
	}
	r = pid < 0 ? -errno : child_wait(pid, ret_signal);
	current = 0;
	if (!r)
		memcpy(result, shared, size);
	munmap(shared, size);
	return r;
}
