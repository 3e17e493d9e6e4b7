/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots that rest. After the end of a process, peers may send to its queue pairs for some time.
 * Packets on the network do not name the sending queue pair, so a queue pair of the next process
 * with the same number could accept them. If the process was killed, only the kernel can remember
 * it. The kernel keeps the address of a TCP connection for a minute after its end (TIME_WAIT).
 *
 * Therefore each slot has a TCP address on the loopback interface, and its process has a socket
 * that is bound there. When a peer may know a queue pair of the slot, the process connects the
 * socket to itself. A slot whose address cannot be bound has a process, or rests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/wire/wire.h"

#define REST_NETWORK 0x7f4f0000 /* 127.79.0.0; the last 16 bits are the slot */

static struct sockaddr_in rest_address(uint16_t slot)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(UROCE_UDP_PORT),
		.sin_addr.s_addr = htonl(REST_NETWORK | slot),
	};
}

int shm_rest_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

bool shm_rest_bind(uint16_t slot, int fd)
{
	struct sockaddr_in address = rest_address(slot);

	return fd < 0 || !bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	       errno != EADDRINUSE;
}

void uroce_shm_rest_later(struct uroce_shm *shm, uint16_t slot)
{
	unsigned int place = uroce_slot_place(slot);
	struct sockaddr_in address = rest_address(slot);

	if (shm->rests[place] < 0 || atomic_exchange(&shm->rest_later[place], true))
		return;
	/* The connection is complete when this call returns, although the socket does not block. */
	(void)connect(shm->rests[place], (struct sockaddr *)&address, sizeof(address));
}
