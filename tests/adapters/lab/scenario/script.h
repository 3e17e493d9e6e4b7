/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session of verbs calls that is the same each time, with completions that the scenario asks
 * for. Without the shim a step is only printed. */
#ifndef DEVICES_SCRIPT_H
#define DEVICES_SCRIPT_H

#include "tests/adapters/lab/scenario/lab.h"

/* Where the buffer is, so that addresses in work requests are the same in every run. */
#ifndef SCRIPT_BUFFER
#define SCRIPT_BUFFER 0x100000000ull
#endif
enum {
	SCRIPT_BYTES = 1 << 16,
	SCRIPT_REMOTE = 0x7000,
	SCRIPT_RKEY = 0xabcd
};

struct script {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint32_t sends, receives; /* posted so far */
	uint32_t max_inline;	  /* as granted */
};

void step(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the program if a call failed that should not. */
void must(bool good, const char *what);

void script_open(struct script *s);
void script_close(struct script *s);
void script_qp(struct script *s, enum ibv_qp_type type, const struct ibv_qp_cap *cap);
void script_qp_close(struct script *s);
void script_modify(struct script *s, enum ibv_qp_state state);
/* Make an RC queue pair, and bring it to RTS. */
void script_connect(struct script *s, const struct ibv_qp_cap *cap);

struct ibv_sge script_sge(const struct script *s, uint32_t offset, uint32_t length);
/* Post @wr and print the result; a negative count posts a list of that many. */
int script_send(struct script *s, struct ibv_send_wr *wr);
/* Return a request with immediate data, a key to invalidate, or an address of the peer. */
struct ibv_send_wr script_request(const struct script *s, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, int sges, unsigned flags);
/* Post @wr, and complete it if it is signaled. */
void script_post(struct script *s, struct ibv_send_wr *wr);
int script_recv(struct script *s, int sges, uint32_t length);
/*
 * Post and complete eight receives in each round, with fewer than @sges entries each. Then post
 * one with @too_many entries, and fill the ring.
 */
void script_receives(struct script *s, int rounds, int sges, int too_many);

/* Let the device complete a request, and poll its queue. */
void script_complete(struct script *s, bool receive, uint32_t index, enum ibv_wr_opcode sent_as,
		     struct ibv_wc wc);
void script_poll(struct ibv_cq *cq);

#endif
