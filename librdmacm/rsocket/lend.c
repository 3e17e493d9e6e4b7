/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A call that sends much and waits lends its memory: the device reads it, and nothing is copied
 * into the send buffer. It is the program's again when the call returns, so that waits until all is
 * in the peer's memory, but for the last of it, which is copied meanwhile. Only where to register
 * memory costs next to nothing, which adapters do not offer: there it takes pages and a command.
 */
#include <time.h>

#include "librdmacm/rsocket/rs.h"

#define LEND_MIN   (1u << 17) /* bytes: less is copied before the peer could have said a word */
#define LEND_TAIL  (1u << 16) /* at the end, which is copied */
#define LEND_NS	   20000ull   /* the send buffer is registered in, where it pays */
#define COPY_SPEED 16	      /* bytes in a ns: a slower registration is worth no copy */
#define SLOW_MAX   3	      /* of those, one after the other, are enough */

/* Of this thread: others may have the processor. */
static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* What it costs to register the send buffer, which is there already, once more. */
static bool is_cheap(const struct rs_socket *s)
{
	uint64_t begun = clock_ns();
	struct ibv_mr *mr = ibv_reg_mr(s->id->pd, s->sbuf, s->sbuf_size, 0);
	uint64_t ns = clock_ns() - begun;

	if (mr)
		ibv_dereg_mr(mr);
	return mr && ns < LEND_NS;
}

/* It is found out once for a device. */
bool rs_lend_pays(const struct rs_socket *s)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct ibv_context *judged;
	static bool cheap;
	bool pays;

	if (s->sends_words || ibv_is_fork_initialized() == IBV_FORK_ENABLED)
		return false;
	pthread_mutex_lock(&lock);
	if (judged != s->id->verbs)
		cheap = is_cheap(s);
	judged = s->id->verbs;
	pays = cheap;
	pthread_mutex_unlock(&lock);
	return pays;
}

bool rs_lends(const struct rs_socket *s, size_t size)
{
	return s->lends && size >= LEND_MIN;
}

bool rs_lend_has(const struct rs_socket *s, const void *bytes, size_t left)
{
	return s->lent && left > LEND_TAIL &&
	       (uintptr_t)bytes - (uintptr_t)s->lent->addr < s->lent->length;
}

void rs_lend_begin(struct rs_socket *s, const void *bytes, size_t size)
{
	uint64_t begun = clock_ns();

	/* It is read only. */
	s->lent = ibv_reg_mr(s->id->pd, (void *)bytes, size, 0);
	if (s->lent && clock_ns() - begun < size / COPY_SPEED)
		s->lends_slowly = 0;
	else if (++s->lends_slowly == SLOW_MAX)
		s->lends = false;
}

struct ibv_sge rs_lend(struct rs_socket *s, const void *bytes, uint32_t length)
{
	s->lent_end = s->posted + 1;
	return (struct ibv_sge){
		.addr = (uintptr_t)bytes,
		.length = length,
		.lkey = s->lent->lkey,
	};
}

/* Where nothing completes any more the device reads nothing any more. */
static bool is_back(struct rs_socket *s)
{
	return (int32_t)(s->done - s->lent_end) >= 0 || s->broken;
}

/* A request that is signalled, unless one is on its way. */
static void back_ask(struct rs_socket *s)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = s->peer_list.addr, .rkey = s->peer_list.key },
	};

	pthread_mutex_lock(&s->lock);
	if (!is_back(s) && s->unsignalled && rs_slots_free(s)) {
		rs_post(s, &wr, 0, false);
		s->unsignalled = 0;
	}
	pthread_mutex_unlock(&s->lock);
}

void rs_lend_end(struct rs_socket *s)
{
	back_ask(s);
	rs_wait(s, is_back, RS_WAIT_ALWAYS, -1);
	ibv_dereg_mr(s->lent);
	s->lent = NULL;
}
