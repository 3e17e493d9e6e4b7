/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames between queues and the wire. A sent frame passes the tables of sent packets, then those of
 * the switch, then it leaves by the wire. If the process has several contexts with raw packet
 * queues, the device also receives its own frames, as mlx5's driver lets an adapter do. A received
 * frame passes the tables of the switch, then those of received packets, and ends in a queue.
 */
#include "tests/adapters/lab/device/mlx5_queue.h"
#include "tests/adapters/lab/model/frame.h"

enum {
	L2_OK = 1,
};

static void completion_write(struct object *queue, const struct lab_steered *end, uint32_t hash,
			     uint16_t id)
{
	struct mlx5_cqe cqe = {
		.header = htobe32((uint32_t)L2_OK << 24),
		.srqn_uidx = htobe32(queue->user_index),
		.byte_count = htobe32(end->length),
		.timestamp = htobe64(mlx5_clock_now()),
		.opcode_qpn = htobe32(end->has_tag ? end->tag : 0),
		.wqe_counter = htobe16(id),
	};

	put32(cqe.path + 12, hash);
	mlx5_write_cqe(queue->recv_cq, &cqe, CQE_RESP_SEND, 0);
}

static void error_write(struct object *queue, int error, uint16_t id)
{
	const struct ibv_wc wc = {
		.status = error == EMSGSIZE ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR,
		.qp_num = queue->number,
	};

	queue->state = IBV_QPS_ERR;
	device->complete(queue->recv_cq,
			 &(struct completion){ .qp = queue, .receive = true, .id = id, .wc = &wc });
}

/* Put a frame into a queue. It is lost if the queue is not ready, or has no receive. */
static void queue_put(struct object *queue, const struct lab_steered *end, uint32_t hash)
{
	static struct work work;
	int r;

	if (queue->state < IBV_QPS_RTR || queue->state == IBV_QPS_ERR || !queue->rq.entries ||
	    !mlx_room(queue->recv_cq) || mlx5_next_receive(queue, &work) <= 0)
		return;
	queue->rq.consumed += work.entries;
	r = model_scatter(queue, &work, end->frame, end->length);
	if (r)
		error_write(queue, r, work.id);
	else
		completion_write(queue, end, hash, work.id);
}

static void end_deliver(const struct lab_steered *end)
{
	struct mlx5_packet packet;
	struct object *queue;
	uint32_t hash;

	if (!mlx5_packet_make(end->frame, end->length, NULL, &packet))
		return;
	queue = mlx5_queue_find(&packet, end->at, &hash);
	if (queue)
		queue_put(queue, end, hash);
}

/* Let a packet pass the tables for received packets. */
static void receive(struct mlx5_packet *p)
{
	struct lab_steered end;

	mlx5_copy_end = end_deliver;
	if (!mlx5_root_pass(p, TABLES_RECEIVE, &end))
		end_deliver(&end);
	mlx5_copy_end = NULL;
}

/* Return whether more than one context has raw packet queues. */
static bool receives_own(void)
{
	const struct object *first = NULL;

	for (int type = OBJECT_QP; type <= OBJECT_WQ; type += OBJECT_WQ - OBJECT_QP) {
		for (uint32_t i = 0; i < object_count(type); i++) {
			const struct object *queue = object_at(type, i);

			if (!queue || queue->qp_type != IBV_QPT_RAW_PACKET)
				continue;
			if (first && first->async_reader != queue->async_reader)
				return true;
			first = first ? first : queue;
		}
	}
	return false;
}

static void transmit(struct mlx5_packet *p)
{
	struct mlx5_packet copy = *p;

	model_frame_send(p->bytes, p->length);
	copy.from_wire = true;
	if (receives_own() && mlx5_packet_read(&copy))
		receive(&copy);
}

/* Read the packet again after a table may have changed it. */
static bool packet_of(const struct lab_steered *end, struct mlx5_packet *p)
{
	p->length = end->length;
	memcpy(p->bytes, end->frame, end->length);
	memcpy(p->reg_c, end->reg_c, sizeof(p->reg_c));
	return mlx5_packet_read(p);
}

static bool is_vport(uint64_t at)
{
	return at == LAB_VPORT_RX(0) || at == LAB_VPORT_TX(0);
}

/* Let a packet pass the switch, to the wire or to the only function. */
static void switch_pass(struct mlx5_packet *p, bool is_sent)
{
	struct lab_steered end;
	int r = mlx5_root_pass(p, TABLES_SWITCH, &end);

	if (r == ENOENT)
		is_sent ? transmit(p) : receive(p);
	if (r || !packet_of(&end, p))
		return;
	if (is_vport(end.at))
		receive(p);
	else if (end.at == LAB_UPLINK_RX || end.at == LAB_UPLINK_TX)
		transmit(p);
}

void mlx5_frame(const void *frame, size_t length)
{
	static struct mlx5_packet packet;

	if (mlx5_packet_make(frame, length, NULL, &packet))
		switch_pass(&packet, false);
}

void mlx5_send_frame(struct object *qp, const void *frame, size_t length)
{
	const struct lab_origin from = {
		.is_sent = true,
		.function = MLX5_FUNCTION,
		.queue = qp->number,
	};
	static struct mlx5_packet packet;
	struct lab_steered end;
	int r;

	if (!mlx5_packet_make(frame, length, &from, &packet))
		return;
	r = mlx5_root_pass(&packet, TABLES_SEND, &end);
	if (r == ENOENT || (!r && end.at == LAB_ALLOW_TX && packet_of(&end, &packet)))
		switch_pass(&packet, true);
}
