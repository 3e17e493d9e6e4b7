/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A direct verb that this library does not implement: it logs this and returns EOPNOTSUPP in the
 * form that its callers expect. Its arguments are ignored. Therefore the file that uses these
 * macros does not include the header with the prototypes.
 */
#ifndef PROVIDERS_KIT_ABSENT_H
#define PROVIDERS_KIT_ABSENT_H

#include <errno.h>
#include <stddef.h>

#include "util/log.h"

static inline void absent_say(const char *provider, const char *name)
{
	log_err("%s: %s: this library does not have it", provider, name);
	errno = EOPNOTSUPP;
}

#define ABSENT(provider, type, name, value)                    \
	type name(void);                                       \
	__attribute__((visibility("default"))) type name(void) \
	{                                                      \
		absent_say(provider, #name);                   \
		return value;                                  \
	}
#define ABSENT_NUMBER(provider, name)	ABSENT(provider, int, name, EOPNOTSUPP)
#define ABSENT_NEGATIVE(provider, name) ABSENT(provider, int, name, -EOPNOTSUPP)
#define ABSENT_MINUS1(provider, name)	ABSENT(provider, long, name, -1)
#define ABSENT_POINTER(provider, name)	ABSENT(provider, void *, name, NULL)
#define ABSENT_NOTHING(provider, name)	ABSENT(provider, void, name, )

#endif
