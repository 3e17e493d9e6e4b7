/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ping-pong over extended reliable connections: a server and its clients each have one shared
 * receive queue, and a connection each way between the server and every client. The server starts.
 *
 * All releases of this program use the same text on the TCP connections.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "pingpong.h"

enum {
	SEND_WR = 4,
	ADDRESS_SIZE = 66, /* lid:recv:send:psn:srqn:gid, hexadecimal, and a zero */
};

static const char end[] = "END";

/* The peer of a connection. pp.qps[] has the sending halves and the addresses. */
struct peer {
	struct ibv_qp *recv_qp;
	uint32_t remote_recv_qpn;
	uint32_t remote_srqn;
	unsigned int sent, received;
	int tcp; /* 0: none */
};

static struct pp pp;
static struct peer peers[PP_QP_MAX];
static struct ibv_xrcd *xrcd;
static unsigned int sends_out; /* number of sends that have not completed */

/* ---- objects ---- */

/* Open the file of the XRC domain, which all such programs of this host share. */
static int domain_open(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.oflags = O_CREAT,
	};
	_cleanup_close_ int fd =
		open("/tmp/xrc_domain", O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);

	attr.fd = fd < 0 ? -1 : fd;
	xrcd = ibv_open_xrcd(pp.context, &attr);
	return xrcd ? 0 : pp_fail(errno, "Couldn't open the XRC domain");
}

static int srq_create(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = pp.opt.num_qp, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.xrcd = xrcd,
		.cq = pp.cq,
		.pd = pp.pd,
	};

	pp.srq = ibv_create_srq_ex(pp.context, &attr);
	return pp.srq ? 0 : pp_fail(errno, "Couldn't create SRQ");
}

static int recv_qp_create(unsigned int i)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = pp.opt.ib_port,
	};
	int r;

	peers[i].recv_qp = ibv_create_qp_ex(pp.context, &init);
	if (!peers[i].recv_qp)
		return pp_fail(errno, "Couldn't create recv QP[%u]", i);
	r = ibv_modify_qp(peers[i].recv_qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return r ? pp_fail(r, "Failed to modify recv QP[%u] to INIT", i) : 0;
}

static int send_qp_create(unsigned int i)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = pp.cq,
		.cap = { .max_send_wr = SEND_WR, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pp.pd,
	};

	pp.qps[i].qp = ibv_create_qp_ex(pp.context, &init);
	return pp.qps[i].qp ? 0 : pp_fail(errno, "Couldn't create send QP[%u]", i);
}

static int xsrq_create_qps(struct pp *unused)
{
	int r = domain_open();

	if (!r)
		r = srq_create();
	for (unsigned int i = 0; i < pp.opt.num_qp && !r; i++) {
		r = recv_qp_create(i);
		if (!r)
			r = send_qp_create(i);
	}
	return r;
}

/* Destroy the objects that pp_close() does not know, and the domain last. */
static int objects_close(void)
{
	int r = 0;

	for (unsigned int i = 0; i < pp.opt.num_qp; i++) {
		if (peers[i].recv_qp && ibv_destroy_qp(peers[i].recv_qp))
			r = pp_fail(errno, "Couldn't destroy recv QP[%u]", i);
		if (peers[i].tcp)
			close(peers[i].tcp);
	}
	if (pp.srq && ibv_destroy_srq(pp.srq))
		r = pp_fail(errno, "Couldn't destroy SRQ");
	pp.srq = NULL;
	if (xrcd && ibv_close_xrcd(xrcd))
		r = pp_fail(errno, "Couldn't close the XRC domain");
	return r;
}

/* ---- connecting ---- */

static int recv_qp_connect(unsigned int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp.opt.mtu,
		.dest_qp_num = pp.qps[i].remote.qpn,
		.rq_psn = pp.qps[i].remote.psn,
		.min_rnr_timer = 12,
		.ah_attr = pp_remote_ah_attr(&pp, i),
	};
	int r = ibv_modify_qp(peers[i].recv_qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);

	return r ? pp_fail(r, "Failed to modify recv QP[%u] to RTR", i) : 0;
}

static int send_qp_connect(unsigned int i)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp.opt.mtu,
		.dest_qp_num = peers[i].remote_recv_qpn,
		.rq_psn = pp.qps[i].remote.psn,
		.ah_attr = pp_remote_ah_attr(&pp, i),
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = pp.qps[i].local.psn,
	};
	int r = ibv_modify_qp(pp.qps[i].qp, &rtr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN);

	if (r)
		return pp_fail(r, "Failed to modify send QP[%u] to RTR", i);
	r = ibv_modify_qp(pp.qps[i].qp, &rts,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return r ? pp_fail(r, "Failed to modify send QP[%u] to RTS", i) : 0;
}

static void address_show(const char *whose, const struct pp_dest *dest, uint32_t recv_qpn,
			 uint32_t srqn)
{
	char gid[64] = "";

	for (int i = 0; i < 16; i++)
		snprintf(gid + strlen(gid), sizeof(gid) - strlen(gid), "%s%02x",
			 i && !(i & 1) ? ":" : "", dest->gid.raw[i]);
	printf("%8s: LID %04x, QPN RECV %06x SEND %06x, PSN %06x, SRQN %06x, GID %s\n", whose,
	       dest->lid, recv_qpn, dest->qpn, dest->psn, srqn, gid);
}

static int address_send(unsigned int i)
{
	struct pp_dest *local = &pp.qps[i].local;
	char text[ADDRESS_SIZE];
	uint32_t srqn;
	int n, r;

	*local = (struct pp_dest){ .lid = pp.port.lid, .qpn = pp.qps[i].qp->qp_num };
	if (getrandom(&local->psn, sizeof(local->psn), 0) != sizeof(local->psn))
		local->psn = getpid();
	local->psn &= 0xffffff;
	if (pp.opt.gid_index >= 0 &&
	    ibv_query_gid(pp.context, pp.opt.ib_port, pp.opt.gid_index, &local->gid))
		return pp_fail(errno, "can't read sgid of index %d", pp.opt.gid_index);
	r = ibv_get_srq_num(pp.srq, &srqn);
	if (r)
		return pp_fail(r, "Couldn't get SRQ num");
	address_show("local", local, peers[i].recv_qp->qp_num, srqn);
	n = snprintf(text, sizeof(text), "%04x:%06x:%06x:%06x:%06x:", local->lid,
		     peers[i].recv_qp->qp_num, local->qpn, local->psn, srqn);
	for (int b = 0; b < 16; b++)
		n += snprintf(text + n, sizeof(text) - n, "%02x", local->gid.raw[b]);
	r = pp_tcp_send(peers[i].tcp, text, sizeof(text));
	return r < 0 ? pp_fail(r, "Couldn't send local address") : 0;
}

static int address_receive(unsigned int i)
{
	struct pp_dest *remote = &pp.qps[i].remote;
	char text[ADDRESS_SIZE], gid[33];
	unsigned int lid;
	int r = pp_tcp_receive(peers[i].tcp, text, sizeof(text));

	if (r < 0)
		return pp_fail(r, "Couldn't read remote address [%u]", i);
	text[sizeof(text) - 1] = 0;
	r = sscanf(text, "%4x:%6x:%6x:%6x:%6x:%32[0-9a-fA-F]", &lid, &peers[i].remote_recv_qpn,
		   &remote->qpn, &remote->psn, &peers[i].remote_srqn, gid);
	if (r != 6 || strlen(gid) != 32)
		return pp_fail(EPROTO, "Couldn't read remote address: '%s'", text);
	remote->lid = lid;
	for (int b = 0; b < 16; b++) {
		unsigned int byte;

		sscanf(gid + 2 * b, "%2x", &byte);
		remote->gid.raw[b] = byte;
	}
	if (pp.port.link_layer == IBV_LINK_LAYER_ETHERNET && !pp_has_gid(remote))
		return pp_fail(0, "The other side has no GID: start it with -g");
	address_show("remote", remote, peers[i].remote_recv_qpn, peers[i].remote_srqn);
	return 0;
}

static int peer_meet(unsigned int i)
{
	int r = pp.opt.host ? address_send(i) : address_receive(i);

	if (!r)
		r = pp.opt.host ? address_receive(i) : address_send(i);
	if (!r)
		r = recv_qp_connect(i);
	return r ? r : send_qp_connect(i);
}

static int meet(void)
{
	_cleanup_close_ int listener = pp.opt.host ? -1 : pp_tcp_listen(&pp.opt);
	int r = 0;

	if (!pp.opt.host && listener < 0)
		return listener;
	for (unsigned int i = 0; i < pp.opt.num_qp && !r; i++) {
		int fd = pp.opt.host ? pp_tcp_connect(&pp.opt) : pp_tcp_accept(listener);

		if (fd < 0)
			return fd;
		peers[i].tcp = fd;
		r = peer_meet(i);
	}
	fflush(stdout);
	return r;
}

/* Wait until all peers have finished. */
static int part(void)
{
	char text[sizeof(end)];
	int r = 0;

	for (int turn = 0; turn < 2 && !r; turn++)
		for (unsigned int i = 0; i < pp.opt.num_qp && !r; i++) {
			bool says = !turn == (pp.opt.host != NULL);

			r = says ? pp_tcp_send(peers[i].tcp, end, sizeof(end))
				 : pp_tcp_receive(peers[i].tcp, text, sizeof(text));
			if (!r && !says && memcmp(text, end, sizeof(end)))
				r = -EPROTO;
		}
	return r ? pp_fail(r, "Couldn't end together with the other side") : 0;
}

/* ---- the ping-pong ---- */

static struct ibv_sge buffer_sge(void)
{
	return (struct ibv_sge){ (uintptr_t)pp.buffer, pp.opt.size, pp.mr->lkey };
}

static int receive_post(void)
{
	struct ibv_sge sge = buffer_sge();
	int r = pp_post_recv(&pp, PP_RECV, &sge);

	return r ? pp_fail(r, "Failed to post receive to SRQ") : 0;
}

static int send_post(unsigned int i)
{
	struct ibv_sge sge = buffer_sge();
	struct ibv_send_wr wr = {
		.wr_id = PP_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = peers[i].remote_srqn,
	};
	struct ibv_send_wr *bad;
	int r = ibv_post_send(pp.qps[i].qp, &wr, &bad);

	if (r)
		return pp_fail(r, "Couldn't post send");
	peers[i].sent++;
	sends_out++;
	return 0;
}

static int peer_of(uint32_t recv_qpn)
{
	for (unsigned int i = 0; i < pp.opt.num_qp; i++)
		if (pp.opt.num_qp == 1 || peers[i].recv_qp->qp_num == recv_qpn)
			return i;
	return pp_fail(0, "Unable to find QP %06x", recv_qpn);
}

static int completed(const struct ibv_wc *wc)
{
	int i, r;

	if (wc->status != IBV_WC_SUCCESS)
		return pp_fail(0, "Failed status %s (%d) for wr_id %u",
			       ibv_wc_status_str(wc->status), wc->status, (unsigned int)wc->wr_id);
	if (wc->wr_id == PP_SEND) {
		sends_out--;
		return 0;
	}
	i = peer_of(wc->qp_num);
	if (i < 0)
		return i;
	pp.received++;
	peers[i].received++;
	r = receive_post();
	return !r && peers[i].sent < pp.opt.iters ? send_post(i) : r;
}

static int event_wait(void)
{
	struct ibv_cq *cq;
	void *context;
	int r;

	if (ibv_get_cq_event(pp.channel, &cq, &context))
		return pp_fail(errno, "Failed to get cq_event");
	ibv_ack_cq_events(cq, 1);
	r = ibv_req_notify_cq(pp.cq, 0);
	return r ? pp_fail(r, "Couldn't request CQ notification") : 0;
}

static int play(void)
{
	unsigned int total = pp.opt.num_qp * pp.opt.iters;
	struct ibv_wc wc;
	int n, r = 0;

	while (!r && (pp.received < total || sends_out)) {
		if (pp.opt.events)
			r = event_wait();
		while (!r && (n = ibv_poll_cq(pp.cq, 1, &wc)))
			r = n < 0 ? pp_fail(0, "Error polling cq %d", n) : completed(&wc);
	}
	return r;
}

static int run(void)
{
	int r = pp_open(&pp);

	for (unsigned int i = 0; i < pp.opt.num_qp && !r; i++)
		r = receive_post();
	if (!r && pp.opt.events && (r = ibv_req_notify_cq(pp.cq, 0)))
		r = pp_fail(r, "Couldn't request CQ notification");
	if (!r)
		r = meet();
	for (unsigned int i = 0; i < pp.opt.num_qp && !r && !pp.opt.host; i++)
		r = send_post(i);
	if (!r)
		r = play();
	return r ? r : part();
}

static const struct pp_program program = {
	.letters = "pdismCTlego",
	.defaults = {
		.tcp_port = 18515,
		.ib_port = 1,
		.size = 4096,
		.mtu = IBV_MTU_1024,
		.num_qp = 1,
		.rx_depth = 500,
		.iters = 5,
		.gid_index = -1,
	},
	.type = IBV_QPT_XRC_SEND,
	.odp_needs = "XRC send, receive and srq",
	.odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV,
	.create_qps = xsrq_create_qps,
};

int main(int argc, char **argv)
{
	int r, closing;

	setenv("VERBS_LOG_LEVEL", "1", 0);
	pp.program = &program;
	pp_options_parse(&program, argc, argv, &pp.opt);
	if (pp.opt.host)
		pp.opt.num_qp = 1;
	r = run();
	closing = objects_close();
	closing = pp_close(&pp) || closing;
	if (r || closing)
		return 1;
	printf("success\n");
	return 0;
}
