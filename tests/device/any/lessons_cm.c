/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of beginners with the connection manager. */
#include <pthread.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_lesson.h"

static void early_qp(struct rt_dev *dev, char *result)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	rt_result_errno(result, rdma_create_qp(id, dev->pd, &attr) ? errno : 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void no_route(struct rt_dev *dev, char *result)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage address = rt_cm_address(7);
	struct rdma_conn_param param = {};

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 5000));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	rt_cm_qp(id);
	rt_result_errno(result, rdma_connect(id, &param) ? errno : 0);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(channel);
}

/* Write which event ends the connect, with its status and the text for it. */
static void connect_result(struct rdma_event_channel *channel, char *result)
{
	struct rdma_cm_event *event;

	CHECK_OK(rdma_get_cm_event(channel, &event));
	if (event->event == RDMA_CM_EVENT_REJECTED)
		snprintf(result, RT_RESULT_SIZE, "REJECTED, status %d", event->status);
	else
		snprintf(result, RT_RESULT_SIZE, "%s", rdma_event_str(event->event));
	CHECK_OK(rdma_ack_cm_event(event));
}

static void nobody_listens(struct rt_dev *dev, char *result)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(channel, RDMA_PS_TCP, 7, true);
	struct rdma_conn_param param = {};

	CHECK_OK(rdma_connect(id, &param));
	connect_result(channel, result);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(channel);
}

static void rejected(struct rt_dev *dev, char *result)
{
	struct rdma_event_channel *client = rt_cm_channel(), *server = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(server, RDMA_PS_TCP, false);
	struct rdma_cm_id *id = rt_cm_client(client, RDMA_PS_TCP, rt_cm_port(listener), true);
	struct rdma_conn_param param = {};
	struct rdma_cm_event *event;
	struct rdma_cm_id *incoming;

	CHECK_OK(rdma_connect(id, &param));
	event = CM_EXPECT(server, CONNECT_REQUEST, 0);
	incoming = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_reject(incoming, NULL, 0));
	connect_result(client, result);
	CHECK_OK(rdma_destroy_id(incoming));
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(client);
	rdma_destroy_event_channel(server);
}

static void *id_destroy(void *id)
{
	CHECK_OK(rdma_destroy_id(id));
	return NULL;
}

static void cm_event_kept(struct rt_dev *dev, char *result)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage address = rt_cm_address(7);
	struct rdma_cm_event *event;
	pthread_t thread;

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 5000));
	event = CM_EXPECT(channel, ADDR_RESOLVED, 0);
	CHECK_OK(pthread_create(&thread, NULL, id_destroy, id));
	for (int ms = 0; ms < 120000 && !strstr(rt_log_text(), "waits for"); ms++)
		usleep(1000);
	snprintf(result, RT_RESULT_SIZE, "%s",
		 pthread_tryjoin_np(thread, NULL) ? "hangs" : "works");
	CHECK_OK(rdma_ack_cm_event(event));
	if (!strcmp(result, "hangs"))
		CHECK_OK(pthread_join(thread, NULL));
	rdma_destroy_event_channel(channel);
}

static const struct rt_lesson lessons[] = {
	{ "early_qp", early_qp, "EINVAL", NULL,
	  "before an address was bound or resolved to a device" },
	{ "no_route", no_route, "EINVAL", NULL,
	  "address and route must have been resolved before: call rdma_resolve_route()" },
	{ "nobody_listens", nobody_listens, "REJECTED, status 8", NULL,
	  "rejected: nobody listens on that port" },
	{ "rejected", rejected, "REJECTED, status 28", NULL,
	  "rejected: the program on the other side refused" },
	{ "cm_event_kept", cm_event_kept, "hangs", NULL,
	  "of RDMA_CM_EVENT_ADDR_RESOLVED, see rdma-symptoms(7)" },
};
RT_LESSONS(lessons)
