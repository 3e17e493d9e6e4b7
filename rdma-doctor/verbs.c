/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A complete trial: the library lists the device, opens it and creates a PD, CQ, MR and QP. */
#include <string.h>

#include "rdma-doctor/ending.h"
#include "rdma-doctor/limit.h"
#include "rdma-doctor/verbs.h"

void trial_say(const struct trial *trial, struct finding *f)
{
	const char *said = log_content(trial->said), *error = strerror(-trial->error);

	const char *at = *said ? strstr(said, trial->verb) : NULL;

	/* A message of the library often has both the verb and the error. Print only this message
	 * then. Leave out the name of the device before the verb, because the finding begins with
	 * the name. */
	if (at && strstr(said, error)) {
		finding_fail(f, "%s", memchr(said, ':', at - said) ? said : at);
		return;
	}
	finding_fail(f, "%s", trial->verb);
	if (!trial->signal)
		finding_fail(f, ": %s", error);
	if (*said)
		finding_fail(f, ": %s", said);
}

bool trial_fix(const struct trial *trial, struct finding *f)
{
	if (trial->error == -EAGAIN && trial->verb && !strcmp(trial->verb, TRIAL_PROCESS)) {
		finding_fix(f, "raise the limit of processes: ulimit -u, TasksMax= of a unit");
		return true;
	}
	if (trial->error != -EMFILE && trial->error != -ENFILE)
		return false;
	finding_fix(f, "raise the limit of open files: ulimit -n, LimitNOFILE= of a unit%s",
		    trial->error == -ENFILE ? ", or the sysctl fs.file-max" : "");
	return true;
}

static void verbs_failed(const struct trial *trial, struct finding *f)
{
	trial_say(trial, f);
	if (ending_fix(trial->signal, f) || trial_fix(trial, f))
		return;
	if (trial->error == -EPERM)
		finding_fix(f, "a seccomp filter or security module may forbid ioctl() on the "
			       "node: see the audit log (ausearch -m SECCOMP,AVC) or dmesg");
	else if (trial->error == -ENODEV)
		finding_fix(f, "look at the rungs above: the library does not list it");
	else if (trial->error == -EAGAIN)
		finding_fix(f, "a limit that cannot be seen from here, perhaps that of an rdma "
			       "cgroup: on the host, look at rdma.max in the cgroups of the "
			       "process, and at the kernel log (dmesg)");
	else
		finding_fix(f, "see the kernel log (dmesg), and run the program with "
			       "VERBS_LOG_LEVEL=4");
}

void verbs_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct rdma_limit limit;
	struct trial trial = { .error = -EAGAIN };

	if (d->live)
		system_try(dev->name, &trial);
	if (trial.error == -EAGAIN && rdma_limit_find(d, dev->name, RDMA_OBJECTS_TRIAL, &limit))
		rdma_limit_explain(&limit, dev->name, f);
	else if (!d->live)
		finding_unseen(f, "a copy of a machine's files cannot be tried");
	else if (trial.error)
		verbs_failed(&trial, f);
	else
		finding_ok(f, "the library opens it and makes a PD, CQ, MR and QP");
}
