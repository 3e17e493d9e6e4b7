/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who may write which memory until when, and which bytes a success means. */
#include <inttypes.h>

#include "rdma-conform/rules.h"

static void wounds(struct check *c, enum harm harm, enum cause cause, int operation,
		   const char *what)
{
	for (unsigned int i = 0; i < c->chances[harm][cause] && operation < 0; i++)
		exercised(c);
	for (unsigned int i = 0; i < c->wound_count; i++) {
		const struct wound *w = &c->wounds[i];
		const struct event *run = &w->seen;
		char held[64] = "bytes without a tag";

		if (w->harm != harm || w->cause != cause)
			continue;
		if (operation >= 0 &&
		    (!w->writer ||
		     w->writer->request->step->verb !=
			     (operation == OP_COUNT ? VERB_RECV : VERB_POST) ||
		     (operation != OP_COUNT && w->writer->request->step->operation != operation)))
			continue;
		if (run->kind == EVENT_RUN && run->run.kind == RUN_TAG)
			snprintf(held, sizeof(held), "byte %" PRIu64 " of #%u.%u",
				 run->run.from + w->offset - run->run.offset, run->run.id,
				 run->run.generation);
		broken(c, w->look, "%s: %u wrong bytes from %u on; the first is %s%s%u", what,
		       w->length, w->offset, held, w->writer ? ", request #" : ", request ",
		       w->writer ? w->writer->request->step->id : 0);
	}
}

static void count_success(struct check *c, int operation)
{
	for (unsigned int i = 0; i < c->writer_count; i++) {
		const struct writer *w = &c->writers[i];
		int own = w->request->step->verb == VERB_RECV ? OP_COUNT
							      : w->request->step->operation;

		if (own == operation && w->success[0] && !w->wild)
			exercised(c);
	}
}

static void recv_bytes(struct check *c)
{
	count_success(c, OP_COUNT);
	wounds(c, HARM_MISSING, 0, OP_COUNT,
	       "a successful receive has other bytes than the message");
	wounds(c, HARM_ORDER, 0, OP_COUNT, "a successful receive has the bytes of another message");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_COUNT,
	       "a receive has bytes that the sender wrote after its completion");
}

static void write_bytes(struct check *c)
{
	count_success(c, OP_WRITE);
	wounds(c, HARM_MISSING, 0, OP_WRITE, "a completed write is not in the memory");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_WRITE,
	       "a write brought bytes from after its completion");
}

static void read_bytes(struct check *c)
{
	count_success(c, OP_READ);
	wounds(c, HARM_MISSING, 0, OP_READ,
	       "a completed read has other bytes than the memory it read");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_READ,
	       "a completed read has other bytes than the memory it read");
}

static void foreign(struct check *c)
{
	wounds(c, HARM_FOREIGN, 0, -1, "memory changed that no request may change");
}

static void refused(struct check *c)
{
	wounds(c, HARM_REFUSED, 0, -1, "a request that must be refused changed memory");
}

static void write_order(struct check *c)
{
	for (unsigned int i = 1; i < c->writer_count; i++)
		if (c->writers[i].request->step->operation == OP_WRITE &&
		    c->writers[i - 1].request->step->operation == OP_WRITE &&
		    c->writers[i].request->step->remote_offset ==
			    c->writers[i - 1].request->step->remote_offset &&
		    c->writers[i].success[0])
			exercised(c);
	wounds(c, HARM_ORDER, 0, OP_WRITE,
	       "an earlier write lies over a later one of the same queue pair");
}

#define LATE(name, cause, what)                                                    \
	static void late_##name(struct check *c)                                   \
	{                                                                          \
		wounds(c, HARM_LATE, cause, -1, "memory was written after " what); \
	}
LATE(completion, CAUSE_COMPLETION, "the request had completed")
LATE(flush, CAUSE_FLUSH, "the request had completed with an error")
LATE(destroy, CAUSE_DESTROY, "its queue pair was destroyed")
LATE(reset, CAUSE_RESET, "its queue pair was reset")
LATE(err, CAUSE_ERR, "its queue pair was moved to ERR")
LATE(dereg, CAUSE_DEREG, "the region was deregistered, or the window freed")
LATE(rereg, CAUSE_REREG, "the region lost remote write access")
LATE(access, CAUSE_ACCESS, "the queue pair lost remote write access")
LATE(invalidate, CAUSE_INVALIDATE, "the window was invalidated")

#define SOURCE(name, cause, what)                                              \
	static void source_##name(struct check *c)                             \
	{                                                                      \
		wounds(c, HARM_SOURCE, cause, -1,                              \
		       "a message has bytes that its memory got after " what); \
	}
SOURCE(flush, CAUSE_FLUSH, "the request was flushed")
SOURCE(destroy, CAUSE_DESTROY, "the sender's queue pair was destroyed")
SOURCE(reset, CAUSE_RESET, "the sender's queue pair was reset")
SOURCE(dereg, CAUSE_DEREG, "the sender's region was deregistered")
SOURCE(inline, CAUSE_INLINE, "the post with inline data returned")

const struct rule rules_memory[] = {
	{ 1, "recv-bytes", "A receive that completes with success holds the bytes of its message.",
	  "IBTA vol. 1, 9.7.5.1; ibv_poll_cq(3)", recv_bytes },
	{ 2, "write-bytes",
	  "When a write has completed with success, the other side sees its bytes.",
	  "IBTA vol. 1, 9.7.5.1, 10.8.2; RFC 5040, 5.5", write_bytes },
	{ 3, "read-bytes",
	  "A read that completes with success holds the bytes of the memory it names.",
	  "IBTA vol. 1, 9.7.5.1", read_bytes },
	{ 4, "only-named-memory", "No byte changes that no request names.", "IBTA vol. 1, 10.6.3",
	  foreign },
	{ 5, "refused-writes-nothing", "A request that must be refused changes no memory.",
	  "IBTA vol. 1, 10.6.3.3", refused },
	{ 6, "write-order",
	  "Writes of one queue pair to the same memory end in the order of their posts.",
	  "IBTA vol. 1, 10.8.3.3", write_order },
	{ 7, "late-completion", "After its completion a request changes no memory.",
	  "IBTA vol. 1, 10.8.2", late_completion },
	{ 8, "late-flush", "After a completion with an error a request changes no memory.",
	  "IBTA vol. 1, 10.10.2.4", late_flush },
	{ 9, "late-destroy", "After ibv_destroy_qp() nothing of the queue pair changes memory.",
	  "IBTA vol. 1, 10.2.4.4; ibv_create_qp(3)", late_destroy },
	{ 10, "late-reset", "After the move to RESET nothing of the queue pair changes memory.",
	  "IBTA vol. 1, 10.3.1.1", late_reset },
	{ 11, "late-err", "After the move to ERR no request of the peer changes memory.",
	  "IBTA vol. 1, 10.3.1.6", late_err },
	{ 12, "late-dereg",
	  "After ibv_dereg_mr() or ibv_dealloc_mw() nothing reaches memory by its key.",
	  "IBTA vol. 1, 10.6.7.2; ibv_reg_mr(3)", late_dereg },
	{ 13, "late-rereg",
	  "After remote write access was taken from a region nothing is written by its key.",
	  "IBTA vol. 1, 10.6.5; ibv_rereg_mr(3)", late_rereg },
	{ 14, "late-access",
	  "After remote write access was taken from a queue pair its peer writes nothing.",
	  "IBTA vol. 1, 10.2.4.2; ibv_modify_qp(3)", late_access },
	{ 15, "late-invalidate", "After a window was invalidated nothing is written by its key.",
	  "IBTA vol. 1, 10.6.7.2.6", late_invalidate },
	{ 16, "source-flush", "After a flush the device reads the request's memory no more.",
	  "IBTA vol. 1, 10.10.2.4", source_flush },
	{ 17, "source-destroy",
	  "After ibv_destroy_qp() the device reads no memory for the queue pair.",
	  "IBTA vol. 1, 10.2.4.4", source_destroy },
	{ 18, "source-reset",
	  "After the move to RESET the device reads no memory for the queue pair.",
	  "IBTA vol. 1, 10.3.1.1", source_reset },
	{ 19, "source-dereg", "After ibv_dereg_mr() the device reads the region no more.",
	  "IBTA vol. 1, 10.6.7.2", source_dereg },
	{ 20, "source-inline", "Inline data is copied before the post returns.", "ibv_post_send(3)",
	  source_inline },
};
const unsigned int rules_memory_count = ARRAY_SIZE(rules_memory);
