/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef INFINIBAND_SA_KERN_ABI_H
#define INFINIBAND_SA_KERN_ABI_H

#warning "infiniband/sa-kern-abi.h is obsolete: include rdma/ib_user_sa.h"

#include <rdma/ib_user_sa.h>

/* The names old sources know the kernel's path record by. */
#define ib_kern_path_rec  ib_user_path_rec
#define ibv_kern_path_rec ib_user_path_rec

#endif
