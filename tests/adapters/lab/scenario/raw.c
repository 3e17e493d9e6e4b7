/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/scenario/raw.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#include "tests/adapters/lab/scenario/script.h"

enum {
	ARENA_BYTES = 4 << 20,
	HASH_FIELDS = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_TCP |
		      IBV_RX_HASH_DST_PORT_TCP,
};

__typeof__(manadv_set_context_attr) *raw_set_attr;
__typeof__(manadv_init_obj) *raw_init_obj;

static struct {
	uint8_t *base;
	size_t used;
	int pieces; /* that were not given back */
	bool loud;
} arena;

void raw_load(void)
{
	void *library = dlopen("libmana.so.1", RTLD_NOW);

	must(library, "libmana");
	raw_set_attr = (__typeof__(raw_set_attr))dlsym(library, "manadv_set_context_attr");
	raw_init_obj = (__typeof__(raw_init_obj))dlsym(library, "manadv_init_obj");
	must(raw_set_attr && raw_init_obj, "manadv");
}

/* Return memory at an address that no earlier call has returned. */
static void *arena_alloc(size_t size, void *data)
{
	uint8_t *at = arena.base + arena.used;

	if (arena.loud)
		step("allocate 0x%zx, for %p", size, data);
	if (size > ARENA_BYTES - arena.used)
		return NULL;
	arena.used += size;
	arena.pieces++;
	return at;
}

static void arena_free(void *memory, void *data)
{
	arena.pieces -= memory != NULL;
	if (!arena.loud)
		return;
	if (memory)
		step("free 0x%zx, for %p", (size_t)((uint8_t *)memory - arena.base), data);
	else
		step("free nothing");
}

void raw_memory(struct ibv_context *context, bool loud)
{
	struct manadv_ctx_allocators from = {
		.alloc = arena_alloc,
		.free = arena_free,
		.data = (void *)0x1234,
	};
	arena.base = mmap(loud ? (void *)SCRIPT_BUFFER : NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (loud ? MAP_FIXED_NOREPLACE : 0), -1, 0);
	must(arena.base != MAP_FAILED, "arena");
	arena.loud = loud;
	if (lab_name)
		lab_name(arena.base, ARENA_BYTES, "arena");
	must(!raw_set_attr(context, MANADV_CTX_ATTR_BUF_ALLOCATORS, &from), "allocators");
}

int raw_memory_left(void)
{
	return arena.pieces;
}

struct ibv_context *raw_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	if (list)
		ibv_free_device_list(list);
	return context;
}

struct ibv_pd *raw_domain(struct ibv_pd *pd, uintptr_t port)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.pd_context = (void *)port,
	};

	return ibv_alloc_parent_domain(pd->context, &attr);
}

struct ibv_qp *raw_sender(struct ibv_pd *domain, struct ibv_cq *cq, uint32_t depth, uint32_t sges)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_send_sge = sges },
		.qp_type = IBV_QPT_RAW_PACKET,
	};

	return ibv_create_qp(domain, &attr);
}

struct ibv_wq *raw_queue(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth, uint32_t sges)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = depth,
		.max_sge = sges,
		.pd = pd,
		.cq = cq,
	};

	return ibv_create_wq(pd->context, &attr);
}

struct ibv_rwq_ind_table *raw_table(struct ibv_context *context, struct ibv_wq **queues,
				    uint32_t log_size)
{
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = log_size,
		.ind_tbl = queues,
	};

	return ibv_create_rwq_ind_table(context, &attr);
}

struct ibv_qp *raw_receiver(struct ibv_pd *domain, struct ibv_rwq_ind_table *table,
			    uint8_t key_bytes)
{
	uint8_t key[RAW_KEY_BYTES];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = domain,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = key_bytes,
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = HASH_FIELDS },
	};

	for (int i = 0; i < RAW_KEY_BYTES; i++)
		key[i] = 0x50 + i;
	return ibv_create_qp_ex(domain->context, &attr);
}
