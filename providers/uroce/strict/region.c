/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Check at the post that the memory of a request lies in regions. The device checks it when it
 * executes the request, so the program learns of the fault later, or not at all from a receive.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>

#include "providers/uroce/strict/record.h"

/* Write a line about entry @i. */
static void entry_fault(const struct strict_entries *entries, int i, enum strict_rule rule,
			const char *why)
{
	const struct ibv_sge *sge = &entries->sge[i];

	strict_fault(rule, entries->ctx,
		     "%s 0x%x: %s of request 0x%" PRIx64 ": entry %d, 0x%" PRIx64
		     " of %u bytes, lkey 0x%x: %s",
		     entries->queue, entries->number, entries->verb, entries->wr_id, i, sge->addr,
		     sge->length, sge->lkey, why);
}

static void key_unknown(const struct strict_entries *entries, int i)
{
	uint32_t lkey = entries->sge[i].lkey;
	char at[STRICT_SITE_TEXT], why[STRICT_SITE_TEXT + 64];
	struct strict_site site;

	if (!strict_old_key_find(lkey, &site)) {
		entry_fault(entries, i, STRICT_RULE_REGION,
			    lkey ? "no region has this key" : "no lkey was set");
		return;
	}
	strict_site_text(&site, at, sizeof(at));
	snprintf(why, sizeof(why), "its region was deregistered%s%s", at[0] ? " at " : "", at);
	entry_fault(entries, i, STRICT_RULE_OLD_KEY, why);
}

/* Check an entry against what its key grants. */
static void grant_check(const struct strict_entries *entries, int i,
			const struct uroce_grant *grant)
{
	const struct ibv_sge *sge = &entries->sge[i];
	char why[128];

	if (!uroce_pd_is(grant->pd, entries->pd)) {
		entry_fault(entries, i, STRICT_RULE_DOMAIN, "its region is in another domain");
	} else if (entries->write && !(grant->access & IBV_ACCESS_LOCAL_WRITE)) {
		entry_fault(entries, i, STRICT_RULE_ACCESS,
			    "its region was registered without IBV_ACCESS_LOCAL_WRITE");
	} else if (!grant->null &&
		   (sge->addr < grant->iova || sge->addr - grant->iova > grant->length ||
		    sge->length > grant->length - (sge->addr - grant->iova))) {
		snprintf(why, sizeof(why),
			 "its region is 0x%" PRIx64 " to 0x%" PRIx64 " of %" PRIu64 " bytes",
			 grant->iova, grant->iova + grant->length, grant->length);
		entry_fault(entries, i, STRICT_RULE_RANGE, why);
	}
}

bool strict_entry_read(struct uroce_keys *keys, const struct ibv_sge *sge, size_t size, void *bytes)
{
	struct iovec local = { bytes, size }, memory = local;
	struct uroce_grant grant;

	if (!size)
		return true;
	if (!uroce_key_look(keys, sge->lkey, &grant) || grant.null)
		return false;
	memory.iov_base = (void *)(grant.base + (uintptr_t)(sge->addr - grant.iova));
	return process_vm_readv(getpid(), &local, 1, &memory, 1, 0) == (ssize_t)size;
}

void strict_entries_check(const struct strict_entries *entries)
{
	struct uroce_grant grant;

	for (int i = 0; i < entries->num_sge; i++) {
		if (!entries->sge[i].length)
			continue;
		if (uroce_key_look(entries->keys, entries->sge[i].lkey, &grant))
			grant_check(entries, i, &grant);
		else
			key_unknown(entries, i);
	}
}
