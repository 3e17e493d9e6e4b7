/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening a device, as far as it is the same whatever the device is. */
#ifndef PROVIDERS_KIT_CONTEXT_H
#define PROVIDERS_KIT_CONTEXT_H

#include "libibverbs/provider.h"

/* -EOPNOTSUPP of a context that another process opened: rings and registers are in its memory. Said
 * in the log. */
int kit_context_check(struct verbs_context *vctx, const struct verbs_open_context *in);
/* The kernel made none, because of @r, which is said in the log and returned. */
int kit_context_refused(struct verbs_context *vctx, int r);
/* Both, around the kernel's command. @udata: of the driver, or NULL */
int kit_context_open(struct verbs_context *vctx, const struct verbs_open_context *in,
		     struct verbs_udata *udata);
/* Print the firmware's version as the driver's sysfs does: @digits of the last number, at least. */
void kit_context_print_fw(struct ibv_device_attr *attr, uint64_t version, int digits);
/* Query a port by the kernel's command. Failures are logged. */
int kit_context_port(struct ibv_context *ibctx, unsigned int number,
		     struct ibv_port_attr *ret_attr);

#endif
