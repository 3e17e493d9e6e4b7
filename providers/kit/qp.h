/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs with data for the kernel driver, and with rings that this library allocates. */
#ifndef PROVIDERS_KIT_QP_H
#define PROVIDERS_KIT_QP_H

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"

/* Call uverbs_create_qp() with @udata of the provider. */
static inline int kit_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in,
				struct verbs_udata *udata)
{
	struct verbs_create_qp request = *in;

	request.udata = udata;
	return uverbs_create_qp(vqp, &request);
}

/* An operation of providers: query a queue pair, with the granted limits of the send queue. */
int kit_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);

#endif
