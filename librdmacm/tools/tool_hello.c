/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "tool.h"

#define HELLO_SIZE 16

const struct tool_word tool_hello_types[] = {
	{ "r", IBV_QPT_RC },
	{ "x", IBV_QPT_XRC_SEND },
	{},
};

struct hello {
	struct rdma_cm_id *listen, *id;
	__be32 srq_num; /* number of the server's SRQ; 0: none */
	struct ibv_mr *send_mr, *recv_mr;
	uint8_t send[HELLO_SIZE], recv[HELLO_SIZE];
};

static bool is_xrc(const struct tool_hello *hello)
{
	return hello->type == IBV_QPT_XRC_SEND;
}

/*
 * Return the type of the queue pair. XRC clients have the half that sends, XRC servers the half
 * that receives.
 */
static enum ibv_qp_type qp_type(const struct tool_hello *hello)
{
	return is_xrc(hello) && hello->listen ? IBV_QPT_XRC_RECV : hello->type;
}

static struct ibv_qp_init_attr qp_attr(const struct tool_hello *hello)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = HELLO_SIZE },
		.qp_type = qp_type(hello),
		.sq_sig_all = 1,
	};
}

static int endpoint_create(const struct tool_hello *hello, struct rdma_cm_id **ret_id)
{
	struct rdma_addrinfo *info, hints = {
		.ai_flags = hello->listen ? RAI_PASSIVE : 0,
		.ai_port_space = is_xrc(hello) ? RDMA_PS_IB : RDMA_PS_TCP,
		.ai_qp_type = is_xrc(hello) ? qp_type(hello) : 0,
	};
	struct ibv_qp_init_attr attr = qp_attr(hello);
	int r = rdma_getaddrinfo(hello->node, hello->port, &hints, &info);

	if (r) {
		printf("rdma_getaddrinfo: %s\n", tool_address_error(r));
		return r;
	}
	r = rdma_create_ep(ret_id, info, NULL, &attr);
	rdma_freeaddrinfo(info);
	return r ? tool_perror("", "rdma_create_ep") : 0;
}

/* Create the SRQ for messages of XRC, which contain its number. */
static int srq_create(struct hello *hello)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	uint32_t number;

	if (rdma_create_srq(hello->id, NULL, &attr))
		return tool_perror("", "rdma_create_srq");
	if (ibv_get_srq_num(hello->id->srq, &number))
		return tool_perror("", "ibv_get_srq_num");
	hello->srq_num = htobe32(number);
	return 0;
}

static int buffers_register(const struct tool_hello *options, struct hello *hello)
{
	bool receives = !is_xrc(options) || options->listen;

	hello->recv_mr = rdma_reg_msgs(hello->id, hello->recv, HELLO_SIZE);
	if (!hello->recv_mr)
		return tool_perror("", "rdma_reg_msgs for recv_msg");
	hello->send_mr = rdma_reg_msgs(hello->id, hello->send, HELLO_SIZE);
	if (!hello->send_mr)
		return tool_perror("", "rdma_reg_msgs for send_msg");
	if (receives && rdma_post_recv(hello->id, NULL, hello->recv, HELLO_SIZE, hello->recv_mr))
		return tool_perror("", "rdma_post_recv");
	return 0;
}

static int completion_check(int n, const struct ibv_wc *wc, const char *call)
{
	if (n < 0)
		return tool_perror("", call);
	if (wc->status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "%s: %s\n", call, ibv_wc_status_str(wc->status));
	return -1;
}

static int send_xrc(struct hello *hello)
{
	struct ibv_sge sge = { .addr = (uintptr_t)hello->send, .length = HELLO_SIZE };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.qp_type.xrc.remote_srqn = be32toh(hello->srq_num),
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	errno = ibv_post_send(hello->id->qp, &wr, &bad);
	if (errno)
		return tool_perror("", "ibv_post_send");
	return completion_check(rdma_get_send_comp(hello->id, &wc), &wc, "rdma_get_send_comp");
}

/* Take the number of the SRQ from the server's answer. */
static int srq_num_take(struct hello *hello)
{
	const struct rdma_conn_param *param = &hello->id->event->param.conn;

	if (!param->private_data || param->private_data_len < sizeof(hello->srq_num)) {
		fprintf(stderr, "the server names no SRQ: was it started with -c x?\n");
		return -1;
	}
	memcpy(&hello->srq_num, param->private_data, sizeof(hello->srq_num));
	return 0;
}

static int hello_send(struct hello *hello)
{
	struct ibv_wc wc;

	if (rdma_post_send(hello->id, NULL, hello->send, HELLO_SIZE, hello->send_mr,
			   IBV_SEND_INLINE))
		return tool_perror("", "rdma_post_send");
	return completion_check(rdma_get_send_comp(hello->id, &wc), &wc, "rdma_get_send_comp");
}

static int hello_receive(struct hello *hello)
{
	struct ibv_wc wc;

	return completion_check(rdma_get_recv_comp(hello->id, &wc), &wc, "rdma_get_recv_comp");
}

static void hello_close(struct hello *hello)
{
	if (hello->send_mr)
		rdma_dereg_mr(hello->send_mr);
	if (hello->recv_mr)
		rdma_dereg_mr(hello->recv_mr);
	if (hello->id)
		rdma_destroy_ep(hello->id);
	if (hello->listen)
		rdma_destroy_ep(hello->listen);
}

/* ---- the two sides ---- */

static int client_run(const struct tool_hello *options, struct hello *hello)
{
	int r = endpoint_create(options, &hello->id);

	if (!r)
		r = buffers_register(options, hello);
	if (!r && rdma_connect(hello->id, NULL))
		r = tool_perror("", "rdma_connect");
	if (!r && is_xrc(options))
		r = srq_num_take(hello);
	if (r)
		return r;
	r = is_xrc(options) ? send_xrc(hello) : hello_send(hello);
	if (!r && !options->one_way)
		r = hello_receive(hello);
	rdma_disconnect(hello->id);
	return r;
}

static int hello_accept(const struct tool_hello *options, struct hello *hello)
{
	struct rdma_conn_param one_way = {
		.private_data = &hello->srq_num,
		.private_data_len = sizeof(hello->srq_num),
	};

	return rdma_accept(hello->id, options->one_way ? &one_way : NULL)
		       ? tool_perror("", "rdma_accept")
		       : 0;
}

static int server_run(const struct tool_hello *options, struct hello *hello)
{
	int r = endpoint_create(options, &hello->listen);

	if (!r && rdma_listen(hello->listen, 0))
		r = tool_perror("", "rdma_listen");
	if (!r && rdma_get_request(hello->listen, &hello->id))
		r = tool_perror("", "rdma_get_request");
	if (!r && is_xrc(options))
		r = srq_create(hello);
	if (!r)
		r = buffers_register(options, hello);
	if (!r)
		r = hello_accept(options, hello);
	if (r)
		return r;
	r = hello_receive(hello);
	if (!r && !options->one_way)
		r = hello_send(hello);
	rdma_disconnect(hello->id);
	return r;
}

int tool_hello_run(const struct tool_hello *options)
{
	struct hello hello = {};
	int r;

	printf("%s: start\n", options->prefix);
	r = options->listen ? server_run(options, &hello) : client_run(options, &hello);
	hello_close(&hello);
	printf("%s: end %d\n", options->prefix, r);
	return r;
}
