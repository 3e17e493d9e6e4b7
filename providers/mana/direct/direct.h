/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of direct verbs share. */
#ifndef MANA_DIRECT_H
#define MANA_DIRECT_H

#include "providers/mana/mana.h"

#define MANADV_EXPORT __attribute__((visibility("default")))

/* The context as mana's; NULL, with a line and errno, when it is of another device. */
struct mana_context *manadv_context(struct ibv_context *ctx, const char *function);

#endif
