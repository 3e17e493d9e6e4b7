/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that rest after the end of a process. Peers may send to its queue pairs for some time.
 * Packets on the network do not name the sending queue pair, so a queue pair of the next process
 * with the same number could accept them. If the process was killed, only the kernel can remember
 * its numbers. The kernel keeps the address of a TCP connection for a minute after its end
 * (TIME_WAIT).
 *
 * Therefore each part of a block has an address on the loopback interface. When a peer may know a
 * number of the part, the process binds a socket there and connects it to itself. If the address of
 * a part cannot be bound before, the part rests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/wire/wire.h"
#include "util/file.h"

/* 127.76.0.0/14: 4 bits for the part, 14 bits for the slot */
#define REST_NETWORK   0x7f4c0000
#define REST_SLOT_BITS 14

static_assert(UROCE_SLOTS == 1 << REST_SLOT_BITS && SHM_PARTS <= 16, "bits of the address");

static struct sockaddr_in rest_address(uint16_t slot, unsigned int part)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(UROCE_UDP_PORT),
		.sin_addr.s_addr = htonl(REST_NETWORK | part << REST_SLOT_BITS | slot),
	};
}

/* Return a socket that is bound for the part, or -errno. -EADDRINUSE: the part rests. */
static int rest_bind(uint16_t slot, unsigned int part)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in address = rest_address(slot, part);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return take_fd(&fd);
}

bool uroce_shm_part_rests(uint16_t slot, unsigned int part)
{
	_cleanup_close_ int fd = rest_bind(slot, part);

	return fd == -EADDRINUSE;
}

void uroce_shm_rest_later(struct uroce_shm *shm, uint32_t qpn)
{
	uint16_t slot = uroce_qpn_slot(qpn);
	bool first = slot == shm->host->slot;
	unsigned int part = first ? uroce_qpn_part(qpn) : 0;
	struct sockaddr_in address = rest_address(slot, part);
	struct shm_rest *rest = first ? &shm->parts[part] : &shm->rests[uroce_slot_place(slot)];
	int fd;

	if (atomic_load_explicit(&rest->begun, memory_order_relaxed) ||
	    atomic_exchange(&rest->begun, true))
		return;
	fd = rest_bind(slot, part);
	if (fd < 0)
		return;
	/* The connection is complete when this call returns, although the socket does not block. */
	(void)connect(fd, (struct sockaddr *)&address, sizeof(address));
	rest->fd = file_move_high(fd);
}

void shm_rests_init(struct uroce_shm *shm)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(shm->rests); i++)
		shm->rests[i].fd = -1;
	for (unsigned int i = 0; i < ARRAY_SIZE(shm->parts); i++)
		shm->parts[i].fd = -1;
}

void shm_rests_end(struct uroce_shm *shm)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(shm->rests); i++)
		shm_fd_forget(&shm->rests[i].fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(shm->parts); i++)
		shm_fd_forget(&shm->parts[i].fd);
}
