/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Defaults of new sockets, from /etc/rdma/rsocket. */
#ifndef LIBRDMACM_RSOCKET_DEFAULT_H
#define LIBRDMACM_RSOCKET_DEFAULT_H

#include <stdint.h>

struct rs_defaults {
	uint32_t rbuf_size, sbuf_size, sq_size, rq_size, inline_size;
	uint32_t mappings; /* number of mappings that a peer can make */
	uint32_t spin_us;  /* time to poll before a thread sleeps */
};
const struct rs_defaults *rs_defaults(void);

#endif
