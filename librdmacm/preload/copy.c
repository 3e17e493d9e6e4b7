/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a socket that takes the place of another one. */
#include <fcntl.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"
#include "util/env.h"

void socket_sizes_set(int rs)
{
	static const struct {
		enum env_name name;
		int option;
	} sizes[] = {
		{ ENV_RS_SQ_SIZE, RDMA_SQSIZE },
		{ ENV_RS_RQ_SIZE, RDMA_RQSIZE },
		{ ENV_RS_INLINE, RDMA_INLINE },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		const char *text = env_get(sizes[i].name);
		int value = text ? atoi(text) : 0;

		if (value > 0 &&
		    RS(rsetsockopt(rs, SOL_RDMA, sizes[i].option, &value, sizeof(value))) < 0)
			log_err("%s=%s: %s", env_variables[sizes[i].name].name, text,
				strerror(errno));
	}
}

/* Return whether the option has the value of a fresh socket: then the program did not set it. */
static bool is_default(int fresh, const struct rs_option_value *option)
{
	struct rs_option_value other = *option;

	return real()->getsockopt(fresh, option->level, option->name, &other.number, &other.size) <
		       0 ||
	       !memcmp(&other.number, &option->number, option->size);
}

static bool is_buffer(const struct rs_option_value *option)
{
	return option->level == SOL_SOCKET &&
	       (option->name == SO_SNDBUF || option->name == SO_RCVBUF);
}

/*
 * Return whether the program has set the size of a buffer. The kernel changes the other sizes by
 * itself.
 */
static bool is_locked(int tcp, const struct rs_option_value *option)
{
#ifdef SO_BUF_LOCK
	int lock = option->name == SO_SNDBUF ? SOCK_SNDBUF_LOCK : SOCK_RCVBUF_LOCK, locks = 0;
	socklen_t size = sizeof(locks);

	return real()->getsockopt(tcp, SOL_SOCKET, SO_BUF_LOCK, &locks, &size) == 0 && locks & lock;
#else
	return false;
#endif
}

/*
 * Return whether to copy the option, and turn the size of a buffer into the value to set, which is
 * half of it.
 */
static bool is_kept(int tcp, struct rs_option_value *option)
{
	if (!is_buffer(option))
		return true;
	option->number /= 2;
	return is_locked(tcp, option);
}

void socket_options_copy(int tcp, int rs)
{
	int domain = AF_INET, fresh;
	socklen_t size = sizeof(domain);
	struct rs_option_value option;
	unsigned int next = 0;

	socket_sizes_set(rs);
	real()->getsockopt(tcp, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	fresh = real()->socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
	while (rs_option_of_tcp(&next, &option))
		if (real()->getsockopt(tcp, option.level, option.name, &option.number,
				       &option.size) == 0 &&
		    !is_default(fresh, &option) && is_kept(tcp, &option))
			RS(rsetsockopt(rs, option.level, option.name, &option.number, option.size));
	if (fresh >= 0)
		real()->close(fresh);
}

void socket_options_give(int rs, int fd)
{
	struct rs_option_value option;
	unsigned int next = 0;

	while (RS(rs_option_next(rs, &next, &option)))
		if (option.level != SOL_RDMA)
			real()->setsockopt(fd, option.level, option.name, &option.number,
					   option.size);
	real()->fcntl(fd, F_SETFL, (void *)(intptr_t)RS(rfcntl(rs, F_GETFL)));
}

int socket_option(int rs, int name)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return RS(rgetsockopt(rs, SOL_SOCKET, name, &value, &size)) < 0 ? -1 : value;
}

int socket_fresh(int rs)
{
	int fresh = RS(rsocket(socket_option(rs, SO_DOMAIN), SOCK_STREAM | SOCK_CLOEXEC, 0));
	struct rs_option_value option;
	unsigned int next = 0;
	int flags;

	if (fresh < 0)
		return -1;
	while (RS(rs_option_next(rs, &next, &option)))
		RS(rsetsockopt(fresh, option.level, option.name, &option.number, option.size));
	flags = RS(rfcntl(rs, F_GETFL));
	RS(rfcntl(fresh, F_SETFL, flags));
	return fresh;
}
