/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <limits.h>
#include <string.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define FIRST_WORD_MS	30000
#define PERHAPS_MUTE_MS 1000
/* first message of a long answer: the peer gets it while the next one is copied */
#define FIRST_MESSAGE 4096
#define DIRECT_MIN    4096 /* least bytes that may be copied directly into the peer's memory */

/* The rest of a vector. */
struct cursor {
	const struct iovec *iov;
	size_t at; /* offset in the first element */
	size_t left;
};

static struct cursor cursor_of(const struct iovec *iov, int count)
{
	struct cursor c = { .iov = iov };

	for (int i = 0; i < count; i++)
		c.left += iov[i].iov_len;
	return c;
}

/* Return the bytes of the current element. The rest must not be empty. */
static size_t cursor_piece(struct cursor *c)
{
	while (c->at == c->iov->iov_len) {
		c->iov++;
		c->at = 0;
	}
	return c->iov->iov_len - c->at;
}

static const uint8_t *cursor_bytes(const struct cursor *c)
{
	return (const uint8_t *)c->iov->iov_base + c->at;
}

static void cursor_pass(struct cursor *c, uint32_t length)
{
	c->at += length;
	c->left -= length;
}

static void cursor_copy(struct cursor *c, uint8_t *to, uint32_t length)
{
	while (length) {
		size_t part = min_of(cursor_piece(c), (size_t)length);

		memcpy(to, cursor_bytes(c), part);
		to += part;
		length -= part;
		cursor_pass(c, part);
	}
}

uint32_t rs_send_free(const struct rs_socket *s)
{
	return min_of(rs_buffer_free(s), s->sbuf_size - (uint32_t)(s->sbuf_head % s->sbuf_size));
}

static struct ibv_sge buffer_take(struct rs_socket *s, uint32_t length)
{
	uint8_t *place = s->sbuf + s->sbuf_head % s->sbuf_size;

	s->sbuf_head += length;
	return (struct ibv_sge){
		.addr = (uintptr_t)place,
		.length = length,
		.lkey = s->smr->lkey,
	};
}

static struct ibv_sge buffer_fill(struct rs_socket *s, struct cursor *c, uint32_t length)
{
	struct ibv_sge sge = buffer_take(s, length);

	cursor_copy(c, (uint8_t *)(uintptr_t)sge.addr, length);
	return sge;
}

struct ibv_sge rs_send_copy(struct rs_socket *s, const void *bytes, uint32_t length)
{
	const struct iovec iov = { (void *)bytes, length };
	struct cursor c = cursor_of(&iov, 1);

	return buffer_fill(s, &c, length);
}

static int send_error(struct rs_socket *s)
{
	if (rs_is_unconnected(s))
		return -ENOTCONN;
	return s->state == RS_FAILED && s->error ? -s->error : -EPIPE;
}

/* Skip the last bytes of the buffer if they would make a small message. Return: bytes skipped. */
static uint32_t buffer_turn(struct rs_socket *s, uint32_t length)
{
	uint32_t left = s->sbuf_size - (uint32_t)(s->sbuf_head % s->sbuf_size);

	if (left >= min_of(length, (uint32_t)DIRECT_MIN) || rs_buffer_free(s) <= left)
		return 0;
	s->sbuf_head += left;
	return left;
}

/* The bytes of a message and their place in the buffer. */
struct piece {
	struct ibv_sge sge;
	const void *from; /* bytes that are still to be copied into the buffer, or NULL */
	uint32_t taken;	  /* bytes of the buffer, with those skipped */
};

static struct piece piece_inline(struct cursor *c, uint32_t length)
{
	struct piece p = { .sge = { .addr = (uintptr_t)cursor_bytes(c), .length = length } };

	cursor_pass(c, length);
	return p;
}

static struct piece piece_take(struct rs_socket *s, struct cursor *c, uint32_t length)
{
	uint32_t turned = buffer_turn(s, length);
	struct piece p = {};

	length = min_of(length, rs_send_free(s));
	p.taken = turned + length;
	if (length < DIRECT_MIN || length > cursor_piece(c) || s->sends_words) {
		p.sge = buffer_fill(s, c, length);
		return p;
	}
	p.from = cursor_bytes(c);
	p.sge = buffer_take(s, length);
	cursor_pass(c, length);
	return p;
}

/* Send one message of up to @most bytes; @lock is held. Return: 0 or -errno. */
static int message_send(struct rs_socket *s, struct cursor *c, uint32_t most)
{
	uint32_t room = min_of(most, rs_credit_room(&s->out));
	uint32_t length = min_of((size_t)room, c->left);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };
	bool inlined = length <= s->inline_size && length <= cursor_piece(c);
	struct piece p = inlined ? piece_inline(c, length) : piece_take(s, c, length);
	struct rs_target target;

	length = p.sge.length;
	rs_credit_take(&s->out, length, &target);
	wr.send_flags = inlined ? IBV_SEND_INLINE : 0;
	wr.sg_list = &p.sge;
	wr.num_sge = 1;
	wr.imm_data = htobe32(rs_wire_imm(RS_WIRE_BYTES, length));
	wr.wr.rdma.remote_addr = target.addr;
	wr.wr.rdma.rkey = target.key;
	return rs_post_data(s, &wr, p.taken, p.from) < 0 ? send_error(s) : 0;
}

/* Return whether data arrived since the last send. */
static bool is_answer(struct rs_socket *s)
{
	bool answers = s->in.received != s->answered;

	s->answered = s->in.received;
	return answers;
}

/* Send as much as fits now. Return: bytes, 0 if there is no room, or -errno. */
static ssize_t burst_send(struct rs_socket *s, struct cursor *c)
{
	size_t before = c->left;
	uint32_t most;
	bool answers;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (!rs_is_open(s)) {
		r = send_error(s);
	} else {
		/*
		 * The first message of an answer is small, because the peer waits for it. The peer
		 * of a stream is busy, and each message costs both sides. A program that answers
		 * has just polled the CQ. If it polls again, a device that acknowledges at the next
		 * poll sends the acknowledgement before the answer.
		 */
		answers = is_answer(s);
		if (!answers || !rs_can_send(s))
			rs_complete(s);
		most = answers ? FIRST_MESSAGE : RS_MESSAGE_MAX;
		while (c->left && rs_is_open(s) && rs_can_send(s)) {
			r = message_send(s, c, most);
			if (r < 0)
				break;
			most = min_of(most * 2, (uint32_t)RS_MESSAGE_MAX);
		}
		if (r == 0 && c->left == before)
			rs_send_stalled(s);
	}
	pthread_mutex_unlock(&s->lock);
	return r < 0 ? r : (ssize_t)(before - c->left);
}

static ssize_t bytes_send(struct rs_socket *s, struct cursor *c, int flags)
{
	size_t sent = 0;
	ssize_t n = 0;

	while (c->left) {
		n = burst_send(s, c);
		if (n == 0)
			n = rs_turn_wait(s, &s->send_turn, sent, rs_can_send, rs_patience(s, flags),
					 s->send_timeout_ms);
		else if (n > 0)
			sent += n;
		if (n < 0)
			break;
	}
	return sent ? (ssize_t)sent : n;
}

/* As TCP, find an end of this side by a send without bytes, and not an end of the peer. */
static int nothing_send(struct rs_socket *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = rs_is_open(s) || (s->state == RS_CLOSED && !s->no_send && !rs_is_unconnected(s))
		    ? 0
		    : send_error(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static bool is_heard(struct rs_socket *s)
{
	return !s->unheard || s->state != RS_CONNECTED;
}

void rs_first_word_await(struct rs_socket *s)
{
	bool heard;

	if (likely(!s->sends_words))
		return;
	pthread_mutex_lock(&s->lock);
	heard = is_heard(s);
	pthread_mutex_unlock(&s->lock);
	if (heard)
		return;
	rs_wait(s, is_heard, RS_WAIT_ALWAYS, s->peer_speaks ? FIRST_WORD_MS : PERHAPS_MUTE_MS);
	pthread_mutex_lock(&s->lock);
	s->unheard = false;
	pthread_mutex_unlock(&s->lock);
}

/* A direction that was shut down has its answer before the connection is made. */
static bool send_may_start(struct rs_socket *s)
{
	return s->no_send || rs_connect_has_ended(s);
}

static ssize_t vector_send(struct rs_socket *s, const struct iovec *iov, int count, int flags)
{
	struct cursor c = cursor_of(iov, count);
	ssize_t n = rs_connect_finish(s, send_may_start, rs_patience(s, flags));

	if (n == 0)
		n = rs_turn_take(s, &s->send_turn, rs_patience(s, flags));
	if (n < 0)
		return n;
	rs_first_word_await(s);
	if (unlikely(s->mappings_pending && !s->no_send))
		n = rs_iomap_tell(s, rs_patience(s, flags));
	if (n >= 0)
		n = c.left ? bytes_send(s, &c, flags) : nothing_send(s);
	rs_error_told(s, n);
	rs_turn_give(s, &s->send_turn);
	return n;
}

/* @msg: the vector, and for a datagram its address and control messages */
/*
 * Check the control messages of a stream, as TCP does. They have no effect: descriptors and names
 * of processes go by Unix domain sockets only.
 */
static int control_check(const struct msghdr *msg)
{
	struct msghdr copy = *msg;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&copy); c; c = CMSG_NXTHDR(&copy, c)) {
		size_t room = copy.msg_controllen - ((uint8_t *)c - (uint8_t *)copy.msg_control);

		if (c->cmsg_len < sizeof(*c) || c->cmsg_len > room)
			return -EINVAL;
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type != SCM_RIGHTS &&
		    c->cmsg_type != SCM_CREDENTIALS && c->cmsg_type != SO_TIMESTAMPING)
			return -EINVAL;
	}
	return 0;
}

static ssize_t fd_send_message(int fd, const struct msghdr *msg, int flags)
{
	RS_CALL_SLEEPY;
	struct rs_socket *s = rs_table_find(fd);
	ssize_t r;

	if (!s)
		return rs_ret(-EBADF);
	rs_call_hold(s, NULL);
	r = flags & MSG_OOB ? -EOPNOTSUPP : rs_vector_check(msg->msg_iov, msg->msg_iovlen);
	if (r == 0 && s->ds)
		r = ds_send(s, msg, flags);
	if (r == 0 && !s->ds && msg->msg_control && msg->msg_controllen)
		r = control_check(msg);
	if (r == 0 && !s->ds)
		r = vector_send(s, msg->msg_iov, msg->msg_iovlen, flags);
	rs_socket_put(s);
	return rs_ret(r);
}

static ssize_t fd_send(int fd, const struct iovec *iov, int count, int flags)
{
	const struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = count };

	return fd_send_message(fd, &msg, flags);
}

RS_EXPORT ssize_t rsend(int fd, const void *buf, size_t len, int flags)
{
	const struct iovec iov = { (void *)buf, len };

	return fd_send(fd, &iov, 1, flags);
}

RS_EXPORT ssize_t rsendto(int fd, const void *buf, size_t len, int flags,
			  const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = { (void *)buf, len };
	const struct msghdr msg = {
		.msg_name = (void *)dest_addr,
		.msg_namelen = addrlen,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	return fd_send_message(fd, &msg, flags);
}

RS_EXPORT ssize_t rsendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct msghdr named = *msg;

	if (msg->msg_iovlen > IOV_MAX)
		return rs_ret(-EMSGSIZE);
	if (!msg->msg_namelen) /* as with the kernel: to the peer */
		named.msg_name = NULL;
	return fd_send_message(fd, &named, flags);
}

RS_EXPORT ssize_t rwrite(int fd, const void *buf, size_t count)
{
	return rsend(fd, buf, count, 0);
}

RS_EXPORT ssize_t rwritev(int fd, const struct iovec *iov, int iovcnt)
{
	struct rs_socket *s;
	int r = rs_vector_check(iov, iovcnt);

	if (r < 0 || rs_vector_size(iov, iovcnt))
		return fd_send(fd, iov, iovcnt, 0);
	/* Like writev() of the kernel, do nothing if there are no bytes. */
	s = rs_table_find(fd);
	if (!s)
		return rs_ret(-EBADF);
	rs_socket_put(s);
	return 0;
}

RS_EXPORT bool rs_send_is_signalled(int fd)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	bool signalled;

	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	signalled = !s->ds && (s->no_send || s->pipe_told || s->state == RS_FAILED);
	s->pipe_told = true;
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return signalled;
}
