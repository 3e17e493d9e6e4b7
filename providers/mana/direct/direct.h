/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of direct verbs share. */
#ifndef MANA_DIRECT_H
#define MANA_DIRECT_H

#include "providers/mana/mana.h"

#define MANADV_EXPORT __attribute__((visibility("default")))

/* Return the context as that of mana. If it belongs to another device, log this and return NULL
 * with errno. */
struct mana_context *manadv_context(struct ibv_context *ctx, const char *function);

#endif
