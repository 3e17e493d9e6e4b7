/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The doorbell of a send ring that the kernel shares with this process: a write() of the command
 * POST_SEND without requests.
 */
#ifndef PROVIDERS_KIT_DOORBELL_H
#define PROVIDERS_KIT_DOORBELL_H

#include <unistd.h>
#include <rdma/ib_user_verbs.h>

#include <infiniband/verbs.h>

#include "util/util.h"

/* The command, followed by the answer of the kernel. */
struct kit_doorbell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
	struct ib_uverbs_post_send_resp resp;
};

enum {
	KIT_DOORBELL_SIZE = sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_post_send),
};

/* Initialise a zeroed doorbell of a queue pair that exists in the kernel. It must not move
 * afterwards. */
static inline void kit_doorbell_init(struct kit_doorbell *doorbell, const struct ibv_qp *qp)
{
	doorbell->hdr = (struct ib_uverbs_cmd_hdr){
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.in_words = KIT_DOORBELL_SIZE / 4,
		.out_words = sizeof(doorbell->resp) / 4,
	};
	doorbell->cmd.response = (uintptr_t)&doorbell->resp;
	doorbell->cmd.qp_handle = qp->handle;
	doorbell->cmd.wqe_size = sizeof(struct ibv_send_wr);
}

/* Handle a failed write(), with the cause in errno. */
int kit_doorbell_again(struct kit_doorbell *doorbell, struct ibv_context *ctx);

/* Ring the doorbell. Return: 0 or a positive errno, which is not logged yet. */
static inline int kit_doorbell_ring(struct kit_doorbell *doorbell, struct ibv_context *ctx)
{
	ssize_t n = write(ctx->cmd_fd, doorbell, KIT_DOORBELL_SIZE);

	return likely(n == KIT_DOORBELL_SIZE) ? 0 : kit_doorbell_again(doorbell, ctx);
}

#endif
