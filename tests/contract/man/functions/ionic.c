/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of ionic.
 */
#include "tests/adapters/lab/scenario/script.h"

#include "ionic_dv_ctx_get_udma_count.h"
#include "ionic_dv_pd_set_sqcmb.h"
#include "ionic_dv_pd_set_udma_mask.h"

int main(void)
{
	struct script s = { 0 };
	struct ibv_pd *parent;

	script_open(&s);
	step("second pipeline: %d", has_second(s.context));
	parent = domain_of(s.pd, 0);
	must(parent, "domain");
	must(!only_sends(parent), "memory of the device");
	must(!ibv_dealloc_pd(parent), "dealloc");
	script_close(&s);
	return 0;
}
