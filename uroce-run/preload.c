/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The method without a mount: the files are in a folder in /tmp, and a preloaded library
 * (interpose.c) redirects the program to it. The library is in the same folder and therefore needs
 * no environment variable to find it. The launcher waits until the program ends and removes the
 * folder.
 */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "uroce-run/uroce_run.h"

#define FOLDER_FORM "/tmp/uroce-run.XXXXXX"
#define LIBRARY	    "uroce-run.so"

enum {
	PATH_SIZE = 320,
	REMOVE_FDS = 16,
};

/* --- the folder --- */

/* Link the devices of the kernel into the new folder. */
static int kernel_link(const char *root, const char *folder)
{
	char from[PATH_SIZE], to[PATH_SIZE];
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int r = 0;

	while (dir && !r && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(from, sizeof(from), "%s/%s", folder, entry->d_name);
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

/* Wait for the program. Forward signals that other processes sent to the launcher. The program gets
 * those of the terminal itself. */
static int program_wait(pid_t pid, const sigset_t *signals)
{
	int status = 0;

	for (;;) {
		siginfo_t info;
		int signal = sigwaitinfo(signals, &info);

		if (signal > 0 && signal != SIGCHLD) {
			if (info.si_code <= 0)
				kill(pid, signal);
			continue;
		}
		if (waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
			continue;
		if (!WIFSTOPPED(status))
			return status;
		raise(SIGSTOP);
		kill(pid, SIGCONT);
	}
}

static int program_run(const char *root, char **argv)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid < 0) {
		complain("fork: %s", strerror(errno));
		return EXIT_LAUNCHER << 8; /* in the format of wait() */
	}
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (environment_set(root))
			_exit(EXIT_LAUNCHER);
		_exit(program_exec(argv));
	}
	return program_wait(pid, &all);
}

int preload_run(char **argv)
{
	char root[] = FOLDER_FORM;
	int r, status = EXIT_LAUNCHER << 8;

	if (!mkdtemp(root)) {
		complain("make a folder in /tmp: %s", strerror(errno));
		return EXIT_LAUNCHER;
	}
	r = folder_fill(root);
	if (r < 0)
		complain("%s: %s", root, strerror(-r));
	else
		r = files_write(root);
	if (r > 0)
		status = program_run(root, argv);
	folder_remove(root);
	return end_as(status);
}
