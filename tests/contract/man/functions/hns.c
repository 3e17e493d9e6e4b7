/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of hns.
 */
#include "tests/adapters/lab/scenario/script.h"

#include "hnsdv_create_qp.h"
#include "hnsdv_is_supported.h"
#include "hnsdv_query_device.h"

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct script s = { 0 };

	must(list && first_adapter(list) == list[0], "adapter");
	ibv_free_device_list(list);
	script_open(&s);
	step("low delay: %d", has_low_delay(s.context));
	attr.pd = s.pd;
	attr.send_cq = s.send_cq;
	attr.recv_cq = s.recv_cq;
	s.qp = create(s.context, &attr);
	must(s.qp, "queue pair");
	must(!ibv_destroy_qp(s.qp), "destroy");
	script_close(&s);
	return 0;
}
