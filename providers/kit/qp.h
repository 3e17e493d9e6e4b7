/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs whose rings this library made. */
#ifndef PROVIDERS_KIT_QP_H
#define PROVIDERS_KIT_QP_H

#include "libibverbs/provider.h"

/* In the table of a provider's operations: with the send queue's limits as they were granted. */
int kit_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);

#endif
