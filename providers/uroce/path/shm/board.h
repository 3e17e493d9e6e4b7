/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this process shows to its peers. A peer may still be copying when an entry has gone. */
#ifndef UROCE_BOARD_H
#define UROCE_BOARD_H

#include "providers/uroce/path/shm/shm.h"

/* Show that QP @qpn receives from @peer_qpn as @state says (shm_qp_state()) and grants peers access
 * to regions of @pd. One caller at a time for a QP. */
void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t state,
			 uint32_t peer_qpn);
/* Show that QP @qpn does not receive. A peer may still be copying: uroce_board_qp_wait(). */
void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn);
/* Return whether the board grants peers an access that is not in @access. */
bool uroce_board_qp_loses(struct uroce_shm *shm, uint32_t qpn, uint32_t access);
/* Show whether peers may fetch payloads of the QP by reference. After false, a peer may still be
 * copying: uroce_board_qp_wait(). */
void uroce_board_qp_sends(struct uroce_shm *shm, uint32_t qpn, bool sends);
/*
 * Wait until the process of @peer_qpn, to which @qpn is or was connected, has finished the copies
 * that the QP permitted. These are operations on memory of this process and fetches of payloads by
 * reference. Hold no lock.
 */
void uroce_board_qp_wait(struct uroce_shm *shm, uint32_t qpn, uint32_t peer_qpn);
/* Return whether the process of @slot makes such a copy at the moment. */
bool uroce_board_qp_used(struct uroce_shm *shm, uint32_t qpn, uint16_t slot);

struct shm_region {
	uint64_t iova;
	uint64_t length;
	uintptr_t base;
	uint32_t pd;
	uint32_t access;
};
/* Show that peers may access the region by @key. One caller at a time. */
void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region);
/* Take the key off the board. A peer may still be copying. */
void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key);
/* Wait until no peer copies to or from the region of @key, which is hidden. No lock held. */
void uroce_board_key_wait(struct uroce_shm *shm, uint32_t key);
/* Wait until no thread reads the lane of a peer that has been taken out of the table. */
void uroce_board_wait(struct uroce_shm *shm);

/* Show that the region of @key is at @place of @segment. Call it after the key was shown and before
 * the application gets the key. */
void uroce_board_key_place(struct uroce_shm *shm, uint32_t key, uint64_t segment, uint64_t place);

#endif
