/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of the kernel. An event has the value that was passed at the creation of the identifier,
 * which is its address here. After the answer to its destruction, which contains the number of its
 * events, an identifier gets no more events.
 */
#include <string.h>

#include "libibverbs/convert.h"
#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "librdmacm/ucma/command.h"
#include "util/valgrind.h"

static void copy_data(struct cm_event *ev, const uint8_t *data, uint8_t length,
		      const void **ret_data, uint8_t *ret_length)
{
	*ret_length = length;
	if (!length)
		return;
	memcpy(ev->private_data, data, length);
	*ret_data = ev->private_data;
}

static void event_conn(struct cm_event *ev, const struct ucma_abi_conn_param *from)
{
	struct rdma_conn_param *to = &ev->event.param.conn;

	copy_data(ev, from->private_data, from->private_data_len, &to->private_data,
		  &to->private_data_len);
	to->responder_resources = from->responder_resources;
	to->initiator_depth = from->initiator_depth;
	to->flow_control = from->flow_control;
	to->retry_count = from->retry_count;
	to->rnr_retry_count = from->rnr_retry_count;
	to->srq = from->srq;
	to->qp_num = from->qp_num;
}

static void event_ud(struct cm_event *ev, struct ucma_abi_ud_param *from)
{
	struct rdma_ud_param *to = &ev->event.param.ud;

	copy_data(ev, from->private_data, from->private_data_len, &to->private_data,
		  &to->private_data_len);
	ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
	to->qp_num = from->qp_num;
	to->qkey = from->qkey;
}

/*
 * Turn the kernel's record into an event. The record names the identifier by the value that this
 * library passed at creation. All fields are trusted except unknown event numbers.
 */
static bool event_read(struct cm_event *ev, struct ucma_abi_event_resp *from)
{
	void *owner = (void *)(uintptr_t)from->uid;

	if (!owner || from->event > RDMA_CM_EVENT_INTERNAL)
		return false;
	ev->event.event = from->event;
	ev->event.status = (int)from->status;
	if (from->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    from->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		ev->mc = owner;
	ev->id = ev->mc ? ev->mc->id : owner;
	ev->new_handle = from->id;
	ev->ece = (struct ibv_ece){
		.vendor_id = from->ece.vendor_id,
		.options = from->ece.attr_mod,
	};
	if (from->event == RDMA_CM_EVENT_USER || from->event == RDMA_CM_EVENT_INTERNAL)
		memcpy(&ev->event.param.arg, from->param.arg32, sizeof(ev->event.param.arg));
	else if (ev->mc || cm_id_is_ud(ev->id))
		event_ud(ev, &from->param.ud);
	else
		event_conn(ev, &from->param.conn);
	return true;
}

int ucma_get_event(struct cm_channel *ch, struct cm_event *ev)
{
	for (;;) {
		struct ucma_abi_event_resp answer;
		struct ucma_abi_get_event cmd = { .response = ucma_answer_at(&answer) };
		int r;

		answer.uid = 0;
		r = ucma_command(ch->ucma_fd, UCMA_CMD_GET_EVENT, &cmd, sizeof(cmd),
				 sizeof(answer));
		if (r < 0)
			return r;
		kernel_wrote(&answer, sizeof(answer));
		if (event_read(ev, &answer))
			return 0;
	}
}
