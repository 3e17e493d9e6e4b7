/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Convert path records, QP attributes and AH attributes between their public form and the kernel's
 * form, which the commands of the connection manager carry. The functions are exported for
 * librdmacm, and for old programs that declare them themselves. No public header declares them.
 */
#ifndef LIBIBVERBS_CONVERT_H
#define LIBIBVERBS_CONVERT_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);

#endif
