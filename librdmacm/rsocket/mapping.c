/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mappings of a socket: memory that the peer writes to. */
#include <stdlib.h>

#include "librdmacm/rsocket/rs.h"

void rs_mapping_free(struct rs_mapping *m)
{
	LIST_REMOVE(m, of_socket);
	ibv_dereg_mr(m->mr);
	free(m);
}

void rs_iomap_destroy(struct rs_socket *s)
{
	while (!LIST_EMPTY(&s->mappings))
		rs_mapping_free(LIST_FIRST(&s->mappings));
}
