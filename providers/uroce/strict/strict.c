/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mode, the table of operations of a context in it, and its end. */
#include <stdlib.h>
#include <string.h>

#include "providers/uroce/strict/record.h"
#include "util/env.h"

static atomic_int mode_pid; /* process that opened a device in strict mode; 0: none */

/* Read UROCE_STRICT. Return: 1 if it is on, 0 if it is off, or -EINVAL. */
static int mode_read(void)
{
	const char *text = env_get_filled(ENV_UROCE_STRICT);

	if (!text || !strcmp(text, "0"))
		return 0;
	if (!strcmp(text, "1") || !strcmp(text, "abort")) {
		strict_abort_set(!strcmp(text, "abort"));
		return 1;
	}
	log_init();
	log_notice(
		"uroce: Error: UROCE_STRICT: '%s' is not 0, 1 or abort. Nothing is opened; see uroce(7)",
		text);
	return -EINVAL;
}

static void strict_close_context(struct verbs_context *vctx)
{
	struct uroce_context *ctx = (struct uroce_context *)vctx;
	struct strict_context *strict = ctx->strict;

	struct strict_record *record;

	if (uroce_host_here(ctx->dev->host)) {
		record = strict_record_find(STRICT_CONTEXT, vctx);
		if (record)
			strict_record_end(record);
		strict_leaks(&vctx->context);
		strict_watch_wait();
	}
	strict->below->close_context(vctx);
	free(strict);
}

int uroce_strict_open(struct uroce_context *ctx, const struct verbs_ops *ops)
{
	struct strict_context *strict;
	struct strict_record *record;
	int r = mode_read();

	if (r <= 0)
		return r;
	strict = malloc(sizeof(*strict));
	record = strict_record_new(STRICT_CONTEXT, &ctx->vctx.context, sizeof(*record));
	if (!strict || !record) {
		free(strict);
		free(record);
		return -ENOMEM;
	}
	*strict = (struct strict_context){ .ops = *ops, .below = ops };
	strict->ops.close_context = strict_close_context;
	strict_object_ops(&strict->ops);
	strict_post_ops(&strict->ops);
	strict_poll_ops(&strict->ops);
	ctx->strict = strict;
	/* A forked child counts for itself. */
	if (atomic_exchange(&mode_pid, getpid()) != getpid())
		strict_counts_reset();
	strict_record_add(record, ctx);
	verbs_context_set_ops(&ctx->vctx, &strict->ops);
	return 0;
}

void uroce_strict_undo(struct uroce_context *ctx)
{
	if (!ctx->strict)
		return;
	strict_record_end(strict_record_find(STRICT_CONTEXT, ctx));
	free(ctx->strict);
}

/* At the exit: objects that are left, and the summary. A forked child has its parent's records. */
__attribute__((destructor)) static void process_ends(void)
{
	if (atomic_load(&mode_pid) != getpid())
		return;
	strict_leaks(NULL);
	strict_summary();
}
