/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guardian: a program that sends prepared MADs to other hosts after this process has gone. It
 * is started once, with the first connection to another host. A kernel's connection manager does
 * not check whether its peer still exists, so the guardian must report the end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "providers/uroce/guardian/guardian.h"
#include "providers/uroce/host/gsi.h"
#include "providers/uroce/host/guardian.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/spawn.h"
#include "util/cancel.h"

enum {
	LIST_SIZE = GUARDIAN_WORDS * sizeof(struct guardian_word),
	/*
	 * lowest descriptor number here of the program's files; the program gets them as 0 to
	 * GUARDIAN_FILES - 1
	 */
	FILES_FROM = GUARDIAN_FILES,
};

struct uroce_guardian {
	struct guardian_word *words; /* pages are allocated at their first use */
	int life;		     /* write end of a pipe, closed by the end of the process */
};

/* --- start --- */

/* Create the shared list of MADs. Its size is sealed, so that the mapping here stays valid. */
static int list_make(struct guardian_word **ret_words, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create(GUARDIAN_PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *words;
	int r;

	if (fd < 0)
		return -errno;
	r = uroce_file_grow(fd, LIST_SIZE);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	words = mmap(NULL, LIST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return -errno;
	(void)madvise(words, LIST_SIZE, MADV_DONTFORK);
	*ret_words = words;
	*ret_fd = take_fd(&fd);
	return 0;
}

/*
 * Move @fd, which is consumed, to a number of at least FILES_FROM. The application may have closed
 * its first three descriptors, and @fd may have one of their numbers.
 */
static int file_move(int fd, int *ret_fd)
{
	int r = 0;

	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, FILES_FROM);
	if (*ret_fd < 0)
		r = -errno;
	close(fd);
	return r;
}

/*
 * Make the two descriptors that report the end of this process. The pipe also reports exec(). The
 * pidfd also works while a child holds a copy of the pipe.
 */
static int life_make(int files[GUARDIAN_FILES], int *ret_life)
{
	int ends[2], process, r;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ret_life = ends[1];
	r = file_move(ends[0], &files[GUARDIAN_LIFE]);
	if (r < 0)
		return r;
	process = syscall(SYS_pidfd_open, getpid(), 0);
	if (process >= 0 && !file_move(process, &files[GUARDIAN_PROCESS]))
		return 0;
	files[GUARDIAN_PROCESS] = fcntl(files[GUARDIAN_LIFE], F_DUPFD_CLOEXEC, FILES_FROM);
	return files[GUARDIAN_PROCESS] < 0 ? -errno : 0;
}

static int program_start(const int files[GUARDIAN_FILES])
{
	_cleanup_free_ char *path = NULL;
	static char name[] = GUARDIAN_PROGRAM, layout[] = GUARDIAN_LAYOUT;
	char *arguments[] = { name, layout, NULL };
	int r;

	if (asprintf(&path, "%s/" GUARDIAN_PROGRAM, verbs_program_folder()) < 0)
		return path = NULL, -ENOMEM;
	r = uroce_spawn(path, arguments, files, GUARDIAN_FILES);
	if (r < 0)
		log_warn(
			"uroce: %s is not started: %s. Should this process be killed, peers on other "
			"hosts with a kernel's connection manager will not be told; see uroce(7)",
			path, strerror(-r));
	return r;
}

static void files_close(int *files, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (files[i] >= 0)
			close(files[i]);
}

static int guardian_fill(struct uroce_guardian *guardian)
{
	int files[GUARDIAN_FILES] = { -1, -1, -1 }, list = -1;
	int r = list_make(&guardian->words, &list);

	if (!r)
		r = file_move(list, &files[GUARDIAN_LIST]);
	if (!r)
		r = life_make(files, &guardian->life);
	if (!r)
		r = program_start(files);
	files_close(files, GUARDIAN_FILES);
	return r;
}

void uroce_guardian_free(struct uroce_guardian *guardian)
{
	if (!guardian)
		return;
	if (guardian->words)
		munmap(guardian->words, LIST_SIZE);
	if (guardian->life >= 0)
		close(guardian->life);
	free(guardian);
}

void uroce_guardian_forked(const struct uroce_guardian *guardian)
{
	if (guardian)
		close(guardian->life);
}

static int guardian_new(struct uroce_guardian **ret_guardian)
{
	struct uroce_guardian *guardian = malloc(sizeof(*guardian));
	int r;

	if (!guardian)
		return -ENOMEM;
	*guardian = (struct uroce_guardian){ .life = -1 };
	r = guardian_fill(guardian);
	if (r < 0) {
		uroce_guardian_free(guardian);
		return r;
	}
	*ret_guardian = guardian;
	return 0;
}

/*
 * Start the guardian at the first call. A failed start is not repeated, because its cause is likely
 * to stay and each attempt is expensive.
 */
static int guardian_get(struct uroce_host *host)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_guardian *guardian = NULL;

	pthread_mutex_lock(&host->guardian_lock);
	if (!host->guardian_tried && !guardian_new(&guardian))
		atomic_store_explicit(&host->guardian, guardian, memory_order_release);
	host->guardian_tried = true;
	pthread_mutex_unlock(&host->guardian_lock);
	return atomic_load_explicit(&host->guardian, memory_order_acquire) ? 0 : -EOPNOTSUPP;
}

int uroce_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote)
{
	struct uroce_host *host = ctx_host(ctx);
	union ibv_gid gid = uroce_gid_canonical(remote);
	int r = uroce_host_check(host);
	bool here;

	if (r < 0)
		return r;
	uroce_lock(&host->paths.progress_lock);
	here = uroce_gsi_is_ours(host, &gid);
	uroce_unlock(&host->paths.progress_lock);
	return here ? -ENOENT : guardian_get(host);
}

/* --- messages --- */

static bool fits(const struct verbs_gsi_mad *mad)
{
	for (unsigned int i = GUARDIAN_MAD_LEN; i < GSI_MAD_LEN; i++)
		if (mad->data[i])
			return false;
	return true;
}

static void word_fill(struct guardian_word *word, const struct uroce_dev *dev,
		      const struct verbs_gsi_mad *mad)
{
	union ibv_gid remote = uroce_gid_canonical(&mad->remote_gid);

	word->ifindex = dev->ifindex;
	memcpy(word->local_gid, mad->local_gid.raw, sizeof(word->local_gid));
	memcpy(word->remote_gid, remote.raw, sizeof(word->remote_gid));
	word->traffic_class = mad->traffic_class;
	memcpy(word->mad, mad->data, sizeof(word->mad));
}

int uroce_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad)
{
	struct uroce_host *host = ctx_host(ctx);
	struct uroce_guardian *guardian =
		atomic_load_explicit(&host->guardian, memory_order_acquire);
	struct guardian_word *word;

	if (!guardian || !uroce_host_here(host))
		return -EOPNOTSUPP;
	if (mad && !fits(mad))
		return -EMSGSIZE;
	word = &guardian->words[index];
	/* Keep an order, because the process may be killed between any two stores. */
	atomic_store_explicit(&word->valid, 0, memory_order_relaxed);
	if (!mad)
		return 0;
	atomic_signal_fence(memory_order_seq_cst);
	word_fill(word, ctx_dev(ctx), mad);
	atomic_store_explicit(&word->valid, 1, memory_order_release);
	return 0;
}
