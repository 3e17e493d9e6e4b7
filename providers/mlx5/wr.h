/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting of requests: ibv_post_send(), ibv_post_recv() and the builders. */
#ifndef MLX5_WR_H
#define MLX5_WR_H

#include "providers/mlx5/qp.h"

/* send.c, wr.c, recv.c */
int mlx5_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mlx5_wr_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr);
void mlx5_wr_set_slots(struct mlx5_qp *qp, uint64_t send_ops);
/* Begin a request for builders of direct verbs. @wc_opcode: of the completion. NULL: the batch has
 * failed. */
struct mlx5_batch *mlx5_wr_begin(struct mlx5_qp *qp, uint8_t opcode, uint8_t opmod, __be32 imm,
				 uint32_t wc_opcode);
void mlx5_wr_finish(struct mlx5_qp *qp);
/* Finish a request of @ds units whose control segment is complete. */
void mlx5_wr_finish_as_is(struct mlx5_qp *qp, unsigned int ds);
/* Log an error and end the batch, unless an earlier error has ended it. */
void mlx5_wr_fail(struct mlx5_qp *qp, int error, const char *what, const char *why);
/* Set the destination of a request of a DC initiator. On failure the batch ends. */
void mlx5_wr_set_dc(struct mlx5_qp *qp, const struct ibv_ah *ah, uint32_t dctn, uint64_t key,
		    uint16_t stream);

/* mw.c: return the access bits of a key for IBV_ACCESS_ flags */
uint8_t mlx5_access_code(unsigned int access);
int mlx5_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx5_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
