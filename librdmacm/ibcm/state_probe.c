/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes of the peer. If a process is killed, the kernel ends its connections. A process with a
 * user-space device may end without a message, and therefore its peers probe. The probe is a LAP,
 * which a user-space peer answers with an APR. If the answer says that the peer does not know the
 * connection, the connection ends. A kernel's manager does not answer a LAP on RoCE and is probed
 * less and less often.
 *
 * A host where no process receives refuses the datagram itself. Any host can forge such a refusal.
 * If the peer answered before, one refusal is not believed: two are needed, each of a probe that
 * had no answer within a second. If the peer never answered a request, a refusal of the request is
 * believed: each of its repetitions asks for it.
 */
#include "librdmacm/ibcm/state_out.h"
#include "util/util.h"

enum {
	REFUSALS = 2,
	DOUBLINGS = 4, /* how often the time between two probes doubles without an answer */
	EARLY_ASKS = 2,
};
#define FIRST	     250000000ull  /* ns after the connection was made */
#define INTERVAL     5000000000ull /* ns between two probes */
#define REFUSED_WAIT 1000000000ull /* ns that a refused peer has for an answer */
#define ASK	     500000000ull  /* ns after which a request without an answer is sent again */
/* ns: more than a second, because a kernel sends one refusal a second */
#define ASK_APART 1200000000ull

/* --- probes by a request --- */

void ibcm_ask_begin(struct ibcm_conn *conn, uint64_t now)
{
	conn->probe = (struct ibcm_probe){};
	conn->unheard = true;
	if (conn->interval <= ASK)
		return;
	conn->asks = EARLY_ASKS;
	conn->ask_until = conn->deadline;
	conn->deadline = now + ASK;
}

void ibcm_ask_end(struct ibcm_conn *conn)
{
	conn->ask_until = 0;
	conn->unheard = false;
	conn->probe.asked = false;
}

static void ask(struct ibcm_conn *conn, struct ibcm_out *out)
{
	ibcm_out_data(out, conn->sent);
	conn->probe.asked = true;
	out->probe = true;
}

void ibcm_repeat(struct ibcm_conn *conn, struct ibcm_out *out)
{
	if (ibcm_state_is_asking(conn) && conn->unheard) {
		ask(conn, out);
		out->must = true;
	} else {
		ibcm_out_data(out, conn->sent);
	}
}

/*
 * Repeat the request before the first timeout of the specification, so that a host without a
 * receiver refuses it. A slow peer asks for more time. A peer on this host needs no probe.
 */
bool ibcm_ask_early(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	if (!conn->ask_until)
		return false;
	conn->asks--;
	conn->deadline = now + ASK_APART;
	if (!conn->asks || conn->deadline >= conn->ask_until) {
		conn->deadline = conn->ask_until;
		conn->ask_until = 0;
	}
	ask(conn, out);
	return true;
}

/* --- probes of a connection's peer --- */

void ibcm_state_watch(struct ibcm_conn *conn, uint64_t now)
{
	if (conn->state != IBCM_ESTABLISHED || conn->deadline || conn->probe.near)
		return;
	conn->probe = (struct ibcm_probe){};
	conn->deadline = now + FIRST;
}

void ibcm_state_near(struct ibcm_conn *conn)
{
	conn->probe.near = true;
	if (conn->state == IBCM_ESTABLISHED)
		conn->deadline = 0;
}

static uint64_t next_probe(const struct ibcm_probe *probe)
{
	return INTERVAL << (probe->answers ? 0 : min_of(probe->silent, (uint32_t)DOUBLINGS));
}

void ibcm_probe_due(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	struct ibcm_probe *probe = &conn->probe;
	struct ibcm_mad lap = { .type = IBCM_LAP, .lap = { .remote_qpn = conn->qp.remote_qpn } };
	uint64_t tid = conn->tid;

	if (probe->refused >= REFUSALS) {
		ibcm_state_peer_gone(conn, now, out);
		return;
	}
	conn->deadline = now + (probe->refused ? REFUSED_WAIT : next_probe(probe));
	probe->silent++;
	probe->asked = true;
	probe->number++;
	conn->tid = tid ^ (uint64_t)probe->number << 32;
	probe->tid = conn->tid;
	ibcm_out_mad(conn, &lap, out);
	conn->tid = tid;
	out->probe = true;
}

void ibcm_probe_answered(struct ibcm_conn *conn, const struct ibcm_mad *mad, uint64_t now,
			 struct ibcm_out *out)
{
	struct ibcm_probe *probe = &conn->probe;

	if (mad->tid != probe->tid || !probe->number)
		return;
	if (mad->apr.status == IBCM_APR_NO_CONNECTION) {
		ibcm_state_peer_gone(conn, now, out);
		return;
	}
	*probe = (struct ibcm_probe){ .answers = true, .number = probe->number, .tid = probe->tid };
	conn->deadline = now + INTERVAL;
}

void ibcm_state_refused(struct ibcm_conn *conn, uint64_t now, struct ibcm_out *out)
{
	struct ibcm_probe *probe = &conn->probe;

	if (ibcm_state_is_asking(conn) && probe->asked) {
		ibcm_give_up(conn, now, -ECONNREFUSED, out);
	} else if (conn->state == IBCM_ESTABLISHED && probe->asked && probe->answers) {
		probe->asked = false; /* once for each probe */
		probe->refused++;
		conn->deadline = now + REFUSED_WAIT;
	}
}
