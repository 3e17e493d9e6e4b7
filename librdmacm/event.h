/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events, from a backend to the program. */
#ifndef LIBRDMACM_EVENT_H
#define LIBRDMACM_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_abi.h>

struct cm_id;
struct cm_mc;
struct ibcm_id;

/*
 * An event, from the backend to the program. The core allocates it zeroed, a backend's get_event
 * fills the first group of members, the core the rest.
 *
 * Filled by get_event:
 * - event.event, event.status as in rdma_cma.h. For REJECTED the status is the IBTA reason,
 *   positive.
 * - event.param of CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED: .conn or .ud (by
 *   cm_id_is_ud()). Its private_data points to @private_data. Like in the kernel, the depths are
 *   those of this side: responder_resources is the other side's initiator_depth, and the reverse.
 * - UD: ESTABLISHED on the asking side has ah_attr, qp_num, qkey.
 * - Groups: ah_attr, qp_num 0xffffff, qkey.
 * - id: the identifier of the event. For CONNECT_REQUEST the listener (or its twin).
 * - mc: the group, for MULTICAST_JOIN and MULTICAST_ERROR. Then id is mc->id.
 * - new_handle, new_ibcm: only for CONNECT_REQUEST. The core makes an identifier with cm_id.handle
 *   and .ibcm from them. If that fails, it calls drop_request() with them.
 * - ece: of CONNECT_REQUEST and CONNECT_RESPONSE.
 */
struct cm_event {
	struct rdma_cm_event event; /* public, first */
	struct cm_id *id;
	struct cm_mc *mc;
	uint32_t new_handle;
	struct ibcm_id *new_ibcm;
	struct ibv_ece ece;
	uint8_t private_data[RDMA_MAX_PRIVATE_DATA];

	bool posted;		     /* the event comes from posted.c and not from a backend */
	TAILQ_ENTRY(cm_event) entry; /* cm_id.unacked, cm_channel.posted */
};

static inline struct cm_event *to_cm_event(struct rdma_cm_event *event)
{
	return (struct cm_event *)event;
}

/*
 * event.c. Wait until *@acked, of the identifier or one of its groups, reaches @reported. After a
 * while, log the missing event.
 */
void cm_events_wait(struct cm_id *id, const uint32_t *acked, uint32_t reported, const char *who);
/* Return the number of the backend's events that the core handed out for the identifier. */
uint32_t cm_events_given(struct cm_id *id);
/* Count an event as acknowledged while the program still uses it: rdma_get_request(). */
void cm_event_count_early(struct cm_event *ev);
/* Wait for the event of a started operation, if the identifier is synchronous. */
int cm_sync_wait(struct cm_id *id);
/* Acknowledge the event of the last call. */
void cm_sync_drop_event(struct cm_id *id);

#endif
