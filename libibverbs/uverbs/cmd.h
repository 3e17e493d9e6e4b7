/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A kernel command as one initialiser list.
 *
 * Two kinds, both through ioctl(RDMA_VERBS_IOCTL), the only interface this library uses
 * (Linux 5.4):
 *
 *   uverbs_ioctl()  a method of the attribute interface: an array of constructors below
 *   uverbs_write()  a command of the older struct interface, carried by the method INVOKE_WRITE:
 *                   the command's request and response structs, without any header
 *
 * Each command of the tree uses exactly one of them: the struct form if it exists on every kernel,
 * and the attribute form for later commands. Only the creation of CQs, QPs, SRQs, WQs and regions
 * uses both, because attributes of a driver and imported contexts need the second.
 */
#ifndef LIBIBVERBS_UVERBS_CMD_H
#define LIBIBVERBS_UVERBS_CMD_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "libibverbs/provider.h"

#define UVERBS_ATTR_MAX 32 /* a command with more attributes is refused with -E2BIG */

struct uverbs_attr {
	struct ib_uverbs_attr kernel; /* attribute sent to the kernel */
	void *store; /* destination of a returned handle (u32) or descriptor (int); NULL: nothing is
			returned */
	bool skip;
};

static inline struct ib_uverbs_attr uverbs_attr_make(uint16_t id, uint16_t len, uint64_t data)
{
	return (struct ib_uverbs_attr){
		.attr_id = id,
		.len = len,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = data,
	};
}

/* Return the data field: the input itself if it has up to 8 bytes, else a pointer to it. */
static inline uint64_t uverbs_in_data(const void *p, uint16_t len)
{
	uint64_t data = 0;

	if (len > sizeof(data))
		return (uintptr_t)p;
	if (len)
		__builtin_memcpy(&data, p, len);
	return data;
}

static inline struct uverbs_attr uverbs_in(uint16_t id, const void *p, uint16_t len)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, len, uverbs_in_data(p, len)) };
}

/* Add an output: the kernel writes @len bytes to @p. */
static inline struct uverbs_attr uverbs_out(uint16_t id, void *p, uint16_t len)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, len, (uintptr_t)p) };
}

static inline struct uverbs_attr uverbs_u32(uint16_t id, uint32_t value)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, sizeof(value), value) };
}

static inline struct uverbs_attr uverbs_u64(uint16_t id, uint64_t value)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, sizeof(value), value) };
}

/*
 * Add a constant of an enum that the kernel checks (UVERBS_ATTR_CONST_IN). It always has 8 bytes.
 */
static inline struct uverbs_attr uverbs_const(uint16_t id, uint64_t value)
{
	return uverbs_u64(id, value);
}

/* An existing object. */
static inline struct uverbs_attr uverbs_idr(uint16_t id, uint32_t handle)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, 0, handle) };
}

/* Add a new object. On success its handle is stored. */
static inline struct uverbs_attr uverbs_new_idr(uint16_t id, uint32_t *ret_handle)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, 0, 0), .store = ret_handle };
}

static inline struct uverbs_attr uverbs_fd(uint16_t id, int fd)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, 0, (uint64_t)(int64_t)fd) };
}

/* @count existing objects. */
static inline struct uverbs_attr uverbs_idrs(uint16_t id, const uint32_t *handles, uint16_t count)
{
	uint16_t len = count * sizeof(*handles);

	return (struct uverbs_attr){ uverbs_attr_make(id, len, uverbs_in_data(handles, len)) };
}

/* Add one of several types of input: the number of the type, and its @len bytes. */
static inline struct uverbs_attr uverbs_enum(uint16_t id, uint8_t kind, const void *p, uint16_t len)
{
	struct uverbs_attr a = { uverbs_attr_make(id, len, uverbs_in_data(p, len)) };

	a.kernel.attr_data.enum_data.elem_id = kind;
	return a;
}

static inline struct uverbs_attr uverbs_new_fd(uint16_t id, int *ret_fd)
{
	return (struct uverbs_attr){ uverbs_attr_make(id, 0, 0), .store = ret_fd };
}

/* Send the attribute only if @condition is true. */
static inline struct uverbs_attr uverbs_when(bool condition, struct uverbs_attr a)
{
	a.skip = !condition;
	return a;
}

/* Mark the attribute as optional: a kernel that does not know it ignores it. */
static inline struct uverbs_attr uverbs_optional(struct uverbs_attr a)
{
	a.kernel.flags &= ~UVERBS_ATTR_F_MANDATORY;
	return a;
}

struct uverbs_cmd {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[UVERBS_ATTR_MAX + 2]; /* two more for the provider */
};

/* Exported to providers, and called by the inline functions below. */
#pragma GCC visibility push(default)

/* Send @cmd with its @count attributes, and with data and attributes of the provider. */
int uverbs_cmd_run(struct ibv_context *ctx, struct uverbs_cmd *cmd, uint16_t object,
		   uint16_t method, unsigned int count, const struct verbs_udata *udata);
/* @in: the request if it has up to 8 bytes, its address otherwise */
int uverbs_invoke_write(struct ibv_context *ctx, uint32_t command, uint64_t in, uint16_t in_len,
			void *out, uint16_t out_len, const struct verbs_udata *udata);

#pragma GCC visibility pop

/*
 * Run a method. The function is always inline, because the caller's attributes are constant and can
 * be written directly to the memory that the kernel reads.
 * @udata: data of the provider, or NULL
 * Return: 0; -EPROTONOSUPPORT: the kernel has no such method; another -errno of the kernel.
 */
static inline __attribute__((always_inline)) int
uverbs_ioctl(struct ibv_context *ctx, uint16_t object, uint16_t method,
	     const struct uverbs_attr *attrs, unsigned int count, const struct verbs_udata *udata)
{
	struct uverbs_cmd cmd;
	unsigned int n = 0;
	int r;

	if (count + (udata ? udata->attr_count : 0u) > UVERBS_ATTR_MAX)
		return -E2BIG;
#pragma GCC unroll 16
	for (unsigned int i = 0; i < count; i++)
		if (!attrs[i].skip)
			cmd.attrs[n++] = attrs[i].kernel;
	r = uverbs_cmd_run(ctx, &cmd, object, method, n, udata);
	if (r < 0)
		return r;
	/* Handles and descriptors come back in the attribute itself. */
	n = 0;
#pragma GCC unroll 16
	for (unsigned int i = 0; i < count; i++) {
		if (attrs[i].store && !attrs[i].skip)
			*(uint32_t *)attrs[i].store = cmd.attrs[n].data;
		n += !attrs[i].skip;
	}
	return 0;
}

/*
 * Run a command of the struct interface.
 * @command: IB_USER_VERBS_CMD_*, or'ed with IB_USER_VERBS_CMD_FLAG_EXTENDED for the extended ones
 * @out: may be NULL with @out_len 0
 */
static inline int uverbs_write(struct ibv_context *ctx, uint32_t command, const void *in,
			       uint16_t in_len, void *out, uint16_t out_len,
			       const struct verbs_udata *udata)
{
	return uverbs_invoke_write(ctx, command, uverbs_in_data(in, in_len), in_len, out, out_len,
				   udata);
}

#endif
