/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/shim/trace.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/adapters/lab/scenario/lab.h"
#include "tests/adapters/lab/shim/shim.h"

enum {
	MAX_REGIONS = 512,
	ROW = 16,
	WIDEST = 128
};

static struct region regions[MAX_REGIONS];
static int count;

/* The file, or -1. */
static int file(void)
{
	static int fd = -2;
	const char *path;

	if (fd == -2) {
		path = device ? getenv("DEVICES_TRACE") : NULL;
		fd = path ? real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	}
	return fd;
}

bool trace_on(void)
{
	return file() >= 0;
}

static void line(const char *format, va_list ap)
{
	char text[2048];
	int length = vsnprintf(text, sizeof(text) - 1, format, ap);

	if (length > (int)sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length++] = '\n';
	if (real_write(file(), text, length) != length)
		abort();
}

void trace_line(const char *format, ...)
{
	va_list ap;

	if (!trace_on())
		return;
	va_start(ap, format);
	line(format, ap);
	va_end(ap);
}

struct region *trace_find(uint64_t address)
{
	for (int i = count; i--;) {
		if (address - (uintptr_t)regions[i].at < regions[i].length)
			return &regions[i];
	}
	return NULL;
}

static struct region *add(const char *name, const void *at, size_t length)
{
	struct region *region = &regions[count];

	if (count == MAX_REGIONS) {
		trace_line("! too many regions");
		abort();
	}
	count++;
	*region = (struct region){ .at = (uint8_t *)at, .length = length };
	snprintf(region->name, sizeof(region->name), "%s", name);
	return region;
}

static void drop(int i)
{
	free(regions[i].copy);
	memmove(&regions[i], &regions[i + 1], (--count - i) * sizeof(regions[0]));
}

void trace_watch(const char *name, const void *at, size_t length)
{
	struct region *region;

	if (!trace_on() || !at || !length)
		return;
	region = add(name, at, length);
	region->copy = malloc(length);
	if (!region->copy)
		abort();
	memcpy(region->copy, at, length);
}

void trace_watch_object(const struct object *object, const char *what, const void *at,
			size_t length)
{
	char name[40];

	snprintf(name, sizeof(name), "%s.%s", object_name(object->type, object->handle), what);
	trace_watch(name, at, length);
}

void trace_unwatch(const struct object *object)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "%s.", object_name(object->type, object->handle));
	for (int i = count; i--;) {
		if (!regions[i].registers && !strncmp(regions[i].name, prefix, strlen(prefix)))
			drop(i);
	}
}

void trace_registers(const char *name, void *at, size_t length)
{
	struct region *region;

	if (!trace_on())
		return;
	region = add(name, at, length);
	region->registers = true;
	store_watch(region);
}

const char *trace_unmap(const void *at)
{
	static char name[40];

	for (int i = 0; i < count; i++) {
		if (regions[i].at != at)
			continue;
		memcpy(name, regions[i].name, sizeof(name));
		drop(i);
		return name;
	}
	return NULL;
}

const char *trace_pointer(uint64_t address)
{
	static char texts[4][80];
	static unsigned next;
	char *text = texts[next++ % 4];
	const struct region *region = trace_find(address);
	size_t offset = region ? address - (uintptr_t)region->at : 0;

	if (!address)
		return "0";
	if (!region)
		return "<pointer>";
	if (offset)
		snprintf(text, sizeof(texts[0]), "&%s+0x%zx", region->name, offset);
	else
		snprintf(text, sizeof(texts[0]), "&%s", region->name);
	return text;
}

void trace_hex(char *ret, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		ret += sprintf(ret, i && i % 4 == 0 ? " %02x" : "%02x", bytes[i]);
}

/* Bytes that the device ignores keep their old value in the row. */
static void look(const struct region *region, size_t at, size_t length, uint8_t *ret_row)
{
	unsigned ignored = device->ignored ? device->ignored(region->name, at) : 0;

	for (size_t i = 0; i < length; i++)
		ret_row[i] = ignored >> i & 1 ? region->copy[at + i] : region->at[at + i];
}

static void compare(struct region *region)
{
	char text[3 * ROW + 1];
	uint8_t row[ROW];
	size_t length;

	for (size_t at = 0; at < region->length; at += ROW) {
		length = region->length - at < ROW ? region->length - at : ROW;
		look(region, at, length, row);
		if (!memcmp(row, region->copy + at, length))
			continue;
		memcpy(region->copy + at, row, length);
		trace_hex(text, row, length);
		trace_line("    memory   %s+0x%04zx: %s", region->name, at, text);
	}
}

void trace_flush(void)
{
	for (int i = 0; i < count; i++) {
		if (regions[i].copy)
			compare(&regions[i]);
	}
}

void trace_device_hides(void *to, const void *bytes, size_t length)
{
	struct region *region = trace_on() ? trace_find((uintptr_t)to) : NULL;

	memcpy(to, bytes, length);
	if (region && region->copy)
		memcpy(region->copy + ((uint8_t *)to - region->at), bytes, length);
}

void trace_device_writes(void *to, const void *bytes, size_t length)
{
	char text[3 * WIDEST + 1];

	trace_device_hides(to, bytes, length);
	if (!trace_on())
		return;
	trace_hex(text, bytes, length < WIDEST ? length : WIDEST);
	trace_line("# device %s: %s", trace_pointer((uintptr_t)to), text);
}

void trace_fields(const struct field *field, const void *request, size_t length)
{
	char text[1024] = "";
	size_t used = 0;
	uint64_t value;

	if (!trace_on() || !field || !length)
		return;
	for (; field->name && used < sizeof(text); field++) {
		if ((size_t)field->offset + field->size > length)
			continue;
		value = 0;
		memcpy(&value, (const char *)request + field->offset, field->size);
		if (field->kind == 's' && !value)
			continue;
		if (field->kind == 'p')
			used += snprintf(text + used, sizeof(text) - used, " %s=%s", field->name,
					 trace_pointer(value));
		else
			used += snprintf(text + used, sizeof(text) - used, " %s=0x%llx",
					 field->name, (unsigned long long)value);
	}
	trace_line("    driver  %s", text);
}

/* Write a step of a scenario into the trace, see scenario/lab.h. */
__attribute__((visibility("default"))) void lab_step(const char *format, ...)
{
	char text[256];
	va_list ap;

	trace_flush();
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	trace_line("== %s", text);
}

__attribute__((visibility("default"))) void lab_name(const void *at, size_t length,
						     const char *name)
{
	if (trace_on())
		add(name, at, length);
}

__attribute__((visibility("default"))) int lab_complete(const struct lab_completion *c)
{
	struct object *cq = object_find(OBJECT_CQ, c->cq),
		      *qp = c->wq ? object_find(OBJECT_WQ, c->wq) : object_find(OBJECT_QP, c->qp);
	struct completion completion = { .qp = qp, .receive = c->receive, .wc = &c->wc };

	trace_flush();
	if (!cq || !qp)
		return -1;
	completion.srq = c->receive ? qp->srq : NULL;
	if (c->srq)
		completion.srq = object_find(OBJECT_SRQ, c->srq);
	completion.id = device->traced_id(qp, c->receive, c->index);
	completion.note = device->traced_note(c->sent_as);
	device->complete(cq, &completion);
	if (c->event)
		event_completion(cq);
	return 0;
}

__attribute__((visibility("default"))) int lab_entry(uint32_t cq, const void *entry, size_t length)
{
	struct object *object = object_find(OBJECT_CQ, cq);

	trace_flush();
	if (!object || !device->entry)
		return -1;
	device->entry(object, entry, length);
	return 0;
}

__attribute__((visibility("default"))) bool lab_is_at(const void *at, size_t length,
						      const char *name, size_t offset)
{
	const struct region *region = trace_find((uintptr_t)at);
	size_t begin = region ? (const uint8_t *)at - region->at : 0;

	return region && !strcmp(region->name, name) && begin == offset &&
	       length <= region->length - begin;
}
