/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections by the ids in messages, and by their deadlines. Call these functions under the lock.
 */
#ifndef IBCM_TABLE_H
#define IBCM_TABLE_H

#include <stdint.h>

#include "libibverbs/provider.h"

struct ibcm_id;

/*
 * Return the prefix of a communication id. It shows which process of the host assigned the id: see
 * verbs_gsi_open().
 */
static inline uint16_t ibcm_id_prefix(uint32_t id)
{
	return id >> (32 - VERBS_GSI_PREFIX_BITS);
}

/*
 * Assign a communication id to the connection. @prefix: its first bits. -EUSERS: there are too many
 * connections.
 */
int ibcm_table_add(struct ibcm_id *iid, uint16_t prefix);
void ibcm_table_remove(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find(uint32_t local_id);
/* From now on the connection can be found by the peer's id and by its QP. */
void ibcm_table_add_peer(struct ibcm_id *iid);
void ibcm_table_remove_peer(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find_peer(const union ibv_gid *gid, uint64_t guid, uint32_t remote_id);
struct ibcm_id *ibcm_table_find_qpn(const union ibv_gid *gid, uint64_t guid, uint32_t qpn);
/* Hash values that peers choose, with a secret seed. */
uint32_t ibcm_hash(const union ibv_gid *gid, uint64_t guid, uint32_t number);
/* Return the number of unused communication ids. */
uint32_t ibcm_table_room(void);
/* Call @fn for each connection. @fn may remove it. */
void ibcm_table_each(void (*fn)(struct ibcm_id *iid, void *arg), void *arg);

/* Update the heap of deadlines from conn.deadline. -ENOMEM: the connection has no deadline. */
int ibcm_heap_update(struct ibcm_id *iid);
/* Return the identifier with the earliest deadline, or NULL. */
struct ibcm_id *ibcm_heap_first(void);

#endif
