/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on the device on paper: objects that no other
 * device here has. */
#include "tests/lib/rt.h"

#include "ibv_alloc_dmah.h"
#include "ibv_create_comp_cntr.h"
#include "ibv_create_counters.h"
#include "ibv_create_flow.h"
#include "ibv_create_flow_action.h"
#include "ibv_create_rwq_ind_table.h"
#include "ibv_create_wq.h"
#include "ibv_reg_mr_ex.h"

static void hints(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_dmah *dmah = near_processor(dev->ctx, 3);
	static char memory[4096];
	struct ibv_mr *mr;

	CHECK(dmah);
	mr = region(dev->pd, memory, sizeof(memory), dmah);
	CHECK(mr);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_dealloc_dmah(dmah));
	rt_close(dev);
}

static void counters(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_counters *packets = count_packets(dev->ctx);
	struct ibv_comp_cntr *counter = count_writes_of_peer(side.qp);

	CHECK(packets && counter);
	CHECK_OK(ibv_destroy_counters(packets));
	rt_side_close(&side);
	CHECK_OK(ibv_destroy_comp_cntr(counter));
	rt_close(dev);
}

static void receivers(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 100, NULL, NULL, 0);
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq[4];

	for (int i = 0; i < 4; i++) {
		wq[i] = receive_queue(dev->pd, cq);
		CHECK(wq[i]);
		CHECK_INT(wq[i]->state, IBV_WQS_RDY);
	}
	table = over_four(dev->ctx, wq);
	CHECK(table);
	CHECK_OK(ibv_destroy_rwq_ind_table(table));
	for (int i = 0; i < 4; i++)
		CHECK_OK(ibv_destroy_wq(wq[i]));
	CHECK_OK(ibv_destroy_cq(cq));
	rt_close(dev);
}

static void steering(void)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct ibv_flow_action_esp_attr esp = { .esn = 1,
						.comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_flow *flow = take_address(side.qp, mac);
	struct ibv_flow_action *action = ibv_create_flow_action_esp(dev->ctx, &esp);

	CHECK(flow && action);
	CHECK_OK(next_epoch(action, 2));
	CHECK_OK(ibv_destroy_flow_action(action));
	CHECK_OK(ibv_destroy_flow(flow));
	rt_side_close(&side);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "hints", hints },
	{ "counters", counters },
	{ "receivers", receivers },
	{ "steering", steering },
};
RT_MAIN(cases)
