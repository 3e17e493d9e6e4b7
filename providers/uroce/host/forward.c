/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/poller.h"

enum {
	WAITING_MAX = 1024,
	PATIENCE = 1000000000,	    /* ns that a datagram waits for a process that may not exist */
	RETRY_INTERVAL = 100000000, /* ns between two attempts to connect to a process */
	LAST_PATIENCE = 500000000,  /* ns: limit of the wait for all peers when this process ends */
	LAST_PAUSE =
		1000000, /* ns between two checks of this wait, because the thread needs the lock */
	/*
	 * checks between two tests whether a process exists, because each test takes system calls
	 */
	LOOKS_PER_QUESTION = 32,
	WORD_BITS = 64,
};
/* ns that a datagram waits for an existing process, which may not be scheduled for a while. */
#define PATIENCE_MAX 30000000000ull

struct waiting {
	TAILQ_ENTRY(waiting) entry;
	uint16_t slot; /* 0: destination not known yet */
	uint64_t since;
	uint64_t seen; /* ns: last time its process was known to exist */
	struct path_origin from;
	uint32_t length;
	uint8_t packet[];
};

struct uroce_forward {
	atomic_bool wants; /* at least one bit of wanted is set */
	atomic_ullong wanted[SHM_SLOTS / WORD_BITS];
	_Atomic uint64_t tried[SHM_SLOTS]; /* ns: last request to the thread */
	TAILQ_HEAD(, waiting) list;	   /* protected by progress_lock */
};

int uroce_forward_new(struct uroce_forward **ret_forward)
{
	struct uroce_forward *forward = calloc(1, sizeof(*forward));

	if (!forward)
		return -ENOMEM;
	TAILQ_INIT(&forward->list);
	*ret_forward = forward;
	return 0;
}

static void waiting_drop(struct uroce_host *host, struct waiting *w)
{
	TAILQ_REMOVE(&host->forward->list, w, entry);
	host->forwards--;
	free(w);
}

void uroce_forward_free(struct uroce_forward *forward)
{
	struct waiting *w;

	if (!forward)
		return;
	while ((w = TAILQ_FIRST(&forward->list))) {
		TAILQ_REMOVE(&forward->list, w, entry);
		free(w);
	}
	free(forward);
}

/* --- connecting --- */

void uroce_forward_want(struct uroce_host *host, uint16_t slot)
{
	struct uroce_forward *forward = host->forward;
	uint64_t now = uroce_now();

	if (now - atomic_load_explicit(&forward->tried[slot], memory_order_relaxed) <
	    RETRY_INTERVAL)
		return;
	atomic_store_explicit(&forward->tried[slot], now, memory_order_relaxed);
	atomic_fetch_or_explicit(&forward->wanted[slot / WORD_BITS], 1ull << slot % WORD_BITS,
				 memory_order_relaxed);
	atomic_store_explicit(&forward->wants, true, memory_order_release);
	uroce_thread_wake(host);
}

void uroce_forward_connect(struct uroce_host *host)
{
	struct uroce_forward *forward = host->forward;

	if (!atomic_load_explicit(&forward->wants, memory_order_relaxed) ||
	    !atomic_exchange_explicit(&forward->wants, false, memory_order_acquire))
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(forward->wanted); i++) {
		unsigned long long wanted =
			atomic_load_explicit(&forward->wanted[i], memory_order_relaxed);

		if (!wanted)
			continue;
		wanted = atomic_exchange_explicit(&forward->wanted[i], 0, memory_order_acquire);
		for (; wanted; wanted &= wanted - 1) {
			unsigned int slot = i * WORD_BITS + __builtin_ctzll(wanted);

			if (slot)
				uroce_shm_invite(host->shm, slot);
			else
				uroce_shm_invite_all(host->shm);
		}
	}
}

/* --- datagrams --- */

static void wait_for_peer(struct uroce_host *host, uint16_t slot, const struct path_origin *from,
			  const void *packet, uint32_t length, uint64_t now)
{
	struct uroce_forward *forward = host->forward;
	struct waiting *w;

	if (host->forwards == WAITING_MAX)
		waiting_drop(host, TAILQ_FIRST(&forward->list));
	w = malloc(sizeof(*w) + length);
	if (!w)
		return;
	*w = (struct waiting){
		.slot = slot, .since = now, .seen = now, .from = *from, .length = length
	};
	memcpy(w->packet, packet, length);
	TAILQ_INSERT_TAIL(&forward->list, w, entry);
	host->forwards++;
	uroce_forward_want(host, slot);
}

/* Return whether to wait longer for the process that the datagram is for. */
static bool is_expected(struct uroce_host *host, struct waiting *w, uint64_t now)
{
	if (now - w->since > PATIENCE_MAX)
		return false;
	if (now - w->seen <= PATIENCE)
		return true;
	w->seen = now;
	return uroce_shm_slot_used(host->shm, w->slot);
}

/* Try to deliver a waiting datagram. Return: true if it was delivered or is to be dropped. */
static bool waiting_go(struct uroce_host *host, struct waiting *w, uint64_t now)
{
	bool last = now - w->since > PATIENCE;

	if (!w->slot)
		return uroce_gsi_again(host, &w->from, w->packet, w->length, last, now);
	if (!is_expected(host, w, now) ||
	    uroce_shm_forward(host->shm, w->slot, &w->from, w->packet, w->length) != -ENOENT)
		return true;
	/* Ask again, because this slot may only refer to the first slot of its process. */
	uroce_forward_want(host, w->slot);
	return false;
}

void uroce_forward(struct uroce_host *host, uint16_t slot, const struct path_origin *from,
		   const void *packet, uint32_t length, uint64_t now)
{
	if (length > SHM_SEGMENT)
		return;
	if (slot && uroce_shm_forward(host->shm, slot, from, packet, length) != -ENOENT)
		return;
	wait_for_peer(host, slot, from, packet, length, now);
}

void uroce_forward_run(struct uroce_host *host, uint64_t now)
{
	struct uroce_forward *forward = host->forward;
	struct waiting *w, *next;

	assert_held(&host->paths.progress_lock);
	for (w = TAILQ_FIRST(&forward->list); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (waiting_go(host, w, now))
			waiting_drop(host, w);
	}
}

/* --- the end --- */

/* Drop datagrams for processes that do not exist. */
static void drop_deserted(struct uroce_host *host)
{
	struct uroce_forward *forward = host->forward;
	struct waiting *w, *next;
	uint16_t asked = 0;
	bool used = true;

	for (w = TAILQ_FIRST(&forward->list); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (w->slot != asked)
			used = !w->slot || uroce_shm_slot_used(host->shm, w->slot);
		asked = w->slot;
		if (!used)
			waiting_drop(host, w);
	}
}

/*
 * Return whether no datagram waits any more, and every forwarded datagram will be seen by its
 * process even if this process ends now.
 */
static bool forward_finished(struct uroce_host *host, bool asks, uint64_t now)
{
	bool finished;

	uroce_lock(&host->paths.progress_lock);
	uroce_forward_run(host, now);
	if (asks)
		drop_deserted(host);
	finished = !uroce_forward_waiting(host) && uroce_shm_forwarded(host->shm);
	uroce_unlock(&host->paths.progress_lock);
	return finished;
}

void uroce_forward_finish(struct uroce_host *host)
{
	static const struct timespec pause = { .tv_nsec = LAST_PAUSE };
	uint64_t now = uroce_now(), end = now + LAST_PATIENCE;

	for (unsigned int looks = 0; now < end; now = uroce_now(), looks++) {
		if (forward_finished(host, !(looks % LOOKS_PER_QUESTION), now))
			return;
		nanosleep(&pause, NULL);
	}
	/*
	 * The last attempt gives a MAD without a listener to any manager. The manager answers that
	 * nothing listens there.
	 */
	forward_finished(host, false, now + PATIENCE_MAX + 1);
}
