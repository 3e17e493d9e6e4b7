/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Export the inline functions of ofa_verbs.h. verbs.c exports those of verbs.h. */
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
