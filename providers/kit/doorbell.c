/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/doorbell.h"

#include "libibverbs/uverbs/cmd.h"

_Static_assert(KIT_DOORBELL_SIZE == 32, "the kernel checks the length");
_Static_assert(offsetof(struct kit_doorbell, resp) == KIT_DOORBELL_SIZE, "written as one");

void kit_doorbell_init(struct kit_doorbell *doorbell, const struct ibv_qp *qp)
{
	*doorbell = (struct kit_doorbell){
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = KIT_DOORBELL_SIZE / 4,
			.out_words = sizeof(doorbell->resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&doorbell->resp,
			.qp_handle = qp->handle,
			.wqe_size = sizeof(struct ibv_send_wr),
		},
	};
}

/*
 * A process that has changed its credentials since it opened the device may not write() to it
 * (EACCES); the same command by ioctl is allowed.
 */
__attribute__((noinline, cold)) int kit_doorbell_again(struct kit_doorbell *doorbell,
						       struct ibv_context *ctx)
{
	if (errno != EACCES)
		return errno;
	return -uverbs_write(ctx, IB_USER_VERBS_CMD_POST_SEND, &doorbell->cmd,
			     sizeof(doorbell->cmd), &doorbell->resp, sizeof(doorbell->resp), NULL);
}
