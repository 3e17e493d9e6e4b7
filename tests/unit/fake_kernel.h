/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's commands as they leave the process. A program that includes this header is its
 * own kernel, because it defines ioctl(). It keeps the last command and answers as the test has
 * prepared. */
#ifndef TESTS_UNIT_FAKE_KERNEL_H
#define TESTS_UNIT_FAKE_KERNEL_H

#include <string.h>

#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"
#include "tests/unit/fake_device.h"

#define DRIVER_ID 14

int ioctl(int fd, unsigned long request, ...);

static struct {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[40];
	uint8_t in[40000]; /* the core request */
	uint16_t in_len;
	const void *answer; /* to the core response, when it fits */
	size_t answer_len;
	uint32_t handle; /* for new objects */
	struct {
		uint16_t id;
		uint64_t value;
	} outs[4];	       /* answers to attributes that the kernel writes; id 0: none */
	uint8_t bytes[40][64]; /* the bytes that attributes of a method point to */
	int error;
} kernel;

static inline const struct ib_uverbs_attr *attr_of(uint16_t id)
{
	for (unsigned int i = 0; i < kernel.hdr.num_attrs; i++)
		if (kernel.attrs[i].attr_id == id)
			return &kernel.attrs[i];
	fail_msg("no attribute %u", id);
	return NULL;
}

/* Run INVOKE_WRITE: the request comes inline or by address. */
static void invoke_write(struct ib_uverbs_attr *attrs, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		void *at = (void *)(uintptr_t)attrs[i].data;

		if (attrs[i].attr_id == UVERBS_ATTR_CORE_IN) {
			kernel.in_len = attrs[i].len;
			memcpy(kernel.in, attrs[i].len > 8 ? at : &attrs[i].data, attrs[i].len);
		}
		if (attrs[i].attr_id == UVERBS_ATTR_CORE_OUT && kernel.answer_len == attrs[i].len)
			memcpy(at, kernel.answer, attrs[i].len);
	}
}

static inline void answer_method(struct ib_uverbs_attr *attr, uint8_t *bytes)
{
	if (attr->len > 8 && attr->len <= sizeof(kernel.bytes[0]))
		memcpy(bytes, (void *)(uintptr_t)attr->data, attr->len);
	for (unsigned int i = 0; i < ARRAY_SIZE(kernel.outs); i++)
		if (kernel.outs[i].id && kernel.outs[i].id == attr->attr_id)
			memcpy((void *)(uintptr_t)attr->data, &kernel.outs[i].value, attr->len);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	struct ib_uverbs_attr *attrs;
	va_list args;

	va_start(args, request);
	hdr = va_arg(args, void *);
	va_end(args);
	assert_int_equal(request, RDMA_VERBS_IOCTL);
	attrs = (struct ib_uverbs_attr *)(hdr + 1);
	assert_int_equal(hdr->length, sizeof(*hdr) + hdr->num_attrs * sizeof(*attrs));
	assert_int_equal(hdr->driver_id, DRIVER_ID);
	kernel.hdr = *hdr;
	memcpy(kernel.attrs, attrs, hdr->num_attrs * sizeof(*attrs));
	if (kernel.error) {
		errno = kernel.error;
		return -1;
	}
	if (hdr->object_id == UVERBS_OBJECT_DEVICE &&
	    hdr->method_id == UVERBS_METHOD_INVOKE_WRITE) {
		invoke_write(attrs, hdr->num_attrs);
		return 0;
	}
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		answer_method(&attrs[i], kernel.bytes[i]);
	attrs[0].data = kernel.handle;
	return 0;
}

static inline void kernel_answers(const void *answer, size_t length)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.answer = answer;
	kernel.answer_len = length;
}

static inline const void *request_of(uint32_t command, size_t length)
{
	assert_int_equal(kernel.hdr.object_id, UVERBS_OBJECT_DEVICE);
	assert_int_equal(kernel.hdr.method_id, UVERBS_METHOD_INVOKE_WRITE);
	assert_int_equal(attr_of(UVERBS_ATTR_WRITE_CMD)->data, command);
	assert_int_equal(attr_of(UVERBS_ATTR_WRITE_CMD)->len, 8);
	assert_int_equal(kernel.in_len, length);
	return kernel.in;
}

static inline bool has_attr(uint16_t id)
{
	for (unsigned int i = 0; i < kernel.hdr.num_attrs; i++)
		if (kernel.attrs[i].attr_id == id)
			return true;
	return false;
}

/* Return the bytes behind an attribute. */
static inline const void *bytes_of(uint16_t id)
{
	return kernel.bytes[attr_of(id) - kernel.attrs];
}

static inline void assert_method(uint16_t object, uint16_t method, unsigned int count)
{
	assert_int_equal(kernel.hdr.object_id, object);
	assert_int_equal(kernel.hdr.method_id, method);
	assert_int_equal(kernel.hdr.num_attrs, count);
}

#define assert_attr(id, length, value)                                         \
	do {                                                                   \
		assert_int_equal(attr_of(id)->len, length);                    \
		assert_int_equal(attr_of(id)->data, value);                    \
		assert_int_equal(attr_of(id)->flags, UVERBS_ATTR_F_MANDATORY); \
	} while (0)

static inline int kernel_setup(void **state)
{
	int r = fake_setup(state);

	fake_of(*state)->provider.driver_id = DRIVER_ID;
	memset(&kernel, 0, sizeof(kernel));
	return r;
}

#endif
