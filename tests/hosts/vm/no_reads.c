/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loaded before a program's libraries: connects without requesting RDMA reads. QEMU's adapter does
 * not report the number of reads that it accepts, and the kernel's driver then assumes 0. Then
 * every librdmacm refuses to request a read, but qperf requests one in every test. */
#include <dlfcn.h>
#include <stddef.h>
#include <rdma/rdma_cma.h>

typedef int connect_fn(struct rdma_cm_id *id, struct rdma_conn_param *param);

static int without_reads(const char *name, struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	connect_fn *real = (connect_fn *)dlsym(RTLD_NEXT, name);
	struct rdma_conn_param fewer;

	if (!param)
		return real(id, param);
	fewer = *param;
	fewer.responder_resources = fewer.initiator_depth = 0;
	return real(id, &fewer);
}

__attribute__((visibility("default"))) int rdma_connect(struct rdma_cm_id *id,
							struct rdma_conn_param *param)
{
	return without_reads("rdma_connect", id, param);
}

__attribute__((visibility("default"))) int rdma_accept(struct rdma_cm_id *id,
						       struct rdma_conn_param *param)
{
	return without_reads("rdma_accept", id, param);
}
