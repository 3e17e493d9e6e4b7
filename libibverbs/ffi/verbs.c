/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The inline functions of verbs.h, as functions: without the word static, the definitions of the
 * header become those of this file. Therefore they exist only once, and the version script is the
 * only list of them.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <infiniband/ib_user_ioctl_verbs.h>
#include <infiniband/verbs_api.h>
#include <linux/types.h>

#include "libibverbs/ffi/ffi.h"

FFI_BEGIN
#define static VERBS_FFI
#define inline
#include <infiniband/verbs.h>
#undef inline
#undef static
FFI_END
