/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes of the unexpected end of a process. */
#ifndef RDMA_DOCTOR_ENDING_H
#define RDMA_DOCTOR_ENDING_H

#include "rdma-doctor/doctor.h"

/* Append the cause, for example "a seccomp filter killed it". @signal: 0: it ended without a signal
 */
void ending_say(int signal, struct text *text);

/* Append a remedy. Return: false if there is none for this signal. */
bool ending_fix(int signal, struct finding *f);

#endif
