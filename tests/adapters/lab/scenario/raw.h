/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that the scenarios of raw packets share: mana's direct verbs, and memory of the
 * program. */
#ifndef DEVICES_RAW_H
#define DEVICES_RAW_H

#include <stdbool.h>
#include <infiniband/manadv.h>

enum {
	RAW_PORT = 1,
	RAW_KEY_BYTES = 40,
	RAW_QUEUES = 2, /* work queues of a table */
};

/* The functions of the loaded plug-in. Load them after the device was opened. */
extern __typeof__(manadv_set_context_attr) *raw_set_attr;
extern __typeof__(manadv_init_obj) *raw_init_obj;
void raw_load(void);

/* Allocate queues in the arena. @loud: at the same address in every run, with a step for each
 * call. */
void raw_memory(struct ibv_context *context, bool loud);
/* Return the number of pieces that were not given back. */
int raw_memory_left(void);

/* Return NULL and set errno on failure, as verbs do. */
struct ibv_context *raw_open(void);
struct ibv_pd *raw_domain(struct ibv_pd *pd, uintptr_t port);
struct ibv_qp *raw_sender(struct ibv_pd *domain, struct ibv_cq *cq, uint32_t depth, uint32_t sges);
struct ibv_wq *raw_queue(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth, uint32_t sges);
struct ibv_rwq_ind_table *raw_table(struct ibv_context *context, struct ibv_wq **queues,
				    uint32_t log_size);
struct ibv_qp *raw_receiver(struct ibv_pd *domain, struct ibv_rwq_ind_table *table,
			    uint8_t key_bytes);

#endif
