/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/ibcm/state_out.h"
#include "util/util.h"

/* The time in an MRA, because the application may need long for its answer. */
enum {
	MRA_SERVICE_TIMEOUT = 24
};

void ibcm_out_data(struct ibcm_out *out, const uint8_t data[IBCM_MAD_LEN])
{
	if (out->mads < ARRAY_SIZE(out->mad))
		memcpy(out->mad[out->mads++], data, IBCM_MAD_LEN);
}

void ibcm_out_event(struct ibcm_out *out, enum ibcm_event event, int status)
{
	out->has_event = true;
	out->event = event;
	out->status = status;
}

/* Send a message once, with the connection's ids. */
int ibcm_out_mad(const struct ibcm_conn *conn, struct ibcm_mad *mad, struct ibcm_out *out)
{
	uint8_t data[IBCM_MAD_LEN];
	int r;

	mad->local_id = conn->local_id;
	mad->remote_id = conn->remote_id;
	mad->tid = conn->tid;
	r = ibcm_mad_pack(mad, data);
	if (!r)
		ibcm_out_data(out, data);
	return r;
}

/* Send a message, and repeat it until the peer answers. */
int ibcm_out_repeated(struct ibcm_conn *conn, struct ibcm_mad *mad, uint64_t now,
		      struct ibcm_out *out)
{
	uint8_t data[IBCM_MAD_LEN];
	int r;

	mad->local_id = conn->local_id;
	mad->remote_id = conn->remote_id;
	mad->tid = conn->tid;
	r = ibcm_mad_pack(mad, data);
	if (r < 0)
		return r;
	memcpy(conn->sent, data, sizeof(data));
	conn->left = conn->retries;
	conn->deadline = now + conn->interval;
	ibcm_out_data(out, data);
	return 0;
}

void ibcm_out_plain(const struct ibcm_conn *conn, enum ibcm_message type, struct ibcm_out *out)
{
	struct ibcm_mad mad = { .type = type };

	ibcm_out_mad(conn, &mad, out);
}

void ibcm_out_drep(struct ibcm_conn *conn, struct ibcm_out *out)
{
	ibcm_out_plain(conn, IBCM_DREP, out);
	conn->confirmed = true;
}

void ibcm_out_mra(const struct ibcm_conn *conn, enum ibcm_answered answered, struct ibcm_out *out)
{
	struct ibcm_mad mad = {
		.type = IBCM_MRA,
		.mra = { .answered = answered, .service_timeout = MRA_SERVICE_TIMEOUT },
	};

	ibcm_out_mad(conn, &mad, out);
}

static enum ibcm_answered rejects(enum ibcm_state state)
{
	if (state == IBCM_REQ_RCVD)
		return IBCM_ANSWERS_REQ;
	return state == IBCM_REP_RCVD ? IBCM_ANSWERS_REP : IBCM_ANSWERS_OTHER;
}

/*
 * Send a REJ. For a timeout it names the sender by its GUID, because the receiver may not know its
 * id yet.
 */
int ibcm_out_rej(const struct ibcm_conn *conn, uint32_t reason, const void *private_data,
		 uint32_t private_len, struct ibcm_out *out)
{
	struct ibcm_mad mad = {
		.type = IBCM_REJ,
		.rej = { .rejected = rejects(conn->state), .reason = reason },
		.private_len = private_len,
	};
	uint64_t guid = htobe64(conn->local_guid);

	if (private_len > ibcm_private_size(IBCM_REJ))
		return -EINVAL;
	if (private_len)
		memcpy(mad.private_data, private_data, private_len);
	if (reason == IBCM_REJ_TIMEOUT) {
		mad.rej.info_length = sizeof(guid);
		memcpy(mad.rej.info, &guid, sizeof(guid));
	}
	return ibcm_out_mad(conn, &mad, out);
}

void ibcm_become(struct ibcm_conn *conn, enum ibcm_state state)
{
	conn->state = state;
	conn->again = false;
	conn->deadline = 0;
	conn->ask_until = 0;
}

/*
 * Enter the time wait. Packets of the connection may still be under way. Therefore its numbers must
 * not be used again at once.
 */
void ibcm_become_timewait(struct ibcm_conn *conn, uint64_t now)
{
	ibcm_become(conn, IBCM_TIMEWAIT);
	conn->deadline = now + min_of(ibcm_time(conn->qp.ack_timeout), IBCM_PATIENCE);
}
