/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Methods with typed attributes. Those that exist as struct commands as well become these. */
#include "tests/adapters/lab/shim/attribute.h"
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>
#include <sys/mman.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PORT_SPEED = 2000, /* units of 100 Mbit/s */
};

static void driver_part(struct ib_uverbs_ioctl_hdr *call, struct command *ret)
{
	struct ib_uverbs_attr *in = find(call, UVERBS_ATTR_UHW_IN),
			      *out = find(call, UVERBS_ATTR_UHW_OUT);

	if (in) {
		ret->driver.in = input(in);
		ret->driver.in_len = in->len;
	}
	if (out) {
		out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
		ret->driver.out = (void *)(uintptr_t)out->data;
		ret->driver.out_len = out->len;
	}
}

static int invoke_write(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	const struct ib_uverbs_attr *in = find(call, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_attr *out = find(call, UVERBS_ATTR_CORE_OUT);

	if (in) {
		c->in = input(in);
		c->in_len = in->len;
	}
	if (out) {
		out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
		c->out = (void *)(uintptr_t)out->data;
		c->out_len = out->len;
	}
	return command_run(number(call, UVERBS_ATTR_WRITE_CMD), c);
}

static int get_context(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	const uint32_t vectors = COMP_VECTORS;
	const uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int r = fault_of("GET_CONTEXT");

	if (!r)
		r = context_open(c);
	output(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	output(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	return r;
}

/* For a process that imports a context: the driver repeats the answer of the creation. */
static int query_context(struct ib_uverbs_ioctl_hdr *call)
{
	const uint32_t vectors = COMP_VECTORS;
	const uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int r;

	trace_line("QUERY_CONTEXT");
	r = device->method ? device->method(call->object_id, call->method_id, call) : EOPNOTSUPP;
	output(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	output(call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	return r;
}

static int query_mr(struct ib_uverbs_ioctl_hdr *call)
{
	const struct object *mr = object_find(OBJECT_MR, number(call, UVERBS_ATTR_QUERY_MR_HANDLE));

	trace_line("QUERY_MR");
	if (!mr)
		return ENOENT;
	output(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->number, sizeof(mr->number));
	output(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->rkey, sizeof(mr->rkey));
	output(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->length, sizeof(mr->length));
	return 0;
}

static int async_alloc(struct ib_uverbs_ioctl_hdr *call)
{
	struct ib_uverbs_attr *attr = find(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	int fd, r = event_async_new(&fd);

	if (!r && attr)
		attr->data_s64 = fd;
	return r;
}

static int query_port_speed(struct ib_uverbs_ioctl_hdr *call)
{
	const uint64_t speed = PORT_SPEED;
	unsigned port = number(call, UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM);

	trace_line("QUERY_PORT_SPEED port=%u", port);
	if (port != 1)
		return EINVAL;
	output(call, UVERBS_ATTR_QUERY_PORT_SPEED_RESP, &speed, sizeof(speed));
	return 0;
}

static int export_dmabuf(struct ib_uverbs_ioctl_hdr *call)
{
	struct ib_uverbs_attr *attr = find(call, UVERBS_ATTR_ALLOC_DMABUF_HANDLE);
	int fd;

	trace_line("EXPORT_DMABUF offset=0x%llx",
		   (unsigned long long)number(call, UVERBS_ATTR_ALLOC_DMABUF_PGOFF));
	fd = memfd_create("dmabuf", MFD_CLOEXEC);
	if (fd < 0 || !attr)
		return EINVAL;
	attr->data_s64 = fd;
	return 0;
}

static int query_port(struct ib_uverbs_ioctl_hdr *call)
{
	struct ib_uverbs_query_port_resp_ex response = { 0 };
	unsigned port = number(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);
	int r = fault_of("QUERY_PORT");

	trace_line("QUERY_PORT port=%u", port);
	if (r || port != 1)
		return r ? r : EINVAL;
	context_port(&response.legacy_resp);
	output(call, UVERBS_ATTR_QUERY_PORT_RESP, &response, sizeof(response));
	return 0;
}

static int query_gid_entry(struct ib_uverbs_ioctl_hdr *call)
{
	uint64_t index = number(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
	struct ib_uverbs_query_port_resp port;
	struct ib_uverbs_gid_entry entry;
	int r;

	context_port(&port);
	r = index < (uint32_t)port.gid_tbl_len &&
			    number(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT) == 1
		    ? context_gid(index, &entry)
		    : EINVAL;
	if (!r)
		output(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
	return r;
}

static int query_gid_table(struct ib_uverbs_ioctl_hdr *call)
{
	struct ib_uverbs_attr *table = find(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	struct ib_uverbs_query_port_resp port;
	struct ib_uverbs_gid_entry entry;
	uint64_t count = 0;

	if (!table || number(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE) != sizeof(entry))
		return EINVAL;
	context_port(&port);
	for (uint32_t i = 0; i < port.gid_tbl_len; i++) {
		if (context_gid(i, &entry))
			continue;
		if ((count + 1) * sizeof(entry) > table->len)
			return EINVAL;
		memcpy((char *)(uintptr_t)table->data + count++ * sizeof(entry), &entry,
		       sizeof(entry));
	}
	table->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	output(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count, sizeof(count));
	return 0;
}

static int create_cq(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	const struct ib_uverbs_attr *channel = find(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	const struct ib_uverbs_ex_create_cq q = {
		.user_handle = number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE),
		.cqe = number(call, UVERBS_ATTR_CREATE_CQ_CQE),
		.comp_vector = number(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR),
		.comp_channel = channel ? channel->data_s64 : -1,
		.flags = number(call, UVERBS_ATTR_CREATE_CQ_FLAGS),
	};
	struct object *cq;
	uint32_t cqe;
	int r = fault_of("CREATE_CQ");

	if (!r)
		r = cq_create(&q, c, &cq, &cqe);
	if (r)
		return r;
	output_handle(call, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->handle);
	output(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
	return 0;
}

static int create_qp(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	const struct ib_uverbs_attr *srq = find(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	const struct ib_uverbs_attr *table = find(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE);
	const struct ib_uverbs_qp_cap *cap = input(find(call, UVERBS_ATTR_CREATE_QP_CAP));
	uint32_t flags = number(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct ib_uverbs_ex_create_qp q = {
		.user_handle = number(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
		/* An XRC receive QP has a domain in its place, as in a struct command. */
		.pd_handle = number(call, find(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE)
						  ? UVERBS_ATTR_CREATE_QP_XRCD_HANDLE
						  : UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		.send_cq_handle = number(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		.recv_cq_handle = number(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		.srq_handle = srq ? srq->data : 0,
		.is_srq = !!srq,
		.qp_type = number(call, UVERBS_ATTR_CREATE_QP_TYPE),
		.sq_sig_all = !!(flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL),
		.create_flags = flags & ~IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
		.comp_mask = table ? IB_UVERBS_CREATE_QP_MASK_IND_TABLE : 0,
		.rwq_ind_tbl_handle = table ? table->data : 0,
	};
	struct ib_uverbs_qp_cap granted;
	struct object *qp;
	uint32_t number_told;
	int r = fault_of("CREATE_QP");

	if (r || !cap)
		return r ? r : EINVAL;
	q.max_send_wr = cap->max_send_wr;
	q.max_recv_wr = cap->max_recv_wr;
	q.max_send_sge = cap->max_send_sge;
	q.max_recv_sge = cap->max_recv_sge;
	q.max_inline_data = cap->max_inline_data;
	r = qp_create(&q, c, &qp);
	if (r)
		return r;
	granted = (struct ib_uverbs_qp_cap){ q.max_send_wr, q.max_recv_wr, q.max_send_sge,
					     q.max_recv_sge, q.max_inline_data };
	output_handle(call, UVERBS_ATTR_CREATE_QP_HANDLE, qp->handle);
	number_told = qp_number_told(qp);
	output(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &number_told, sizeof(number_told));
	output(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &granted, sizeof(granted));
	return 0;
}

static int create_wq(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	struct ib_uverbs_ex_create_wq q = {
		.user_handle = number(call, UVERBS_ATTR_CREATE_WQ_USER_HANDLE),
		.pd_handle = number(call, UVERBS_ATTR_CREATE_WQ_PD_HANDLE),
		.cq_handle = number(call, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE),
		.wq_type = number(call, UVERBS_ATTR_CREATE_WQ_TYPE),
		.max_wr = number(call, UVERBS_ATTR_CREATE_WQ_MAX_WR),
		.max_sge = number(call, UVERBS_ATTR_CREATE_WQ_MAX_SGE),
		.create_flags = number(call, UVERBS_ATTR_CREATE_WQ_FLAGS),
	};
	struct object *wq;
	int r = fault_of("CREATE_WQ");

	if (!r)
		r = wq_create(&q, c, &wq);
	if (r)
		return r;
	output_handle(call, UVERBS_ATTR_CREATE_WQ_HANDLE, wq->handle);
	output(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &q.max_wr, sizeof(q.max_wr));
	output(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &q.max_sge, sizeof(q.max_sge));
	output(call, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wq->number, sizeof(wq->number));
	return 0;
}

static int create_srq(struct ib_uverbs_ioctl_hdr *call, struct command *c)
{
	struct ib_uverbs_create_xsrq q = {
		.user_handle = number(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE),
		.pd_handle = number(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE),
		.max_wr = number(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR),
		.max_sge = number(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE),
		.srq_limit = number(call, UVERBS_ATTR_CREATE_SRQ_LIMIT),
		.srq_type = number(call, UVERBS_ATTR_CREATE_SRQ_TYPE),
		.xrcd_handle = number(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE),
		.cq_handle = number(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE),
		.max_num_tags = number(call, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS),
	};
	struct object *srq;
	int r = fault_of("CREATE_SRQ");

	if (!r)
		r = srq_create(&q, c, &srq);
	if (r)
		return r;
	output_handle(call, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->handle);
	output(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &q.max_wr, sizeof(q.max_wr));
	output(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &q.max_sge, sizeof(q.max_sge));
	output(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->number, sizeof(srq->number));
	return 0;
}

static int destroy(struct ib_uverbs_ioctl_hdr *call, enum object_type type, uint16_t handle,
		   uint16_t response)
{
	uint32_t events[2] = { 0 };
	int r = object_destroy(type, number(call, handle), events);

	if (!r && response) /* all but a CQ have only asynchronous events */
		output(call, response, type == OBJECT_CQ ? events : events + 1,
		       type == OBJECT_CQ ? sizeof(events) : sizeof(events[1]));
	return r;
}

static int alloc_dm(struct ib_uverbs_ioctl_hdr *call)
{
	struct object *dm;
	int r = fault_of("ALLOC_DM");

	if (!r)
		r = dm_alloc(number(call, UVERBS_ATTR_ALLOC_DM_LENGTH),
			     number(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT), call, &dm);
	if (!r)
		output_handle(call, UVERBS_ATTR_ALLOC_DM_HANDLE, dm->handle);
	return r;
}

static int reg_dm_mr(struct ib_uverbs_ioctl_hdr *call)
{
	struct object *mr;
	int r = fault_of("REG_DM_MR");

	if (!r)
		r = dm_reg_mr(object_find(OBJECT_DM, number(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE)),
			      object_find(OBJECT_PD, number(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE)),
			      number(call, UVERBS_ATTR_REG_DM_MR_OFFSET),
			      number(call, UVERBS_ATTR_REG_DM_MR_LENGTH),
			      number(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS), &mr);
	if (r)
		return r;
	output_handle(call, UVERBS_ATTR_REG_DM_MR_HANDLE, mr->handle);
	output(call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->number, sizeof(mr->number));
	output(call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->rkey, sizeof(mr->rkey));
	return 0;
}

static int create_counters(struct ib_uverbs_ioctl_hdr *call)
{
	struct object *counters;
	int r = counters_create(&counters);

	if (!r)
		output_handle(call, UVERBS_ATTR_CREATE_COUNTERS_HANDLE, counters->handle);
	return r;
}

static int read_counters(struct ib_uverbs_ioctl_hdr *call)
{
	struct object *counters =
		object_find(OBJECT_COUNTERS, number(call, UVERBS_ATTR_READ_COUNTERS_HANDLE));
	const struct ib_uverbs_attr *buffer = find(call, UVERBS_ATTR_READ_COUNTERS_BUFF);
	static const uint64_t values[8] = { 11, 22, 33, 44, 55, 66, 77, 88 };

	if (!counters || !buffer)
		return EINVAL;
	trace_line("READ_COUNTERS %s flags=0x%llx", object_name(OBJECT_COUNTERS, counters->handle),
		   (unsigned long long)number(call, UVERBS_ATTR_READ_COUNTERS_FLAGS));
	output(call, UVERBS_ATTR_READ_COUNTERS_BUFF, values, sizeof(values));
	return 0;
}

static int advise_mr(struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *list = find(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	struct object *pd = object_find(OBJECT_PD, number(call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE));

	if (!pd || !list)
		return EINVAL;
	trace_line("ADVISE_MR %s advice=%llu flags=0x%llx ranges=%u",
		   object_name(OBJECT_PD, pd->handle),
		   (unsigned long long)number(call, UVERBS_ATTR_ADVISE_MR_ADVICE),
		   (unsigned long long)number(call, UVERBS_ATTR_ADVISE_MR_FLAGS),
		   (unsigned)(list->len / sizeof(struct ib_uverbs_sge)));
	return model_advise_mr(pd, number(call, UVERBS_ATTR_ADVISE_MR_ADVICE),
			       number(call, UVERBS_ATTR_ADVISE_MR_FLAGS),
			       (const void *)(uintptr_t)list->data,
			       list->len / sizeof(struct ib_uverbs_sge));
}

#define METHOD(object, method) ((uint32_t)(object) << 16 | (method))

static int destroy_method(struct ib_uverbs_ioctl_hdr *call)
{
	switch (METHOD(call->object_id, call->method_id)) {
	case METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY):
		return destroy(call, OBJECT_CQ, UVERBS_ATTR_DESTROY_CQ_HANDLE,
			       UVERBS_ATTR_DESTROY_CQ_RESP);
	case METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY):
		return destroy(call, OBJECT_QP, UVERBS_ATTR_DESTROY_QP_HANDLE,
			       UVERBS_ATTR_DESTROY_QP_RESP);
	case METHOD(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY):
		return destroy(call, OBJECT_SRQ, UVERBS_ATTR_DESTROY_SRQ_HANDLE,
			       UVERBS_ATTR_DESTROY_SRQ_RESP);
	case METHOD(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY):
		return destroy(call, OBJECT_WQ, UVERBS_ATTR_DESTROY_WQ_HANDLE,
			       UVERBS_ATTR_DESTROY_WQ_RESP);
	case METHOD(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY):
		return destroy(call, OBJECT_TABLE, UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY):
		return destroy(call, OBJECT_MR, UVERBS_ATTR_DESTROY_MR_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY):
		return destroy(call, OBJECT_COUNTERS, UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE):
		return destroy(call, OBJECT_DM, UVERBS_ATTR_FREE_DM_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY):
		return destroy(call, OBJECT_MW, UVERBS_ATTR_DESTROY_MW_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY):
		return destroy(call, OBJECT_PD, UVERBS_ATTR_DESTROY_PD_HANDLE, 0);
	case METHOD(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY):
		return destroy(call, OBJECT_AH, UVERBS_ATTR_DESTROY_AH_HANDLE, 0);
	}
	return EPROTONOSUPPORT;
}

int native_run(struct ib_uverbs_ioctl_hdr *call)
{
	struct command c = { 0 };
	int r;

	driver_part(call, &c);
	switch (METHOD(call->object_id, call->method_id)) {
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE):
		return invoke_write(call, &c);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT):
		return get_context(call, &c);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT):
		return query_context(call);
	case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR):
		return query_mr(call);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT):
		return query_port(call);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT_SPEED):
		return query_port_speed(call);
	case METHOD(UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC):
		return export_dmabuf(call);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY):
		return query_gid_entry(call);
	case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE):
		return query_gid_table(call);
	case METHOD(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC):
		return async_alloc(call);
	case METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE):
		return create_cq(call, &c);
	case METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE):
		return create_qp(call, &c);
	case METHOD(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE):
		return create_wq(call, &c);
	case METHOD(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE):
		return create_srq(call, &c);
	case METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC):
		return alloc_dm(call);
	case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG):
		return reg_dm_mr(call);
	case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR):
		return advise_mr(call);
	case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE):
		return create_counters(call);
	case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ):
		return read_counters(call);
	}
	r = destroy_method(call);
	if (r == EPROTONOSUPPORT && device->method)
		r = device->method(call->object_id, call->method_id, call);
	if (r == EPROTONOSUPPORT)
		trace_line("# no method 0x%x of object 0x%x", call->method_id, call->object_id);
	return r;
}
