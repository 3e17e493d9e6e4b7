/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A socket filter that chooses a process, among those that share a port, for each datagram. */
#include <linux/filter.h>
#include <sys/socket.h>

#include "providers/uroce/path/udp/udp_socket.h"

/* Fields that the filter reads: offsets in bytes from the BTH, at which the datagram begins. */
enum {
	AT_OPCODE = 0,
	AT_QPN = 5, /* of the destination; its first bits are the slot of the process */
	AT_QPN_LAST = 7,
	AT_MAD = BTH_LEN + DETH_LEN,
	AT_CLASS = AT_MAD + MAD_AT_CLASS,
	AT_ATTR_ID = AT_MAD + MAD_AT_ATTR_ID,
	AT_REMOTE_ID = AT_MAD + CM_AT_REMOTE_ID,
	AT_SIDR_ID = AT_MAD + CM_AT_SIDR_ID,
	DATAGRAM_LEN = AT_MAD + GSI_MAD_LEN + ICRC_LEN, /* bytes of a datagram with a MAD */
};

/* Steps of the filter, in this order. */
enum {
	QPN,
	IS_SMALL, /* below 256: slot of no process; QP 1: the message names the process */
	SLOT,
	IS_FURTHER,
	FAMILY,
	SLOT_INDEX,
	SLOT_GIVE,
	QPN_LAST,
	IS_GSI,
	LENGTH, /* check it, because a load beyond the end would choose the first process */
	IS_LONG,
	OPCODE,
	IS_DATAGRAM,
	CLASS,
	IS_CM,
	ATTR_ID,
	IS_SIDR_REP,
	IS_SIDR_REQ,
	IS_AFTER_REQ,
	IS_UNKNOWN,
	REMOTE_ID,
	SKIP,
	SIDR_ID,
	ID_SLOT,
	ID_INDEX,
	ID_GIVE,
	ANYBODY, /* an index that no socket has */
	STEPS,
};

#define LOAD(size, at) BPF_STMT(BPF_LD | (size) | BPF_ABS, at)
#define LOAD_LENGTH    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)
#define COUNT(how, k)  BPF_STMT(BPF_ALU | (how) | BPF_K, k)
#define GIVE	       BPF_STMT(BPF_RET | BPF_A, 0)
/* Steps to go on with if the test of the step @at is true, and if it is not. */
#define TEST(at, how, k, yes, no) \
	BPF_JUMP(BPF_JMP | (how) | BPF_K, k, (yes) - (at)-1, (no) - (at)-1)
#define NEED(at, how, k) TEST(at, how, k, (at) + 1, ANYBODY)

/*
 * Slots are claimed from 1 on, and the kernel numbers the sockets of one address in the order of
 * bind(): mostly slot - 1.
 *
 * - A process may have further slots. The lower bits of their numbers, the family, are its first
 *   slot, which identifies the process among the first 255.
 *
 * - A message of the connection manager goes to QP 1 of any process. Unless it is a request, it
 * also names its process by the id that the process chose.
 *
 * - An index without a socket leaves the choice to the kernel. Any process forwards packets of
 * others while it runs.
 *
 * The first process attaches no filter, because it is mostly the only one. The second process does.
 */
static struct sock_filter steps[STEPS] = {
	[QPN] = LOAD(BPF_H, AT_QPN),
	[IS_SMALL] = TEST(IS_SMALL, BPF_JEQ, 0, QPN_LAST, SLOT),

	[SLOT] = COUNT(BPF_RSH, UROCE_QPN_BLOCK_BITS - 8),
	[IS_FURTHER] = TEST(IS_FURTHER, BPF_JGE, UROCE_FIRST_SLOTS, FAMILY, SLOT_INDEX),
	[FAMILY] = COUNT(BPF_AND, (1 << UROCE_FAMILY_BITS) - 1),
	[SLOT_INDEX] = COUNT(BPF_SUB, 1),
	[SLOT_GIVE] = GIVE,

	[QPN_LAST] = LOAD(BPF_B, AT_QPN_LAST),
	[IS_GSI] = NEED(IS_GSI, BPF_JEQ, GSI_QPN),
	[LENGTH] = LOAD_LENGTH,
	[IS_LONG] = NEED(IS_LONG, BPF_JGE, DATAGRAM_LEN),
	[OPCODE] = LOAD(BPF_B, AT_OPCODE),
	[IS_DATAGRAM] = NEED(IS_DATAGRAM, BPF_JEQ, UROCE_UD | UROCE_SEND_ONLY),
	[CLASS] = LOAD(BPF_B, AT_CLASS),
	[IS_CM] = NEED(IS_CM, BPF_JEQ, MAD_CLASS_CM),
	[ATTR_ID] = LOAD(BPF_H, AT_ATTR_ID),
	[IS_SIDR_REP] = TEST(IS_SIDR_REP, BPF_JEQ, CM_SIDR_REP, SIDR_ID, IS_SIDR_REQ),
	[IS_SIDR_REQ] = TEST(IS_SIDR_REQ, BPF_JEQ, CM_SIDR_REQ, ANYBODY, IS_AFTER_REQ),
	[IS_AFTER_REQ] = NEED(IS_AFTER_REQ, BPF_JGT, CM_REQ),
	[IS_UNKNOWN] = TEST(IS_UNKNOWN, BPF_JGT, CM_LAST, ANYBODY, REMOTE_ID),
	[REMOTE_ID] = LOAD(BPF_W, AT_REMOTE_ID),
	[SKIP] = BPF_STMT(BPF_JMP | BPF_JA, ID_SLOT - SKIP - 1),
	[SIDR_ID] = LOAD(BPF_W, AT_SIDR_ID),
	[ID_SLOT] = COUNT(BPF_RSH, UROCE_ID_SLOT_SHIFT),
	[ID_INDEX] = COUNT(BPF_SUB, 1),
	[ID_GIVE] = GIVE,

	[ANYBODY] = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
};

void uroce_udp_steer(int fd)
{
	static const struct sock_fprog program = { .len = STEPS, .filter = steps };

	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program));
}
