/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices that have to work here: --require. */
#include <string.h>

#include "rdma-doctor/verbs.h"

/* Append why @dev does not work. */
static void require_explain(const struct doctor_device *dev, struct finding *f)
{
	finding_fail(f, "%s fell on %s: %s", dev->name, dev->fell->name, dev->finding.what.chars);
	if (!f->fix.length)
		finding_fix(f, "%s", dev->finding.fix.chars);
}

static const struct doctor_device *first_fallen(const struct doctor *d)
{
	for (unsigned int i = 0; i < d->count; i++)
		if (d->devices[i].fell)
			return &d->devices[i];
	return NULL;
}

static void require_number(const struct doctor *d, struct finding *f)
{
	const struct doctor_device *fallen = first_fallen(d);
	unsigned int standing = 0;

	for (unsigned int i = 0; i < d->count; i++)
		standing += !d->devices[i].fell;
	if (standing >= d->required_number) {
		finding_ok(f, "%u device%s work%s", standing, standing > 1 ? "s" : "",
			   standing > 1 ? "" : "s");
		return;
	}
	if (standing)
		finding_fail(f, "%u device%s work%s", standing, standing > 1 ? "s" : "",
			     standing > 1 ? "" : "s");
	else
		finding_fail(f, "no device of the kernel works");
	finding_fail(f, ", %u %s required", d->required_number,
		     d->required_number > 1 ? "are" : "is");
	if (fallen) {
		finding_fail(f, "; ");
		require_explain(fallen, f);
	} else {
		finding_fix(f, "look which adapters the PCI bus has (lspci), which drivers are "
			       "loaded, and at the kernel log (dmesg)");
	}
}

/* Check a user-space device, which counts only if it is required by name. */
static void require_userspace(struct doctor *d, const char *name, struct finding *f)
{
	const struct trial *trial;

	if (!d->live) {
		finding_fail(f, "%s cannot be tried on a copy of its machine", name);
		finding_fix(f, "run rdma-doctor on the machine itself");
		return;
	}
	trial = userspace_try(d, name);
	if (!trial->error)
		return;
	finding_fail(f, "%s: ", name);
	trial_say(trial, f);
	if (!f->fix.length)
		finding_fix(f, "rdma-doctor --device %s says more", name);
}

static void require_device(struct doctor *d, const char *name, struct finding *f)
{
	const struct doctor_device *dev = devices_find_named(d, name);

	if (!dev && device_name_is_userspace(name)) {
		require_userspace(d, name, f);
	} else if (!dev) {
		finding_fail(f, "%s is not there", name);
		if (!f->fix.length)
			finding_fix(f,
				    "see which devices are there (ibv_devices), and load the "
				    "driver of %s",
				    name);
	} else if (dev->fell) {
		require_explain(dev, f);
	}
}

static void require_names(struct doctor *d, struct finding *f)
{
	unsigned int missing = 0;

	for (unsigned int i = 0; i < d->required_count; i++) {
		struct finding one = {};

		require_device(d, d->required[i], &one);
		if (one.state == FINDING_FAILED && !missing++)
			*f = one;
	}
	if (missing > 1)
		finding_fail(f, " (and %u more)", missing - 1);
	else if (!missing)
		finding_ok(f, "the %u required device%s work%s", d->required_count,
			   d->required_count > 1 ? "s" : "", d->required_count > 1 ? "" : "s");
}

void require_check(struct doctor *d, struct finding *f)
{
	if (d->required_count)
		require_names(d, f);
	else if (d->required_number)
		require_number(d, f);
	else
		finding_unneeded(f, "nothing was required (--require)");
}
