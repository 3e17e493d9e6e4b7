/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rungs of --transfer: whether data that a device sends to itself arrives, and how fast. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/json.h"
#include "rdma-doctor/ending.h"
#include "rdma-doctor/limit.h"
#include "rdma-doctor/transfer.h"
#include "rdma-doctor/watch.h"
#include "util/env.h"

/* Choose the first device that works, one of the kernel before one of user space. */
static const char *transfer_device(const struct doctor *d)
{
	for (unsigned int i = 0; i < d->count; i++)
		if (!d->devices[i].fell)
			return d->devices[i].name;
	for (unsigned int i = 0; d->userspace && d->userspace[i].name[0]; i++)
		if (!d->userspace[i].trial.error)
			return d->userspace[i].name;
	return NULL;
}

/* Return the transfer, which the first rung that needs it starts. If there is none, return NULL and
 * set the finding. */
static const struct transfer *transfer_get(struct doctor *d, struct finding *f)
{
	const char *device = transfer_device(d);

	if (!d->transfer_wanted)
		finding_unneeded(f, "--transfer asks for it");
	else if (!d->live)
		finding_unseen(f, "a copy of a machine's files cannot be tried");
	else if (!device)
		finding_unneeded(f, "no device came this far");
	else if (!d->transfer)
		d->transfer = calloc(1, sizeof(*d->transfer));
	if (!d->transfer || f->what.length)
		return NULL;
	if (!d->transfer->device[0]) {
		watch_begin(d);
		system_transfer(device, d->transfer);
	}
	return d->transfer;
}

/* Packets were lost, or none was transferred. */
static bool part_lost(const struct transfer_part *part)
{
	return !part->error &&
	       (part->status == TRANSFER_SILENT || part->status == IBV_WC_RETRY_EXC_ERR ||
		part->status == IBV_WC_RESP_TIMEOUT_ERR);
}

static void loss_fix(const struct transfer *t, struct finding *f)
{
	if (env_get_filled(ENV_UROCE_FAULTS))
		finding_fix(f, "unset UROCE_FAULTS, which makes uroce misbehave");
	else
		finding_fix(f,
			    "rdma statistic show link %s and the kernel log (dmesg): the device "
			    "lost packets that left no host",
			    finding_word(t->device));
}

static void damage_fix(struct finding *f)
{
	finding_fix(f, "do not use the device: look for PCIe and memory errors in the kernel log "
		       "(dmesg), and update its firmware");
}

/* Return whether a limit of the rdma cgroup explains the error. */
static bool limit_explains(const struct doctor *d, const struct transfer *t, int error,
			   struct finding *f)
{
	struct rdma_limit limit;

	if (error != -EAGAIN || !rdma_limit_find(d, t->device, RDMA_OBJECTS_TRANSFER, &limit))
		return false;
	rdma_limit_explain(&limit, t->device, f);
	return true;
}

static void part_failed(const struct doctor *d, const struct transfer *t,
			const struct transfer_part *part, struct finding *f)
{
	finding_fail(f, "%s: %s: ", t->device, part->verb);
	if (limit_explains(d, t, part->error, f))
		return;
	if (part->error) {
		finding_fail(f, "%s", strerror(-part->error));
	} else if (part->status == TRANSFER_SILENT) {
		finding_fail(f, "no completion came");
	} else if (part->status != IBV_WC_SUCCESS) {
		finding_fail(f, "%s", ibv_wc_status_str(part->status));
	} else {
		finding_fail(f, "byte %zu is not the one that was sent", part->wrong);
		damage_fix(f);
		return;
	}
	if (part_lost(part) || env_get_filled(ENV_UROCE_FAULTS))
		loss_fix(t, f);
	else
		finding_fix(f, "see the kernel log (dmesg), and run it with VERBS_LOG_LEVEL=4");
}

/* Make the checks that all rungs share. Return: whether the part has a result to judge. */
static bool part_check(const struct doctor *d, const struct transfer *t,
		       const struct transfer_part *part, struct finding *f)
{
	if (part->verb)
		part_failed(d, t, part, f);
	else if (!part->done)
		finding_unneeded(f, "no transfer came this far");
	return part->done && !part->verb;
}

void rc_check(struct doctor *d, struct finding *f)
{
	const struct transfer *t = transfer_get(d, f);

	if (!t)
		return;
	if (t->trial.error) {
		finding_fail(f, "%s: ", t->device);
		if (limit_explains(d, t, t->trial.error, f))
			return;
		trial_say(&t->trial, f);
		if (!ending_fix(t->trial.signal, f) && !trial_fix(&t->trial, f))
			loss_fix(t, f);
	} else if (t->iwarp) {
		finding_unneeded(f, "%s is iWARP: rping -s and rping -c send data through it",
				 t->device);
	} else if (part_check(d, t, &t->rc, f)) {
		finding_ok(f, "%s: a SEND, an RDMA write and an RDMA read of %zu bytes arrived",
			   t->device, t->rc_bytes);
	}
}

void ud_check(struct doctor *d, struct finding *f)
{
	const struct transfer *t = transfer_get(d, f);

	if (!t || !part_check(d, t, &t->ud, f))
		return;
	finding_ok(f, "%s: %u of %u datagrams arrived", t->device, t->ud_arrived, t->ud_sent);
	if (t->ud_damaged) {
		finding_fail(f, ", %u damaged", t->ud_damaged);
		damage_fix(f);
	} else if (t->ud_arrived < t->ud_sent) {
		finding_fail(f, ": %u lost", t->ud_sent - t->ud_arrived);
		loss_fix(t, f);
	} else if (t->ud_twice) {
		finding_note(f, ", %u of them twice", t->ud_twice);
		loss_fix(t, f);
	}
}

void latency_check(struct doctor *d, struct finding *f)
{
	const struct transfer *t = transfer_get(d, f);

	if (t && part_check(d, t, &t->latency, f))
		finding_ok(f,
			   "%s: an RDMA write of 8 bytes completes in %" PRIu64 ".%" PRIu64
			   " us (median of %u; slowest %" PRIu64 " us)",
			   t->device, t->median_ns / 1000, t->median_ns / 100 % 10,
			   t->latency_count, t->slowest_ns / 1000);
}

/* An adapter that sends to itself passes its PCIe link twice, which carries more than the port. */
static bool rate_is_poor(const struct doctor *d, const struct transfer *t)
{
	char path[128], driver[64];

	snprintf(path, sizeof(path), "class/infiniband/%s/device/driver", t->device);
	sysfs_link(path, driver, sizeof(driver));
	return driver[0] && t->port_mbps && t->mbps < t->port_mbps / 10;
}

void rate_check(struct doctor *d, struct finding *f)
{
	const struct transfer *t = transfer_get(d, f);

	if (!t || !part_check(d, t, &t->rate, f))
		return;
	finding_ok(f, "%s: large RDMA writes move %" PRIu64 ".%" PRIu64 " Gbit/s", t->device,
		   t->mbps / 1000, t->mbps / 100 % 10);
	if (t->port_mbps)
		finding_ok(f, "; the port's speed is %" PRIu64 ".%" PRIu64 " Gbit/s",
			   t->port_mbps / 1000, t->port_mbps / 100 % 10);
	if (!rate_is_poor(d, t))
		return;
	finding_note(f, ", more than ten times as much");
	finding_fix(f,
		    "compare LnkSta with LnkCap of the adapter (lspci -vv): its PCIe link may have "
		    "fewer lanes or a lower speed");
}

void transfer_describe(const struct transfer *t)
{
	json_open("transfer", '{');
	json_string("device", t->device);
	json_bool("works", t->rate.done && !t->ud.verb && !t->rate.verb &&
				   t->ud_arrived == t->ud_sent && !t->ud_damaged);
	json_number("datagrams_sent", t->ud_sent);
	json_number("datagrams_arrived", t->ud_arrived);
	if (t->latency_count) {
		json_number("latency_median_ns", t->median_ns);
		json_number("latency_slowest_ns", t->slowest_ns);
	}
	if (t->mbps)
		json_number("rate_mbps", t->mbps);
	if (t->port_mbps)
		json_number("port_mbps", t->port_mbps);
	json_close('}');
}
