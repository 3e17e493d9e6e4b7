/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exports the inline functions of rdma_cma.h and rdma_verbs.h, as libibverbs/ffi/verbs.c does for
 * verbs.h.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <infiniband/sa.h>
#include <infiniband/verbs.h>

#include "libibverbs/ffi/ffi.h"

FFI_BEGIN
#define static VERBS_FFI
#define inline
#include <rdma/rdma_verbs.h>
#undef inline
#undef static
FFI_END
