/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ioctls of a umad device. (The kernel's header also lists those of the PSM device /dev/hfi1_N;
 * this tree does not open it.)
 */
#ifndef RDMA_USER_IOCTL_H
#define RDMA_USER_IOCTL_H

#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* The older name. */
#define IB_IOCTL_MAGIC		     RDMA_IOCTL_MAGIC

#define IB_USER_MAD_REGISTER_AGENT   _IOWR(RDMA_IOCTL_MAGIC, 0x01, struct ib_user_mad_reg_req)
#define IB_USER_MAD_UNREGISTER_AGENT _IOW(RDMA_IOCTL_MAGIC, 0x02, __u32)
#define IB_USER_MAD_ENABLE_PKEY	     _IO(RDMA_IOCTL_MAGIC, 0x03)
#define IB_USER_MAD_REGISTER_AGENT2  _IOWR(RDMA_IOCTL_MAGIC, 0x04, struct ib_user_mad_reg_req2)

#endif /* RDMA_USER_IOCTL_H */
