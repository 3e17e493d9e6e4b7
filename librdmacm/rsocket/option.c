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

/* Return the socket's time in ms for SO_RCVTIMEO or SO_SNDTIMEO, or NULL. */
static atomic_int *timeout_find(struct rs_socket *s, int level, int name)
{
	if (level != SOL_SOCKET)
		return NULL;
	return name == SO_RCVTIMEO   ? &s->recv_timeout_ms
	       : name == SO_SNDTIMEO ? &s->send_timeout_ms
				     : NULL;
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
	pthread_mutex_lock(&s->lock);
	s->linger_seconds = linger.l_onoff ? min_of(max_of(linger.l_linger, 0), LINGER_MAX) : -1;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int linger_get(struct rs_socket *s, void *value, socklen_t *size)
{
	struct linger linger = { .l_onoff = s->linger_seconds >= 0,
				 .l_linger = max_of(s->linger_seconds, 0) };

	return value_give(&linger, sizeof(linger), value, size);
}

static bool is_linger(const struct rs_socket *s, int level, int name)
{
	return !s->ds && level == SOL_SOCKET && name == SO_LINGER;
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
	*ret_number &= ~option->clears;
	return rs_option_allows(option, *ret_number) ? 0 : -EINVAL;
}

static int option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size)
{
	const struct rs_option *option = rs_option_find(level, name);
	atomic_int *timeout_ms = timeout_find(s, level, name);
	int number, r, kernels = rs_kernel_option_find(level, name);

	if (timeout_ms)
		return timeout_set(timeout_ms, value, size);
	if (is_linger(s, level, name))
		return linger_set(s, value, size);
	if (s->ds && !(option && option->of_datagrams))
		return ds_option_set(s, level, name, value, size);
	if (level == IPPROTO_IPV6 && s->domain != AF_INET6)
		return -ENOPROTOOPT;
	if (kernels >= 0)
		return rs_kernel_option_set(s, kernels, value, size);
	if (size < sizeof(number) && level != IPPROTO_IP)
		return -EINVAL; /* the kernel, too, checks the size before the name */
	if (!option || !option->set)
		return value ? rs_kernel_option_refuse(s, level, name, value, size) : -EFAULT;
	r = number_take(option, value, size, &number);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = option->set(s, number);
	if (r == 0) {
		s->given[option - rs_options] = number;
		s->given_set |= 1ull << (option - rs_options);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
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

static bool is_given(const struct rs_socket *s, unsigned int i)
{
	return s->given_set & 1ull << i;
}

static int option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size)
{
	const struct rs_option *option = rs_option_find(level, name);
	atomic_int *timeout_ms = timeout_find(s, level, name);
	int number, kernels = rs_kernel_option_find(level, name);

	if (level == IPPROTO_TCP && name == TCP_INFO && !s->ds)
		return tcp_info_get(s, value, size);
	if (timeout_ms)
		return timeout_get(timeout_ms, value, size);
	if (is_linger(s, level, name))
		return linger_get(s, value, size);
	if (s->ds && !(option && option->of_datagrams))
		return ds_option_get(s, level, name, value, size);
	if (level == IPPROTO_IPV6 && s->domain != AF_INET6)
		return -EOPNOTSUPP;
	if (kernels >= 0)
		return rs_kernel_option_get(s, kernels, value, size);
	if (!option)
		return rs_kernel_option_refuse(s, level, name, NULL, 0);
	if (!value || !size)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	number = option->get			    ? option->get(s)
		 : is_given(s, option - rs_options) ? s->given[option - rs_options]
						    : option->first;
	pthread_mutex_unlock(&s->lock);
	return value_give(&number, sizeof(number), value, size);
}

/* ---- for librspreload ---- */

static const struct rs_option_value others[] = {
	{ SOL_SOCKET, SO_RCVTIMEO, sizeof(struct timeval) },
	{ SOL_SOCKET, SO_SNDTIMEO, sizeof(struct timeval) },
	{ SOL_SOCKET, SO_LINGER, sizeof(struct linger) },
};

static bool other_is_given(const struct rs_socket *s, int name)
{
	return name == SO_LINGER     ? s->linger_seconds >= 0
	       : name == SO_RCVTIMEO ? s->recv_timeout_ms >= 0
				     : s->send_timeout_ms >= 0;
}

RS_EXPORT bool rs_option_of_tcp(unsigned int *next, struct rs_option_value *ret)
{
	unsigned int i = (*next)++;

	while (i < rs_options_count && (!rs_options[i].set || rs_options[i].level == SOL_RDMA))
		i = (*next)++;
	if (i >= rs_options_count + ARRAY_SIZE(others))
		return rs_kernel_option_row(i - rs_options_count - ARRAY_SIZE(others), ret);
	*ret = i < rs_options_count ? (struct rs_option_value){ rs_options[i].level,
								rs_options[i].name, sizeof(int) }
				    : others[i - rs_options_count];
	return true;
}

static bool option_given(struct rs_socket *s, unsigned int i, struct rs_option_value *ret)
{
	if (i >= rs_options_count + ARRAY_SIZE(others))
		return rs_kernel_option_kept(s, i - rs_options_count - ARRAY_SIZE(others), ret);
	if (i >= rs_options_count)
		return other_is_given(s, ret->name) &&
		       option_get(s, ret->level, ret->name, &ret->number, &ret->size) == 0;
	ret->number = s->given[i];
	return is_given(s, i);
}

RS_EXPORT bool rs_option_next(int fd, unsigned int *next, struct rs_option_value *ret)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	bool found = false;

	if (!s)
		return false;
	while (!found && rs_option_of_tcp(next, ret))
		found = option_given(s, *next - 1, ret);
	rs_socket_put(s);
	return found;
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
