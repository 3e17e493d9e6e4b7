/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps on queue pairs: create, connect, change and query them. A queue pair's partner has the same
 * number. */
#include "rdma-conform/agent.h"
#include "util/util.h"

static enum ibv_qp_type qp_type(uint64_t words)
{
	return words & WORD(UD) ? IBV_QPT_UD : words & WORD(UC) ? IBV_QPT_UC : IBV_QPT_RC;
}

/* The calls of the work request interface that a type supports. */
static uint64_t send_operations(enum ibv_qp_type type)
{
	uint64_t send = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	uint64_t write = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

	if (type == IBV_QPT_UD)
		return send;
	if (type == IBV_QPT_UC)
		return send | write;
	return send | write | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
}

static uint32_t psn_of(const struct agent *agent, unsigned int number)
{
	uint32_t x = (agent->program->number * 16u + number) * 2654435761u + agent->side * 40503u;

	/* One in four begins shortly before the numbers wrap. */
	return x % 4 ? x >> 8 : 0xffffff - x % 64;
}

static struct ibv_qp *qp_make(struct agent *agent, const struct step *step,
			      struct ibv_qp_init_attr_ex *attr)
{
	struct object *send = object_there(agent, 'c', step->cq);
	struct object *recv = object_there(agent, 'c', step->cq2) ?: send;
	struct object *srq = object_there(agent, 's', step->srq);

	if (!send)
		return NULL;
	*attr = (struct ibv_qp_init_attr_ex){
		.send_cq = send->cq.cq,
		.recv_cq = recv->cq.cq,
		.srq = srq ? srq->srq : NULL,
		.cap = { .max_send_wr = step->n ?: 16,
			 .max_recv_wr = step->x ?: 16,
			 .max_send_sge = agent->offer.max_sge,
			 .max_recv_sge = agent->offer.recv_sge,
			 .max_inline_data = step->y },
		.qp_type = qp_type(step->words),
		.sq_sig_all = HAS(step, SIGNAL_ALL),
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = agent->pd,
	};
	if (attr->srq)
		attr->cap.max_recv_wr = 0;
	if (!HAS(step, WR_API))
		return ibv_create_qp(agent->pd, (struct ibv_qp_init_attr *)attr);
	attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr->send_ops_flags = send_operations(attr->qp_type);
	return ibv_create_qp_ex(agent->context, attr);
}

void step_qp(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_qp_init_attr_ex attr = {};
	struct event *e;

	errno = EINVAL;
	o->qp = (struct qp){ .send_cq = step->cq, .srq = step->srq };
	o->qp.recv_cq = step->cq2 == NO_OBJECT ? step->cq : step->cq2;
	o->qp.signal_all = HAS(step, SIGNAL_ALL);
	o->qp.psn = psn_of(t->agent, step->object);
	o->qp.qp = qp_make(t->agent, step, &attr);
	e = object_made(t, o, o->qp.qp);
	if (o->qp.qp && t->agent->by_cm)
		o->qp.cm = cm_listen(t->agent, &o->qp.own_port);
	if (o->qp.qp) {
		o->qp.extended = HAS(step, WR_API) ? ibv_qp_to_qp_ex(o->qp.qp) : NULL;
		e->done.value[0] = o->qp.qp->qp_num;
		e->done.value[1] = attr.cap.max_send_wr;
		e->done.value[2] = attr.cap.max_recv_wr;
		e->done.value[3] = attr.cap.max_inline_data;
		e->done.value[4] = attr.srq != NULL;
	}
}

struct ibv_ah_attr address_of(const struct agent *agent, union ibv_gid gid, uint16_t lid)
{
	return (struct ibv_ah_attr){
		.is_global = agent->global,
		.dlid = lid,
		.port_num = agent->port,
		.grh = { .dgid = gid, .sgid_index = agent->gid_index, .hop_limit = 64 },
	};
}

/* Another program may run at the same time on the same network. Therefore the Q_Key and the groups
 * depend on the number of the program. */
uint32_t program_qkey(const struct program *program)
{
	return 0x11000000 + program->number * 2;
}

/* Return the multicast group of the queue pairs with this number: ::ffff:239.x.y.number for IPv4
 * with RoCEv2, else ff0e::ffff:239.x.y.number. */
static union ibv_gid program_group(const struct agent *agent, uint8_t number)
{
	uint16_t program = agent->program->number;
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, program >> 8, program,
				       number } };

	if (gid_is_ipv4(&agent->gid))
		gid.raw[0] = gid.raw[1] = 0;
	return gid;
}

static struct ibv_ah *group_address(struct agent *agent, unsigned int object)
{
	struct ibv_ah_attr attr = address_of(agent, program_group(agent, object), 0);

	attr.is_global = 1;
	return agent->offer.multicast ? ibv_create_ah(agent->pd, &attr) : NULL;
}

void step_attach(struct agent_thread *t, const struct step *step, struct object *o)
{
	bool attach = step->verb == VERB_ATTACH;
	int r;

	if (o->qp.attached == attach) {
		log_skip(t, attach ? SKIP_BUSY : SKIP_ABSENT);
	} else {
		o->qp.attached_to = program_group(t->agent, step->object);
		r = attach ? ibv_attach_mcast(o->qp.qp, &o->qp.attached_to, 0)
			   : ibv_detach_mcast(o->qp.qp, &o->qp.attached_to, 0);
		o->qp.attached ^= !r;
		log_done(t, positive(r));
	}
}

void step_detach(struct agent_thread *t, const struct step *step, struct object *o)
{
	step_attach(t, step, o);
}

int qp_to_init(struct agent *agent, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = agent->port,
		.qkey = program_qkey(agent->program),
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int mask = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	if (qp->qp_type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT);
}

/* An XRC pair has one initiator and one target. */
int qp_to_rtr(struct agent *agent, struct ibv_qp *qp, const struct ibv_ah_attr *address,
	      uint32_t number, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = agent->offer.mtu < 1024 ? IBV_MTU_256 : IBV_MTU_1024,
		.dest_qp_num = number,
		.rq_psn = psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = *address,
	};
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &attr, mask);
}

int qp_to_rts(struct ibv_qp *qp, uint32_t psn, const struct step *step)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = step->n ?: 18,
		.retry_cnt = step->x ?: 7,
		.rnr_retry = step->y,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &attr, mask);
}

/* value[0] names the call that failed: 1 INIT, 2 RTR, 3 RTS, 4 the address handle. */
void step_connect(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_ah_attr address = address_of(t->agent, t->agent->other.gid, t->agent->other.lid);
	uint32_t number = t->agent->other.qp[step->object].number;
	uint16_t port = t->agent->other.qp[step->object].port;
	unsigned int stage = 1;
	int r;

	if (!number) {
		log_skip(t, SKIP_PEER);
		return;
	}
	r = qp_to_init(t->agent, o->qp.qp);
	if (o->qp.cm) {
		r = r ?: cm_connect(o->qp.cm, o->qp.qp->qp_num, &t->agent->other.gid, port);
		log_done(t, r)->done.value[0] = stage;
		return;
	}
	if (!r && ++stage)
		r = qp_to_rtr(t->agent, o->qp.qp, &address, number,
			      t->agent->other.qp[step->object].psn);
	if (!r && ++stage)
		r = qp_to_rts(o->qp.qp, o->qp.psn, step);
	if (!r && o->qp.qp->qp_type == IBV_QPT_UD && ++stage) {
		o->qp.ah = ibv_create_ah(t->agent->pd, &address);
		r = o->qp.ah ? 0 : errno;
		o->qp.group = group_address(t->agent, step->object);
	}
	log_done(t, r)->done.value[0] = stage;
}

void step_modify(struct agent_thread *t, const struct step *step, struct object *o)
{
	enum ibv_qp_state state = HAS(step, RESET) ? IBV_QPS_RESET
				  : HAS(step, RTS) ? IBV_QPS_RTS
						   : IBV_QPS_ERR;
	struct ibv_qp_attr attr = { .qp_state = state };
	int r = ibv_modify_qp(o->qp.qp, &attr, IBV_QP_STATE);

	if (!r && state == IBV_QPS_ERR)
		o->qp.ended = true;
	if (!r && state == IBV_QPS_RESET) {
		o->qp.sending = o->qp.receiving = 0;
		o->qp.ended = false;
	}
	log_done(t, r)->done.value[0] = state;
}

void step_access(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_qp_attr attr = { .qp_access_flags = access_flags(step->words) };

	log_done(t, ibv_modify_qp(o->qp.qp, &attr, IBV_QP_ACCESS_FLAGS));
}

void step_query(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int r = ibv_query_qp(o->qp.qp, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_RETRY_CNT,
			     &init);

	log_values(t, r, attr.qp_state, 0, attr.dest_qp_num,
		   t->agent->other.qp[step->object].number, attr.retry_cnt);
}
