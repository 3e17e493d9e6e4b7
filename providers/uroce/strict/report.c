/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of strict mode, and the lines about faults. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "providers/uroce/strict/report.h"
#include "util/cancel.h"

enum {
	LINES = 20, /* lines of one rule in a process; further faults are only counted */
	LINE = 600,
};

static const struct {
	const char *text, *page;
} rules[STRICT_RULES] = {
	[STRICT_RULE_REGION] = { "the memory of a request lies in a registered region, whose lkey "
				 "is in the entry",
				 "ibv_reg_mr(3)" },
	[STRICT_RULE_RANGE] = { "each entry of a request lies within its region", "ibv_reg_mr(3)" },
	[STRICT_RULE_ACCESS] = { "memory that the device writes needs IBV_ACCESS_LOCAL_WRITE",
				 "ibv_reg_mr(3)" },
	[STRICT_RULE_DOMAIN] = { "a queue and the regions of its requests have one protection "
				 "domain",
				 "ibv_alloc_pd(3)" },
	[STRICT_RULE_OLD_KEY] = { "a key ends with its region", "ibv_reg_mr(3)" },
	[STRICT_RULE_DEREG] = { "a region stays registered until the completions of all requests "
				"in it were polled",
				"ibv_reg_mr(3)" },
	[STRICT_RULE_DESTROY] = { "poll the completions of all sends, or move the queue pair to "
				  "ERR, before it is destroyed",
				  "ibv_create_qp(3)" },
	[STRICT_RULE_EVENTS] = { "acknowledge each event before its object is destroyed",
				 "ibv_get_cq_event(3)" },
	[STRICT_RULE_ERROR] = { "look at the status of each completion; after an error the queue "
				"pair sends and receives nothing until it was reset",
				"ibv_poll_cq(3)" },
	[STRICT_RULE_GRH] = { "each receive of a UD queue pair is 40 bytes longer than the "
			      "message, for the GRH",
			      "ibv_post_recv(3)" },
	[STRICT_RULE_QKEY] = { "remote_qkey of a datagram is the qkey of the queue pair that receives it",
			       "ibv_post_send(3)" },
	[STRICT_RULE_NUMBER] = { "remote_qpn of a datagram is the qp_num of the queue pair that "
				 "receives it",
				 "ibv_post_send(3)" },
	[STRICT_RULE_EARLY] = { "post receives before the peer can send", "ibv_post_recv(3)" },
	[STRICT_RULE_MTU] = { "path_mtu is at most the active_mtu of the ports on both sides",
			      "ibv_modify_qp(3)" },
	[STRICT_RULE_TIMEOUT] = { "timeout is 1 to 31: with 0 a lost packet is waited for without "
				  "an end",
				  "ibv_modify_qp(3)" },
	[STRICT_RULE_BITS] = { "retry_cnt and rnr_retry are at most 7, min_rnr_timer is at most 31, "
			       "and PSNs have 24 bits",
			       "ibv_modify_qp(3)" },
	[STRICT_RULE_OVERFLOW] = { "a completion queue has room for all completions that wait to "
				   "be polled",
				   "ibv_create_cq(3)" },
	[STRICT_RULE_SIGNAL] = { "signal at least one of max_send_wr requests: only a polled "
				 "completion frees entries of the send queue",
				 "ibv_post_send(3)" },
	[STRICT_RULE_SILENT] = { "only a request with IBV_SEND_SIGNALED, or of a queue pair with "
				 "sq_sig_all, has a completion",
				 "ibv_post_send(3)" },
	[STRICT_RULE_CONTENT] = { "the memory of a send stays unchanged until its completion, or "
				  "that of a later request, was polled",
				  "ibv_post_send(3)" },
	[STRICT_RULE_RECEIVE] = { "the memory of a receive belongs to the device until its "
				  "completion was polled",
				  "ibv_post_recv(3)" },
	[STRICT_RULE_LEFT] = { "poll send_cq and recv_cq of each queue pair", "ibv_create_qp(3)" },
	[STRICT_RULE_CHANNEL] = { "only a completion queue that was created with a completion "
				  "channel has events",
				  "ibv_create_comp_channel(3)" },
	[STRICT_RULE_ARM] = { "before each wait, arm the completion queue with ibv_req_notify_cq() "
			      "and then poll it until it is empty",
			      "ibv_get_cq_event(3)" },
	[STRICT_RULE_IMMEDIATE] = { "imm_data has network byte order: htonl() and ntohl() convert "
				    "it",
				    "ibv_post_send(3)" },
	[STRICT_RULE_FORK] = { "a child process opens the device itself, and uses no objects of "
			       "its parent",
			       "ibv_fork_init(3)" },
	[STRICT_RULE_LEAK] = { "destroy all objects before their device is closed",
			       "ibv_open_device(3)" },
};

static atomic_bool abort_wanted;
static atomic_uint faults[STRICT_RULES];
static atomic_ulong counts[STRICT_COUNTS];

void strict_abort_set(bool aborts)
{
	atomic_store(&abort_wanted, aborts);
}

void strict_counts_reset(void)
{
	for (unsigned int i = 0; i < STRICT_RULES; i++)
		atomic_store(&faults[i], 0);
	for (unsigned int i = 0; i < STRICT_COUNTS; i++)
		atomic_store(&counts[i], 0);
}

void strict_count(enum strict_count count)
{
	atomic_fetch_add_explicit(&counts[count], 1, memory_order_relaxed);
}

static void line_write(enum strict_rule rule, const struct ibv_context *ctx, const char *done,
		       unsigned int number)
{
	struct strict_site site = {};
	char at[STRICT_SITE_TEXT];

	/* Two kinds of faults have no call site: an object that was left, because @done has the
	 * call that made it, and a fault that a thread of this room found. */
	if (rule != STRICT_RULE_LEAK && !strict_watching)
		site = strict_site_here();
	strict_site_text(&site, at, sizeof(at));
	log_notice("strict: %s %s: %s, see %s%s%s%s", ctx->device->name, done, rules[rule].text,
		   rules[rule].page, at[0] ? "; called at " : "", at,
		   number == LINES ? " (more faults of this kind are only counted)" : "");
}

void strict_fault(enum strict_rule rule, const struct ibv_context *ctx, const char *format, ...)
{
	_cleanup_cancel_ int cancel = cancel_off();
	unsigned int number = atomic_fetch_add(&faults[rule], 1) + 1;
	char done[LINE];
	va_list args;

	if (number <= LINES) {
		va_start(args, format);
		vsnprintf(done, sizeof(done), format, args);
		va_end(args);
		log_init();
		line_write(rule, ctx, done, number);
	}
	if (atomic_load(&abort_wanted))
		abort();
}

void strict_summary(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < STRICT_RULES; i++)
		sum += atomic_load(&faults[i]);
	log_notice("strict: %u fault%s in %lu objects, %lu requests and %lu completions", sum,
		   sum == 1 ? "" : "s", atomic_load(&counts[STRICT_COUNT_OBJECTS]),
		   atomic_load(&counts[STRICT_COUNT_REQUESTS]),
		   atomic_load(&counts[STRICT_COUNT_COMPLETIONS]));
}
