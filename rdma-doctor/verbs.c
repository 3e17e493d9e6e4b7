/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The whole way, once: the library lists the device, opens it and makes a PD, CQ, MR and QP. */
#include <string.h>

#include "rdma-doctor/verbs.h"

void verbs_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct trial trial;

	if (!d->live) {
		finding_unseen(f, "a copy of a machine's files cannot be tried");
		return;
	}
	system_try(dev->name, &trial);
	if (!trial.error) {
		finding_ok(f, "the library opens it and makes a PD, CQ, MR and QP");
		return;
	}
	finding_fail(f, "%s: %s", trial.verb, strerror(-trial.error));
	if (trial.said[0])
		finding_fail(f, ": %s", log_content(trial.said));
	finding_fix(f, "%s",
		    trial.error == -ENODEV ? "look at the rungs above: the library does not "
					     "list it"
					   : "see the kernel log (dmesg), and run the "
					     "program with VERBS_LOG_LEVEL=4");
}
