/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lowest room, which all others use: addresses, bytes, the clock, locks, fences, copies that
 * survive a fault, mappings, pipes and timers.
 *
 * Locks: struct uroce_lock is the lock of the data path. The lock of the timer wheel is taken last
 * of all. Threads: any, except where a header says otherwise. Includes: util/ and the public verbs
 * headers only. Included by: every room.
 */
#ifndef UROCE_BASE_H
#define UROCE_BASE_H

#include "providers/uroce/base/address.h"
#include "providers/uroce/base/call.h"
#include "providers/uroce/base/bytes.h"
#include "providers/uroce/base/clock.h"
#include "providers/uroce/base/copy.h"
#include "providers/uroce/base/fence.h"
#include "providers/uroce/base/lock.h"
#include "providers/uroce/base/mapping.h"
#include "providers/uroce/base/pipe.h"
#include "providers/uroce/base/timer.h"
#include "providers/uroce/base/vm.h"
#include "util/log.h"
#include "util/util.h"

#endif
