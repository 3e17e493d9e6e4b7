/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits of the rdma controller of cgroups for a process. */
#ifndef RDMA_DOCTOR_LIMIT_H
#define RDMA_DOCTOR_LIMIT_H

#include "rdma-doctor/doctor.h"

struct rdma_limit {
	char path[512];	      /* the file with the limit */
	const char *resource; /* "hca_handle": opened devices; "hca_object": objects on them */
	uint64_t max, used;
};

/* Objects of a device that exist at the same time. */
enum {
	RDMA_OBJECTS_TRIAL = 4,	   /* a PD, a CQ, an MR and a QP */
	RDMA_OBJECTS_TRANSFER = 7, /* the same, one more CQ and QP, and an address handle */
};

/* Return whether a cgroup prevents the process from opening @device or from creating @objects. */
bool rdma_limit_find(const struct doctor *d, const char *device, uint64_t objects,
		     struct rdma_limit *ret_limit);

void rdma_limit_explain(const struct rdma_limit *limit, const char *device, struct finding *f);

#endif
