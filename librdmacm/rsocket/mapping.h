/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mappings: memory that the peer writes to by offset. */
#ifndef LIBRDMACM_RSOCKET_MAPPING_H
#define LIBRDMACM_RSOCKET_MAPPING_H

#include "librdmacm/rsocket/socket.h"

struct rs_mapping {
	LIST_ENTRY(rs_mapping) of_socket;
	struct ibv_mr *mr;
	uint64_t offset;
	int index; /* index in the peer's list; -1: not announced */
	bool pending;
};

/* Tell the peer of new mappings. The caller has the turn to send. Return: 0 or -errno. */
int rs_iomap_tell(struct rs_socket *s, enum rs_wait wait);
/* mapping.c */
void rs_iomap_destroy(struct rs_socket *s);
void rs_mapping_free(struct rs_mapping *m);

#endif
