/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of a scenario into the shim. All are weak: without the shim the same program runs on any
 * device. */
#ifndef DEVICES_LAB_H
#define DEVICES_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/* A completion, in the words of verbs, which the device writes in its own. */
struct lab_completion {
	uint32_t cq, qp; /* handles */
	uint32_t wq;	 /* a work queue's handle instead of qp, or 0 */
	uint32_t srq;	 /* where an XRC queue pair's message went, or 0 */
	bool receive;
	bool event;
	uint8_t sent_as; /* enum ibv_wr_opcode of what completes */
	uint32_t index;	 /* of the request in its queue, from 0 */
	struct ibv_wc wc;
};

void lab_step(const char *format, ...) __attribute__((weak, format(printf, 1, 2)));
void lab_name(const void *at, size_t length, const char *name) __attribute__((weak));
int lab_complete(const struct lab_completion *completion) __attribute__((weak));
/* Write an entry in the device's own format into the CQ with this handle; the device sets the
 * owner bit. */
int lab_entry(uint32_t cq, const void *entry, size_t length) __attribute__((weak));
/* Whether all these bytes lie in memory that the device knows by this name, such as
 * "wq0.buffer", from @offset on. Traces only. */
bool lab_is_at(const void *at, size_t length, const char *name, size_t offset)
	__attribute__((weak));

/* The sender of a packet, and the values of the packet's registers at the start. */
struct lab_origin {
	bool is_sent; /* by a function of the adapter; false: from the wire */
	uint16_t function;
	uint32_t queue;
	uint32_t reg_a, reg_c[8];
};

enum {
	LAB_COPIES = 8,
};

/* Where a packet ends that followed steering entries. */
struct lab_steered {
	uint64_t at; /* address of the end: a TIR, or one of those below */
	bool has_tag;
	uint32_t tag;
	uint32_t counter; /* number of the last counter; 0: none */
	uint32_t context; /* number of the last context of ASO, or 0 */
	uint32_t reg_b, reg_c[8];
	unsigned int entries; /* that the packet met */
	size_t length;
	uint8_t frame[2048]; /* at the end */
	/* The number of copies, the addresses at which they end, and their lengths. */
	unsigned int copies;
	uint64_t copy_at[LAB_COPIES];
	size_t copy_length[LAB_COPIES];
};

/* Addresses that the device reports for packets that it drops or sends. */
#define LAB_DROP_RX  0xd0d0000040ull
#define LAB_DROP_TX  0xd0d0000080ull
#define LAB_ALLOW_TX 0xd0d00000c0ull
/* Addresses of the switch, and of the functions that the switch connects. */
#define LAB_SWITCH_DROP_RX 0xd1d0000040ull
#define LAB_SWITCH_DROP_TX 0xd1d0000080ull
#define LAB_UPLINK_RX	   0xd1d00000c0ull
#define LAB_UPLINK_TX	   0xd1d0000100ull
#define LAB_VPORT_RX(n)	   (0xd200000000ull + (n)*0x1000ull)
#define LAB_VPORT_TX(n)	   (0xd200000040ull + (n)*0x1000ull)
#define LAB_TIR(id)	   (0x711000000ull + ((id)-0x500ull) * 0x40)
/* Options for connections that the firmware chooses for each DC target. */
#define LAB_ECE 0x10000002u
/* Packets of a vport come from this function. */
#define LAB_FUNCTION(n) (0x100u + (n))
/* Formats of definers, one bit each. */
#define LAB_DEFINERS 0x217410045ull

/* Let a frame of Ethernet enter a table that software owns: the number of the table in the order
 * of creation. @from: NULL: the wire. 0, or a positive errno: EOPNOTSUPP if the model does not know
 * an entry. */
int lab_steer(unsigned int table, const void *frame, size_t length, const struct lab_origin *from,
	      struct lab_steered *ret) __attribute__((weak));
/* Let a frame meet the rules of the root table for received packets. ENOENT: it matches none. */
int lab_steer_root(const void *frame, size_t length, struct lab_steered *ret) __attribute__((weak));
/* Write the device's steering entries to a file: an address and 64 bytes in a line. */
int lab_icm(const char *path) __attribute__((weak));

#endif
