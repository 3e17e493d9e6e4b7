/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program that sends the last messages after this process was killed. */
#ifndef UROCE_HOST_GUARDIAN_H
#define UROCE_HOST_GUARDIAN_H

#include "providers/uroce/host/objects.h"

/* Operations of the provider. */
int uroce_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote);
int uroce_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad);

/* Free @guardian, which may be NULL. Closing its pipe also ends the guardian process. */
void uroce_guardian_free(struct uroce_guardian *guardian);
/* Close the pipe in a forked child, because the guardian waits for the end of the parent only. */
void uroce_guardian_forked(const struct uroce_guardian *guardian);

#endif
