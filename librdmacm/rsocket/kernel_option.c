/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of streams that have no meaning for RDMA, and whose values only the kernel can check. A
 * temporary socket of the kernel gets the value, and the value is read back. The result is stored
 * for rgetsockopt() and for a later TCP connection. rsocket(7) lists what happens to each option.
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

/*
 * @of_tcp: only TCP can serve the option, and a program that sets it depends on it. A stream over
 * RDMA refuses it. librspreload then replaces a socket without a connection by a TCP socket.
 */
static const struct {
	int level, name;
	bool of_tcp;
} options[] = {
	{ SOL_SOCKET, SO_BUSY_POLL },
	{ SOL_SOCKET, SO_INCOMING_CPU },
	{ SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_MAX_PACING_RATE },
	{ SOL_SOCKET, SO_DEBUG },
	{ SOL_SOCKET, SO_NO_CHECK },
	{ SOL_SOCKET, SO_BSDCOMPAT },
	{ SOL_SOCKET, SO_RXQ_OVFL },
	{ SOL_SOCKET, SO_NOFCS },
	{ SOL_SOCKET, SO_SELECT_ERR_QUEUE },
#ifdef SO_PREFER_BUSY_POLL
	{ SOL_SOCKET, SO_PREFER_BUSY_POLL },
	{ SOL_SOCKET, SO_BUSY_POLL_BUDGET },
#endif
#ifdef SO_TXREHASH
	{ SOL_SOCKET, SO_TXREHASH },
#endif
#ifdef SO_RCVMARK
	{ SOL_SOCKET, SO_RCVMARK },
#endif
	{ SOL_SOCKET, SO_BINDTODEVICE, .of_tcp = true },
#ifdef SO_BINDTOIFINDEX
	{ SOL_SOCKET, SO_BINDTOIFINDEX, .of_tcp = true },
#endif
	{ IPPROTO_TCP, TCP_CONGESTION },
	{ IPPROTO_TCP, TCP_FASTOPEN },
	{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	{ IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE },
	{ IPPROTO_TCP, TCP_THIN_DUPACK },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP },
	{ IPPROTO_TCP, TCP_MD5SIG, .of_tcp = true },
	{ IPPROTO_TCP, TCP_MD5SIG_EXT, .of_tcp = true },
	{ IPPROTO_IP, IP_MINTTL },
	/* A TCP socket receives no ancillary data, and cannot send to multicast groups. */
	{ IPPROTO_IP, IP_PKTINFO },
	{ IPPROTO_IP, IP_RECVTTL },
	{ IPPROTO_IP, IP_RECVTOS },
	{ IPPROTO_IP, IP_RECVOPTS },
	{ IPPROTO_IP, IP_RETOPTS },
	{ IPPROTO_IP, IP_RECVORIGDSTADDR },
	{ IPPROTO_IP, IP_MULTICAST_IF },
	{ IPPROTO_IP, IP_MULTICAST_TTL },
	{ IPPROTO_IP, IP_MULTICAST_LOOP },
	{ IPPROTO_IP, IP_MULTICAST_ALL },
	{ IPPROTO_IP, IP_TRANSPARENT, .of_tcp = true },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER },
	{ IPPROTO_IPV6, IPV6_RECVERR },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS },
	{ IPPROTO_IPV6, IPV6_RECVRTHDR },
	{ IPPROTO_IPV6, IPV6_RECVHOPOPTS },
	{ IPPROTO_IPV6, IPV6_RECVDSTOPTS },
	{ IPPROTO_IPV6, IPV6_DONTFRAG },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP },
	{ IPPROTO_IPV6, IPV6_AUTOFLOWLABEL },
	{ IPPROTO_IPV6, IPV6_MINHOPCOUNT },
	{ IPPROTO_IPV6, IPV6_TRANSPARENT, .of_tcp = true },
};

int rs_kernel_option_find(int level, int name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level && options[i].name == name)
			return (int)i;
	return -1;
}

/* Set an option of a temporary socket if @value is not NULL. Then read the option if @ret is not
 * NULL. */
static int kernel_ask(int domain, int level, int name, const void *value, socklen_t size,
		      struct rs_kernel_value *ret)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	if (value && setsockopt(fd, level, name, value, size) < 0)
		r = -errno;
	if (ret)
		ret->size = sizeof(ret->bytes);
	if (r == 0 && ret && getsockopt(fd, level, name, ret->bytes, &ret->size) < 0)
		r = -errno;
	close(fd);
	return r;
}

int rs_kernel_option_refuse(struct rs_socket *s, int level, int name, const void *value,
			    socklen_t size)
{
	struct rs_kernel_value kept;
	int r = kernel_ask(s->domain, level, name, value, size, value ? NULL : &kept);

	return r < 0 ? r : -ENOPROTOOPT;
}

RS_EXPORT bool rs_option_is_of_tcp(int level, int name)
{
	int i = rs_kernel_option_find(level, name);

	return i >= 0 && options[i].of_tcp;
}

int rs_kernel_option_set(struct rs_socket *s, int i, const void *value, socklen_t size)
{
	struct rs_kernel_value kept;
	int r = value ? kernel_ask(s->domain, options[i].level, options[i].name, value, size,
				   options[i].of_tcp ? NULL : &kept)
		      : -EFAULT;

	if (r == 0 && options[i].of_tcp)
		r = -ENOPROTOOPT;
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
	int r = kept_get(s, i, &kept)
			? 0
			: kernel_ask(s->domain, options[i].level, options[i].name, NULL, 0, &kept);

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
