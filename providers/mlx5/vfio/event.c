/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event queue of vector 0: ends of commands, and requests of the firmware for pages. */
#include <sys/eventfd.h>

#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/function.h"

enum {
	LOG_ENTRIES = 8,
	ENTRIES = 1 << LOG_ENTRIES,
	ENTRY = 64,
	AT_TYPE = 1,
	AT_DATA = 0x20,
	AT_OWNER = 0x3f,
	DRAIN_MAX = 2 * ENTRIES, /* bytes of one call */
	UNARMED = ENTRIES / 2,	 /* events between updates of the consumer index */

	EVENT_COMMAND = 0xa,
	EVENT_PAGES = 0xb,

	UAR_ARM = 0x40,
	UAR_NEXT = 0x48,

	PAGES_NONE = 0, /* operations of MANAGE_PAGES */
	PAGES_GIVE = 1,
	PAGES_TAKE = 2,
	PAGES_MAX = 1 << 19, /* pages of one request */

	HEALTH_INTERVAL_MS = 1000,
	HEALTH_MISSES = 3,
};

/* ---- pages; with events the caller holds event_lock */

static size_t pages_size(unsigned int count)
{
	return FW_HEAD + (size_t)count * 8;
}

static int pages_post(struct vfio_context *v, unsigned int operation, uint16_t function,
		      unsigned int count, const uint64_t *pages)
{
	size_t inlen = pages_size(operation == PAGES_GIVE ? count : 0);
	size_t outlen = pages_size(operation == PAGES_TAKE ? count : 0);
	_cleanup_free_ char *in = calloc(1, inlen);

	if (!in)
		return -ENOMEM;
	fw_set(in, 0, VFIO_OP_MANAGE_PAGES << 16);
	fw_set(in, 4, operation);
	fw_set(in, 8, function);
	fw_set(in, 12, count);
	for (unsigned int i = 0; pages && i < count; i++)
		fw_set_64(in, FW_HEAD + i * 8, pages[i]);
	return vfio_slot_post(v, &v->pages, in, inlen, outlen);
}

static int pages_give(struct vfio_context *v, const struct vfio_page_request *request)
{
	_cleanup_free_ uint64_t *pages = calloc(request->count + 1, sizeof(*pages));
	int r = pages ? vfio_pool_take(v, request->count, pages) : -ENOMEM;

	if (r < 0) /* The firmware waits for an answer. */
		return pages_post(v, PAGES_NONE, request->function, 0, NULL);
	r = pages_post(v, PAGES_GIVE, request->function, request->count, pages);
	if (!r) {
		v->page_requests.given = take_ptr(&pages);
		return 0;
	}
	for (int i = 0; i < request->count; i++)
		vfio_pool_put(v, pages[i]);
	return r;
}

static int request_start(struct vfio_context *v, const struct vfio_page_request *request)
{
	int r = request->count > 0
			? pages_give(v, request)
			: pages_post(v, PAGES_TAKE, request->function, -request->count, NULL);

	v->page_requests.request = *request;
	v->page_requests.running = !r;
	if (r < 0)
		verbs_err(&v->vctx.context, "%d pages for the firmware: %s", request->count,
			  strerror(-r));
	return r;
}

/* Put the pages back that the firmware names. */
static int returned_put(struct vfio_context *v, const void *out, unsigned int asked)
{
	unsigned int count = fw_get(out, 8);
	int r = 0;

	if (count > asked) {
		verbs_err(&v->vctx.context, "the firmware returns %u pages, %u were asked for",
			  count, asked);
		return -EINVAL;
	}
	for (unsigned int i = 0; !r && i < count; i++)
		r = vfio_pool_put(v, fw_get_64(out, FW_HEAD + i * 8));
	if (r < 0)
		verbs_err(&v->vctx.context, "the firmware returns a page that it does not have");
	return r;
}

static int request_finish(struct vfio_context *v)
{
	const struct vfio_page_request *request = &v->page_requests.request;
	_cleanup_free_ uint64_t *given = take_ptr(&v->page_requests.given);
	_cleanup_free_ char *out = calloc(1, v->pages.outlen);
	int r = out ? vfio_slot_read(v, &v->pages, out) : -ENOMEM;

	v->page_requests.running = false;
	if (r < 0)
		verbs_err(&v->vctx.context, "the firmware refuses %d pages: %s", request->count,
			  strerror(-r));
	/* The firmware has not taken pages that it refused. */
	for (int i = 0; given && r == -EREMOTEIO && i < request->count; i++)
		vfio_pool_put(v, given[i]);
	return r < 0 || request->count > 0 ? r : returned_put(v, out, -request->count);
}

int vfio_pages_give(struct vfio_context *v, const struct vfio_page_request *request)
{
	int r = -EPROTO;

	if (request->count < 0 || request->count > PAGES_MAX)
		verbs_err(&v->vctx.context, "the firmware asks for %d pages (0 to %d are possible)",
			  request->count, PAGES_MAX);
	else
		r = request_start(v, request);
	if (!r)
		r = vfio_slot_wait(v, &v->pages);
	return r < 0 ? r : request_finish(v);
}

/* Run the next request if the last one has ended. */
static int requests_go_on(struct vfio_context *v)
{
	struct vfio_page_request next;
	int r = 0, last = 0;

	if (v->page_requests.running && vfio_slot_is_done(&v->pages))
		last = request_finish(v);
	while (!v->page_requests.running && v->page_requests.count) {
		next = v->page_requests.waiting[0];
		v->page_requests.count--;
		memmove(&v->page_requests.waiting[0], &v->page_requests.waiting[1],
			v->page_requests.count * sizeof(next));
		r = request_start(v, &next);
	}
	return last < 0 ? last : r;
}

static int request_take(struct vfio_context *v, const char *data)
{
	const struct vfio_page_request request = {
		.function = fw_get(data, 0) & 0xffff,
		.count = (int32_t)fw_get(data, 4),
	};

	if (request.count < -PAGES_MAX || request.count > PAGES_MAX) {
		verbs_err(&v->vctx.context, "the firmware asks for %d pages (%d are possible)",
			  request.count, PAGES_MAX);
		return -EINVAL;
	}
	if (v->page_requests.count == VFIO_PAGE_REQUESTS) {
		verbs_err(&v->vctx.context, "the firmware asks for pages %d times at once",
			  VFIO_PAGE_REQUESTS);
		return -EINVAL;
	}
	v->page_requests.waiting[v->page_requests.count++] = request;
	return requests_go_on(v);
}

/* ---- events */

static int event_handle(struct vfio_context *v, const char *entry)
{
	uint8_t type = entry[AT_TYPE];
	uint32_t slots;
	int r = 0;

	if (type == EVENT_PAGES)
		return request_take(v, entry + AT_DATA);
	if (type != EVENT_COMMAND) {
		verbs_debug(&v->vctx.context, "event 0x%x is ignored", type);
		return 0;
	}
	slots = fw_get(entry, AT_DATA);
	if (slots >> v->commands.number & 1)
		eventfd_write(v->done_fd, 1);
	if (slots >> v->pages.number & 1)
		r = requests_go_on(v);
	return r;
}

static void consumer_write(struct vfio_context *v, unsigned int offset)
{
	barrier_to_device();
	mmio_write_32(v->uar + offset, htobe32(v->eq.number << 24 | (v->eq.next & 0xffffff)));
}

/* Copy the next entry, because the function may write to it later. */
static bool entry_read(struct vfio_context *v, char copy[ENTRY])
{
	const char *entry = (const char *)v->eq.map.addr + v->eq.next % ENTRIES * ENTRY;
	uint8_t owner = *(const volatile uint8_t *)(entry + AT_OWNER);

	if ((owner & 1) != (v->eq.next >> LOG_ENTRIES & 1))
		return false;
	barrier_from_device();
	memcpy(copy, entry, ENTRY);
	return true;
}

static int events_handle(struct vfio_context *v)
{
	char entry[ENTRY] __attribute__((aligned(8)));
	int r = 0;

	for (unsigned int i = 0; !r && i < DRAIN_MAX && entry_read(v, entry); i++) {
		r = event_handle(v, entry);
		v->eq.next++;
		if (v->eq.next % UNARMED == 0)
			consumer_write(v, UAR_NEXT);
	}
	consumer_write(v, UAR_ARM);
	return r;
}

int vfio_events_drain(struct vfio_context *v)
{
	eventfd_t count;
	int r = 0;

	pthread_mutex_lock(&v->event_lock);
	if (eventfd_read(v->vectors[0], &count) < 0 && errno != EAGAIN)
		r = -errno;
	if (!r)
		r = events_handle(v);
	pthread_mutex_unlock(&v->event_lock);
	return r;
}

/* ---- health; the caller holds event_lock */

/* Return the defect of the function, or NULL if it works. */
static const char *health_fault(struct vfio_context *v)
{
	uint32_t synd = vfio_reg_read(v, VFIO_REG_HEALTH + 0x3c) >> 16 & 0xff;
	uint32_t counter = vfio_reg_read(v, VFIO_REG_HEALTH_COUNTER) & 0xffffff;
	uint32_t state = vfio_reg_read(v, VFIO_REG_QUEUE_LOW) >> 8 & 7;

	if (vfio_reg_read(v, VFIO_REG_HEALTH + 0x30) == 0xffffffff)
		return "its registers cannot be read";
	if (state == 1 || state == 7)
		return "its interface is disabled";
	if (synd && vfio_reg_read(v, VFIO_REG_HEALTH + 0x38) >> 31)
		return "it asks for a reset";
	v->health.misses = counter == v->health.counter ? v->health.misses + 1 : 0;
	v->health.counter = counter;
	return v->health.misses >= HEALTH_MISSES ? "its health counter stands still" : NULL;
}

static int health_check(struct vfio_context *v)
{
	uint64_t now = vfio_now_ms();
	const char *fault;

	if (atomic_load(&v->dead))
		return -EIO;
	if (now - v->health.time < HEALTH_INTERVAL_MS)
		return 0;
	v->health.time = now;
	fault = health_fault(v);
	if (!fault)
		return 0;
	verbs_err(&v->vctx.context,
		  "the adapter does not work: %s; syndrome 0x%08x, exit 0x%08x, caller 0x%08x, "
		  "firmware 0x%08x",
		  fault, vfio_reg_read(v, VFIO_REG_HEALTH + 0x3c),
		  vfio_reg_read(v, VFIO_REG_HEALTH + 0x20),
		  vfio_reg_read(v, VFIO_REG_HEALTH + 0x24),
		  vfio_reg_read(v, VFIO_REG_HEALTH + 0x30));
	atomic_store(&v->dead, true);
	return -EIO;
}

MLX5DV_EXPORT int mlx5dv_vfio_process_events(struct ibv_context *ctx)
{
	struct vfio_context *v = vfio_of(ctx, __func__);
	int r;

	if (!v)
		return EOPNOTSUPP;
	pthread_mutex_lock(&v->event_lock);
	r = health_check(v);
	pthread_mutex_unlock(&v->event_lock);
	return mlx5dv_errno(r < 0 ? r : vfio_events_drain(v));
}

MLX5DV_EXPORT int mlx5dv_vfio_get_events_fd(struct ibv_context *ctx)
{
	struct vfio_context *v = vfio_of(ctx, __func__);

	return v ? v->vectors[0] : -1;
}

/* ---- the queue */

static int uar_make(struct vfio_context *v)
{
	int r = vfio_command_word(v, VFIO_OP_ALLOC_UAR, 0, &v->uar_page);

	if (r < 0)
		return r;
	v->uar_page &= 0xffffff;
	v->uar_made = true;
	if (v->uar_page < v->bar_size / MLX5_UAR_SIZE) {
		v->uar = v->bar + (size_t)v->uar_page * MLX5_UAR_SIZE;
		return 0;
	}
	verbs_err(&v->vctx.context, "register page %u is outside of BAR 0", v->uar_page);
	return -EPROTO;
}

static int eq_make(struct vfio_context *v)
{
	uint32_t in[0x118 / 4] = {}, out[FW_HEAD / 4] = {};
	size_t size = max_of((uint64_t)ENTRIES * ENTRY, v->page_size);
	int r = vfio_buffer_make(v, size, size, &v->eq.map);

	if (r < 0)
		return r;
	/* The first pass of the function writes 0. */
	for (unsigned int i = 0; i < ENTRIES; i++)
		((char *)v->eq.map.addr)[i * ENTRY + AT_OWNER] = 1;
	fw_set(in, 0, VFIO_OP_CREATE_EQ << 16);
	fw_set(in, 0x1c, LOG_ENTRIES << 24 | v->uar_page);
	fw_set(in, 0x28, (uint32_t)(__builtin_ctzll(size) - 12) << 24);
	fw_set_64(in, 0x58, 1 << EVENT_COMMAND | 1 << EVENT_PAGES);
	fw_set_64(in, 0x110, v->eq.map.iova);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	v->eq.number = fw_get(out, 8) & 0xff;
	v->eq.on = true;
	consumer_write(v, UAR_ARM);
	return 0;
}

int vfio_events_open(struct vfio_context *v)
{
	int r = uar_make(v);

	return r < 0 ? r : eq_make(v);
}

void vfio_events_close(struct vfio_context *v)
{
	if (v->eq.on) {
		v->eq.on = false;
		vfio_command_word(v, VFIO_OP_DESTROY_EQ, v->eq.number, NULL);
	}
	if (v->uar_made)
		vfio_command_word(v, VFIO_OP_DEALLOC_UAR, v->uar_page, NULL);
}
