/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arriving messages: find the connection of each message, run its state machine, send messages and
 * report events.
 */
#include <endian.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/cm.h"
#include "librdmacm/ibcm/arrival.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/dispatch.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/pending.h"
#include "librdmacm/ibcm/table.h"
#include "librdmacm/ibcm/wake.h"
#include "librdmacm/rsocket/wire.h"
#include "util/util.h"

#define SUSPECT_AGAIN 1000000000ull /* ns */

/* --- answers --- */

/* Find the connection of a REJ after a timeout. Its sender may not know the id of this side. */
static struct ibcm_id *rejected_find(const struct arrival *in)
{
	const struct ibcm_mad *mad = &in->mad;
	uint64_t guid;

	if (mad->type != IBCM_REJ || mad->rej.reason != IBCM_REJ_TIMEOUT ||
	    mad->rej.info_length < sizeof(guid) ||
	    ibcm_pending_withdraw(&in->from->remote_gid, mad->local_id))
		return NULL;
	memcpy(&guid, mad->rej.info, sizeof(guid));
	return ibcm_table_find_peer(&in->from->remote_gid, be64toh(guid), mad->local_id);
}

/*
 * Return whether the message names the connection. The id of the peer is unknown before its first
 * answer, and a peer may never have known the connection.
 */
static bool names_connection(const struct ibcm_conn *conn, const struct ibcm_mad *mad)
{
	if (conn->state == IBCM_SIDR_REQ_SENT)
		return true;
	if (conn->state == IBCM_REQ_SENT && (!conn->remote_id || !mad->local_id))
		return true;
	return mad->local_id == conn->remote_id;
}

/* Return whether the peer itself sent the message. */
static bool comes_from_peer(const struct ibcm_id *iid, const struct arrival *in)
{
	return !memcmp(&iid->remote_gid, &in->from->remote_gid, sizeof(iid->remote_gid)) &&
	       names_connection(&iid->conn, &in->mad);
}

struct suspect {
	union ibv_gid gid;
	uint16_t prefix;
	uint64_t now;
};

static void ask_now(struct ibcm_id *iid, void *arg)
{
	const struct suspect *suspect = arg;

	if (iid->conn.state != IBCM_ESTABLISHED || !iid->conn.deadline ||
	    ibcm_id_prefix(iid->conn.remote_id) != suspect->prefix ||
	    memcmp(&iid->remote_gid, &suspect->gid, sizeof(suspect->gid)))
		return;
	iid->conn.deadline = suspect->now;
	ibcm_heap_update(iid);
}

/*
 * Probe once all connections to the process of a peer that has lost a connection, because the
 * process itself may have ended.
 */
static void suspect_peers(const struct ibcm_id *iid)
{
	static struct suspect last;
	struct suspect suspect = { .gid = iid->remote_gid,
				   .prefix = ibcm_id_prefix(iid->conn.remote_id),
				   .now = ibcm_now() };

	if (last.now && suspect.now - last.now < SUSPECT_AGAIN && suspect.prefix == last.prefix &&
	    !memcmp(&suspect.gid, &last.gid, sizeof(last.gid)))
		return;
	last = suspect;
	ibcm_table_each(ask_now, &suspect);
	ibcm_wake_by(suspect.now);
}

static void qp_compare(struct ibcm_id *iid, void *arg)
{
	struct ibcm_id *asking = arg;

	if (iid != asking && iid->local.cm == asking->local.cm && !ibcm_is_over(iid) &&
	    iid->conn.state != IBCM_IDLE && iid->conn.qp.local_qpn == asking->conn.qp.local_qpn)
		ibcm_state_shares_qp(&asking->conn);
}

static void answer_arrived(struct arrival *in)
{
	struct ibcm_id *iid =
		in->mad.remote_id ? ibcm_table_find(in->mad.remote_id) : rejected_find(in);
	struct ibcm_out out = {};

	if (!iid || iid->conn.state == IBCM_IDLE || !comes_from_peer(iid, in)) {
		ibcm_arrival_stray(in);
		return;
	}
	if (in->mad.type == IBCM_REJ && in->mad.rej.reason == IBCM_REJ_STALE_CONN)
		ibcm_table_each(qp_compare, iid);
	ibcm_state_message(&iid->conn, &in->mad, ibcm_now(), &out);
	if (in->mad.type == IBCM_REP && out.has_event)
		ibcm_table_add_peer(iid);
	if (in->mad.type == IBCM_APR && out.has_event)
		suspect_peers(iid);
	ibcm_run(iid, &out, &in->mad);
}

/* --- deaths of peers, removals of devices --- */

static bool gid_is_here(const union ibv_gid *gid)
{
	struct ibv_gid_entry entries[64];
	struct ibcm_dev *dev;

	for (dev = ibcm_dev_first(); dev; dev = LIST_NEXT(dev, entry)) {
		ssize_t n = ibv_query_gid_table(dev->verbs, entries, ARRAY_SIZE(entries), 0);

		for (ssize_t i = 0; i < n; i++)
			if (!memcmp(&entries[i].gid, gid, sizeof(*gid)))
				return true;
	}
	return false;
}

static void peer_gone(struct ibcm_id *iid, void *arg)
{
	const uint16_t *prefix = arg;
	struct ibcm_out out = {};

	if (ibcm_id_prefix(iid->conn.remote_id) != *prefix || !gid_is_here(&iid->remote_gid))
		return;
	ibcm_state_peer_gone(&iid->conn, ibcm_now(), &out);
	ibcm_run(iid, &out, NULL);
}

struct refusal {
	const union ibv_gid *local, *remote;
};

static void refused(struct ibcm_id *iid, void *arg)
{
	const struct refusal *refusal = arg;
	struct ibcm_out out = {};

	if (memcmp(&iid->remote_gid, refusal->remote, sizeof(iid->remote_gid)) ||
	    memcmp(&iid->local.gid, refusal->local, sizeof(iid->local.gid)))
		return;
	if (ibcm_state_is_asking(&iid->conn) && iid->id)
		cm_info(iid->id,
			"that host has no RoCE device in use: its UDP port 4791 is closed");
	ibcm_state_refused(&iid->conn, ibcm_now(), &out);
	ibcm_run(iid, &out, NULL);
}

void ibcm_refused(const union ibv_gid *local, const union ibv_gid *remote)
{
	struct refusal refusal = { local, remote };

	ibcm_table_each(refused, &refusal);
}

/*
 * Return whether a request comes from a socket. Without a listener, programs with sockets expect a
 * refusal, as with TCP, and try again themselves.
 */
static bool is_of_socket(const struct ibcm_mad *mad)
{
	struct rs_wire_data data;

	return mad->type == IBCM_REQ && mad->private_len > IBCM_IP_LEN &&
	       !rs_wire_get_data(mad->private_data + IBCM_IP_LEN, mad->private_len - IBCM_IP_LEN,
				 &data);
}

void ibcm_arrived(struct ibcm_dev *dev, const struct verbs_gsi_mad *from)
{
	struct arrival in = { .dev = dev, .from = from };
	uint16_t gone = from->gone;

	if (from->removed)
		ibcm_ids_remove_device(dev);
	else if (gone)
		ibcm_table_each(peer_gone, &gone);
	else if (ibcm_mad_unpack(from->data, &in.mad) < 0)
		return;
	else if (in.mad.type != IBCM_REQ && in.mad.type != IBCM_SIDR_REQ)
		answer_arrived(&in);
	else if (!ibcm_arrival_request(&in) &&
		 !ibcm_pending_add(dev, from, in.mad.local_id, is_of_socket(&in.mad),
				   ibcm_request_again))
		ibcm_arrival_stray(&in);
}
