/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of mana.
 */
#include "tests/adapters/lab/scenario/script.h"

#include "manadv_init_obj.h"
#include "manadv_set_context_attr.h"

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_cq *cq;
	uint32_t number;
	void *memory;

	must(list && list[0], "device");
	context = ibv_open_device(list[0]);
	must(context, "open");
	ibv_free_device_list(list);
	/* A queue needs memory of the program. */
	must(!use_the_heap(context), "allocators");
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	must(cq, "completion queue");
	must(!completions(cq, &number, &memory), "attributes");
	must(memory, "memory");
	must(!ibv_destroy_cq(cq) && !ibv_close_device(context), "close");
	return 0;
}
