/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The write() that makes the kernel look at a send ring which it shares with this process:
 * POST_SEND without requests.
 */
#ifndef PROVIDERS_KIT_DOORBELL_H
#define PROVIDERS_KIT_DOORBELL_H

#include <unistd.h>
#include <rdma/ib_user_verbs.h>

#include <infiniband/verbs.h>

#include "util/util.h"

/* The command and behind it where the kernel writes its answer. */
struct kit_doorbell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
	struct ib_uverbs_post_send_resp resp;
};

enum {
	KIT_DOORBELL_SIZE = sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_post_send),
};

/* Of a queue pair that the kernel knows. It stays where it is from now on. */
void kit_doorbell_init(struct kit_doorbell *doorbell, const struct ibv_qp *qp);
/* The slow half: the write() failed, errno says why. */
int kit_doorbell_again(struct kit_doorbell *doorbell, struct ibv_context *ctx);

/* Return: 0, or a positive errno, which is not in the log yet. */
static inline int kit_doorbell_ring(struct kit_doorbell *doorbell, struct ibv_context *ctx)
{
	ssize_t n = write(ctx->cmd_fd, doorbell, KIT_DOORBELL_SIZE);

	return likely(n == KIT_DOORBELL_SIZE) ? 0 : kit_doorbell_again(doorbell, ctx);
}

#endif
