/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of mlx4.
 */
#include "tests/adapters/lab/scenario/script.h"

#include "mlx4dv_create_qp.h"
#include "mlx4dv_init_obj.h"
#include "mlx4dv_query_device.h"
#include "mlx4dv_set_context_attr.h"

int main(void)
{
	struct script s = { 0 };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	uint32_t *reg;
	__be32 value;

	script_open(&s);
	must(!use_the_heap(s.context), "allocators");
	step("inline receives: %u", inline_receive(s.context));
	attr.pd = s.pd;
	attr.send_cq = s.send_cq;
	attr.recv_cq = s.recv_cq;
	s.qp = small_receives(s.context, &attr);
	must(s.qp, "queue pair");
	must(!doorbell(s.qp, &reg, &value), "doorbell");
	must(reg && value, "register");
	must(!ibv_destroy_qp(s.qp), "destroy");
	script_close(&s);
	return 0;
}
