/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trace mode writes the actions of a provider as lines of text. Queue memory is compared with a
 * copy at each step, command and register store; stores to registers are executed one by one
 * (store.c). Threads take turns: a command, a mapping, its end and a store to a register hold
 * device_lock. The next thread that compares writes the memory stores of all threads into the
 * trace. */
#ifndef DEVICES_TRACE_H
#define DEVICES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/adapters/lab/device/device.h"

struct region {
	char name[40];
	uint8_t *at, *copy; /* copy: of watched memory */
	size_t length;
	bool registers;
};

bool trace_on(void);
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_fields(const struct field *fields, const void *request, size_t length);
/* "&qp0.sq+0x40": an address of the process by name; a static buffer, one of four. */
const char *trace_pointer(uint64_t address);
/* "00010203 04050607" */
void trace_hex(char *ret, const uint8_t *bytes, size_t length);

/* Write the changes of watched memory since the last call. */
void trace_flush(void);
void trace_watch(const char *name, const void *at, size_t length);
void trace_watch_object(const struct object *object, const char *what, const void *at,
			size_t length);
/* Stop watching the memory of an object, for example qp0.sq and qp0.record of qp0. */
void trace_unwatch(const struct object *object);
void trace_registers(const char *name, void *at, size_t length);
/* Return the name of the region that began here and is unmapped now, or NULL. */
const char *trace_unmap(const void *at);
struct region *trace_find(uint64_t address);
/* The device writes. */
void trace_device_writes(void *to, const void *bytes, size_t length);
/* The same without a line: the bytes may have an address, which is not the same in each run. */
void trace_device_hides(void *to, const void *bytes, size_t length);

/* store.c */
void store_watch(struct region *region);

#endif
