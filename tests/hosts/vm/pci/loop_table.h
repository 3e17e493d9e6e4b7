/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PCI_LOOP_TABLE_H
#define PCI_LOOP_TABLE_H

#include "tests/hosts/vm/pci/loop.h"

extern struct loop_tables {
	struct loop_cq cqs[LOOP_CQS];
	struct loop_srq srqs[LOOP_SRQS];
	struct loop_qp qps[LOOP_QPS];
	/* A pass over the queues ends here. */
	uint32_t cq_end, qp_end;
} loop_tables;

#endif
