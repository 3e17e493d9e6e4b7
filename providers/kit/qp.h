/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: with what the provider and its driver tell each other, and with rings that this
 * library made. */
#ifndef PROVIDERS_KIT_QP_H
#define PROVIDERS_KIT_QP_H

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"

/* uverbs_create_qp() with @udata of the provider's beside what the program asks for. */
static inline int kit_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in,
				struct verbs_udata *udata)
{
	struct verbs_create_qp request = *in;

	request.udata = udata;
	return uverbs_create_qp(vqp, &request);
}

/* In the table of a provider's operations: with the send queue's limits as they were granted. */
int kit_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);

#endif
