/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dynamically connected transport, which the backend does not have. An initiator connects an RC
 * queue pair of the backend to each target that it meets. As on hardware, it turns to another
 * target after all its sends have been executed. A UD queue pair of either side carries the
 * messages that connect them. A target ignores a message with a wrong key. */
#include "tests/adapters/lab/model/datagram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	LINKS = 64,
	MESSAGES = 64,
	SENDS = 256,
	RESEND_MS = 50,
	TRIES = 60,
	CONTROL_QKEY = 0x0dc0dc,
	SILENT = 1 << 24, /* bit of a wr_id: success is not reported */
};

enum message_kind {
	CONNECT = 0xdc1,
	ACCEPT,
};

struct message {
	uint32_t kind, link, qpn;
	uint64_t key;
};

struct link {
	struct ibv_qp *qp; /* NULL: free */
	bool connected;
	struct ibv_ah_attr address;
	/* of an initiator: the target; of a target: the queue pair of the initiator */
	uint32_t peer;
	uint64_t key;
	unsigned tries;
	uint64_t asked_ms;
};

struct dc {
	struct ibv_qp *control;
	struct ibv_cq *control_cq, *cq;
	struct ibv_mr *mr;
	struct link links[LINKS], *current;
	unsigned outstanding;
	bool failed; /* the following requests are flushed */
	unsigned next_out;
	struct message out[MESSAGES];
	uint8_t in[MESSAGES][GRH + sizeof(struct message)];
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* ---- messages between the halves */

static void post_arrival(struct dc *d, unsigned i)
{
	struct ibv_sge sge = { (uintptr_t)d->in[i], sizeof(d->in[i]), d->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(d->control, &wr, &bad);
}

static void tell(struct object *qp, const struct ibv_ah_attr *address, uint32_t qpn,
		 const struct message *message)
{
	struct dc *d = qp->device;
	unsigned i = d->next_out++ % MESSAGES;
	struct ibv_sge sge = { (uintptr_t)&d->out[i], sizeof(d->out[i]), d->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = MESSAGES,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = model_find_ah(qp->pd->backend.pd, address),
			   .remote_qpn = qpn,
			   .remote_qkey = CONTROL_QKEY },
	};

	d->out[i] = *message;
	if (wr.wr.ud.ah)
		ibv_post_send(d->control, &wr, &bad); /* or the message is sent again */
}

static int control_up(struct dc *d)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = CONTROL_QKEY };
	int r = ibv_modify_qp(d->control, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	r = r ? r : ibv_modify_qp(d->control, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	r = r ? r : ibv_modify_qp(d->control, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	for (unsigned i = 0; !r && i < MESSAGES; i++)
		post_arrival(d, i);
	return r;
}

/* ---- the queue pairs that are connected */

static struct ibv_qp *link_create(struct object *qp)
{
	struct dc *d = qp->device;
	bool target = qp->dc == DC_TARGET;
	struct ibv_qp_init_attr attr = {
		.qp_context = qp,
		.qp_type = IBV_QPT_RC,
		.send_cq = d->cq,
		.recv_cq = target ? qp->recv_cq->backend.cq : d->cq,
		.srq = target ? qp->srq->backend.srq : NULL,
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = target ? 0 : 1,
			 .max_send_sge = 16,
			 .max_recv_sge = 1,
			 .max_inline_data = 1024 },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct ibv_qp *of = ibv_create_qp(qp->pd->backend.pd, &attr);

	if (of &&
	    ibv_modify_qp(of, &init,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
		ibv_destroy_qp(of);
		return NULL;
	}
	return of;
}

static int link_connect(struct link *link, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = link->address,
	};
	int r = ibv_modify_qp(link->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);

	attr.qp_state = IBV_QPS_RTS;
	r = r ? r
	      : ibv_modify_qp(link->qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	link->connected = !r;
	return r;
}

static struct link *link_new(struct object *qp)
{
	struct dc *d = qp->device;

	for (int i = 0; i < LINKS; i++) {
		if (d->links[i].qp)
			continue;
		d->links[i] = (struct link){ .qp = link_create(qp) };
		return d->links[i].qp ? &d->links[i] : NULL;
	}
	return NULL;
}

static void links_drop(struct dc *d)
{
	for (int i = 0; i < LINKS; i++) {
		if (d->links[i].qp)
			ibv_destroy_qp(d->links[i].qp);
		d->links[i].qp = NULL;
	}
	d->current = NULL;
	d->outstanding = 0;
	d->failed = false;
}

struct object *model_find_dc(uint32_t qp_num)
{
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);
		const struct dc *d = qp && qp->dc == DC_TARGET ? qp->device : NULL;

		for (int k = 0; d && k < LINKS; k++) {
			if (d->links[k].qp && d->links[k].qp->qp_num == qp_num)
				return qp;
		}
	}
	return NULL;
}

/* ---- from creation to its end */

int model_create_dc(struct object *qp)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = qp,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = MESSAGES,
			 .max_recv_wr = MESSAGES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct dc *d;

	if (!model_on())
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ENOMEM;
	qp->device = d; /* freed with the object */
	d->mr = ibv_reg_mr(qp->pd->backend.pd, d, sizeof(*d), IBV_ACCESS_LOCAL_WRITE);
	d->control_cq = ibv_create_cq(model_context(), 2 * MESSAGES, NULL, NULL, 0);
	d->cq = ibv_create_cq(model_context(), 4 * SENDS, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = d->control_cq;
	d->control =
		d->mr && d->control_cq && d->cq ? ibv_create_qp(qp->pd->backend.pd, &attr) : NULL;
	if (!d->control)
		return errno;
	qp->backend.qp = d->control;
	qp->number = d->control->qp_num;
	model_start();
	return 0;
}

void model_destroy_dc(struct object *qp)
{
	struct dc *d = qp->device;

	links_drop(d);
	ibv_destroy_qp(d->control);
	ibv_destroy_cq(d->control_cq);
	ibv_destroy_cq(d->cq);
	ibv_dereg_mr(d->mr);
}

int model_modify_dc(struct object *qp, const struct ib_uverbs_modify_qp *q)
{
	struct dc *d = qp->device;

	if (!(q->attr_mask & IBV_QP_STATE))
		return 0;
	if (q->qp_state == IBV_QPS_RESET)
		links_drop(d);
	if (q->qp_state == IBV_QPS_INIT && d->control->state == IBV_QPS_RESET)
		return control_up(d);
	return 0;
}

/* ---- a target */

/* Return the port's GID index by which a message came. */
static uint8_t gid_index_of(const struct ibv_ah_attr *to, const uint8_t *grh)
{
	union ibv_gid gid, here = { 0 };
	const char *type;
	uint32_t unused;

	if (grh[0] >> 4 == 6) {
		memcpy(here.raw, grh + 24, 16);
	} else {
		here.raw[10] = here.raw[11] = 0xff;
		memcpy(here.raw + 12, grh + 36, 4);
	}
	for (uint8_t i = 0; i < 32; i++) {
		if (!model_query_gid(i, &gid, &type, &unused) && !memcmp(&gid, &here, sizeof(gid)))
			return i;
	}
	return to->grh.sgid_index;
}

static struct link *link_of_peer(struct dc *d, const struct ibv_ah_attr *address, uint32_t qpn)
{
	for (int i = 0; i < LINKS; i++) {
		if (d->links[i].qp && d->links[i].peer == qpn &&
		    !memcmp(&d->links[i].address.grh.dgid, &address->grh.dgid, 16))
			return &d->links[i];
	}
	return NULL;
}

static void connect_asked(struct object *qp, unsigned i, const struct message *asked,
			  const struct ibv_wc *wc)
{
	struct dc *d = qp->device;
	struct ibv_ah_attr address;
	struct link *link;

	if (asked->key != qp->dc_key || qp->state != IBV_QPS_RTR)
		return;
	datagram_address(d->in[i], &address);
	address.grh.sgid_index = gid_index_of(&address, d->in[i]);
	link = link_of_peer(d, &address, asked->qpn);
	if (!link) {
		link = link_new(qp);
		if (!link)
			return;
		link->address = address;
		link->peer = asked->qpn;
		if (link_connect(link, asked->qpn))
			return;
	}
	tell(qp, &address, wc->src_qp,
	     &(struct message){ ACCEPT, asked->link, link->qp->qp_num, asked->key });
}

/* ---- an initiator */

static void complete(struct object *qp, uint16_t id, uint8_t note, const struct ibv_wc *wc)
{
	device->complete(qp->send_cq,
			 &(struct completion){ .qp = qp, .id = id, .note = note, .wc = wc });
}

static void fail(struct object *qp, uint16_t id, uint8_t note, enum ibv_wc_status status)
{
	struct dc *d = qp->device;
	const struct ibv_wc wc = { .status = d->failed ? IBV_WC_WR_FLUSH_ERR : status,
				   .qp_num = qp->number };

	complete(qp, id, note, &wc);
	d->failed = true;
	qp->state = IBV_QPS_ERR;
}

static void accepted(struct object *qp, const struct message *said)
{
	struct dc *d = qp->device;
	struct link *link = said->link < LINKS ? &d->links[said->link] : NULL;

	if (link && link->qp && !link->connected && link->key == said->key)
		link_connect(link, said->qpn);
}

static struct link *link_to(struct object *qp, const struct work *work)
{
	struct dc *d = qp->device;
	struct link *link;

	for (int i = 0; i < LINKS; i++) {
		link = &d->links[i];
		if (link->qp && link->peer == work->dc.target && link->key == work->dc.key &&
		    !memcmp(&link->address.grh.dgid, &work->address.grh.dgid, 16))
			return link;
	}
	link = link_new(qp);
	if (!link)
		return NULL;
	link->address = work->address;
	link->peer = work->dc.target;
	link->key = work->dc.key;
	return link;
}

/* Return whether the link can send now. @ret_dead: the target does not answer. */
static bool is_ready(struct object *qp, struct link *link, bool *ret_dead)
{
	struct dc *d = qp->device;

	*ret_dead = false;
	if (!link->connected) {
		if (now_ms() - link->asked_ms < RESEND_MS)
			return false;
		*ret_dead = link->tries++ == TRIES;
		link->asked_ms = now_ms();
		tell(qp, &link->address, link->peer,
		     &(struct message){ CONNECT, link - d->links, link->qp->qp_num, link->key });
		return false;
	}
	if (d->outstanding && d->current != link)
		return false;
	d->current = link;
	return true;
}

static int post(struct dc *d, struct work *work)
{
	struct ibv_send_wr *bad;
	int r;

	work->wr.wr_id = (uint32_t)work->note << 16 | work->id |
			 (work->wr.send_flags & IBV_SEND_SIGNALED ? 0 : SILENT);
	work->wr.send_flags |= IBV_SEND_SIGNALED;
	r = ibv_post_send(d->current->qp, &work->wr, &bad);
	if (!r)
		d->outstanding++;
	return r;
}

/* Send one request; return whether it has left the ring. */
static bool send_one(struct object *qp, struct work *work, int there)
{
	struct dc *d = qp->device;
	struct link *link = NULL;
	bool dead;
	int r;

	if (d->failed || there < 0 || work->wr.opcode == IBV_WR_BIND_MW) {
		fail(qp, work->id, work->note, IBV_WC_LOC_QP_OP_ERR);
		return true;
	}
	if (work->dc.target) {
		link = link_to(qp, work);
		if (!link) {
			fail(qp, work->id, work->note, IBV_WC_LOC_QP_OP_ERR);
			return true;
		}
		if (!is_ready(qp, link, &dead)) {
			if (dead)
				fail(qp, work->id, work->note, IBV_WC_RETRY_EXC_ERR);
			return dead;
		}
		r = post(d, work);
		if (r && r != ENOMEM)
			fail(qp, work->id, work->note, IBV_WC_LOC_QP_OP_ERR);
		return r != ENOMEM;
	}
	/* A request without a target completes locally, after all earlier sends. */
	if (d->outstanding)
		return false;
	if (work->copies && model_copy(qp, work)) {
		fail(qp, work->id, work->note, IBV_WC_LOC_PROT_ERR);
		return true;
	}
	if (work->wr.send_flags & IBV_SEND_SIGNALED)
		complete(qp, work->id, work->note, &(struct ibv_wc){ .qp_num = qp->number });
	return true;
}

static bool send_all(struct object *qp)
{
	static struct work work; /* large; under device_lock */
	bool did = false;
	int there;

	if (qp->state < IBV_QPS_RTS)
		return false;
	while ((there = device->next_send(qp, &work))) {
		did |= model_receive_all();
		model_see_arms();
		if (!send_one(qp, &work, there))
			return did;
		qp->sq.consumed += work.entries;
		did = true;
	}
	return did;
}

static bool sent(struct object *qp)
{
	struct dc *d = qp->device;
	struct ibv_wc wc;
	bool did = false;

	while (d->outstanding && device->room(qp->send_cq) && ibv_poll_cq(d->cq, 1, &wc) > 0) {
		did = true;
		d->outstanding--;
		if (wc.status)
			fail(qp, wc.wr_id, wc.wr_id >> 16 & 0x7f, wc.status);
		else if (!(wc.wr_id & SILENT))
			complete(qp, wc.wr_id, wc.wr_id >> 16 & 0x7f, &wc);
	}
	return did;
}

bool model_dc(struct object *qp)
{
	struct dc *d = qp->device;
	struct message said;
	struct ibv_wc wc;
	bool did = false;

	while (ibv_poll_cq(d->control_cq, 1, &wc) > 0) {
		did = true;
		if (wc.wr_id >= MESSAGES || wc.status)
			continue;
		memcpy(&said, d->in[wc.wr_id] + GRH, sizeof(said));
		if (qp->dc == DC_TARGET && said.kind == CONNECT)
			connect_asked(qp, wc.wr_id, &said, &wc);
		else if (qp->dc == DC_INITIATOR && said.kind == ACCEPT)
			accepted(qp, &said);
		post_arrival(d, wc.wr_id);
	}
	if (qp->dc == DC_TARGET)
		return did;
	did |= sent(qp);
	return send_all(qp) || did;
}
