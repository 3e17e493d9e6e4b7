/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/frame.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	FRAMES_OF_PASS = 32, /* so that the rings are read in between */
};

static int wire = -1;

bool model_has_frames(void)
{
	return model_on() && host_is("frames");
}

unsigned model_frame_interface(void)
{
	const char *name = getenv("DEVICES_WIRE");

	return name ? if_nametoindex(name) : 0;
}

static int wire_open(unsigned interface)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htobe16(ETH_P_ALL),
		.sll_ifindex = interface,
	};
	const int yes = 1;
	int fd = real_socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes));
	if (!bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	real_close(fd);
	return -1;
}

void model_frame_open(void)
{
	unsigned interface = model_frame_interface();

	model_start();
	if (!interface || wire >= 0)
		return;
	wire = wire_open(interface);
	if (wire < 0) {
		fprintf(stderr, "devices: the wire %s cannot be opened: %s\n",
			getenv("DEVICES_WIRE"), strerror(errno));
		exit(1);
	}
}

bool model_frames(void)
{
	static uint8_t frame[FRAME_MOST];
	int count = 0;

	while (wire >= 0 && count < FRAMES_OF_PASS) {
		ssize_t length = recv(wire, frame, sizeof(frame), MSG_TRUNC);

		if (length < 0)
			break;
		count++;
		if ((size_t)length <= sizeof(frame))
			device->frame(frame, length);
	}
	return count;
}

void model_frame_send(const void *frame, size_t length)
{
	if (wire >= 0)
		send(wire, frame, length, 0);
}

/* Return the memory of the process behind an address and a key, or NULL. */
static void *memory(const struct object *queue, const struct ibv_sge *sge, unsigned access)
{
	const struct object *mr = object_by_number(OBJECT_MR, sge->lkey);

	if (!mr || !mr->backend.mr || mr->pd != queue->pd || (mr->access & access) != access ||
	    sge->addr < mr->iova || sge->length > mr->backend.mr->length ||
	    sge->addr - mr->iova > mr->backend.mr->length - sge->length)
		return NULL;
	return (uint8_t *)mr->backend.mr->addr + (sge->addr - mr->iova);
}

int model_gather(const struct object *queue, const struct ibv_sge *sge, void *to)
{
	const void *from = memory(queue, sge, 0);

	if (!from)
		return EACCES;
	memcpy(to, from, sge->length);
	return 0;
}

int model_scatter(const struct object *queue, const struct work *work, const void *frame,
		  size_t length)
{
	const uint8_t *from = frame;

	for (int i = 0; i < work->wr.num_sge && length; i++) {
		struct ibv_sge sge = work->sge[i];
		void *to;

		if (sge.length > length)
			sge.length = length;
		to = memory(queue, &sge, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return EACCES;
		memcpy(to, from, sge.length);
		from += sge.length;
		length -= sge.length;
	}
	return length ? EMSGSIZE : 0;
}

int model_frame_post(struct object *qp, struct work *work)
{
	const struct ibv_wc wc = { .qp_num = qp->number };

	if (work->wr.send_flags & IBV_SEND_SIGNALED && !device->room(qp->send_cq))
		return ENOMEM;
	if (work->sge[0].length)
		device->send_frame(qp, work->data, work->sge[0].length);
	if (work->wr.send_flags & IBV_SEND_SIGNALED)
		device->complete(qp->send_cq,
				 &(struct completion){
					 .qp = qp, .id = work->id, .note = work->note, .wc = &wc });
	return 0;
}
