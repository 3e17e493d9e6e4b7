/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The inline functions of ofa_verbs.h as functions, as verbs.c does for verbs.h. */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "libibverbs/ffi/ffi.h"

FFI_BEGIN
#define static VERBS_FFI
#define inline
#include <infiniband/ofa_verbs.h>
#undef inline
#undef static
FFI_END
