/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of streams that have no meaning for RDMA, and whose values only the kernel can check. Set
 * a value at a temporary socket of the kernel, and read it back. Store the result for rgetsockopt()
 * and for a later TCP connection.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

struct rs_kernel_value {
	socklen_t size; /* 0: not set */
	uint8_t bytes[RS_OPTION_TEXT];
};

static const struct {
	int level, name;
} options[] = {
	{ SOL_SOCKET, SO_BUSY_POLL },
	{ SOL_SOCKET, SO_INCOMING_CPU },
	{ SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_MAX_PACING_RATE },
#ifdef SO_PREFER_BUSY_POLL
	{ SOL_SOCKET, SO_PREFER_BUSY_POLL },
	{ SOL_SOCKET, SO_BUSY_POLL_BUDGET },
#endif
	{ IPPROTO_TCP, TCP_CONGESTION },
	{ IPPROTO_TCP, TCP_FASTOPEN },
	{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	{ IPPROTO_TCP, TCP_THIN_DUPACK },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP },
	{ IPPROTO_IP, IP_MINTTL },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER },
	{ IPPROTO_IPV6, IPV6_RECVERR },
};

int rs_kernel_option_find(int level, int name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level && options[i].name == name)
			return (int)i;
	return -1;
}

/* Set an option of a temporary socket if @value is not NULL. Then read the option. */
static int kernel_ask(int domain, int i, const void *value, socklen_t size,
		      struct rs_kernel_value *ret)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	ret->size = sizeof(ret->bytes);
	if ((value && setsockopt(fd, options[i].level, options[i].name, value, size) < 0) ||
	    getsockopt(fd, options[i].level, options[i].name, ret->bytes, &ret->size) < 0)
		r = -errno;
	close(fd);
	return r;
}

int rs_kernel_option_set(struct rs_socket *s, int i, const void *value, socklen_t size)
{
	struct rs_kernel_value kept;
	int r = value ? kernel_ask(s->domain, i, value, size, &kept) : -EFAULT;

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (!s->kernel_values)
		s->kernel_values = calloc(ARRAY_SIZE(options), sizeof(*s->kernel_values));
	if (s->kernel_values)
		s->kernel_values[i] = kept;
	else
		r = -ENOMEM;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static bool kept_get(struct rs_socket *s, int i, struct rs_kernel_value *ret)
{
	bool kept;

	pthread_mutex_lock(&s->lock);
	kept = s->kernel_values && s->kernel_values[i].size;
	if (kept)
		*ret = s->kernel_values[i];
	pthread_mutex_unlock(&s->lock);
	return kept;
}

int rs_kernel_option_get(struct rs_socket *s, int i, void *value, socklen_t *size)
{
	struct rs_kernel_value kept;
	int r = kept_get(s, i, &kept) ? 0 : kernel_ask(s->domain, i, NULL, 0, &kept);

	if (r < 0)
		return r;
	if (!value || !size || (int)*size < 0)
		return -EINVAL;
	*size = min_of(*size, kept.size);
	memcpy(value, kept.bytes, *size);
	return 0;
}

void rs_kernel_options_inherit(struct rs_socket *child, const struct rs_socket *listener)
{
	if (!listener->kernel_values)
		return;
	child->kernel_values = calloc(ARRAY_SIZE(options), sizeof(*child->kernel_values));
	if (child->kernel_values)
		memcpy(child->kernel_values, listener->kernel_values,
		       ARRAY_SIZE(options) * sizeof(*child->kernel_values));
}

bool rs_kernel_option_row(unsigned int i, struct rs_option_value *ret)
{
	if (i >= ARRAY_SIZE(options))
		return false;
	*ret = (struct rs_option_value){ options[i].level, options[i].name, sizeof(ret->text) };
	return true;
}

bool rs_kernel_option_kept(struct rs_socket *s, unsigned int i, struct rs_option_value *ret)
{
	struct rs_kernel_value kept;

	if (!kept_get(s, (int)i, &kept))
		return false;
	ret->size = kept.size;
	memcpy(ret->text, kept.bytes, sizeof(kept.bytes));
	return true;
}
