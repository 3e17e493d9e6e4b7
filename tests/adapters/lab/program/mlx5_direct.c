/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys of mlx5 that requests describe, between two queue pairs of one process: writes, reads and
 * receives through such a key reach the bytes of its list, and no others. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>

enum {
	HALF = 4096, /* bytes of the memory of one end, in front of the memory of the other end */
	PIECE = 24,
	STEP = 40,
	BLOCKS = 3,
	TOTAL = 2 * PIECE,
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_qp *near, *far;
static char memory[2 * HALF] __attribute__((aligned(4096)));
static char expected[2 * HALF];
static unsigned checks;

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static struct ibv_qp *make_qp(void)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_MR_LIST |
				  MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 8, 8, 2, 2, 252 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_LOCAL_INV,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(context, &attr, &dv);

	must(qp, "qp");
	return qp;
}

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags =
					    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};
	must(!ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), "gid");
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static enum ibv_wc_status wait_for_one(void)
{
	struct ibv_wc wc;
	int got;

	while (!(got = ibv_poll_cq(cq, 1, &wc)))
		usleep(100);
	must(got == 1, "poll");
	return wc.status;
}

static void done(const char *what)
{
	enum ibv_wc_status status = wait_for_one();

	if (status)
		fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(status));
	must(!status, what);
}

/* ---- keys: over two pieces, and over two pieces in each of some blocks */

static struct mlx5dv_qp_ex *begin(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	return mlx5dv_qp_ex_from_ibv_qp_ex(ex);
}

static void end(struct ibv_qp *qp, const char *what)
{
	must(!ibv_wr_complete(ibv_qp_to_qp_ex(qp)), what);
	done(what);
}

static void describe_list(struct ibv_qp *qp, struct mlx5dv_mkey *key, char *at, uint32_t access)
{
	struct ibv_sge pieces[2] = { { (uintptr_t)at + STEP, PIECE, mr->lkey },
				     { (uintptr_t)at, PIECE, mr->lkey } };

	mlx5dv_wr_mr_list(begin(qp), key, access, 2, pieces);
	end(qp, "list");
}

static void describe_blocks(struct ibv_qp *qp, struct mlx5dv_mkey *key, char *at)
{
	struct mlx5dv_mr_interleaved pieces[2] = {
		{ (uintptr_t)at, PIECE, STEP - PIECE, mr->lkey },
		{ (uintptr_t)at + HALF / 2, PIECE, 0, mr->lkey },
	};

	mlx5dv_wr_mr_interleaved(begin(qp), key, IBV_ACCESS_LOCAL_WRITE, BLOCKS, 2, pieces);
	end(qp, "blocks");
}

/* Return the place of byte @n of a key, as an offset from the beginning of the described memory. */
static size_t in_list(size_t n)
{
	return n < PIECE ? STEP + n : n - PIECE;
}

static size_t in_blocks(size_t n)
{
	size_t block = n / TOTAL, rest = n % TOTAL;

	return rest < PIECE ? block * STEP + rest : HALF / 2 + block * PIECE + rest - PIECE;
}

/* ---- data */

static void fill(void)
{
	for (size_t i = 0; i < sizeof(memory); i++)
		expected[i] = memory[i] = i * 7 + i / 251;
}

static void compare(const char *what)
{
	checks++;
	for (size_t i = 0; i < sizeof(memory); i++) {
		if (memory[i] == expected[i])
			continue;
		fprintf(stderr, "%s: byte %zu is 0x%x, not 0x%x\n", what, i, memory[i] & 0xff,
			expected[i] & 0xff);
		exit(1);
	}
}

static void post(enum ibv_wr_opcode opcode, uint64_t addr, uint32_t length, uint32_t lkey,
		 uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { addr, length, lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = rkey;
	must(!ibv_post_send(near, &wr, &bad), "post_send");
}

/* Write to a key in one piece, from byte @skip on, and read it back. */
static void there_and_back(struct mlx5dv_mkey *key, size_t (*place)(size_t), uint32_t length)
{
	const uint32_t skip = 5;

	fill();
	for (size_t i = 0; i < length - skip; i++)
		expected[HALF + i] = memory[place(i + skip)];
	post(IBV_WR_RDMA_WRITE, skip, length - skip, key->lkey, (uintptr_t)memory + HALF, mr->rkey);
	done("write");
	compare("write");
	fill();
	for (size_t i = 0; i < length; i++)
		expected[place(i)] = memory[HALF + i];
	post(IBV_WR_RDMA_READ, 0, length, key->lkey, (uintptr_t)memory + HALF, mr->rkey);
	done("read");
	compare("read");
}

static void received(struct mlx5dv_mkey *key, size_t (*place)(size_t), uint32_t length)
{
	struct ibv_sge sge = { 0, length, key->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	fill();
	for (size_t i = 0; i < length; i++)
		expected[HALF + place(i)] = memory[i];
	must(!ibv_post_recv(far, &wr, &bad), "post_recv");
	post(IBV_WR_SEND, (uintptr_t)memory, length, mr->lkey, 0, 0);
	done("send");
	done("receive");
	compare("receive");
}

/* A key of one piece is open to peers, whose addresses count from 0. */
static void opened(struct mlx5dv_mkey *key)
{
	struct ibv_sge piece = { (uintptr_t)memory + HALF + 100, 200, mr->lkey };

	mlx5dv_wr_mr_list(begin(far), key, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1,
			  &piece);
	end(far, "one piece");
	fill();
	memcpy(expected + HALF + 110, memory, 64);
	post(IBV_WR_RDMA_WRITE, (uintptr_t)memory, 64, mr->lkey, 10, key->rkey);
	done("remote write");
	compare("remote write");
}

/* Check that an invalidated key is refused. */
static void invalid(struct mlx5dv_mkey *key)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = key->rkey },
			   *bad;

	must(!ibv_post_send(near, &wr, &bad), "invalidate");
	done("invalidate");
	fill();
	post(IBV_WR_RDMA_WRITE, 0, TOTAL, key->lkey, (uintptr_t)memory + HALF, mr->rkey);
	must(wait_for_one() == IBV_WC_LOC_PROT_ERR, "a key that was invalidated");
	compare("a key that was invalidated");
}

static struct mlx5dv_mkey *make_key(void)
{
	struct mlx5dv_mkey_init_attr attr = { .pd = pd,
					      .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = 4 };
	struct mlx5dv_mkey *key = mlx5dv_create_mkey(&attr);

	must(key, "key");
	return key;
}

int main(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_mkey *key, *other;

	must(list && list[0], "device");
	context = mlx5dv_open_device(list[0], &attr);
	must(context, "context");
	pd = ibv_alloc_pd(context);
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	cq = ibv_create_cq(context, 31, NULL, NULL, 0);
	must(pd && mr && cq, "objects");
	near = make_qp();
	far = make_qp();
	connect_to(near, far);
	connect_to(far, near);
	key = make_key();
	other = make_key();
	describe_list(near, key, memory, IBV_ACCESS_LOCAL_WRITE);
	there_and_back(key, in_list, TOTAL);
	describe_blocks(near, key, memory); /* instead of the former value */
	there_and_back(key, in_blocks, BLOCKS * TOTAL);
	describe_list(far, other, memory + HALF, IBV_ACCESS_LOCAL_WRITE);
	received(other, in_list, TOTAL);
	describe_blocks(far, other, memory + HALF);
	received(other, in_blocks, BLOCKS * TOTAL);
	opened(other);
	invalid(key);
	must(!ibv_destroy_qp(near) && !ibv_destroy_qp(far) && !mlx5dv_destroy_mkey(key) &&
		     !mlx5dv_destroy_mkey(other) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) &&
		     !ibv_dealloc_pd(pd) && !ibv_close_device(context),
	     "destroy");
	ibv_free_device_list(list);
	printf("keys: %u comparisons of %zu bytes\n", checks, sizeof(memory));
	return 0;
}
