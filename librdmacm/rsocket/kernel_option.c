/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of streams that have no meaning for RDMA, and whose values only the kernel can check. A
 * temporary socket of the kernel gets the value, and the value is read back. The result is stored
 * for rgetsockopt() and for a later TCP connection.
 */
#include <string.h>
#include <unistd.h>

#include "librdmacm/rsocket/option_row.h"

/* Set an option of a temporary socket if @value is not NULL. Then read the option if @ret is not
 * NULL. */
static int kernel_ask(int domain, int level, int name, const void *value, socklen_t size,
		      struct rs_option_value *ret)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	if (value && setsockopt(fd, level, name, value, size) < 0)
		r = -errno;
	if (ret)
		*ret = (struct rs_option_value){ level, name, sizeof(ret->text) };
	if (r == 0 && ret && getsockopt(fd, level, name, ret->text, &ret->size) < 0)
		r = -errno;
	close(fd);
	return r;
}

int rs_kernel_option_refuse(struct rs_socket *s, int level, int name, const void *value,
			    socklen_t size)
{
	struct rs_option_value unused;
	int r = kernel_ask(s->domain, level, name, value, size, value ? NULL : &unused);

	return r < 0 ? r : -ENOPROTOOPT;
}

/* Return whether the value is that of a fresh socket. */
static bool is_default(int domain, int level, int name, const void *value, socklen_t size)
{
	struct rs_option_value set, fresh;

	return kernel_ask(domain, level, name, value, size, &set) == 0 &&
	       kernel_ask(domain, level, name, NULL, 0, &fresh) == 0 && set.size == fresh.size &&
	       !memcmp(set.text, fresh.text, set.size);
}

RS_EXPORT bool rs_option_needs_tcp(int domain, int level, int name, const void *value,
				   socklen_t size)
{
	const struct rs_option *option = rs_option_find(level, name);

	return option && option->kind == RS_OPTION_TCP &&
	       !is_default(domain, level, name, value, size);
}

int rs_kernel_option_set(struct rs_socket *s, const struct rs_option *option, const void *value,
			 socklen_t size)
{
	struct rs_option_value set;
	bool of_tcp = option->kind == RS_OPTION_TCP;
	int r = value ? kernel_ask(s->domain, option->level, option->name, value, size,
				   of_tcp ? NULL : &set)
		      : -EFAULT;

	if (r < 0)
		return r;
	if (of_tcp)
		return rs_option_needs_tcp(s->domain, option->level, option->name, value, size)
			       ? -ENOPROTOOPT
			       : 0;
	pthread_mutex_lock(&s->lock);
	r = rs_option_store(s, option, set.text, set.size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int rs_kernel_option_get(struct rs_socket *s, const struct rs_option *option,
			 struct rs_option_value *ret)
{
	bool stored;

	pthread_mutex_lock(&s->lock);
	stored = rs_option_stored(s, option, ret);
	pthread_mutex_unlock(&s->lock);
	return stored ? 0 : kernel_ask(s->domain, option->level, option->name, NULL, 0, ret);
}
