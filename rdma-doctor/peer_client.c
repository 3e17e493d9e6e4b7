/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The client's side of --peer: connect, ask the server for flows, and collect the results. */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "rdma-doctor/capture.h"
#include "rdma-doctor/child.h"
#include "rdma-doctor/clock.h"
#include "rdma-doctor/peer_side.h"

enum {
	CONNECT_MS = 5000,
	PATH_COUNT = 16, /* datagrams of a flow */
	TRY_COUNT = 8,
	PACED_COUNT = 25,
	PACED_FLOWS = 40,
	PACED_SECONDS = 15, /* for each way, because a lost datagram costs time */
	LOST_MANY = 20,	    /* enough for a finding */
	SMALL_BYTES = 64,
};

static int peer_failed(struct peer *p, int error, const char *text)
{
	p->error = error;
	snprintf(p->text, sizeof(p->text), "%s", text);
	return error;
}

/* Report a verb that failed on this host. */
static int verb_failed(struct peer *p, int error, const char *verb)
{
	char text[PEER_TEXT];

	snprintf(text, sizeof(text), "on this host, %s: %s", verb, strerror(error));
	return peer_failed(p, -error, text);
}

/* Connect within five seconds. Return: 0 or -errno. */
static int address_connect(const struct addrinfo *address, int *ret_fd)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, address->ai_addr, address->ai_addrlen) && errno != EINPROGRESS)
		error = errno;
	else if (poll(&poll_fd, 1, CONNECT_MS) <= 0)
		error = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (error)
		close(fd);
	else
		*ret_fd = fd;
	return -error;
}

static int host_connect(const char *host, struct peer *p, int *ret_fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found, *address;
	int r = getaddrinfo(host, PEER_TCP_PORT, &hints, &found);

	if (r)
		return peer_failed(p, PEER_NO_ADDRESS, gai_strerror(r));
	r = -EHOSTUNREACH;
	for (address = found; address && r < 0; address = address->ai_next)
		r = address_connect(address, ret_fd);
	freeaddrinfo(found);
	return r < 0 ? peer_failed(p, r, strerror(-r)) : 0;
}

/* Receive a message. The reason of a failure is stored in @p. */
static int answer(struct peer_side *side, struct peer *p, enum peer_type type,
		  struct peer_message *ret_message)
{
	int r = peer_message_receive(side->fd, type, ret_message);

	if (r == -ECONNREFUSED)
		return peer_failed(p, r, ret_message->text);
	if (!r && ret_message->type != type)
		r = -EPROTO;
	if (r == -ECONNRESET)
		return peer_failed(p, r, "the server ended the connection");
	if (r == -ETIMEDOUT)
		return peer_failed(p, r,
				   type == PEER_HELLO
					   ? "the server did not answer in ten seconds; it serves "
					     "one client at a time"
					   : "the server did not answer in ten seconds");
	if (r == -EPROTO)
		return peer_failed(p, r, "the answer is not one of rdma-doctor --serve");
	return r < 0 ? peer_failed(p, r, strerror(-r)) : 0;
}

static int greet(struct peer_side *side, struct peer *p)
{
	struct peer_message message = { .type = PEER_HELLO, .hello = side->here };
	int r;

	snprintf(message.text, sizeof(message.text), "%s", p->device);
	r = peer_message_send(side->fd, &message);
	if (r < 0)
		return peer_failed(p, r, strerror(-r));
	r = answer(side, p, PEER_HELLO, &message);
	if (r < 0)
		return r;
	p->here = side->here;
	p->there = message.hello;
	snprintf(p->peer_device, sizeof(p->peer_device), "%.*s", IBV_SYSFS_NAME_MAX - 1,
		 message.text);
	/* The rung "pair" reports it. */
	if (p->here.link_layer != p->there.link_layer || p->here.roce != p->there.roce)
		return peer_failed(p, -EPROTONOSUPPORT, "the ports do not fit");
	r = side_connect(side, &message.hello);
	return r ? verb_failed(p, r, "ibv_modify_qp") : 0;
}

/* Run a flow to the server. */
static int flow_there(struct peer_side *side, struct peer *p, const struct peer_flow *flow,
		      struct peer_sent *ret_sent, struct peer_report *own,
		      struct peer_report *ret_report, char ret_text[PEER_TEXT])
{
	struct peer_message message = { .type = PEER_FLOW, .flow = *flow };
	int r = peer_message_send(side->fd, &message);

	if (r < 0)
		return peer_failed(p, r, strerror(-r));
	r = answer(side, p, PEER_READY, &message);
	if (r < 0)
		return r;
	side_send(side, flow, ret_sent, own);
	message = (struct peer_message){ .type = PEER_SENT, .sent = *ret_sent };
	r = peer_message_send(side->fd, &message);
	if (r < 0)
		return peer_failed(p, r, strerror(-r));
	r = answer(side, p, PEER_REPORT, &message);
	if (r < 0)
		return r;
	*ret_report = message.report;
	memcpy(ret_text, message.text, PEER_TEXT);
	return 0;
}

/* Run a flow from the server. */
static int flow_back(struct peer_side *side, struct peer *p, const struct peer_flow *flow,
		     struct peer_sent *ret_sent, struct peer_report *ret_report)
{
	struct peer_message message = { .type = PEER_FLOW, .flow = *flow };
	int r = side_prepare(side, flow);

	if (r)
		return verb_failed(p, r, "ibv_post_recv");
	r = peer_message_send(side->fd, &message);
	if (!r)
		r = side_receive(side, flow, ret_report, ret_sent);
	return r < 0 ? peer_failed(p, r, "the server stopped in a flow") : 0;
}

static int datagrams(struct peer_side *side, struct peer *p, enum peer_way way, uint32_t count,
		     uint32_t bytes, uint32_t class, struct peer_count *sum,
		     struct peer_report *ret_report)
{
	static uint32_t number;
	const struct peer_flow flow = {
		.kind = FLOW_DATAGRAMS,
		.from_server = way == WAY_BACK,
		.number = ++number,
		.count = count,
		.bytes = bytes,
		.traffic_class = class,
	};
	struct peer_report report = {}, own = {};
	struct peer_sent sent = {};
	char text[PEER_TEXT];
	int r = way == WAY_BACK ? flow_back(side, p, &flow, &sent, &report)
				: flow_there(side, p, &flow, &sent, &own, &report, text);

	if (r < 0)
		return r;
	sum->sent += count;
	sum->arrived += min_of(report.arrived, count);
	*ret_report = report;
	return 0;
}

static bool lost_many(const struct peer_count *count)
{
	return count->sent - count->arrived >= LOST_MANY;
}

/* Send small datagrams without a load. End early if many were lost, or if the time is over. */
static int paced_try(struct peer_side *side, struct peer *p, enum peer_way way)
{
	const uint64_t end = clock_now() + PACED_SECONDS * CLOCK_SECOND;
	struct peer_count *sum = &p->paced[way];
	struct peer_report report;
	int r = 0;

	for (unsigned int i = 0; i < PACED_FLOWS && !r; i++) {
		if (lost_many(sum) || (i && clock_now() > end))
			break;
		r = datagrams(side, p, way, PACED_COUNT, SMALL_BYTES, 0, sum, &report);
	}
	return r;
}

static int path_try(struct peer_side *side, struct peer *p, enum peer_way way)
{
	struct peer_report report;
	int r = datagrams(side, p, way, PATH_COUNT, SMALL_BYTES, 0, &p->path[way], &report);
	const uint32_t mtu = 128 << min_of(p->here.mtu, p->there.mtu);

	if (r < 0 || !p->path[way].arrived)
		return r;
	p->hops_seen[way] = report.has_header ? (int)report.hop_limit : -1;
	for (unsigned int i = 0; i < PEER_SIZES && peer_size(i) <= mtu && !r; i++)
		r = datagrams(side, p, way, TRY_COUNT, peer_size(i), 0, &p->size[way][i], &report);
	for (unsigned int i = 0; i < PEER_CLASSES && !r; i++) {
		r = datagrams(side, p, way, TRY_COUNT, SMALL_BYTES, peer_class(i),
			      &p->class[way][i], &report);
		p->class_seen[way][i] =
			!r && report.arrived && report.has_header ? (int)report.traffic_class : -1;
	}
	return r ?: paced_try(side, p, way);
}

static void difference(struct peer_report *after, const struct peer_report *before)
{
	after->losses -= before->losses;
	after->drops -= before->drops;
	after->marks -= before->marks;
}

static int load_try(struct peer_side *side, struct peer *p)
{
	const struct peer_flow flow = { .kind = FLOW_LOAD };
	struct peer_report before, after, own = {};
	uint64_t start = clock_now();
	int r;

	side_count(side, &before);
	r = flow_there(side, p, &flow, &p->load, &own, &p->load_there, p->pfc_there);
	if (r < 0)
		return r;
	side_count(side, &after);
	difference(&after, &before);
	after.ms = own.ms;
	after.stalled_ms = own.stalled_ms;
	pfc_report(side->netdev, &after, p->pfc_here);
	p->load_here = after;
	p->mbps = (uint64_t)p->load.count * PEER_LOAD_BYTES * 8 * 1000 /
		  max_of(clock_now() - start, UINT64_C(1));
	p->loaded = true;
	return 0;
}

static int flows_try(struct peer_side *side, struct peer *p)
{
	int r = path_try(side, p, WAY_THERE) ?: path_try(side, p, WAY_BACK);

	if (r < 0 || !p->path[WAY_THERE].arrived || !p->path[WAY_BACK].arrived)
		return r;
	/* A load over such a network gives no further results, and may take a minute. */
	if (lost_many(&p->paced[WAY_THERE]) || lost_many(&p->paced[WAY_BACK]))
		return 0;
	return load_try(side, p);
}

struct peer_job {
	const struct doctor *doctor;
	const char *host;
};

static void exchange(const struct peer_job *job, struct peer_side *side, struct peer *p)
{
	const struct peer_message bye = { .type = PEER_BYE };
	const char *verb;

	if (host_connect(job->host, p, &side->fd) < 0)
		return;
	p->step = PEER_OPEN;
	verb = side_open(side, job->doctor->wanted, p->device, sizeof(p->device));
	if (verb) {
		verb_failed(p, errno ?: EIO, verb);
		return;
	}
	p->step = PEER_GREET;
	if (greet(side, p) < 0)
		return;
	p->step = PEER_FLOWS;
	if (flows_try(side, p) < 0)
		return;
	p->step = PEER_DONE;
	peer_message_send(side->fd, &bye);
}

static void client_job(const void *arg, void *result)
{
	const struct peer_job *job = arg;
	struct peer_side side = { .doctor = job->doctor, .fd = -1 };
	struct capture capture;
	char said[512];

	capture_begin(&capture);
	exchange(job, &side, result);
	side_close(&side);
	if (side.fd >= 0)
		close(side.fd);
	capture_end(&capture, said, sizeof(said));
}

void system_peer(const struct doctor *d, const char *host, struct peer *ret_peer)
{
	const struct peer_job job = { d, host };
	struct peer p = {};
	int signal, r = child_run(client_job, &job, &p, sizeof(p), &signal);

	if (r < 0 && r != -ETIMEDOUT && r != -EFAULT) {
		p = (struct peer){ .step = PEER_OPEN };
		verb_failed(&p, -r, "fork");
	} else if (r < 0) {
		p = (struct peer){ .step = PEER_GREET };
		peer_failed(&p, r,
			    r == -ETIMEDOUT ? "the transfer took more than a minute"
					    : "the process of the transfer crashed");
	}
	*ret_peer = p;
}
