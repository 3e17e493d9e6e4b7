/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the program that its peer writes to by offset. A mapping is announced by an entry that
 * is written into the peer's list before the next data. The entries of the peer are in the list of
 * this side, which the peer can write at any time. Therefore read an entry once, and check it
 * before use.
 */
#include <string.h>

#include "librdmacm/rsocket/rs.h"

static struct rs_mapping *mapping_with_index(struct rs_socket *s, int index)
{
	struct rs_mapping *m;

	LIST_FOREACH(m, &s->mappings, of_socket)
		if (m->index == index)
			return m;
	return NULL;
}

/* Return the first free entry of the peer's list, or -ENOMEM. */
static int index_find(struct rs_socket *s)
{
	for (unsigned int i = 0; i < s->peer_mappings.length; i++)
		if (!mapping_with_index(s, i))
			return i;
	return -ENOMEM;
}

static int mapping_add(struct rs_socket *s, void *buf, size_t len, int prot, uint64_t offset)
{
	int access = IBV_ACCESS_LOCAL_WRITE | (prot & PROT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
	int index = prot & PROT_WRITE ? index_find(s) : -1;
	struct rs_mapping *m;

	if (prot & PROT_WRITE && index < 0) {
		rs_err(s, "riomap: the peer has room for %u mappings", s->peer_mappings.length);
		return index;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = (struct rs_mapping){ .offset = offset, .index = index, .pending = index >= 0 };
	m->mr = ibv_reg_mr(s->id->pd, buf, len, access);
	if (!m->mr) {
		free(m);
		return -errno;
	}
	LIST_INSERT_HEAD(&s->mappings, m, of_socket);
	s->mappings_pending |= m->pending;
	return 0;
}

RS_EXPORT off_t riomap(int fd, void *buf, size_t len, int prot, int flags, off_t offset)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r = 0;

	if (!s)
		return rs_ret(-EBADF);
	if (offset == -1)
		offset = (uintptr_t)buf;
	if (s->ds)
		r = -EOPNOTSUPP;
	else if (prot & ~PROT_WRITE || flags || !buf || !len || len > UINT32_MAX)
		r = -EINVAL;
	if (r == 0)
		r = rs_connect_finish(s, rs_connect_has_ended, rs_patience(s, 0));
	pthread_mutex_lock(&s->lock);
	/*
	 * An accepted socket has all resources for a mapping. Tell the peer when the connection is
	 * made.
	 */
	if (r == -EAGAIN && s->state == RS_ACCEPTING)
		r = 0;
	else if (r == 0 && s->state != RS_CONNECTED)
		r = -ENOTCONN;
	if (r == 0)
		r = mapping_add(s, buf, len, prot, offset);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	if (r < 0)
		return rs_ret(r);
	return offset;
}

RS_EXPORT int riounmap(int fd, void *buf, size_t len)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	struct rs_mapping *m;

	if (!s)
		return rs_ret(-EBADF);
	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(m, &s->mappings, of_socket)
		if (m->mr->addr == buf && m->mr->length == len)
			break;
	if (m)
		rs_mapping_free(m);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return rs_ret(m ? 0 : -EINVAL);
}

/* ---- announcing mappings ---- */

static bool can_tell(struct rs_socket *s)
{
	return s->state != RS_CONNECTED ||
	       (rs_slots_free(s) > RS_CONTROL_MAX && rs_credit_has_message(&s->out));
}

static int mapping_tell(struct rs_socket *s, struct rs_mapping *m)
{
	const struct rs_wire_mapping entry = rs_wire_mapping(
		m->offset,
		&(struct rs_target){ (uintptr_t)m->mr->addr, m->mr->rkey, m->mr->length },
		s->swapped);
	struct ibv_sge sge = { .addr = (uintptr_t)&entry, .length = sizeof(entry) };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(rs_wire_imm(RS_WIRE_MAPPING, m->index)),
		.wr.rdma.remote_addr = s->peer_mappings.addr + m->index * sizeof(entry),
		.wr.rdma.rkey = s->peer_mappings.key,
	};

	m->pending = false;
	s->out.sent++;
	return rs_post(s, &wr, 0, false);
}

/*
 * Tell the peer of one mapping. Return: 0: no further mapping is new; 1: there may be more; -errno.
 */
static int first_tell(struct rs_socket *s)
{
	struct rs_mapping *m;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(m, &s->mappings, of_socket)
		if (m->pending)
			break;
	if (!m || s->state != RS_CONNECTED)
		s->mappings_pending = false;
	else if (can_tell(s))
		r = mapping_tell(s, m) < 0 ? -ECONNABORTED : 1;
	else
		r = -EAGAIN;
	pthread_mutex_unlock(&s->lock);
	return r;
}

int rs_iomap_tell(struct rs_socket *s, enum rs_wait wait)
{
	int r = 1;

	while (r > 0) {
		r = first_tell(s);
		if (r == -EAGAIN &&
		    rs_turn_wait(s, &s->send_turn, true, can_tell, wait, s->send_timeout_ms) == 0)
			r = 1;
	}
	return r;
}

/* ---- writing to the peer's memory ---- */

/* Find the peer's memory at @offset. If the returned length is 0, the peer has no memory at this
 * offset. */
static struct rs_target target_find(struct rs_socket *s, uint64_t offset)
{
	for (unsigned int i = 0; i < s->mappings_max; i++) {
		const volatile struct rs_wire_mapping *entry = &s->entries_mappings[i];
		uint64_t start = entry->offset;
		struct rs_target target = { .addr = entry->target.addr,
					    .key = entry->target.key,
					    .length = entry->target.length };

		if (offset < start || offset - start >= target.length)
			continue;
		target.addr += offset - start;
		target.length -= offset - start;
		return target;
	}
	return (struct rs_target){};
}

static bool can_write(struct rs_socket *s)
{
	return s->state != RS_CONNECTED || (rs_slots_free(s) > RS_CONTROL_MAX && rs_send_free(s));
}

/* Write one piece, with @lock held. Return: its bytes, 0 if there is no room now, or -errno. */
static ssize_t piece_write(struct rs_socket *s, const void *bytes, size_t size, uint64_t offset)
{
	struct rs_target target = target_find(s, offset);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct ibv_sge sge;
	uint32_t length = min_of(size, (size_t)RS_MESSAGE_MAX);

	if (s->state != RS_CONNECTED || s->no_send)
		return -EPIPE;
	if (!target.length)
		return -EINVAL;
	if (!can_write(s))
		return 0;
	length = min_of(length, target.length);
	length = min_of(length, rs_send_free(s));
	sge = rs_send_copy(s, bytes, length);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = target.addr;
	wr.wr.rdma.rkey = target.key;
	return rs_post(s, &wr, length, false) < 0 ? -ECONNABORTED : (ssize_t)length;
}

static ssize_t bytes_write(struct rs_socket *s, const uint8_t *bytes, size_t size, uint64_t offset,
			   enum rs_wait wait)
{
	size_t written = 0;
	ssize_t n = 0;

	while (written < size && n >= 0) {
		pthread_mutex_lock(&s->lock);
		rs_complete(s);
		n = piece_write(s, bytes + written, size - written, offset + written);
		pthread_mutex_unlock(&s->lock);
		if (n > 0)
			written += n;
		else if (n == 0)
			n = rs_turn_wait(s, &s->send_turn, true, can_write, wait,
					 s->send_timeout_ms);
	}
	return written ? (ssize_t)written : n;
}

RS_EXPORT size_t riowrite(int fd, const void *buf, size_t count, off_t offset, int flags)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	enum rs_wait wait;
	ssize_t r;

	if (!s)
		return rs_ret(-EBADF);
	wait = rs_patience(s, flags);
	r = s->ds ? -EOPNOTSUPP : rs_connect_finish(s, rs_connect_has_ended, wait);
	if (r == 0)
		r = rs_turn_take(s, &s->send_turn, wait);
	if (r == 0) {
		rs_first_word_await(s);
		r = rs_iomap_tell(s, wait);
		if (r == 0)
			r = bytes_write(s, buf, count, offset, wait);
		rs_turn_give(s, &s->send_turn);
	}
	rs_socket_put(s);
	return rs_ret(r);
}
