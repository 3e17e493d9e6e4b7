/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to option.c and option_row.c: the table of the options whose value is an int. */
#ifndef LIBRDMACM_RSOCKET_OPTION_ROW_H
#define LIBRDMACM_RSOCKET_OPTION_ROW_H

#include "librdmacm/rsocket/rs.h"

/*
 * An option whose value is an int: all except times and SO_LINGER. @set: NULL if the option is
 * read-only. @get: NULL if the value is only stored. A setter gets the program's value and returns
 * 0 or -errno.
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
	bool is_switch; /* 0 or 1 */
	int clears;	/* bits that are not stored */
};

extern const struct rs_option rs_options[];
extern const unsigned int rs_options_count;

/* Return the row of an option, or NULL. */
const struct rs_option *rs_option_find(int level, int name);
/* Return whether @number is allowed. Setters check the values of their options themselves. */
bool rs_option_allows(const struct rs_option *option, int number);
/* Return the MTU of the path, because the device cuts messages into segments of this size. */
int rs_segment_size(struct rs_socket *s);

#endif
