/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <string.h>

#include "rdma-doctor/ending.h"

void ending_say(int signal, struct text *text)
{
	if (signal == SIGSYS)
		text_add(text, "a seccomp filter killed it");
	else if (signal == SIGKILL)
		text_add(text, "it was killed, perhaps for lack of memory");
	else if (signal == SIGXFSZ)
		text_add(text, "the limit of the size of files ended it");
	else if (signal)
		text_add(text, "it crashed (%s): the provider or the library is broken",
			 strsignal(signal));
	else
		text_add(text, "it ended: the provider or the library is broken");
}

bool ending_fix(int signal, struct finding *f)
{
	if (signal == SIGSYS)
		finding_fix(f, "permit the system call that the audit log names (ausearch -m "
			       "SECCOMP, or dmesg): SystemCallFilter= of a unit, the seccomp "
			       "profile of a container");
	else if (signal == SIGKILL)
		finding_fix(f, "see the kernel log (dmesg), and the memory limit of the cgroup");
	else if (signal == SIGXFSZ)
		finding_fix(f, "raise the limit: ulimit -f unlimited, LimitFSIZE= of a unit");
	else
		return false;
	return true;
}
