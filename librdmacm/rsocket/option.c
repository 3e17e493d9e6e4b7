/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options. */
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>

#include "librdmacm/rsocket/option_row.h"
#include "librdmacm/rsocket/private.h"

#define LINGER_MAX 32767

/* Return the socket's time in ms of the option. */
static atomic_int *timeout_of(struct rs_socket *s, const struct rs_option *option)
{
	return option->name == SO_RCVTIMEO ? &s->recv_timeout_ms : &s->send_timeout_ms;
}

static int timeout_set(atomic_int *timeout_ms, const void *value, socklen_t size)
{
	struct timeval time;

	if (!value || size < sizeof(time))
		return -EINVAL;
	memcpy(&time, value, sizeof(time));
	if (time.tv_usec < 0 || time.tv_usec >= 1000000)
		return -EDOM;
	if (time.tv_sec < 0 || time.tv_sec >= INT_MAX / 1000 || (!time.tv_sec && !time.tv_usec))
		*timeout_ms = -1;
	else
		*timeout_ms = time.tv_sec * 1000 + (time.tv_usec + 999) / 1000;
	return 0;
}

/* Copy a value of @from_size bytes. As in the kernel, a smaller size cuts the value. */
static int value_give(const void *from, socklen_t from_size, void *value, socklen_t *size)
{
	if (!value || !size || (int)*size < 0)
		return -EINVAL;
	*size = min_of(*size, from_size);
	memcpy(value, from, *size);
	return 0;
}

static int timeout_get(const atomic_int *timeout_ms, void *value, socklen_t *size)
{
	int ms = max_of(atomic_load(timeout_ms), 0);
	const struct timeval time = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	return value_give(&time, sizeof(time), value, size);
}

static int linger_set(struct rs_socket *s, const void *value, socklen_t size)
{
	struct linger linger;

	if (!value || size < sizeof(linger))
		return -EINVAL;
	memcpy(&linger, value, sizeof(linger));
	s->linger_seconds = linger.l_onoff ? min_of(max_of(linger.l_linger, 0), LINGER_MAX) : -1;
	return 0;
}

static int linger_get(struct rs_socket *s, void *value, socklen_t *size)
{
	struct linger linger = { .l_onoff = s->linger_seconds >= 0,
				 .l_linger = max_of(s->linger_seconds, 0) };

	return value_give(&linger, sizeof(linger), value, size);
}

/*
 * Read the value of an option. As with the kernel, only options of IP may have a size of one byte.
 * Most of these may also have a size of 0, which means the value 0.
 */
static int number_take(const struct rs_option *option, const void *value, socklen_t size,
		       int *ret_number)
{
	if (option->level == IPPROTO_IP && !size && option->name != IP_TTL &&
	    option->name != IP_FREEBIND) {
		*ret_number = 0;
		return 0;
	}
	if (!value)
		return -EFAULT;
	if (size < sizeof(*ret_number) && (option->level != IPPROTO_IP || !size))
		return -EINVAL;
	if (size < sizeof(*ret_number))
		*ret_number = *(const uint8_t *)value;
	else
		memcpy(ret_number, value, sizeof(*ret_number));
	/* As in the kernel, any number except 0 turns a switch on. */
	if (option->is_switch)
		*ret_number = *ret_number != 0;
	if (option->has_default && *ret_number == -1)
		*ret_number = option->first;
	*ret_number &= ~option->clears;
	return rs_option_allows(option, *ret_number) ? 0 : -EINVAL;
}

static int int_set(struct rs_socket *s, const struct rs_option *option, const void *value,
		   socklen_t size)
{
	int number, r = number_take(option, value, size, &number);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = option->set(s, number);
	if (r == 0)
		r = rs_option_store(s, option, &number, sizeof(number));
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Set a time, or SO_LINGER. */
static int struct_set(struct rs_socket *s, const struct rs_option *option, const void *value,
		      socklen_t size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = option->kind == RS_OPTION_LINGER ? linger_set(s, value, size)
					     : timeout_set(timeout_of(s, option), value, size);
	if (r == 0)
		r = rs_option_store(s, option, value, rs_option_size(option));
	pthread_mutex_unlock(&s->lock);
	return r;
}

static bool is_of_kernel(const struct rs_option *option)
{
	return option->kind == RS_OPTION_KERNEL || option->kind == RS_OPTION_TCP;
}

static int option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size)
{
	const struct rs_option *option = rs_option_find(level, name);

	if (s->ds && !(option && option->of_datagrams))
		return ds_option_set(s, level, name, value, size);
	if (level == IPPROTO_IPV6 && s->domain != AF_INET6)
		return -ENOPROTOOPT;
	if (option && is_of_kernel(option))
		return rs_kernel_option_set(s, option, value, size);
	if (size < sizeof(int) && level != IPPROTO_IP)
		return -EINVAL; /* the kernel, too, checks the size before the name */
	if (option && option->kind != RS_OPTION_INT)
		return struct_set(s, option, value, size);
	if (!option || !option->set)
		return value ? rs_kernel_option_refuse(s, level, name, value, size) : -EFAULT;
	return int_set(s, option, value, size);
}

RS_EXPORT int rsetsockopt(int fd, int level, int optname, const void *optval, socklen_t optlen)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	if ((int)optlen < 0)
		r = -EINVAL;
	else
		r = option_set(s, level, optname, optval, optlen);
	rs_socket_put(s);
	return rs_ret(r);
}

/* Fill in the members of TCP_INFO that a stream has: its state and the size of segments. */
static int tcp_info_get(struct rs_socket *s, void *value, socklen_t *size)
{
	struct tcp_info info = {};

	if (!value || !size)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	info.tcpi_state = s->state == RS_CONNECTED   ? TCP_ESTABLISHED
			  : s->state == RS_LISTENING ? TCP_LISTEN
			  : rs_is_opening(s)	     ? TCP_SYN_SENT
						     : TCP_CLOSE;
	info.tcpi_snd_mss = info.tcpi_rcv_mss = rs_segment_size(s);
	pthread_mutex_unlock(&s->lock);
	*size = min_of(*size, (socklen_t)sizeof(info));
	memcpy(value, &info, *size);
	return 0;
}

static int int_get(struct rs_socket *s, const struct rs_option *option)
{
	struct rs_option_value stored;

	if (option->get)
		return option->get(s);
	return rs_option_stored(s, option, &stored) ? stored.number : option->first;
}

static int kernel_get(struct rs_socket *s, const struct rs_option *option, void *value,
		      socklen_t *size)
{
	struct rs_option_value found;
	int r = rs_kernel_option_get(s, option, &found);

	return r < 0 ? r : value_give(found.text, found.size, value, size);
}

static int option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size)
{
	const struct rs_option *option = rs_option_find(level, name);
	int number;

	if (level == IPPROTO_TCP && name == TCP_INFO && !s->ds)
		return tcp_info_get(s, value, size);
	if (s->ds && !(option && option->of_datagrams))
		return ds_option_get(s, level, name, value, size);
	if (level == IPPROTO_IPV6 && s->domain != AF_INET6)
		return -EOPNOTSUPP;
	if (!option)
		return rs_kernel_option_refuse(s, level, name, NULL, 0);
	if (is_of_kernel(option))
		return kernel_get(s, option, value, size);
	if (option->kind == RS_OPTION_TIME)
		return timeout_get(timeout_of(s, option), value, size);
	if (option->kind == RS_OPTION_LINGER)
		return linger_get(s, value, size);
	if (!value || !size)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	number = int_get(s, option);
	pthread_mutex_unlock(&s->lock);
	return value_give(&number, sizeof(number), value, size);
}

RS_EXPORT int rgetsockopt(int fd, int level, int optname, void *optval, socklen_t *optlen)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	r = option_get(s, level, optname, optval, optlen);
	rs_socket_put(s);
	return rs_ret(r);
}
