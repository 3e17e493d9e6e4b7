/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork() and memory a device writes to.
 *
 * After fork() a write by the parent to a private page makes a copy, and a kernel before 5.12 may
 * give the copy to the parent: the device continues to use the old page. Newer kernels copy pinned
 * pages for the child at fork() and report this over netlink. They need no protection. On older
 * ones ibv_fork_init() makes every registered range MADV_DONTFORK: the child does not have the
 * pages.
 *
 * Ranges overlap and pages are shared by ranges, so each page has a reference count. The counts are
 * kept as a sorted array of boundaries: refs is valid from start to the next boundary. A change
 * costs a binary search, O(log n), the boundaries inside the range, and one or two memmove() of up
 * to n boundaries of 16 bytes; n is at most twice the number of registered ranges.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/rdma_netlink.h>

#include "libibverbs/library.h"
#include "util/env.h"
#include "util/netlink.h"

/*
 * Protection of ranges. A process leaves OFF once: for TOO_LATE with the first range, or for one of
 * the others with ibv_fork_init(). The first of the two wins the compare-and-swap.
 */
enum fork_state {
	FORK_OFF,      /* not requested, and no range is registered yet */
	FORK_TOO_LATE, /* not requested, and unprotected ranges exist */
	FORK_UNNEEDED,
	FORK_ON,
};

struct fork_boundary {
	uintptr_t start;
	uint32_t refs;
};

static struct {
	_Atomic(enum fork_state) state;
	atomic_bool first_known;
	struct {
		const char *who; /* a string constant */
		void *base;
		size_t size;
	} first; /* the first unprotected range; written once before first_known */

	pthread_mutex_t lock; /* protects the members below; taken last */
	struct fork_boundary *boundaries;
	size_t count;
	size_t room;
	size_t page_size;
	bool huge_pages;
} fork_guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

void fork_guard_hold(bool hold)
{
	if (hold)
		pthread_mutex_lock(&fork_guard.lock);
	else
		pthread_mutex_unlock(&fork_guard.lock);
}

/* ---- copies by the kernel ---- */

static int sys_get_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *attr = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK);
	bool *ret_copies = arg;

	if (attr && netlink_attr_size(attr) >= sizeof(uint8_t))
		*ret_copies = netlink_attr_u8(attr);
	return 0;
}

static int kernel_ask_copies(bool *ret_copies)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = NULL;
	int r = netlink_open(NETLINK_RDMA, &sock);

	if (r < 0)
		return r;
	msg = nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0);
	if (!msg)
		return -ENOMEM;
	return netlink_ask(sock, msg, sys_get_answer, ret_copies);
}

/* Assume that a kernel without an answer does not copy, because protection never harms. */
static bool kernel_copies_on_fork(void)
{
	static atomic_int known; /* 0: unknown, 1: no, 2: yes; a second query is harmless */
	int answer = atomic_load_explicit(&known, memory_order_relaxed);
	bool copies = false;

	if (!answer) {
		kernel_ask_copies(&copies);
		answer = 1 + copies;
		atomic_store_explicit(&known, answer, memory_order_relaxed);
	}
	return answer == 2;
}

/* ---- page sizes ---- */

static bool smaps_mapping_parse(const char *line, uintptr_t *ret_start, uintptr_t *ret_end)
{
	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", ret_start, ret_end) == 2;
}

/* Return the largest page size of the mappings that have a byte in [start, end). */
static size_t smaps_page_size(FILE *smaps, uintptr_t start, uintptr_t end, size_t page_size)
{
	uintptr_t from, to;
	bool inside = false;
	char line[512];
	size_t kib;

	while (fgets(line, sizeof(line), smaps)) {
		if (smaps_mapping_parse(line, &from, &to))
			inside = from < end && start < to;
		else if (inside && sscanf(line, "KernelPageSize: %zu kB", &kib) == 1)
			page_size = max_of(page_size, kib * 1024);
	}
	return page_size;
}

static size_t range_page_size(uintptr_t start, uintptr_t end)
{
	size_t page_size = fork_guard.page_size;
	FILE *smaps;

	if (!fork_guard.huge_pages)
		return page_size;
	smaps = fopen("/proc/self/smaps", "re");
	if (!smaps) {
		log_warn("libibverbs: /proc/self/smaps: %s: taking pages of %zu bytes for granted",
			 strerror(errno), page_size);
		return page_size;
	}
	page_size = smaps_page_size(smaps, start, end, page_size);
	fclose(smaps);
	return page_size;
}

/* ---- boundaries; fork_guard.lock is held ---- */

/* Return the index of the first boundary above @address. */
static size_t boundary_after(uintptr_t address)
{
	size_t low = 0, high = fork_guard.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fork_guard.boundaries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int boundaries_reserve(size_t more)
{
	size_t room = fork_guard.room ? fork_guard.room : 32;
	struct fork_boundary *grown;

	while (room < fork_guard.count + more)
		room *= 2;
	if (room == fork_guard.room)
		return 0;
	grown = reallocarray(fork_guard.boundaries, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	fork_guard.boundaries = grown;
	fork_guard.room = room;
	return 0;
}

/* Make @address a boundary and return its index. The caller has ensured that there is room. */
static size_t boundary_make(uintptr_t address)
{
	size_t i = boundary_after(address);
	struct fork_boundary *b = fork_guard.boundaries;

	if (i && b[i - 1].start == address)
		return i - 1;
	memmove(&b[i + 1], &b[i], (fork_guard.count - i) * sizeof(*b));
	b[i] = (struct fork_boundary){ .start = address, .refs = i ? b[i - 1].refs : 0 };
	fork_guard.count++;
	return i;
}

/* Remove the boundaries in [first, last] whose two sides are equal. */
static void boundaries_merge(size_t first, size_t last)
{
	struct fork_boundary *b = fork_guard.boundaries;
	size_t kept = first;

	for (size_t i = first; i <= last; i++) {
		uint32_t before = kept ? b[kept - 1].refs : 0;

		if (b[i].refs != before)
			b[kept++] = b[i];
	}
	memmove(&b[kept], &b[last + 1], (fork_guard.count - last - 1) * sizeof(*b));
	fork_guard.count -= last + 1 - kept;
}

/* ---- counting references; fork_guard.lock is held ---- */

static int boundary_advise(size_t i, int advice)
{
	const struct fork_boundary *b = &fork_guard.boundaries[i];

	return madvise((void *)b[0].start, b[1].start - b[0].start, advice) ? -errno : 0;
}

/* Ignore errors for pages that the program has unmapped, because they need no protection. */
static void boundaries_unref(size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		struct fork_boundary *b = &fork_guard.boundaries[i];

		if (b->refs && !--b->refs)
			boundary_advise(i, MADV_DOFORK);
	}
}

static int boundaries_ref(size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		struct fork_boundary *b = &fork_guard.boundaries[i];
		int r = b->refs ? 0 : boundary_advise(i, MADV_DONTFORK);

		if (r < 0) {
			/* Undo the part before the page that failed. */
			boundary_advise(i, MADV_DOFORK);
			boundaries_unref(first, i);
			return r;
		}
		b->refs++;
	}
	return 0;
}

static int range_change(uintptr_t start, uintptr_t end, bool protect)
{
	size_t first, last;
	int r;

	r = boundaries_reserve(2);
	if (r < 0)
		return r;
	first = boundary_make(start);
	last = boundary_make(end);
	if (protect)
		r = boundaries_ref(first, last);
	else
		boundaries_unref(first, last);
	boundaries_merge(first, last);
	return r;
}

static int range_apply(void *base, size_t size, bool protect)
{
	uintptr_t start = (uintptr_t)base, end = start + size;
	size_t page_size;
	int r;

	if (!size)
		return 0;
	pthread_mutex_lock(&fork_guard.lock);
	page_size = range_page_size(start, end);
	start &= ~(page_size - 1);
	end = (end + page_size - 1) & ~(page_size - 1);
	r = end > start ? range_change(start, end, protect) : -EINVAL;
	pthread_mutex_unlock(&fork_guard.lock);
	if (r < 0)
		log_err("libibverbs: fork protection of %p, %zu bytes: %s%s", base, size,
			strerror(-r),
			r == -EINVAL ? " (for huge pages set RDMAV_HUGEPAGES_SAFE)"
			: r == -ENOMEM
				? " (part of it is not mapped, or there are too many mappings)"
				: "");
	return r;
}

/* ---- state ---- */

static void fork_note_first(const char *who, void *base, size_t size)
{
	enum fork_state off = FORK_OFF;

	if (!atomic_compare_exchange_strong(&fork_guard.state, &off, FORK_TOO_LATE))
		return;
	fork_guard.first.who = who;
	fork_guard.first.base = base;
	fork_guard.first.size = size;
	/* Pairs with fork_complain_late(). */
	atomic_store_explicit(&fork_guard.first_known, true, memory_order_release);
}

int verbs_dontfork_range_by(const char *who, void *base, size_t size)
{
	enum fork_state state = atomic_load_explicit(&fork_guard.state, memory_order_acquire);

	if (likely(state == FORK_UNNEEDED || state == FORK_TOO_LATE))
		return 0;
	if (state == FORK_OFF)
		fork_note_first(who, base, size);
	/* Another thread may have changed OFF to ON in between. */
	if (atomic_load_explicit(&fork_guard.state, memory_order_acquire) != FORK_ON)
		return 0;
	return range_apply(base, size, true);
}

int verbs_dofork_range(void *base, size_t size)
{
	if (likely(atomic_load_explicit(&fork_guard.state, memory_order_acquire) != FORK_ON))
		return 0;
	return range_apply(base, size, false);
}

static void fork_complain_late(void)
{
	/* Pairs with fork_note_first(). */
	if (!atomic_load_explicit(&fork_guard.first_known, memory_order_acquire)) {
		log_err("libibverbs: ibv_fork_init: too late: another thread is just giving memory "
			"to a device; call it before the first registration");
		return;
	}
	log_err("libibverbs: ibv_fork_init: too late: %s has already given %p, %zu bytes, to a "
		"device; call it before",
		fork_guard.first.who, fork_guard.first.base, fork_guard.first.size);
}

/* Check that the kernel knows MADV_DONTFORK and allows it here. */
static int fork_try_madvise(size_t page_size)
{
	void *page =
		mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r = 0;

	if (page == MAP_FAILED)
		return -ENOMEM;
	if (madvise(page, page_size, MADV_DONTFORK) || madvise(page, page_size, MADV_DOFORK))
		r = -ENOSYS;
	munmap(page, page_size);
	if (r < 0)
		log_err("libibverbs: ibv_fork_init: this kernel cannot keep memory out of "
			"children (MADV_DONTFORK)");
	return r;
}

/* Change FORK_OFF to @wanted. Return: 0, or -EINVAL if a memory range has already been registered.
 */
static int fork_enter(enum fork_state wanted)
{
	enum fork_state found = FORK_OFF;

	if (atomic_compare_exchange_strong(&fork_guard.state, &found, wanted) || found == wanted)
		return 0;
	/* Unprotected ranges are safe if the kernel copies. */
	if (wanted == FORK_UNNEEDED) {
		atomic_store(&fork_guard.state, FORK_UNNEEDED);
		return 0;
	}
	fork_complain_late();
	return -EINVAL;
}

static int fork_init(void)
{
	enum fork_state state = atomic_load_explicit(&fork_guard.state, memory_order_acquire);
	int r;

	if (state == FORK_ON || state == FORK_UNNEEDED)
		return 0;
	if (kernel_copies_on_fork())
		return fork_enter(FORK_UNNEEDED);
	pthread_mutex_lock(&fork_guard.lock);
	fork_guard.page_size = sysconf(_SC_PAGESIZE);
	fork_guard.huge_pages = env_is_set(ENV_RDMAV_HUGEPAGES_SAFE);
	r = fork_try_madvise(fork_guard.page_size);
	if (!r)
		r = fork_enter(FORK_ON);
	pthread_mutex_unlock(&fork_guard.lock);
	return r;
}

void fork_init_from_env(void)
{
	int r;

	if (!env_is_set(ENV_RDMAV_FORK_SAFE) && !env_is_set(ENV_IBV_FORK_SAFE))
		return;
	r = fork_init();
	if (r < 0)
		log_notice("libibverbs: Warning: fork()-safety requested but init failed: %s; %s\n",
			   strerror(-r),
			   r == -EINVAL ? "call ibv_fork_init() before memory is registered"
					: "do not fork while devices are in use");
}

VERBS_EXPORT int ibv_fork_init(void)
{
	return ret_int(fork_init());
}

VERBS_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	enum fork_state state = atomic_load_explicit(&fork_guard.state, memory_order_acquire);

	if (state == FORK_ON)
		return IBV_FORK_ENABLED;
	if (state == FORK_UNNEEDED || kernel_copies_on_fork())
		return IBV_FORK_UNNEEDED;
	return IBV_FORK_DISABLED;
}

VERBS_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	return ret_int(verbs_dontfork_range_by("ibv_dontfork_range", base, size));
}

VERBS_EXPORT int ibv_dofork_range(void *base, size_t size)
{
	return ret_int(verbs_dofork_range(base, size));
}
