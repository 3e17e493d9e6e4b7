/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of AMD Pensando's adapters. An adapter has one or two pipelines, which execute
 * requests. It has memory that can hold copies of queues. A protection domain or a parent domain
 * stores preferences for pipelines and for this memory. The preferences apply to queues that are
 * created with the domain later. A parent domain begins with the preferences of its protection
 * domain. Functions that return a number return 0 for an object of another device. See ionicdv(7).
 */
#ifndef IONIC_DV_H
#define IONIC_DV_H

#include <stdbool.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return the number of pipelines: 1 or 2. */
uint8_t ionic_dv_ctx_get_udma_count(struct ibv_context *ibctx);

/* Return the pipelines of the device, as bits. */
uint8_t ionic_dv_ctx_get_udma_mask(struct ibv_context *ibctx);

/* Return the pipelines that queues of a domain may use, as bits. */
uint8_t ionic_dv_pd_get_udma_mask(struct ibv_pd *ibpd);

/* Set the pipelines that queues of a domain may use. Return: 0; EPERM: the domain belongs to
 * another provider; EINVAL: the device lacks one of these pipelines. */
int ionic_dv_pd_set_udma_mask(struct ibv_pd *ibpd, uint8_t udma_mask);

/*
 * Set whether send queues are copied into memory of the device.
 * @enable: copy them, if there is room
 * @expdb: copied requests contain their doorbell, if the device supports this
 * @require: creating a queue pair fails if there is no room
 * Return: 0; EPERM: the domain belongs to another provider; EINVAL: @expdb is required, and the
 * device does not support it.
 */
int ionic_dv_pd_set_sqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require);

/* Do the same for receive queues. */
int ionic_dv_pd_set_rqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require);

#ifdef __cplusplus
}
#endif

#endif
