/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct verbs that this library does not have: who calls one gets EOPNOTSUPP. */
#include "providers/kit/absent.h"

ABSENT_POINTER("efa", efadv_create_comp_cntr)
