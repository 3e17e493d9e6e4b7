/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "libibverbs/tools/json.h"
#include "rdma-doctor/peer.h"
#include "rdma-doctor/transfer.h"
#include "rdma-doctor/watch.h"
#include "util/enum.h"

/* Version of the JSON. It changes if a member is removed or changes its meaning, not for new
 * members. */
#define SCHEMA_VERSION 1

static const char *const state_names[] = {
	[FINDING_OK] = "ok",	     [FINDING_NOTE] = "note",
	[FINDING_UNSEEN] = "unseen", [FINDING_UNNEEDED] = "unneeded",
	[FINDING_FAILED] = "failed",
};

static const char *state_name(enum finding_state state)
{
	return enum_name(state_names, ARRAY_SIZE(state_names), state, "?");
}

/* Return whether to print the fix. Fixes of unneeded rungs are only in the JSON. */
static bool finding_needs_fix(const struct finding *f)
{
	return f->fix.length && (f->state == FINDING_FAILED || f->state == FINDING_NOTE);
}

static unsigned int notes_count(const struct finding *findings)
{
	unsigned int notes = 0;

	for (unsigned int i = 0; i < rung_count; i++)
		notes += findings[i].state == FINDING_NOTE;
	return notes;
}

/* Return whether a device fell or is missing while others work. */
static bool device_was_lost(const struct doctor *d)
{
	bool lost = d->lost;

	for (unsigned int i = 0; i < d->count; i++)
		lost |= d->devices[i].fell != NULL;
	return lost;
}

static void verdict_text(const struct doctor *d, const struct finding *findings)
{
	int first = ladder_first_failure(findings);
	unsigned int notes = notes_count(findings);

	if (first < 0) {
		printf("%s", device_was_lost(d) ? "Not every device works" : "No fault found");
		if (notes)
			printf("; %u note%s below", notes, notes > 1 ? "s" : "");
		puts(".");
		puts("If a program fails nevertheless: VERBS_LOG_LEVEL=1, and rdma-symptoms(7).");
		return;
	}
	printf("%s (exit code %d): %s\n", rungs[first].name, rungs[first].exit_code,
	       findings[first].what.chars);
	if (findings[first].fix.length)
		printf("fix: %s\n", findings[first].fix.chars);
}

void report_text(const struct doctor *d, const struct finding *findings)
{
	verdict_text(d, findings);
	putchar('\n');
	for (unsigned int i = 0; i < rung_count; i++) {
		if (findings[i].state == FINDING_UNNEEDED && !d->all)
			continue;
		printf("%2d %-10s  %-8s  %s\n", rungs[i].exit_code, rungs[i].name,
		       state_name(findings[i].state), findings[i].what.chars);
		if (finding_needs_fix(&findings[i]))
			printf("%25sfix: %s\n", "", findings[i].fix.chars);
	}
	if (d->watch)
		watch_print(d->watch);
}

static void finding_json(const struct finding *f)
{
	json_string(f->state == FINDING_FAILED ? "cause" : "found", f->what.chars);
	if (f->fix.length)
		json_string("fix", f->fix.chars);
}

static void rungs_json(const struct finding *findings)
{
	json_open("rungs", '[');
	for (unsigned int i = 0; i < rung_count; i++) {
		json_open(NULL, '{');
		json_string("rung", rungs[i].name);
		json_number("exit_code", rungs[i].exit_code);
		json_string("about", rungs[i].about);
		json_string("state", state_name(findings[i].state));
		finding_json(&findings[i]);
		json_close('}');
	}
	json_close(']');
}

static void devices_json(const struct doctor *d)
{
	json_open("devices", '[');
	for (unsigned int i = 0; i < d->count; i++)
		describe_device(&d->devices[i]);
	for (unsigned int i = 0; d->userspace && d->userspace[i].name[0]; i++)
		describe_userspace(&d->userspace[i]);
	json_close(']');
}

void report_json(const struct doctor *d, const struct finding *findings)
{
	int first = ladder_first_failure(findings);
	char release[64];

	json_open(NULL, '{');
	json_number("schema_version", SCHEMA_VERSION);
	json_string("version", RDMA_VERSION);
	json_number("exit_code", first < 0 ? 0 : rungs[first].exit_code);
	if (first >= 0) {
		json_string("first_failure", rungs[first].name);
		finding_json(&findings[first]);
	}
	host_release(d, release, sizeof(release));
	json_string("kernel", release);
	json_number("uid", geteuid());
	rungs_json(findings);
	devices_json(d);
	if (d->transfer)
		transfer_describe(d->transfer);
	if (d->watch)
		watch_describe(d->watch);
	if (d->peer)
		peer_describe(d->peer);
	json_close('}');
}
