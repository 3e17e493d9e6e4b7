/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which processes may be peers: those of the same user in the same PID namespace. Only the kernel's
 * answers count here, not messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	OVERFLOW_UID = 65534, /* the default, which the administrator may change */
};

/* Ask the kernel for the peer's credentials. -EIO: the kernel does not answer. */
int shm_peer_credentials(int conn, struct ucred *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(conn, SOL_SOCKET, SO_PEERCRED, ret, &len) ? -EIO : 0;
}

/* --- the user --- */

static uid_t overflow_uid(void)
{
	char text[16] = "";
	_cleanup_close_ int fd = open("/proc/sys/kernel/overflowuid", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtoul(text, NULL, 10)
							       : OVERFLOW_UID;
}

/*
 * A user namespace shows all users without a mapping as one user, which may be the user of this
 * process. Ask the kernel whether the users are the same: it permits a signal only to a process of
 * the same user.
 */
static bool same_user(const struct uroce_shm *shm, const struct ucred *cred)
{
	if (cred->uid != shm->uid)
		return false;
	return !shm->uid_many || (cred->pid > 0 && !kill(cred->pid, 0));
}

static bool user_is_many(uid_t uid)
{
	return uid == overflow_uid();
}

int shm_peer_user(const struct uroce_shm *shm, int conn)
{
	struct ucred cred;
	int r = shm_peer_credentials(conn, &cred);

	return r < 0 ? r : same_user(shm, &cred) ? 0 : -EPERM;
}

/* --- the PID namespace --- */

/*
 * Read the text of /proc/PID/fdinfo and return the number of nested PID namespaces in which the
 * process has a number.
 */
static int depth_parse(char *text)
{
	char *line = strstr(text, "\nNSpid:"), *save;
	int depth = 0;

	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = '\0';
	for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
		depth++;
	return depth;
}

/* Return the depth of the process whose pidfd is shm->looked_at. */
static int depth_look(const struct uroce_shm *shm)
{
	char text[512];
	ssize_t n = pread(shm->look, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return depth_parse(text);
}

/*
 * Return the depth of a process below the PID namespace of /proc. 0: the kernel is older than 5.5,
 * or there is no /proc. Opening a file of /proc takes longer than all other questions about a peer.
 * Therefore one fdinfo file stays open, whose descriptor gets the pidfd of each process in turn.
 */
static int namespace_depth(const struct uroce_shm *shm, int process)
{
	int r;

	if (shm->look < 0)
		return 0;
	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_DEPTH]);
	while ((r = dup3(process, shm->looked_at, O_CLOEXEC)) < 0 && errno == EBUSY)
		;
	r = r < 0 ? -errno : depth_look(shm);
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_DEPTH]);
	return r;
}

static bool is_lack(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

int shm_trust_init(struct uroce_shm *shm)
{
	char path[48];

	shm->uid = geteuid();
	shm->uid_many = user_is_many(shm->uid);
	shm->looked_at = shm_process_open(-1, getpid());
	if (shm->looked_at < 0)
		return shm->looked_at == -1 ? 0 : shm->looked_at;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", shm->looked_at);
	shm->look = open(path, O_RDONLY | O_CLOEXEC);
	if (shm->look < 0)
		return is_lack(errno) ? -errno : 0;
	shm->depth = max_of(depth_look(shm), 0);
	return 0;
}

void shm_trust_end(struct uroce_shm *shm)
{
	shm_fd_forget(&shm->look);
	shm_fd_forget(&shm->looked_at);
}

/* Check the PID namespace. A process with a number here is in this namespace or in a deeper one, so
 * the depth decides. */
static int namespace_admit(const struct uroce_shm *shm, int conn, pid_t pid, int *ret_process)
{
	_cleanup_close_ int process = -1;
	int depth;

	if (shm->host->any_namespace)
		return 0;
	if (pid <= 0)
		return -EPERM;
	process = shm_process_open(conn, pid);
	if (process < -1)
		return process;
	depth = process < 0 ? 0 : namespace_depth(shm, process);
	if (depth < 0)
		return depth;
	if (depth && shm->depth && depth != shm->depth)
		return -EPERM;
	*ret_process = take_fd(&process);
	return 0;
}

/* --- both --- */

int shm_peer_admit(const struct uroce_shm *shm, int conn, pid_t *ret_pid, int *ret_process)
{
	struct ucred cred;
	int r = shm_peer_credentials(conn, &cred);

	*ret_process = -1;
	if (r < 0)
		return r;
	*ret_pid = cred.pid;
	/* A process that has changed its user keeps its peers and gets no new ones. */
	if (!same_user(shm, &cred) || geteuid() != shm->uid)
		return -EPERM;
	return namespace_admit(shm, conn, cred.pid, ret_process);
}
