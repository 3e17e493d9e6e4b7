/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A PCI function that this process owns. Only files of this folder include this header.
 *
 * Locks, in the order in which they are taken:
 *
 * - vfio_context.command_lock protects the slot of commands. Its owner waits for the end of a
 *   command.
 *
 * - vfio_context.event_lock protects the event queue, the slot of page requests, and health.
 *
 * - vfio_context.pool_lock protects the pages of the firmware.
 *
 * - vfio_context.iova_lock protects the list of free addresses. No lock is taken while it is held.
 *
 * - vfio_context.vector_lock protects the descriptors of the vectors. No other lock is taken while
 *   it is held.
 *
 * The function can write to all memory that is mapped for it, and to nothing else. Numbers that it
 * sends are checked before this process uses them as an index, a size or an address.
 */
#ifndef MLX5_VFIO_FUNCTION_H
#define MLX5_VFIO_FUNCTION_H

#include <pthread.h>
#include <sys/queue.h>

#include "libibverbs/provider.h"
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/vfio/vfio.h"

enum {
	VFIO_PAGE = 4096, /* bytes of a page of the firmware, on any system */
	VFIO_VECTORS_MAX = 2048,
	VFIO_PAGE_REQUESTS = 8, /* requests of the firmware that may wait */

	/* Registers, in bytes from the beginning of BAR 0. */
	VFIO_REG_FW = 0x0,
	VFIO_REG_CMDIF = 0x4,
	VFIO_REG_QUEUE_HIGH = 0x10,
	VFIO_REG_QUEUE_LOW = 0x14, /* and the state of the interface */
	VFIO_REG_DOORBELL = 0x18,
	VFIO_REG_INITIALIZING = 0x1fc,
	VFIO_REG_HEALTH = 0x200,
	VFIO_REG_HEALTH_COUNTER = 0x1010,
	VFIO_REGS_END = 0x4000,
};

enum vfio_opcode {
	VFIO_OP_INIT_HCA = 0x102,
	VFIO_OP_TEARDOWN_HCA = 0x103,
	VFIO_OP_ENABLE_HCA = 0x104,
	VFIO_OP_QUERY_PAGES = 0x107,
	VFIO_OP_MANAGE_PAGES = 0x108,
	VFIO_OP_SET_HCA_CAP = 0x109,
	VFIO_OP_QUERY_ISSI = 0x10a,
	VFIO_OP_SET_ISSI = 0x10b,
	VFIO_OP_DESTROY_MKEY = 0x202,
	VFIO_OP_CREATE_EQ = 0x301,
	VFIO_OP_DESTROY_EQ = 0x302,
	VFIO_OP_MODIFY_VPORT = 0x755,
	VFIO_OP_ALLOC_PD = 0x800,
	VFIO_OP_DEALLOC_PD = 0x801,
	VFIO_OP_ALLOC_UAR = 0x802,
	VFIO_OP_DEALLOC_UAR = 0x803,
	VFIO_OP_ACCESS_REGISTER = 0x805,
	VFIO_OP_CREATE_UMEM = 0xa08,
	VFIO_OP_DESTROY_UMEM = 0xa0a,
};

/* @device.name is the PCI address. */
struct vfio_device {
	struct verbs_device vdev;
	unsigned int group;
	bool link_down; /* MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN */
};

/* Memory of this process that the function may use: @size bytes at @addr have the address @iova. */
struct vfio_map {
	void *addr;
	size_t size;
	uint64_t iova;
	uint64_t start, span; /* addresses that no other memory gets */
};

/* Where memory is to have its address: behind @skip bytes of @span that begin at a multiple of
 * @align, a power of 2. */
struct vfio_place {
	uint64_t align, skip, span;
};

struct vfio_range {
	uint64_t start, last;
	LIST_ENTRY(vfio_range) entry;
};

/* Mailboxes, each with a part of a command: they are neighbours in @map. */
struct vfio_box {
	struct vfio_map map;
	unsigned int count;
};

struct vfio_slot {
	unsigned int number;
	char *entry; /* in the command queue */
	struct vfio_box in, out;
	uint32_t outlen; /* bytes of the answer to the command that runs */
};

/* @count: number of pages: the firmware gets them if it is positive, else gives them back */
struct vfio_page_request {
	uint16_t function;
	int32_t count;
};

struct vfio_eq {
	struct vfio_map map;
	uint32_t number, next;
	bool on; /* commands end with an event */
};

struct vfio_context {
	struct verbs_context vctx;
	int container, group, fd;
	char *bar;
	size_t bar_size;
	uint64_t config_offset; /* of the config space, in @fd */
	uint64_t page_size;	/* smallest page of the IOMMU */
	pthread_mutex_t vector_lock;
	int *vectors; /* event descriptor of each vector, -1: unused */
	unsigned int vector_count;

	pthread_mutex_t iova_lock;
	LIST_HEAD(, vfio_range) free; /* sorted */

	pthread_mutex_t pool_lock;
	LIST_HEAD(, vfio_block) blocks; /* the newest first */

	struct vfio_map queue;
	pthread_mutex_t command_lock;
	struct vfio_slot commands, pages;
	int done_fd;	  /* event descriptor: a command has ended */
	atomic_bool dead; /* a command did not end, or the function reports a fatal error */

	pthread_mutex_t event_lock;
	struct vfio_eq eq;
	uint32_t uar_page;
	char *uar;
	bool uar_made;
	struct {
		bool running;
		struct vfio_page_request request; /* the request that is being served */
		uint64_t *given;		  /* pages given for this request */
		struct vfio_page_request waiting[VFIO_PAGE_REQUESTS];
		unsigned int count; /* entries of waiting */
	} page_requests;
	struct {
		uint64_t time; /* of the last check, in ms */
		uint32_t counter;
		unsigned int misses; /* checks in a row without a change of the counter */
	} health;

	bool started, fast_teardown;
	atomic_uint next_key; /* low byte of the next key of a region */
};

static inline struct vfio_context *to_vfio(struct ibv_context *ctx)
{
	return (struct vfio_context *)to_vctx(ctx);
}

/* bus.c */
int vfio_bus_open(struct vfio_context *v);
void vfio_bus_close(struct vfio_context *v);
/* Let the function write to memory and answer to reads of its registers. */
int vfio_bus_enable(struct vfio_context *v);
/* Connect vectors with event descriptors; -1: with none. */
int vfio_bus_vectors(struct vfio_context *v, unsigned int start, unsigned int count,
		     const int *fds);
uint32_t vfio_reg_read(const struct vfio_context *v, unsigned int offset);
void vfio_reg_write(struct vfio_context *v, unsigned int offset, uint32_t value);

/* iova.c */
int vfio_iova_open(struct vfio_context *v);
void vfio_iova_close(struct vfio_context *v);
int vfio_map(struct vfio_context *v, void *addr, size_t size, const struct vfio_place *place,
	     struct vfio_map *ret_map);
void vfio_unmap(struct vfio_context *v, struct vfio_map *map);
/* Make zeroed memory for the function. vfio_buffer_free() accepts an empty map. */
int vfio_buffer_make(struct vfio_context *v, size_t size, uint64_t align, struct vfio_map *ret_map);
void vfio_buffer_free(struct vfio_context *v, struct vfio_map *map);

/* pool.c */
int vfio_pool_open(struct vfio_context *v);
void vfio_pool_close(struct vfio_context *v);
int vfio_pool_take(struct vfio_context *v, unsigned int count, uint64_t *ret_pages);
/* -EINVAL: the page is not in use. */
int vfio_pool_put(struct vfio_context *v, uint64_t page);

/* slot.c */
int vfio_slot_open(struct vfio_context *v, struct vfio_slot *slot, unsigned int number);
void vfio_slot_close(struct vfio_context *v, struct vfio_slot *slot);
int vfio_slot_post(struct vfio_context *v, struct vfio_slot *slot, const void *in, size_t inlen,
		   size_t outlen);
bool vfio_slot_is_done(const struct vfio_slot *slot);
/* Copy the answer. -EREMOTEIO: the firmware refused the command; -EIO: it did not read it. */
int vfio_slot_read(struct vfio_context *v, struct vfio_slot *slot, void *out);

/* command.c */
int vfio_commands_open(struct vfio_context *v);
void vfio_commands_close(struct vfio_context *v);
/* Run a command of the library. A refusal is logged and translated to an errno. */
int vfio_command(struct vfio_context *v, const void *in, size_t inlen, void *out, size_t outlen);
/* Run a command that has a head and one number in its next word. */
int vfio_command_word(struct vfio_context *v, enum vfio_opcode opcode, uint32_t word,
		      uint32_t *ret_word);
/* Wait for the end of a command while there are no events. */
int vfio_slot_wait(struct vfio_context *v, struct vfio_slot *slot);
void vfio_refused(struct vfio_context *v, const void *in, const void *out, int r);
uint64_t vfio_now_ms(void);

/* event.c */
int vfio_events_open(struct vfio_context *v);
void vfio_events_close(struct vfio_context *v);
/* Handle the events that have arrived. */
int vfio_events_drain(struct vfio_context *v);
/* Give pages to the firmware before there are events. */
int vfio_pages_give(struct vfio_context *v, const struct vfio_page_request *request);

/* setup.c */
int vfio_function_start(struct vfio_context *v);
void vfio_function_stop(struct vfio_context *v);

/* open.c */
extern const struct verbs_provider vfio_provider;
/* Return the context. NULL with errno: it has a kernel driver, which is logged with @function. */
struct vfio_context *vfio_of(struct ibv_context *ctx, const char *function);

/* memory.c */
int vfio_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int vfio_dealloc_pd(struct ibv_pd *pd);
int vfio_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in);
int vfio_dereg_mr(struct verbs_mr *mr);

struct vfio_mr {
	struct verbs_mr vmr;
	struct vfio_map map;
};

#endif
