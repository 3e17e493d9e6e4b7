/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folders that only this process and its children see, in a mount namespace. If this needs a
 * privilege, a user namespace is used as well, in which the user keeps its id. Files cannot be
 * added to a folder of sysfs. Therefore a tmpfs covers the folder and gets all of its entries.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "uroce-run/uroce_run.h"

enum {
	PATH_SIZE = 320,
	DONE = 0,
};

static int failed(struct text *why, const char *what, const char *path)
{
	int r = -errno;

	text_add(why, "%s%s%s: %s", what, path ? " " : "", path ? path : "", strerror(-r));
	return r;
}

/* --- the namespaces --- */

static int proc_write(struct text *why, const char *path, const char *words)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, words, strlen(words)) < 0)
		return failed(why, "write", path);
	return 0;
}

/* Map this user and group to the same ids. */
static int user_map(struct text *why, uid_t uid, gid_t gid)
{
	char words[64];
	int r;

	r = proc_write(why, "/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	snprintf(words, sizeof(words), "%u %u 1\n", uid, uid);
	r = proc_write(why, "/proc/self/uid_map", words);
	if (r < 0)
		return r;
	snprintf(words, sizeof(words), "%u %u 1\n", gid, gid);
	return proc_write(why, "/proc/self/gid_map", words);
}

/* Return: 1 with a user namespace, 0 without one, or -errno. */
static int namespaces_leave(bool user_allowed, struct text *why)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(CLONE_NEWNS)) {
		if (!user_allowed)
			return failed(why, "mount namespace", NULL);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return failed(why, "user and mount namespace", NULL);
		r = user_map(why, uid, gid);
		if (r < 0)
			return r;
		r = 1;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return failed(why, "keep mounts to this namespace", NULL);
	return r;
}

/* --- the folders --- */

static int link_copy(int from, const char *name, const char *to)
{
	char target[PATH_SIZE];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	return symlink(target, to);
}

static int place_make(mode_t mode, const char *path)
{
	int fd;

	if (S_ISDIR(mode))
		return mkdir(path, 0755);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return fd < 0 ? -1 : close(fd);
}

/* Make the former entry @name of @folder appear again. */
static int entry_keep(int from, const char *folder, const char *name, struct text *why)
{
	char source[PATH_SIZE], path[PATH_SIZE];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : failed(why, "look at", path);
	if (S_ISLNK(st.st_mode))
		return link_copy(from, name, path) ? failed(why, "link", path) : 0;
	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
	if (place_make(st.st_mode, path))
		return failed(why, "make", path);
	if (mount(source, path, NULL, MS_BIND | MS_REC, NULL))
		return failed(why, "bind", path);
	return 0;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int folder_cover(const char *folder, struct text *why)
{
	DIR *old = opendir(folder);
	struct dirent *entry;
	int r = 0;

	if (!old)
		return failed(why, "open", folder);
	if (mount("uroce-run", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"))
		r = failed(why, "tmpfs on", folder);
	while (!r && (entry = readdir(old)))
		if (!is_dots(entry->d_name))
			r = entry_keep(dirfd(old), folder, entry->d_name, why);
	closedir(old);
	return r;
}

/*
 * Make @folder writable: cover it with a tmpfs. If it is missing, cover its parent and create it.
 * @covered: the last covered parent. No file is ever created in a folder of the host.
 */
static int folder_open(const char *folder, char covered[PATH_SIZE], struct text *why)
{
	char parent[PATH_SIZE];
	int r;

	if (!access(folder, F_OK))
		return folder_cover(folder, why);
	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(folder, '/') - folder), folder);
	if (strcmp(parent, covered)) {
		r = folder_cover(parent, why);
		if (r < 0)
			return r;
		strcpy(covered, parent);
	}
	return mkdir(folder, 0755) ? failed(why, "make", folder) : 0;
}

int view_enter(bool user_allowed, struct text *why)
{
	static const char *const folders[] = { IB_FOLDER, VERBS_FOLDER, NODE_FOLDER };
	char covered[PATH_SIZE] = "";
	int user = namespaces_leave(user_allowed, why), r = 0;

	if (user < 0)
		return user;
	for (unsigned int i = 0; !r && i < ARRAY_SIZE(folders); i++)
		r = folder_open(folders[i], covered, why);
	return r < 0 ? r : user;
}

/* Explain why the trial ended without a reason of its own. */
static void trial_explain(int status, struct text *why)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		text_add(why, "a seccomp filter killed the process that tried it");
	else
		text_add(why, "the process that tried it ended: %s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no reason");
}

/* Try it in a child, because a process cannot return from a namespace. */
bool view_possible(bool user_allowed, struct text *why)
{
	int pipes[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return failed(why, "pipe", NULL) >= 0;
	pid = fork();
	if (pid < 0)
		failed(why, "fork", NULL);
	if (!pid) {
		int r = view_enter(user_allowed, why);

		n = write(pipes[1], why->chars, why->length);
		_exit(r < 0 || n < 0 ? EXIT_LAUNCHER : DONE);
	}
	close(pipes[1]);
	n = pid > 0 ? read(pipes[0], why->chars, sizeof(why->chars) - 1) : -1;
	close(pipes[0]);
	if (n >= 0) {
		why->length = n;
		why->chars[n] = '\0';
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == DONE)
		return true;
	if (!why->length)
		trial_explain(status, why);
	return false;
}
