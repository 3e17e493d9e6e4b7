/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: play_mlx4 [-v] [FIFO]
 *
 * Play a ConnectX-3 with one InfiniBand port. FIFO takes orders of faults. The adapter is plugged
 * in until the process ends.
 */
#include "tests/hosts/vm/pci/mlx4.h"

#include "tests/adapters/lab/device/mlx4.h"
#include "tests/hosts/vm/pci/icm.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	AV = 16, /* the address of a datagram, in its request */
	AV_GRH = 5,
	AV_LID = 6,
};

static struct loop_address address(const struct loop_qp *qp, const struct work *work)
{
	const struct queue *sq = &qp->object.sq;
	const uint8_t *av = sq->base + (size_t)(work->id & (sq->entries - 1)) * sq->stride + AV;

	return (struct loop_address){ .lid = get16(av + AV_LID), .has_grh = av[AV_GRH] >> 7 };
}

static bool has_room(const struct object *cq)
{
	return mlx_in_ring(cq) < cq->ring.entries;
}

/* A CQ with timestamps has their higher bits in the place of service level and LID. */
static void complete(struct object *cq, const struct completion *c)
{
	uint64_t now = play_now() * 1000 * HCA_CLOCK_MHZ;
	struct mlx4_cqe cqe = mlx4_completion(c, false, now);

	cqe.rlid = htobe16(c->receive ? c->wc->slid : 0);
	if (cq->user_index) {
		cqe.sl_vid = htobe16(now >> 32);
		cqe.rlid = htobe16(now >> 16);
	}
	mlx4_write_cqe(cq, &cqe, mlx4_cqe_opcode(c), !c->receive);
}

const struct loop_adapter loop_adapter = {
	.next_send = mlx4_next_send,
	.next_receive = mlx4_next_receive,
	.address = address,
	.has_room = has_room,
	.complete = complete,
	.armed = mlx4_armed,
	.event = hca_event,
	.completion_event = hca_completion_event,
	.memory = hca_memory,
	.bind = hca_bind,
	.invalidate = hca_invalidate,
	.next_member = hca_next_member,
	.gid = hca_gid,
};

static uint32_t reg(uint32_t at)
{
	volatile uint32_t *p = play_bar(0, at);

	return p ? be32toh(*p) : 0;
}

static void set_reg(uint32_t at, uint32_t value)
{
	volatile uint32_t *p = play_bar(0, at);

	if (p)
		*p = htobe32(value);
}

/* The driver waits for a second after it has written the register. */
static void reset(void)
{
	hca_forget_all();
	set_reg(HCA_ERROR_BUFFER, 0);
	set_reg(HCA_RESET, 0);
}

static bool pass(void)
{
	uint64_t clock = play_now() * 1000 * HCA_CLOCK_MHZ;
	bool any;

	if (play_reset_asked() || reg(HCA_RESET))
		reset();
	set_reg(HCA_CLOCK, clock >> 32);
	set_reg(HCA_CLOCK + 4, clock);
	any = hcr_pass(&hca_hcr);
	any |= loop_pass();
	play_interrupts_again();
	return any;
}

/* Execute an order beside those of play_fault.c: report an error of the firmware. */
static bool order(const char *word)
{
	if (strcmp(word, "fatal"))
		return false;
	set_reg(HCA_ERROR_BUFFER, 0xdead);
	return true;
}

static void start(void)
{
	icm_new_page = hca_new_page;
}

int main(int argc, char **argv)
{
	static const struct play_device played = {
		.identity = { .vendor = 0x15b3,
			      .part = 0x1003,
			      .class_code = 0x028000,
			      .bars = { HCA_BAR, 0, 2 * HCA_UARS },
			      .msix_at = HCA_MSIX_TABLE,
			      .msix_vectors = HCA_VECTORS },
		.start = start,
		.pass = pass,
		.random_status = hca_random_status,
		.order = order,
	};

	play_run(&played, argc, argv);
}
