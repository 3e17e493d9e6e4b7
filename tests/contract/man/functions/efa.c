/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of efa.
 */
#include "tests/adapters/lab/scenario/script.h"

#include "efadv_create_cq.h"
#include "efadv_create_qp_ex.h"
#include "efadv_query_ah.h"
#include "efadv_query_device.h"
#include "efadv_query_mr.h"

int main(void)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	struct script s = { 0 };
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	script_open(&s);
	step("reads: %d", can_read(s.context));
	cq = create_cq(s.context);
	must(cq, "completion queue");
	qp = create_srd(s.pd, ibv_cq_ex_to_cq(cq));
	must(qp, "queue pair");
	must(!ibv_query_gid(s.context, 1, 0, &attr.grh.dgid), "gid");
	ah = ibv_create_ah(s.pd, &attr);
	must(ah, "address handle");
	must(number_of(ah) >= 0, "number of the address");
	step("one path: %d", same_receive_path(s.mr, s.mr));
	must(!ibv_destroy_ah(ah) && !ibv_destroy_qp(qp), "destroy");
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy queue");
	script_close(&s);
	return 0;
}
