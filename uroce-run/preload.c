/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The method without a mount: the files are in a folder in /tmp, and a preloaded library
 * (interpose.c) redirects the program to it. The library is in the same folder and therefore needs
 * no environment variable to find it.
 *
 * The launcher ends when the program ends. A third process between both, the keeper, adopts what
 * the program leaves behind. It removes the folder when the last of these processes has ended.
 */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uroce-run/uroce_run.h"

#define FOLDER_FORM "/tmp/uroce-run.XXXXXX"
#define LIBRARY	    "uroce-run.so"

enum {
	PATH_SIZE = 320,
	REMOVE_FDS = 16,
};

/* --- the folder --- */

/* Link the devices of the kernel, and those of an outer uroce-run, into the new folder. */
static int kernel_link(const char *root, const char *folder)
{
	_cleanup_free_ char *real = realpath(folder, NULL);
	char from[PATH_SIZE], to[PATH_SIZE];
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int r = 0;

	while (dir && !r && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(from, sizeof(from), "%s/%s", real ?: folder, entry->d_name);
		snprintf(to, sizeof(to), "%s%s/%s", root, folder, entry->d_name);
		r = symlink(from, to);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int library_link(const char *root)
{
	char self[PATH_SIZE], library[PATH_SIZE + 16], path[PATH_SIZE];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *end;

	/* In a build tree the library is in the tree as well. */
	self[n < 0 ? 0 : n] = '\0';
	end = strstr(self, "/bin/uroce-run");
	snprintf(library, sizeof(library), "%.*s/lib/" LIBRARY, end ? (int)(end - self) : 0, self);
	if (!end || access(library, R_OK))
		snprintf(library, sizeof(library), RDMA_PROVIDER_DIR "/" LIBRARY);
	if (access(library, R_OK)) {
		complain("%s: %s", library, strerror(errno));
		return -errno;
	}
	snprintf(path, sizeof(path), "%s/" LIBRARY, root);
	return symlink(library, path);
}

static int folder_fill(const char *root)
{
	static const char *const folders[] = { "/sys",	  "/sys/class", "/dev",
					       IB_FOLDER, VERBS_FOLDER, NODE_FOLDER };
	char path[PATH_SIZE];

	for (unsigned int i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		if (mkdir(path, 0755))
			return -errno;
	}
	if (kernel_link(root, IB_FOLDER) || kernel_link(root, VERBS_FOLDER) ||
	    kernel_link(root, NODE_FOLDER) || library_link(root))
		return -errno;
	return 0;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void folder_remove(const char *root)
{
	nftw(root, entry_remove, REMOVE_FDS, FTW_DEPTH | FTW_PHYS);
}

/* --- the program --- */

static int environment_set(const char *root)
{
	const char *others = secure_getenv("LD_PRELOAD");
	_cleanup_free_ char *all = NULL;

	if (asprintf(&all, "%s/" LIBRARY "%s%s", root, others ? ":" : "", others ? others : "") < 0)
		return -ENOMEM;
	return setenv("LD_PRELOAD", all, 1);
}

/* End in the same way as the program. */
static int end_as(int status)
{
	struct rlimit none = {};
	sigset_t all;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none); /* only the program leaves a core file */
	signal(WTERMSIG(status), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static pid_t program_start(const char *root, char **argv, const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid < 0)
		complain("fork: %s", strerror(errno));
	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (environment_set(root))
		_exit(EXIT_LAUNCHER);
	_exit(program_exec(argv));
}

/* --- the keeper --- */

/* The results of the keeper for the launcher, in a page that both have mapped. */
struct report {
	_Atomic(bool) ended; /* the program, and @status is valid */
	_Atomic(bool) stopped;
	int status; /* of waitpid() */
};

struct keeper {
	struct report *report;
	const char *root;
	pid_t launcher, program; /* @program is 0 when it has ended */
};

/* Wake the launcher, if it still exists. */
static void launcher_wake(const struct keeper *k)
{
	if (getppid() == k->launcher)
		kill(k->launcher, SIGCHLD);
}

/* Collect children, and keep the status of the program. Return whether any child is left. */
static bool children_reap(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != k->program)
			continue;
		if (WIFSTOPPED(status)) {
			k->report->stopped = true;
			launcher_wake(k);
		} else {
			k->report->status = status;
			k->program = 0;
		}
	}
	return !pid;
}

/* Wait for the last process, and forward signals of the launcher. The launcher ends with the
 * program. If that is the last process, its folder has been removed by then. */
static void keeper_wait(struct keeper *k, const sigset_t *signals)
{
	bool left;

	do {
		siginfo_t info;
		int signal;

		left = children_reap(k);
		if (!left)
			folder_remove(k->root);
		if (!k->program && !k->report->ended) {
			k->report->ended = true;
			launcher_wake(k);
		}
		signal = left ? sigwaitinfo(signals, &info) : -1;
		if (signal > 0 && signal != SIGCHLD && info.si_code <= 0 &&
		    info.si_pid == k->launcher && k->program)
			kill(k->program, signal);
	} while (left);
}

/* Close the descriptors whose end a reader of the program's output waits for. */
static void descriptors_close(void)
{
	int max = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 0, ~0u, 0))
		return;
#endif
	for (int fd = 0; fd < max; fd++)
		close(fd);
}

static void keeper_run(struct keeper *k, char **argv, const sigset_t *signals, const sigset_t *mask)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	k->program = program_start(k->root, argv, mask);
	descriptors_close();
	if (k->program > 0)
		keeper_wait(k, signals);
	else
		folder_remove(k->root);
	_exit(EXIT_LAUNCHER);
}

/* --- the launcher --- */

/* Wait for the program. Pass on signals that other processes sent to the launcher. The program gets
 * those of the terminal itself. Return: status of waitpid() */
static int program_wait(struct report *report, pid_t keeper, const sigset_t *signals)
{
	while (!report->ended) {
		siginfo_t info;
		int signal = sigwaitinfo(signals, &info);

		if (signal > 0 && signal != SIGCHLD) {
			if (info.si_code <= 0)
				kill(keeper, signal);
			continue;
		}
		if (report->stopped) {
			report->stopped = false;
			raise(SIGSTOP);
			kill(keeper, SIGCONT);
		}
		/* The keeper was killed, or the program could not be started. */
		if (waitpid(keeper, NULL, WNOHANG) == keeper && !report->ended)
			return EXIT_LAUNCHER << 8;
	}
	return report->status;
}

static int program_run(const char *root, char **argv)
{
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct keeper keeper = { .report = report, .root = root, .launcher = getpid() };
	sigset_t all, before;
	pid_t pid;

	if (report == MAP_FAILED) {
		complain("mmap: %s", strerror(errno));
		folder_remove(root);
		return EXIT_LAUNCHER << 8; /* in the format of wait() */
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid < 0) {
		complain("fork: %s", strerror(errno));
		folder_remove(root);
		return EXIT_LAUNCHER << 8;
	}
	if (!pid)
		keeper_run(&keeper, argv, &all, &before);
	return program_wait(report, pid, &all);
}

int preload_run(char **argv)
{
	char root[] = FOLDER_FORM;
	int r;

	if (!mkdtemp(root)) {
		complain("make a folder in /tmp: %s", strerror(errno));
		return EXIT_LAUNCHER;
	}
	/* A child of the program may have become another user. The content is no secret. */
	r = chmod(root, 0755) ? -errno : folder_fill(root);
	if (r < 0)
		complain("%s: %s", root, strerror(-r));
	else
		r = files_write(root);
	if (r > 0)
		return end_as(program_run(root, argv));
	folder_remove(root);
	return EXIT_LAUNCHER;
}
