/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks whether a peer's process still exists. A child that was forked without exec has all
 * descriptors of its parent, so a connection may stay open after its owner has died. The kernel may
 * also give the number of a dead process to a new process.
 *
 * Therefore a pidfd watches the peer's process. A thread that copies to or from its memory also
 * checks the board, which has a robust mutex: the kernel marks it at the end of the process, before
 * another process can get the number.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

#if !defined(SO_PEERPIDFD) && !defined(__sparc__) && !defined(__hppa__)
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

int shm_life_init(struct shm_first_page *first_page)
{
	pthread_mutexattr_t attr;
	int r;

	if (getrandom(first_page->probe, sizeof(first_page->probe), 0) != sizeof(first_page->probe))
		return uroce_call_failed("getrandom");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	r = pthread_mutex_init(&first_page->life.lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -r;
}

void uroce_shm_life_begin(struct uroce_shm *shm)
{
	pthread_mutex_lock(&shm->board->first_page.life.lock);
}

void uroce_shm_life_end(struct uroce_shm *shm)
{
	pthread_mutex_unlock(&shm->board->first_page.life.lock);
}

/*
 * Set if a pidfd was opened by process number, because the kernel does not provide one for a
 * connection.
 */
static atomic_bool by_number;

int shm_process_open(int conn, pid_t pid)
{
	int fd;
#ifdef SO_PEERPIDFD
	socklen_t length = sizeof(fd);

	if (conn >= 0 && !getsockopt(conn, SOL_SOCKET, SO_PEERPIDFD, &fd, &length))
		return fd;
#endif
	if (conn >= 0)
		atomic_store_explicit(&by_number, true, memory_order_relaxed);
	if (pid <= 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0)
		return fd;
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -1;
}

/* The board proves afterwards that the number still belonged to the peer when the pidfd was
 * opened. */
int shm_life_watch(struct shm_peer *peer, int conn)
{
	int fd = peer->process >= 0 ? peer->process : shm_process_open(conn, peer->pid);

	if (fd < -1)
		return fd;
	peer->process = fd;
	return !atomic_load_explicit(&by_number, memory_order_relaxed) ||
			       uroce_shm_lives(peer->first_page)
		       ? 0
		       : -ECONNRESET;
}

bool shm_life_lasts(struct shm_peer *peer)
{
	struct uroce_shm *shm = peer->shm;
	bool lives;

	/* Pairs with uroce_board_wait(). */
	atomic_fetch_add(&shm->key_readers, 1);
	lives = atomic_load(&shm->by_slot[peer->slot]) == peer && uroce_shm_lives(peer->first_page);
	atomic_fetch_sub(&shm->key_readers, 1);
	return lives;
}

/* Reading the probe word through the kernel also proves that the board belongs to that process. */
bool shm_life_reads(struct shm_peer *peer)
{
	int reads = atomic_load_explicit(&peer->reads, memory_order_relaxed);

	if (likely(reads != SHM_READS_UNKNOWN))
		return reads == SHM_READS;
	reads = shm_memory_readable(peer->pid, peer->probe, peer->first_page->probe)
			? SHM_READS
			: SHM_READS_NOT;
	if (reads == SHM_READS_NOT)
		atomic_store_explicit(&peer->uses->blind, 1, memory_order_relaxed);
	atomic_store_explicit(&peer->reads, reads, memory_order_relaxed);
	return reads == SHM_READS;
}
