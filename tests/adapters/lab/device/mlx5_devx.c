/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DEVX: the kernel's methods by which a process gives commands to mlx5's firmware. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/attribute.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	ROW = 16,
	SUBSCRIPTIONS = 256,
	EVENTS_OF_ONE = 16,
	RECORD_MAX = 4096,
};

static struct subscription {
	int channel, eventfd;	     /* 0: free; eventfd -1: none */
	const struct object *object; /* NULL: of the device */
	uint16_t event;
	uint64_t cookie;
} subscriptions[SUBSCRIPTIONS];

static void trace_command(const char *what, const struct firmware *f)
{
	char text[3 * ROW + 1];

	if (!trace_on())
		return;
	trace_line("%s in=%zu out=%zu", what, f->in_len, f->out_len);
	for (size_t at = 0; at < f->in_len; at += ROW) {
		size_t length = f->in_len - at < ROW ? f->in_len - at : ROW;
		bool empty = true;

		for (size_t i = 0; i < length; i++)
			empty &= !f->in[at + i];
		if (empty)
			continue;
		trace_hex(text, f->in + at, length);
		trace_line("    command  +0x%04zx: %s", at, text);
	}
}

/* EINVAL: the command is incomplete, or the room is too small for the head of an answer. */
static int command_of(struct ib_uverbs_ioctl_hdr *call, uint16_t in_id, struct firmware *ret)
{
	const struct ib_uverbs_attr *in = find(call, in_id);
	struct ib_uverbs_attr *out = find(call, in_id + 1);

	if (!in || !out || in->len < FIRMWARE_HEAD || out->len < FIRMWARE_HEAD)
		return EINVAL;
	*ret = (struct firmware){
		.in = input(in),
		.in_len = in->len,
		.out = bytes_pointer(out->data),
		.out_len = out->len,
	};
	memset(ret->out, 0, ret->out_len);
	out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

static int other(struct ib_uverbs_ioctl_hdr *call)
{
	struct firmware f;
	int r = command_of(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, &f);

	if (r)
		return r;
	/* A process may query capabilities at any time or never: trace it as a comment. */
	if (get32(f.in) >> 16 == 0x100)
		trace_line("# QUERY_HCA_CAP 0x%x", get32(f.in + 4));
	else
		trace_command("DEVX", &f);
	r = fault_of("DEVX");
	if (r)
		return r;
	r = firmware_general(&f);
	fault_spoil(f.out, f.out_len);
	return r;
}

static int obj_create(struct ib_uverbs_ioctl_hdr *call)
{
	struct object *object;
	struct firmware f;
	char what[64];
	int r = command_of(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, &f);

	if (!r)
		r = fault_of("CREATE_DEVX");
	if (r)
		return r;
	object = object_new(OBJECT_PRIVATE);
	if (!object)
		return ENOMEM;
	snprintf(what, sizeof(what), "CREATE_DEVX -> %s",
		 object_name(OBJECT_PRIVATE, object->handle));
	trace_command(what, &f);
	object->device = calloc(1, sizeof(struct devx));
	r = object->device ? firmware_create(object, &f) : ENOMEM;
	if (r) {
		object_free(object);
		return r;
	}
	fault_spoil(f.out, f.out_len);
	output_handle(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, object->handle);
	return 0;
}

static void unsubscribe(const struct object *object)
{
	for (int i = 0; i < SUBSCRIPTIONS; i++) {
		if (subscriptions[i].channel && subscriptions[i].object == object)
			subscriptions[i] = (struct subscription){ 0 };
	}
}

static int obj_destroy(struct ib_uverbs_ioctl_hdr *call, uint16_t id)
{
	struct object *object = object_find(OBJECT_PRIVATE, number(call, id));
	struct devx *devx;
	int r = fault_of("DESTROY_DEVX");

	trace_line("DESTROY %s",
		   object ? object_name(OBJECT_PRIVATE, object->handle) : "no object");
	if (!object || r)
		return r ? r : EINVAL;
	devx = devx_of(object);
	r = devx ? firmware_destroy(object) : 0;
	if (r)
		return r;
	unsubscribe(object);
	if (devx && devx->opcode)
		free(devx->body);
	object_free(object);
	return 0;
}

/* An object of DEVX or of verbs. */
static struct object *any_object(uint32_t handle)
{
	static const enum object_type types[] = { OBJECT_PRIVATE, OBJECT_QP, OBJECT_CQ,
						  OBJECT_SRQ,	  OBJECT_WQ, OBJECT_TABLE };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct object *object = object_find(types[i], handle);

		if (object)
			return object;
	}
	return NULL;
}

static int obj_command(struct ib_uverbs_ioctl_hdr *call, uint16_t in_id, const char *name,
		       int (*run)(struct object *object, struct firmware *f))
{
	struct object *object = any_object(number(call, in_id - 1));
	struct firmware f;
	char what[64];
	int r = command_of(call, in_id, &f);

	if (r || !object)
		return r ? r : ENOENT;
	snprintf(what, sizeof(what), "%s %s", name, object_name(object->type, object->handle));
	trace_command(what, &f);
	r = fault_of(name);
	if (r)
		return r;
	r = run(object, &f);
	fault_spoil(f.out, f.out_len);
	return r;
}

static int obj_query_async(struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *in = find(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
	const struct ib_uverbs_attr *fd = find(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	struct object *object = any_object(number(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE));
	size_t out_len = number(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN);
	uint64_t wr_id = number(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID);
	uint8_t record[RECORD_MAX] = { 0 };
	struct firmware f;
	char what[64];
	int r = fault_of("QUERY_ASYNC");

	if (r)
		return r;
	if (!in || !fd || !object || in->len < FIRMWARE_HEAD || out_len < FIRMWARE_HEAD ||
	    out_len > sizeof(record) - sizeof(wr_id))
		return EINVAL;
	f = (struct firmware){ input(in), in->len, record + sizeof(wr_id), out_len };
	snprintf(what, sizeof(what), "QUERY_ASYNC %s wr_id=0x%llx",
		 object_name(object->type, object->handle), (unsigned long long)wr_id);
	trace_command(what, &f);
	firmware_query(object, &f);
	memcpy(record, &wr_id, sizeof(wr_id));
	event_write(fd->data_s64, record, sizeof(wr_id) + out_len);
	return 0;
}

/* ---- events */

static int fd_alloc(struct ib_uverbs_ioctl_hdr *call, uint16_t id, const char *name, uint64_t flags)
{
	struct ib_uverbs_attr *attr = find(call, id);
	int fd, r = fault_of(name);

	trace_line("%s flags=0x%llx", name, (unsigned long long)flags);
	if (!r)
		r = attr ? event_channel_new(&fd) : EINVAL;
	if (!r)
		attr->data_s64 = fd;
	return r;
}

static int subscribe_one(const struct subscription *s)
{
	for (int i = 0; i < SUBSCRIPTIONS; i++) {
		if (subscriptions[i].channel)
			continue;
		subscriptions[i] = *s;
		return 0;
	}
	return ENOMEM;
}

static int subscribe(struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *events = find(call,
						   MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST),
				    *of = find(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE),
				    *fd = find(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	uint16_t types[EVENTS_OF_ONE];
	struct subscription s = {
		.channel = number(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE),
		.eventfd = fd ? (int)number(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM) : -1,
		.object = of ? any_object(of->data) : NULL,
		.cookie = number(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE),
	};
	int r = fault_of("SUBSCRIBE_EVENT");

	if (r)
		return r;
	if (!events || events->len > sizeof(types) || events->len % 2 || (of && !s.object) ||
	    !event_has(s.channel))
		return EINVAL;
	memcpy(types, input(events), events->len);
	for (size_t i = 0; !r && i < events->len / sizeof(types[0]); i++) {
		s.event = types[i];
		trace_line("SUBSCRIBE_EVENT %s event=0x%x cookie=0x%llx %s",
			   s.object ? object_name(s.object->type, s.object->handle) : "device",
			   s.event, (unsigned long long)s.cookie, fd ? "eventfd" : "channel");
		r = subscribe_one(&s);
	}
	return r;
}

void mlx5_devx_event(const struct object *object, uint16_t event)
{
	const uint64_t one = 1;

	for (int i = 0; i < SUBSCRIPTIONS; i++) {
		const struct subscription *s = &subscriptions[i];

		if (!s->channel || s->object != object || s->event != event)
			continue;
		if (s->eventfd >= 0)
			real_write(s->eventfd, &one, sizeof(one));
		else
			event_write(s->channel, &s->cookie, sizeof(s->cookie));
	}
}

/* ---- memory, and numbers */

static int umem_reg(struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *dmabuf = find(call, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
	uint64_t address = number(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	struct object *object;
	struct devx *devx;
	int r = fault_of("REG_UMEM");

	if (r)
		return r;
	object = object_new(OBJECT_PRIVATE);
	devx = object ? calloc(1, sizeof(*devx)) : NULL;
	if (!devx) {
		object_free(object);
		return ENOMEM;
	}
	object->device = devx;
	*devx = (struct devx){
		.body = dmabuf ? NULL : bytes_pointer(address),
		.length = number(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN),
	};
	trace_line("REG_UMEM address=%s length=0x%zx access=0x%llx pages=0x%llx%s -> %s",
		   dmabuf ? "offset" : trace_pointer(address), devx->length,
		   (unsigned long long)number(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS),
		   (unsigned long long)number(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP),
		   dmabuf ? " dmabuf" : "", object_name(OBJECT_PRIVATE, object->handle));
	output_handle(call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, object->handle);
	output(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &object->number, sizeof(object->number));
	return 0;
}

static int query_number(struct ib_uverbs_ioctl_hdr *call, uint16_t id, const char *name,
			uint32_t base)
{
	uint32_t value = base + number(call, id);
	int r = fault_of(name);

	trace_line("%s %u", name, (unsigned)number(call, id));
	if (!r)
		output(call, id + 1, &value, sizeof(value));
	return r;
}

static int var_alloc(struct ib_uverbs_ioctl_hdr *call)
{
	int r = fault_of("ALLOC_VAR");
	struct object *object = r ? NULL : object_new(OBJECT_PRIVATE);
	const uint64_t offset = 1ull << 41;
	const uint32_t length = 4096;

	if (!object)
		return r ? r : ENOMEM;
	trace_line("ALLOC_VAR flags=0x%x -> %s",
		   (unsigned)number(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS),
		   object_name(OBJECT_PRIVATE, object->handle));
	output_handle(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, object->handle);
	output(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	output(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	output(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &object->number, sizeof(object->number));
	return 0;
}

static int pp_alloc(struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *context = find(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX);
	int r = fault_of("ALLOC_PP");
	struct object *object = r ? NULL : object_new(OBJECT_PRIVATE);
	uint16_t index;

	if (!object)
		return r ? r : ENOMEM;
	trace_line("ALLOC_PP context=%u flags=0x%x -> %s", context ? context->len : 0,
		   (unsigned)number(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS),
		   object_name(OBJECT_PRIVATE, object->handle));
	index = object->number;
	output_handle(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, object->handle);
	output(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &index, sizeof(index));
	return 0;
}

#define METHOD(object, method) ((uint32_t)(object) << 16 | (method))

int mlx5_devx_method(uint16_t object, uint16_t method, struct ib_uverbs_ioctl_hdr *call)
{
	switch (METHOD(object, method)) {
	case METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER):
		return other(call);
	case METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR):
		return query_number(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, "QUERY_UAR", 0x40);
	case METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN):
		return query_number(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, "QUERY_EQN", 0x10);
	case METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT):
		return subscribe(call);
	case METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE):
		return obj_create(call);
	case METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY):
	case METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG):
	case METHOD(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY):
	case METHOD(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY):
		return obj_destroy(call, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);
	case METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY):
		return obj_command(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, "QUERY_DEVX",
				   firmware_query);
	case METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY):
		return obj_command(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, "MODIFY_DEVX",
				   firmware_modify);
	case METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY):
		return obj_query_async(call);
	case METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC):
		return fd_alloc(call, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, "CREATE_CMD_FD",
				0);
	case METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC):
		return fd_alloc(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
				"CREATE_EVENT_FD",
				number(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS));
	case METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG):
		return umem_reg(call);
	case METHOD(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC):
		return var_alloc(call);
	case METHOD(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC):
		return pp_alloc(call);
	}
	return model_on() && mlx5_steering_format() < 0 ? EPROTONOSUPPORT
							: mlx5_flow_method(object, method, call);
}
