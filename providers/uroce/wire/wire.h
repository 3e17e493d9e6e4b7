/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of packets. Only this room reads and writes them.
 *
 * Locks: none. Threads: any, because only constants are shared. Includes: base. Included by: every
 * room but base.
 */
#ifndef UROCE_WIRE_H
#define UROCE_WIRE_H

#include "providers/uroce/base/base.h"
#include "providers/uroce/wire/bth.h"
#include "providers/uroce/wire/grh.h"
#include "providers/uroce/wire/header.h"
#include "providers/uroce/wire/icrc.h"
#include "providers/uroce/wire/mad.h"
#include "providers/uroce/wire/opcode.h"

#endif
