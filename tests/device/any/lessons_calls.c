/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of beginners that a call of libibverbs refuses, or should have refused. */
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt_lesson.h"

#define RTR_MASK                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

static uint8_t memory[4096] __attribute__((aligned(4096)));

/* ---- states ---- */

static struct ibv_qp_attr rtr_attr(struct rt_side *side)
{
	struct rt_address self = rt_side_address(side);

	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.ah_attr = rt_ah_attr(side->dev, &self),
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = self.qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};
}

/* Move to RTR with one mistake in the attributes. */
static void to_rtr(struct rt_dev *dev, struct rt_side *side, struct ibv_qp_attr attr, char *result)
{
	rt_side_init(side);
	rt_result_errno(result, ibv_modify_qp(side->qp, &attr, RTR_MASK));
	rt_side_close(side);
}

static int send_try(struct rt_side *side)
{
	struct ibv_sge sge = rt_sge(side, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad;

	return ibv_post_send(side->qp, &wr, &bad);
}

static void no_init(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	rt_result_errno(result, ibv_modify_qp(side.qp, &attr, RTR_MASK));
	rt_side_close(&side);
}

static void no_rtr(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 1
	};

	rt_side_init(&side);
	rt_result_errno(result, ibv_modify_qp(side.qp, &attr,
					      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
						      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						      IBV_QP_MAX_QP_RD_ATOMIC));
	rt_side_close(&side);
}

static void no_rts(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);

	rt_side_init(&side);
	rt_side_rtr(&side, &self);
	rt_result_errno(result, send_try(&side));
	rt_side_close(&side);
}

static void before_connect(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_wc wc;

	CHECK_INT(ibv_poll_cq(side.cq, 1, &wc), 0);
	rt_result_errno(result, send_try(&side));
	rt_side_close(&side);
}

/* ---- addresses ---- */

static void gid_index(struct rt_dev *dev, char *result)
{
	union ibv_gid gid;

	rt_result_errno(result, ibv_query_gid(dev->ctx, dev->port_num, 20000, &gid) ? errno : 0);
}

static void set_family(union ibv_gid *gid, bool ipv4)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (ipv4)
		memcpy(gid->raw, mapped, sizeof(mapped));
	else
		gid->raw[0] = 0x20;
}

/* The first entry is link-local, and the peer's GID is that of an IPv4 address. */
static void gid_first(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	attr.ah_attr.grh.sgid_index = 0;
	set_family(&attr.ah_attr.grh.dgid, true);
	to_rtr(dev, &side, attr, result);
}

static void gid_family(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	set_family(&attr.ah_attr.grh.dgid, false);
	to_rtr(dev, &side, attr, result);
}

static void port(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 2 };

	rt_result_errno(result, ibv_modify_qp(side.qp, &attr,
					      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						      IBV_QP_ACCESS_FLAGS));
	rt_side_close(&side);
}

static void not_global(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	attr.ah_attr.is_global = 0;
	to_rtr(dev, &side, attr, result);
}

/* ---- MTU ---- */

static void mtu_bytes(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	attr.path_mtu = 1024;
	to_rtr(dev, &side, attr, result);
}

/*
 * Give the loopback interface of this network namespace the MTU of an Ethernet. The port follows.
 */
static void lo_shrink(struct rt_dev *dev)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = 1500 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFMTU, &request))
		rt_skip("the MTU of lo may not be set: %m");
	close(fd);
	for (int ms = 0; ms < 120000 && dev->port.active_mtu > IBV_MTU_1024; ms++) {
		usleep(1000);
		CHECK_OK(ibv_query_port(dev->ctx, dev->port_num, &dev->port));
	}
}

static void mtu_large(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = rtr_attr(&side);

	if (!rt_is_kernel(dev))
		lo_shrink(dev);
	attr.path_mtu = IBV_MTU_4096;
	to_rtr(dev, &side, attr, result);
}

/* ---- memory ---- */

static void write_without_local(struct rt_dev *dev, char *result)
{
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_WRITE);

	rt_result_errno(result, mr ? 0 : errno);
}

/* ---- queues ---- */

static void send_queue_full(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .send_wr = 2 });
	int r = 0;

	/* The peer has no receive, therefore the queue fills. Devices round it up. */
	for (int i = 0; i < 10000 && !r; i++)
		r = send_try(&pair.a);
	rt_result_errno(result, r);
	rt_pair_close(&pair);
}

/* ---- the end ---- */

static void destroy_order(struct rt_dev *dev, char *result)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);

	rt_result_errno(result, ibv_destroy_cq(side.cq));
	rt_side_close(&side);
}

struct ending {
	int (*destroy)(void *object);
	void *object;
};

static void *ending_run(void *arg)
{
	struct ending *e = arg;

	CHECK_OK(e->destroy(e->object));
	return NULL;
}

/*
 * Destroy the object in a thread, and acknowledge its event after the line or after five seconds.
 */
static void destroy_slowly(struct ending e, const char *line, void (*acknowledge)(void *),
			   void *arg, char *result)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, ending_run, &e));
	for (int ms = 0; ms < 5000 && !strstr(rt_log_text(), line); ms += 10)
		usleep(10000);
	snprintf(result, RT_RESULT_SIZE, "%s",
		 pthread_tryjoin_np(thread, NULL) ? "hangs" : "works");
	acknowledge(arg);
	if (!strcmp(result, "hangs"))
		CHECK_OK(pthread_join(thread, NULL));
}

static int cq_destroy(void *cq)
{
	return ibv_destroy_cq(cq);
}

static int qp_destroy(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void cq_acknowledge(void *cq)
{
	ibv_ack_cq_events(cq, 1);
}

static void async_acknowledge(void *event)
{
	ibv_ack_async_event(event);
}

static void cq_event_kept(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .channel = true });
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	rt_recv(&pair.b, 2, 0, 64);
	CHECK_OK(send_try(&pair.a));
	CHECK_OK(ibv_get_cq_event(pair.a.channel, &cq, &context));
	CHECK_OK(ibv_destroy_qp(pair.a.qp));
	destroy_slowly((struct ending){ cq_destroy, cq }, "waits for", cq_acknowledge, cq, result);
	CHECK_OK(ibv_destroy_comp_channel(pair.a.channel));
	rt_buf_free(&pair.a.buf);
	rt_side_close(&pair.b);
}

static void async_event_kept(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	struct pollfd ready = { .fd = dev->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey ^= 0x5500;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	if (rt_is_rxe(dev) && !poll(&ready, 1, 2000)) {
		snprintf(result, RT_RESULT_SIZE, "no event");
		rt_pair_close(&pair);
		return;
	}
	CHECK_OK(ibv_get_async_event(dev->ctx, &event));
	destroy_slowly((struct ending){ qp_destroy, event.element.qp }, "waits for",
		       async_acknowledge, &event, result);
	if (event.element.qp == pair.a.qp)
		CHECK_OK(ibv_destroy_qp(pair.b.qp));
	else
		CHECK_OK(ibv_destroy_qp(pair.a.qp));
	CHECK_OK(ibv_destroy_cq(pair.a.cq));
	CHECK_OK(ibv_destroy_cq(pair.b.cq));
	rt_buf_free(&pair.a.buf);
	rt_buf_free(&pair.b.buf);
}

/* A child registers memory on an inherited domain. */
static void child(struct rt_dev *dev, char *result)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, sizeof(memory), 0);

		_exit(mr ? ibv_dereg_mr(mr) : errno);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	rt_result_errno(result, WEXITSTATUS(status));
}

static const struct rt_lesson lessons[] = {
	{ "no_init", no_init, "EINVAL", NULL, "from RESET a queue pair goes to" },
	{ "no_rtr", no_rtr, "EINVAL", NULL, "not to RTS" },
	{ "no_rts", no_rts, "EINVAL", NULL, "the QP is in state RTR, sending needs RTS" },
	{ "before_connect", before_connect, "EINVAL", NULL,
	  "the QP is in state RESET, sending needs RTS" },
	{ "gid_index", gid_index, "EINVAL", NULL, "index 20000" },
	{ "gid_first", gid_first, "EINVAL", NULL, "one is IPv4, the other IPv6" },
	{ "gid_family", gid_family, "EINVAL", NULL, "one is IPv4, the other IPv6" },
	{ "port", port, "EINVAL", NULL, "port_num 2: the device has ports 1 to 1" },
	{ "not_global", not_global, "EINVAL", NULL, "RoCE requires ah_attr.is_global = 1" },
	{ "mtu_bytes", mtu_bytes, "EINVAL", NULL, "path_mtu 1024 is no enum ibv_mtu" },
	{ "mtu_large", mtu_large, "works", NULL, "longer messages will not arrive", 2,
	  "and the active_mtu of the port is 1024 bytes" },
	{ "write_without_local", write_without_local, "EINVAL", NULL,
	  "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE" },
	{ "send_queue_full", send_queue_full, "ENOMEM", NULL, "send queue full" },
	{ "destroy_order", destroy_order, "EBUSY", NULL,
	  "1 queue pairs and XRC SRQs still use it" },
	{ "cq_event_kept", cq_event_kept, "hangs", NULL,
	  "ibv_destroy_cq() waits for ibv_ack_cq_events() of 1 event, see rdma-symptoms(7)", 1,
	  "destroyed without ibv_ack_cq_events()" },
	{ "async_event_kept", async_event_kept, "hangs", "no event",
	  "ibv_destroy_qp() waits for ibv_ack_async_event() of 1 event", 1,
	  "destroyed without ibv_ack_async_event()" },
	{ "child", child, "EIO", "works",
	  "open the device again after fork(), see rdma-symptoms(7)" },
};
RT_LESSONS(lessons)
