/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Routing of MADs to processes of this host. */
#include <endian.h>
#include <string.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gsi.h"
#include "providers/uroce/host/gsi_ops.h"

enum {
	REJ_TIMEOUT = 4,
	/*
	 * kinds of listeners for a request: on its address, on its address family, on all addresses
	 */
	KINDS = 3,
};

/* --- finding the process --- */

static struct shm_peer *connected(struct uroce_host *host, uint16_t slot)
{
	struct shm_peer *peer =
		atomic_load_explicit(&host->shm->by_slot[slot], memory_order_acquire);

	return peer && !peer->dead ? peer : NULL;
}

/* Return the best kind of listener on the board, KINDS if there is none. */
static unsigned int board_kind(const struct shm_board *board, uint64_t id,
			       const union ibv_gid *const gid[KINDS])
{
	unsigned int kind = 0;

	while (kind < KINDS && !uroce_board_service_find(board, id, gid[kind]))
		kind++;
	return kind;
}

static unsigned int peer_kind(struct shm_peer *peer, uint64_t id,
			      const union ibv_gid *const gid[KINDS])
{
	const struct shm_board *board;
	unsigned int kind;

	/* Most processes have no listener. */
	if (peer->dead || peer->self ||
	    !atomic_load_explicit(&peer->first_page->services, memory_order_acquire))
		return KINDS;
	board = uroce_shm_board_borrow(peer);
	kind = board_kind(board, id, gid);
	uroce_shm_board_return(peer, board);
	return kind;
}

static uint16_t listener_of(struct uroce_host *host, uint64_t id,
			    const union ibv_gid *const gid[KINDS])
{
	unsigned int best = board_kind(host->shm->board, id, gid);
	uint16_t slot = best < KINDS ? host->paths.slot : 0;
	struct shm_peer *peer;

	LIST_FOREACH(peer, &host->shm->peers, entry) {
		unsigned int kind = best ? peer_kind(peer, id, gid) : KINDS;

		if (kind >= best)
			continue;
		best = kind;
		slot = peer->slot;
	}
	return slot;
}

/*
 * Return the slot of the process that listens for the request, 0 if no such process is known. The
 * order of preference: a listener on the exact address, on its address family, on all addresses.
 */
static uint16_t request_slot(struct uroce_host *host, const struct gsi_transit *transit)
{
	static const union ibv_gid any4 = { .raw = VERBS_GSI_ANY_IPV4 },
				   any6 = { .raw = VERBS_GSI_ANY_IPV6 };
	const union ibv_gid *own = &transit->from.dgid, *const gid[KINDS] = {
		own, uroce_gid_is_ipv4(own) ? &any4 : &any6
	};
	uint64_t id = get64(transit->mad + CM_AT_SERVICE_ID);

	return !id || id == SHM_SERVICE_GONE ? 0 : listener_of(host, id, gid);
}

static bool is_request(const struct gsi_transit *transit)
{
	uint16_t attr = get16(transit->mad + MAD_AT_ATTR_ID);

	return attr == CM_REQ || attr == CM_SIDR_REQ;
}

/*
 * Return whether the sender gave up waiting for an answer. Such a sender may not know the id of its
 * peer.
 */
static bool is_giving_up(const struct gsi_transit *transit)
{
	return get16(transit->mad + MAD_AT_ATTR_ID) == CM_REJ &&
	       get16(transit->mad + CM_AT_REJ_REASON) == REJ_TIMEOUT;
}

static uint16_t answer_slot(const struct gsi_transit *transit)
{
	bool sidr = get16(transit->mad + MAD_AT_ATTR_ID) == CM_SIDR_REP;

	return get32(transit->mad + (sidr ? CM_AT_SIDR_ID : CM_AT_REMOTE_ID)) >>
	       UROCE_ID_SLOT_SHIFT;
}

/* --- delivery --- */

uint32_t uroce_gsi_pack(const struct gsi_transit *transit, uint8_t ret_packet[GSI_PACKET_MAX])
{
	struct uroce_hdr hdr = {
		.opcode = UROCE_UD | UROCE_SEND_ONLY,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = GSI_QPN,
		.qkey = GSI_QKEY,
		.src_qpn = transit->src_qpn,
	};
	uint32_t header = uroce_wire_pack(&hdr, GSI_MAD_LEN, ret_packet);

	memcpy(ret_packet + header, transit->mad, GSI_MAD_LEN);
	return header + GSI_MAD_LEN;
}

static enum gsi_verdict pass_on(struct uroce_host *host, const struct gsi_transit *transit,
				uint16_t slot)
{
	struct path_origin from = transit->from;
	uint8_t packet[GSI_PACKET_MAX];
	uint32_t length = uroce_gsi_pack(transit, packet);

	from.passed_on = 1;
	return uroce_shm_forward(host->shm, slot, &from, packet, length) ? GSI_FULL : GSI_DONE;
}

/* Give a MAD without a process to any manager, which answers it. */
static enum gsi_verdict deliver_stray(struct uroce_host *host, const struct gsi_transit *transit)
{
	struct shm_peer *peer;

	if (uroce_gsi_deliver(host, transit) || transit->from.passed_on)
		return GSI_DONE;
	LIST_FOREACH(peer, &host->shm->peers, entry)
		if (!peer->dead && !peer->self &&
		    atomic_load_explicit(&peer->first_page->manager, memory_order_relaxed))
			return pass_on(host, transit, peer->slot);
	return GSI_DONE;
}

/*
 * Deliver a REJ without a remote id to all managers, because any of them may have the connection.
 */
static enum gsi_verdict deliver_to_all(struct uroce_host *host, const struct gsi_transit *transit)
{
	struct shm_peer *peer;

	uroce_gsi_deliver(host, transit);
	if (!transit->from.passed_on)
		LIST_FOREACH(peer, &host->shm->peers, entry)
			if (!peer->dead && !peer->self)
				pass_on(host, transit, peer->slot);
	return GSI_DONE;
}

static enum gsi_verdict route_request(struct uroce_host *host, const struct gsi_transit *transit,
				      bool last, uint64_t now, uint16_t *ret_slot)
{
	uint16_t slot = *ret_slot = request_slot(host, transit);

	if (slot == host->paths.slot && uroce_gsi_deliver(host, transit))
		return GSI_DONE;
	if (slot && slot != host->paths.slot && !transit->from.passed_on)
		return pass_on(host, transit, slot);
	if (!last && !transit->from.passed_on && !uroce_shm_complete(host->shm, now))
		return GSI_LATER;
	return deliver_stray(host, transit);
}

static enum gsi_verdict route_answer(struct uroce_host *host, const struct gsi_transit *transit,
				     bool last, uint16_t *ret_slot)
{
	uint16_t slot = *ret_slot = answer_slot(transit);

	if (!slot && is_giving_up(transit))
		return deliver_to_all(host, transit);
	if (!slot || slot == host->paths.slot || transit->from.passed_on)
		return deliver_stray(host, transit);
	if (connected(host, slot))
		return pass_on(host, transit, slot);
	if (!last && uroce_shm_slot_used(host->shm, slot))
		return GSI_LATER;
	return deliver_stray(host, transit);
}

enum gsi_verdict uroce_gsi_route(struct uroce_host *host, const struct gsi_transit *transit,
				 bool last, uint64_t now, uint16_t *ret_slot)
{
	struct gsi_transit came = *transit;

	assert_held(&host->paths.progress_lock);
	if (transit->mad[MAD_AT_CLASS] != MAD_CLASS_CM)
		return GSI_DONE;
	came.arrived = now;
	return is_request(&came) ? route_request(host, &came, last, now, ret_slot)
				 : route_answer(host, &came, last, ret_slot);
}

/* Return whether all processes are connected that existed at @since. */
static bool complete_since(struct uroce_shm *shm, uint64_t since, uint64_t now)
{
	if (shm->complete && shm->complete_begun >= since)
		return true;
	if (shm->complete_cheap)
		shm->complete_next = now;
	return uroce_shm_complete(shm, now);
}

int uroce_gsi_route_again(struct uroce_host *host, const struct gsi_transit *transit,
			  uint64_t since, uint64_t now)
{
	bool complete = complete_since(host->shm, since, now);
	uint16_t slot = request_slot(host, transit);

	assert_held(&host->paths.progress_lock);
	if (slot == host->paths.slot)
		return -ENOENT;
	if (slot)
		return pass_on(host, transit, slot) == GSI_DONE ? 0 : -EAGAIN;
	if (!complete)
		uroce_forward_want(host, 0);
	/* Processes that started after this search are found by the next one. */
	return complete && host->shm->complete_begun >= since ? -ENOENT : -EAGAIN;
}

/* --- received packets --- */

void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid)
{
	struct gsi_transit transit = { .mad = pkt->payload.data, .src_qpn = pkt->hdr.src_qpn };
	uint8_t packet[GSI_PACKET_MAX];
	uint16_t slot = 0;
	uint64_t now;

	if (pkt->hdr.opcode != (UROCE_UD | UROCE_SEND_ONLY) || pkt->hdr.qkey != GSI_QKEY || !sgid ||
	    pkt->payload.length != GSI_MAD_LEN || !pkt->payload.data || !pkt->dgid)
		return;
	transit.from = (struct path_origin){ .sgid = *sgid,
					     .dgid = *pkt->dgid,
					     .passed_on = pkt->forwarded };
	now = uroce_now();
	if (uroce_gsi_route(host, &transit, false, now, &slot) == GSI_LATER)
		uroce_forward(host, slot, &transit.from, packet, uroce_gsi_pack(&transit, packet),
			      now);
}

bool uroce_gsi_again(struct uroce_host *host, const struct path_origin *from, const void *packet,
		     uint32_t length, bool last, uint64_t now)
{
	struct gsi_transit transit = { .from = *from };
	struct uroce_hdr hdr;
	uint32_t payload;
	uint16_t slot;
	int header = uroce_wire_unpack(packet, length, &hdr, &payload);

	if (header < 0 || payload != GSI_MAD_LEN)
		return true;
	transit.mad = (const uint8_t *)packet + header;
	transit.src_qpn = hdr.src_qpn;
	return uroce_gsi_route(host, &transit, last, now, &slot) != GSI_LATER;
}
