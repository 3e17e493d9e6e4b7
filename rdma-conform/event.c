/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "rdma-conform/event.h"

#define AS_REASON(name, text) text,
const char *const skip_names[SKIP_COUNT] = { SKIPS(AS_REASON) };

/* The names of the values that verbs record. */
static const char *const value_names[VERB_COUNT] = {
	[VERB_QP] = "number",	  [VERB_QUERY] = "state",   [VERB_PEEK] = "word",
	[VERB_POLL] = "polled",	  [VERB_EVENT] = "events",  [VERB_WATCH] = "changed",
	[VERB_POST] = "accepted", [VERB_RECV] = "accepted", [VERB_DRAIN] = "still to come",
};

static void print_done(FILE *to, const struct event *e, const struct program *program)
{
	const struct step *s = e->step < program->count ? &program->step[e->step] : NULL;

	fputs(e->done.error ? strerror(e->done.error) : "ok", to);
	if (!s)
		fprintf(to, ", cleaning up %c%" PRIu64, (char)e->done.value[0], e->done.value[1]);
	else if (!e->done.error && value_names[s->verb])
		fprintf(to, ", %s %" PRIu64, value_names[s->verb], e->done.value[0]);
}

void event_print(FILE *to, const struct event *e, const struct program *program)
{
	fprintf(to, "%c%u step %u: ", 'a' + e->side, e->thread, e->step + 1);
	switch (e->kind) {
	case EVENT_DONE:
		print_done(to, e, program);
		break;
	case EVENT_SKIP:
		fprintf(to, "left out, %s", skip_names[e->skip]);
		break;
	case EVENT_WC:
		fprintf(to, "completion #%u %s", (unsigned int)(e->wc.wr_id & 0xff),
			ibv_wc_status_str(e->wc.status));
		if (!e->wc.status)
			fprintf(to, " opcode %u length %u flags 0x%x imm 0x%x", e->wc.opcode,
				e->wc.byte_len, e->wc.wc_flags, be32toh(e->wc.imm_data));
		break;
	case EVENT_RUN:
		fprintf(to, "bytes %u+%u: ", e->run.offset, e->run.length);
		if (e->run.kind == RUN_TAG)
			fprintf(to, "#%u.%u from %" PRIu64, e->run.id, e->run.generation,
				e->run.from);
		else
			fputs("no tag", to);
		break;
	case EVENT_ASYNC:
		fprintf(to, "event %s", ibv_event_type_str(e->async.type));
		break;
	}
	fputc('\n', to);
}
