/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * struct ibv_port_attr has grown twice. Whatever length a program was built with, the library
 * writes no byte behind it, and the part the program knows is the same.
 */
#include "old.h"

#define LENGTH_FUNCTION 48  /* before port_cap_flags2: what the function of the library writes */
#define LENGTH_44	52  /* length with port_cap_flags2 */
#define LENGTH_BEYOND	256 /* a program newer than the library */
#define LENGTH_KNOWN	64  /* no library fills more of it yet */

union port_buffer {
	struct ibv_port_attr attr;
	unsigned char bytes[512];
};

/* Query as the macro does in a program that knows @length bytes. */
static void query_with_length(struct ibv_context *context, union port_buffer *buffer, size_t length)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_port);

	EXPECT(vctx);
	canary_set(buffer, sizeof(*buffer));
	EXPECT(vctx->query_port(context, 1, &buffer->attr, length) == 0);
	EXPECT(canary_lives(buffer, length, sizeof(*buffer)));
}

#undef ibv_query_port

int main(void)
{
	struct ibv_context *context = old_device_open();
	union port_buffer now, buffer;

	canary_set(&now, sizeof(now));
	EXPECT(___ibv_query_port(context, 1, &now.attr) == 0);
	EXPECT(canary_lives(&now, sizeof(struct ibv_port_attr), sizeof(now)));
	EXPECT(now.attr.state == IBV_PORT_ACTIVE);
	EXPECT(now.attr.gid_tbl_len > 0);
	EXPECT(now.attr.link_layer != 0);

	query_with_length(context, &buffer, LENGTH_44);
	EXPECT(!memcmp(&buffer, &now, LENGTH_44));
	query_with_length(context, &buffer, LENGTH_FUNCTION);
	EXPECT(!memcmp(&buffer, &now, LENGTH_FUNCTION));
	query_with_length(context, &buffer, LENGTH_BEYOND);
	EXPECT(!memcmp(&buffer, &now, LENGTH_44));
	for (size_t i = LENGTH_KNOWN; i < LENGTH_BEYOND; i++)
		EXPECT(buffer.bytes[i] == 0);

	canary_set(&buffer, sizeof(buffer));
	EXPECT(ibv_query_port(context, 1, (struct _compat_ibv_port_attr *)&buffer) == 0);
	EXPECT(canary_lives(&buffer, LENGTH_FUNCTION, sizeof(buffer)));
	EXPECT(!memcmp(&buffer, &now, LENGTH_FUNCTION));

	EXPECT(ibv_close_device(context) == 0);
	return 0;
}
