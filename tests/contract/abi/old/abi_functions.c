/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names that are macros today were functions when many programs were built, and still are for
 * programs that look them up at run time. They exist under their old versions and have the
 * effect of the macros. */
#include <dlfcn.h>
#include "old.h"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

typedef struct ibv_mr *(*reg_mr_function)(struct ibv_pd *pd, void *addr, size_t length, int access);
typedef int (*query_port_function)(struct ibv_context *context, uint8_t port, void *attr);

static char memory[8192] __attribute__((aligned(4096)));

static void region_check(struct ibv_mr *mr, struct ibv_pd *pd)
{
	EXPECT(mr);
	EXPECT(mr->pd == pd && mr->context == pd->context);
	EXPECT(mr->addr == memory && mr->length == sizeof(memory));
	EXPECT(mr->lkey != 0);
	EXPECT(ibv_dereg_mr(mr) == 0);
}

static void *symbol_of(const char *name, const char *version)
{
	void *symbol = dlvsym(RTLD_DEFAULT, name, version);

	if (!symbol)
		fprintf(stderr, "%s\n", dlerror());
	EXPECT(symbol);
	return symbol;
}

int main(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_context *context = old_device_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_port_attr attr;
	query_port_function query_port;
	reg_mr_function reg_mr;
	struct ibv_mr *mr;

	EXPECT(pd);
	region_check(ibv_reg_mr(pd, memory, sizeof(memory), access), pd);
	region_check(ibv_reg_mr_iova(pd, memory, sizeof(memory), 0x10000, access), pd);
	region_check(ibv_reg_mr_iova2(pd, memory, sizeof(memory), (uintptr_t)memory,
				      access | IBV_ACCESS_RELAXED_ORDERING),
		     pd);

	/* The function does not know optional flags, and passes the rest of the mask on. */
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_WRITE);
	EXPECT(!mr && errno == EINVAL);

	reg_mr = (reg_mr_function)symbol_of("ibv_reg_mr", "IBVERBS_1.1");
	region_check(reg_mr(pd, memory, sizeof(memory), access), pd);

	query_port = (query_port_function)symbol_of("ibv_query_port", "IBVERBS_1.1");
	canary_set(&attr, sizeof(attr));
	EXPECT(query_port(context, 1, &attr) == 0);
	EXPECT(attr.state == IBV_PORT_ACTIVE);

	EXPECT(ibv_dealloc_pd(pd) == 0);
	EXPECT(ibv_close_device(context) == 0);
	return 0;
}
