/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of processors as the kernel writes them: "0-3,8". */
#ifndef RDMA_DOCTOR_CPULIST_H
#define RDMA_DOCTOR_CPULIST_H

#include <sched.h>
#include <stdbool.h>

/* Parse the list. Numbers above CPU_SETSIZE are left out. Return: whether the text is a list. */
bool cpulist_parse(const char *text, cpu_set_t *ret_set);
/* Return whether the sets have a processor in common. */
bool cpulist_overlap(const cpu_set_t *a, const cpu_set_t *b);

#endif
