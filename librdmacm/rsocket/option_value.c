/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The values of options that a program has set: for rgetsockopt(), for accepted sockets, and for
 * librspreload, which copies them to sockets of TCP and from these.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/option_row.h"

struct rs_stored {
	struct rs_stored *next;
	const struct rs_option *option;
	struct rs_option_value value;
};

static struct rs_stored *stored_find(const struct rs_socket *s, const struct rs_option *option)
{
	struct rs_stored *one = s->stored;

	while (one && one->option != option)
		one = one->next;
	return one;
}

int rs_option_store(struct rs_socket *s, const struct rs_option *option, const void *value,
		    socklen_t size)
{
	struct rs_stored *one = stored_find(s, option);

	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return -ENOMEM;
		one->next = s->stored;
		s->stored = one;
	}
	one->option = option;
	one->value = (struct rs_option_value){ option->level, option->name, size };
	memcpy(one->value.text, value, size);
	return 0;
}

bool rs_option_stored(const struct rs_socket *s, const struct rs_option *option,
		      struct rs_option_value *ret)
{
	const struct rs_stored *one = stored_find(s, option);

	if (one)
		*ret = one->value;
	return one;
}

int rs_options_inherit(struct rs_socket *child, const struct rs_socket *listener)
{
	int r = 0;

	for (const struct rs_stored *one = listener->stored; one && r == 0; one = one->next)
		r = rs_option_store(child, one->option, one->value.text, one->value.size);
	return r;
}

void rs_options_free(struct rs_socket *s)
{
	struct rs_stored *one;

	while ((one = s->stored)) {
		s->stored = one->next;
		free(one);
	}
}

/* ---- for librspreload ---- */

RS_EXPORT bool rs_option_of_tcp(unsigned int *next, struct rs_option_value *ret)
{
	const struct rs_option *option;

	do {
		if (*next >= rs_options_count)
			return false;
		option = &rs_options[(*next)++];
	} while (!rs_option_is_copied(option));
	*ret = (struct rs_option_value){ option->level, option->name, rs_option_size(option) };
	return true;
}

RS_EXPORT bool rs_option_next(int fd, unsigned int *next, struct rs_option_value *ret)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	bool found = false;

	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	while (!found && *next < rs_options_count)
		found = rs_option_stored(s, &rs_options[(*next)++], ret);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return found;
}
