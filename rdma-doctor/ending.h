/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ended a process that should have gone on. */
#ifndef RDMA_DOCTOR_ENDING_H
#define RDMA_DOCTOR_ENDING_H

#include "rdma-doctor/doctor.h"

/* "a seccomp filter killed it". @signal: 0: it ended by itself. */
void ending_say(int signal, struct text *text);

/* What to do about it. Return: false, without a fix: the signal does not tell. */
bool ending_fix(int signal, struct finding *f);

#endif
