/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the attributes that the library checks in ibv_modify_qp(): a line for each transition
 * with the required and the allowed attributes, as masks. Transitions to RESET and ERR have none
 * and are left out. */
#include <stdio.h>

#include "libibverbs/qp.h"

static const struct {
	enum ibv_qp_type type;
	const char *name;
} types[] = {
	{ IBV_QPT_RC, "RC" },
	{ IBV_QPT_UC, "UC" },
	{ IBV_QPT_UD, "UD" },
};

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

/* Return the table's optional attributes, without those that other rules refuse. */
static uint32_t allowed(enum ibv_qp_type type, enum ibv_qp_state cur, enum ibv_qp_state next,
			const struct qp_transition *t)
{
	const struct ibv_qp_attr attr = { .qp_state = next, .cur_qp_state = cur };
	uint32_t mask = 0;

	for (uint32_t bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (t->optional & bit &&
		    qp_state_allows(type, cur, &attr, t->required | bit | IBV_QP_STATE))
			mask |= bit;
	return mask;
}

int main(void)
{
	for (int i = 0; i < ARRAY_SIZE(types); i++) {
		for (enum ibv_qp_state cur = 0; cur < IBV_QPS_ERR; cur++) {
			for (enum ibv_qp_state next = IBV_QPS_INIT; next < IBV_QPS_ERR; next++) {
				struct qp_transition t =
					qp_state_transition(types[i].type, cur, next);

				if (t.valid)
					printf("%s %s %s %x %x\n", types[i].name, states[cur],
					       states[next], t.required,
					       allowed(types[i].type, cur, next, &t));
			}
		}
	}
	return 0;
}
