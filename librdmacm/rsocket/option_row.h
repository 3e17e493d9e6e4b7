/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the files of options: the table of all options, and the values that a program has set.
 */
#ifndef LIBRDMACM_RSOCKET_OPTION_ROW_H
#define LIBRDMACM_RSOCKET_OPTION_ROW_H

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

enum rs_option_kind {
	RS_OPTION_INT,
	RS_OPTION_TIME,	  /* a struct timeval */
	RS_OPTION_LINGER, /* SO_LINGER */
	/* The option has no meaning for RDMA. A temporary socket of the kernel checks its value. */
	RS_OPTION_KERNEL,
	/*
	 * Only TCP can serve the option, and a program that sets it depends on it. A stream over
	 * RDMA refuses all values except the default. librspreload then replaces a socket without a
	 * connection by a TCP socket.
	 */
	RS_OPTION_TCP,
};

/*
 * @set: NULL if the option is read-only. @get: NULL if the value is only stored. Both belong to
 * options whose value is an int. A setter gets the program's value and returns 0 or -errno.
 */
struct rs_option {
	int level;
	int name;
	int (*set)(struct rs_socket *s, int value);
	int (*get)(struct rs_socket *s);
	/* datagram sockets have the option here; their other options are those of UDP */
	bool of_datagrams;
	/* An option without @get is stored for rgetsockopt() and has no effect. */
	int first, least, most;
	bool is_switch;	  /* 0 or 1 */
	bool has_default; /* a program sets -1 for the default, which is @first */
	int clears;	  /* bits that are not stored */
	enum rs_option_kind kind;
};

extern const struct rs_option rs_options[];
extern const unsigned int rs_options_count;

/* Return the row of an option, or NULL. */
const struct rs_option *rs_option_find(int level, int name);
/* Return whether @number is allowed. Setters check the values of their options themselves. */
bool rs_option_allows(const struct rs_option *option, int number);
/* Return the largest size of a value. */
socklen_t rs_option_size(const struct rs_option *option);
/* Return whether a TCP socket has the option, and programs set it. */
bool rs_option_is_copied(const struct rs_option *option);
/* Return the MTU of the path, because the device cuts messages into segments of this size. */
int rs_segment_size(struct rs_socket *s);

/* ---- option_value.c: the values that a program has set ---- */

/* Store a value. @lock of the socket is held. Return: 0 or -ENOMEM. */
int rs_option_store(struct rs_socket *s, const struct rs_option *option, const void *value,
		    socklen_t size);
/* Find the value of an option. @lock of the socket is held. Return: false: it was not set. */
bool rs_option_stored(const struct rs_socket *s, const struct rs_option *option,
		      struct rs_option_value *ret);

/* ---- kernel_option.c: options that the kernel checks ---- */

int rs_kernel_option_set(struct rs_socket *s, const struct rs_option *option, const void *value,
			 socklen_t size);
int rs_kernel_option_get(struct rs_socket *s, const struct rs_option *option,
			 struct rs_option_value *ret);
/*
 * Return the error for an option that streams do not have. It is the error of the kernel's TCP, or
 * -ENOPROTOOPT if only TCP can serve the option. @value: NULL if the option is read.
 */
int rs_kernel_option_refuse(struct rs_socket *s, int level, int name, const void *value,
			    socklen_t size);

#endif
