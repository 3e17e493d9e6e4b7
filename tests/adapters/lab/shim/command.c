/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The struct commands, which reach a kernel in three ways: by write(), by the extended write(), and
 * by the method INVOKE_WRITE of the ioctl. All three become the same struct command.
 */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

#define EX	 IB_USER_VERBS_CMD_FLAG_EXTENDED
#define IN(name) sizeof(struct ib_uverbs_##name)
#define COMMAND(NAME, name, out)                                              \
	{                                                                     \
#NAME, IB_USER_VERBS_CMD_##NAME, handle_##name, IN(name), out \
	}
#define OUT(name) sizeof(struct ib_uverbs_##name##_resp)

static const struct {
	const char *name;
	uint32_t number;
	int (*handle)(struct command *c);
	size_t in, out;
} commands[] = {
	COMMAND(GET_CONTEXT, get_context, OUT(get_context)),
	COMMAND(QUERY_DEVICE, query_device, OUT(query_device)),
	COMMAND(QUERY_PORT, query_port, OUT(query_port)),
	COMMAND(ALLOC_PD, alloc_pd, OUT(alloc_pd)),
	COMMAND(DEALLOC_PD, dealloc_pd, 0),
	COMMAND(REG_MR, reg_mr, OUT(reg_mr)),
	COMMAND(REREG_MR, rereg_mr, OUT(rereg_mr)),
	COMMAND(DEREG_MR, dereg_mr, 0),
	COMMAND(ALLOC_MW, alloc_mw, OUT(alloc_mw)),
	COMMAND(DEALLOC_MW, dealloc_mw, 0),
	{ "CREATE_COMP_CHANNEL", IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, handle_create_channel,
	  IN(create_comp_channel), OUT(create_comp_channel) },
	COMMAND(CREATE_CQ, create_cq, OUT(create_cq)),
	COMMAND(RESIZE_CQ, resize_cq, OUT(resize_cq)),
	COMMAND(POLL_CQ, poll_cq, OUT(poll_cq)),
	COMMAND(DESTROY_CQ, destroy_cq, OUT(destroy_cq)),
	COMMAND(CREATE_QP, create_qp, OUT(create_qp)),
	COMMAND(MODIFY_QP, modify_qp, 0),
	COMMAND(QUERY_QP, query_qp, OUT(query_qp)),
	COMMAND(DESTROY_QP, destroy_qp, OUT(destroy_qp)),
	COMMAND(ATTACH_MCAST, attach_mcast, 0),
	COMMAND(DETACH_MCAST, detach_mcast, 0),
	COMMAND(CREATE_SRQ, create_srq, OUT(create_srq)),
	{ "CREATE_SRQ", IB_USER_VERBS_CMD_CREATE_XSRQ, handle_create_xsrq, IN(create_xsrq),
	  OUT(create_srq) },
	COMMAND(MODIFY_SRQ, modify_srq, 0),
	COMMAND(QUERY_SRQ, query_srq, OUT(query_srq)),
	COMMAND(DESTROY_SRQ, destroy_srq, OUT(destroy_srq)),
	COMMAND(OPEN_XRCD, open_xrcd, OUT(open_xrcd)),
	COMMAND(CLOSE_XRCD, close_xrcd, 0),
	{ "OPEN_QP", IB_USER_VERBS_CMD_OPEN_QP, handle_open_qp, IN(open_qp), OUT(create_qp) },
	COMMAND(CREATE_AH, create_ah, OUT(create_ah)),
	COMMAND(DESTROY_AH, destroy_ah, 0),
	{ "QUERY_DEVICE", EX | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, handle_query_device_ex,
	  IN(ex_query_device), IN(ex_query_device_resp) },
	{ "CREATE_CQ", EX | IB_USER_VERBS_EX_CMD_CREATE_CQ, handle_create_cq_ex, IN(ex_create_cq),
	  IN(ex_create_cq_resp) },
	{ "CREATE_QP", EX | IB_USER_VERBS_EX_CMD_CREATE_QP, handle_create_qp_ex, IN(ex_create_qp),
	  IN(ex_create_qp_resp) },
	{ "MODIFY_CQ", EX | IB_USER_VERBS_EX_CMD_MODIFY_CQ, handle_modify_cq, IN(ex_modify_cq), 0 },
	{ "CREATE_WQ", EX | IB_USER_VERBS_EX_CMD_CREATE_WQ, handle_create_wq, IN(ex_create_wq),
	  IN(ex_create_wq_resp) },
	{ "MODIFY_WQ", EX | IB_USER_VERBS_EX_CMD_MODIFY_WQ, handle_modify_wq, IN(ex_modify_wq), 0 },
	{ "CREATE_FLOW", EX | IB_USER_VERBS_EX_CMD_CREATE_FLOW, handle_create_flow, IN(create_flow),
	  IN(create_flow_resp) },
	{ "DESTROY_FLOW", EX | IB_USER_VERBS_EX_CMD_DESTROY_FLOW, handle_destroy_flow,
	  IN(destroy_flow), 0 },
	{ "DESTROY_WQ", EX | IB_USER_VERBS_EX_CMD_DESTROY_WQ, handle_destroy_wq, IN(ex_destroy_wq),
	  IN(ex_destroy_wq_resp) },
	{ "CREATE_TABLE", EX | IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL, handle_create_table,
	  IN(ex_create_rwq_ind_table), IN(ex_create_rwq_ind_table_resp) },
	{ "DESTROY_TABLE", EX | IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL, handle_destroy_table,
	  IN(ex_destroy_rwq_ind_table), 0 },
	{ "MODIFY_QP", EX | IB_USER_VERBS_EX_CMD_MODIFY_QP, handle_modify_qp_ex, IN(ex_modify_qp),
	  IN(ex_modify_qp_resp) },
};
enum {
	COMMANDS = sizeof(commands) / sizeof(commands[0])
};

void command_answer(struct command *c, const void *response, size_t length)
{
	if (c->out)
		memcpy(c->out, response, length < c->out_len ? length : c->out_len);
}

void command_reply(struct command *command, const void *answer, size_t length)
{
	size_t room = command->driver.out_len;

	if (!room)
		return;
	memcpy(command->driver.out, answer, length < room ? length : room);
	fault_spoil(command->driver.out, room);
}

void command_request(const struct command *command, void *ret_request, size_t length)
{
	size_t there = command->driver.in_len;

	memset(ret_request, 0, length);
	if (there)
		memcpy(ret_request, command->driver.in, length < there ? length : there);
}

void command_trace(enum request_kind kind, const struct command *command)
{
	trace_fields(device->fields[kind], command->driver.in, command->driver.in_len);
}

static int find(uint32_t number)
{
	for (int i = 0; i < COMMANDS; i++) {
		if (commands[i].number == number)
			return i;
	}
	trace_line("# no command 0x%x", number);
	return -1;
}

static int run(int i, struct command *command)
{
	int r = fault_of(commands[i].name);
	uint64_t whole[64] = { 0 };

	if (r) {
		trace_line("%s fails on demand: %d", commands[i].name, r);
		return r;
	}
	/* a request of an older program: members that it does not know are 0 */
	if (command->in_len < commands[i].in) {
		memcpy(whole, command->in, command->in_len);
		command->in = whole;
		command->in_len = sizeof(whole);
	}
	return commands[i].handle(command);
}

/* A kernel writes the whole response, or none of it. */
static void clear_response(struct command *command)
{
	if (command->out)
		memset(command->out, 0, command->out_len);
}

int command_run(uint32_t number, struct command *command)
{
	static const char nothing[512];
	int i = find(number);

	if (i < 0)
		return EOPNOTSUPP;
	if (!(number & EX)) {
		if (command->out_len < commands[i].out)
			return ENOSPC;
		if (command->in && command->in_len < commands[i].in)
			return EINVAL;
	}
	if (!command->in || !command->in_len) {
		command->in = nothing;
		command->in_len = sizeof(nothing);
	}
	clear_response(command);
	return run(i, command);
}

/* A command of write() as struct command: 0, or EINVAL when its lengths do not add up. */
static int parse_plain(int i, const struct ib_uverbs_cmd_hdr *header, size_t length,
		       struct command *ret)
{
	const char *body = (const char *)(header + 1);
	uint64_t response;

	if (header->in_words * 4u != length || length < sizeof(*header) + commands[i].in ||
	    header->out_words * 4u < commands[i].out)
		return EINVAL;
	ret->in = body;
	ret->in_len = commands[i].in;
	ret->driver.in = body + commands[i].in;
	ret->driver.in_len = length - sizeof(*header) - commands[i].in;
	if (!commands[i].out)
		return 0;
	memcpy(&response, body, sizeof(response)); /* the first member of all that answer */
	ret->out = (void *)(uintptr_t)response;
	ret->out_len = commands[i].out;
	ret->driver.out = (char *)ret->out + ret->out_len;
	ret->driver.out_len = header->out_words * 4u - ret->out_len;
	return 0;
}

static int parse_extended(const struct ib_uverbs_cmd_hdr *header, size_t length,
			  struct command *ret)
{
	const struct ib_uverbs_ex_cmd_hdr *extended = (const void *)(header + 1);

	if (length < sizeof(*header) + sizeof(*extended))
		return EINVAL;
	ret->in = extended + 1;
	ret->in_len = header->in_words * 8u;
	ret->driver.in = (const char *)ret->in + ret->in_len;
	ret->driver.in_len = extended->provider_in_words * 8u;
	ret->out = (void *)(uintptr_t)extended->response;
	ret->out_len = header->out_words * 8u;
	ret->driver.out = (char *)ret->out + ret->out_len;
	ret->driver.out_len = extended->provider_out_words * 8u;
	return sizeof(*header) + sizeof(*extended) + ret->in_len + ret->driver.in_len == length
		       ? 0
		       : EINVAL;
}

static int parse_and_run(const struct ib_uverbs_cmd_hdr *header, size_t length)
{
	struct command command = { 0 };
	int i, r;

	if (length < sizeof(*header))
		return EINVAL;
	i = find(header->command);
	if (i < 0)
		return EOPNOTSUPP;
	if (header->command & EX)
		r = parse_extended(header, length, &command);
	else
		r = parse_plain(i, header, length, &command);
	if (r)
		return r;
	clear_response(&command);
	return run(i, &command);
}

int command_write(int fd, const void *bytes, size_t length)
{
	int r;

	model_command_begin();
	event_context(fd);
	trace_flush();
	r = parse_and_run(bytes, length);
	model_command_end();
	return r;
}

int command_ioctl(int fd, struct ib_uverbs_ioctl_hdr *call)
{
	const char *abi = getenv("DEVICES_ABI");
	int r;

	if (abi && !strcmp(abi, "write"))
		return ENOTTY;
	model_command_begin();
	event_context(fd);
	trace_flush();
	r = native_run(call);
	model_command_end();
	return r;
}
