/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Macros for the library for other languages. */
#ifndef LIBIBVERBS_FFI_FFI_H
#define LIBIBVERBS_FFI_FFI_H

#define VERBS_FFI __attribute__((visibility("default")))

/*
 * Put these around a header to compile its inline functions as functions. No earlier code may
 * declare these functions.
 */
#define FFI_BEGIN                                                                                 \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-prototypes\"") \
		_Pragma("GCC diagnostic ignored \"-Wattributes\"")
#define FFI_END _Pragma("GCC diagnostic pop")

#endif
