/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of the process, and the requests in their queues. */
#ifndef UROCE_STRICT_RECORD_H
#define UROCE_STRICT_RECORD_H

#include "providers/uroce/strict/report.h"
#include "providers/uroce/strict/strict.h"

enum strict_kind {
	STRICT_CONTEXT,
	STRICT_PD,
	STRICT_MR,
	STRICT_DM,
	STRICT_MW,
	STRICT_CHANNEL,
	STRICT_CQ,
	STRICT_SRQ,
	STRICT_QP,
	STRICT_AH,
	STRICT_XRCD,
	STRICT_KINDS,
};

/* An object. It is found by its kind and its key, see strict_key(). */
struct strict_record {
	LIST_ENTRY(strict_record) entry;
	enum strict_kind kind;
	uint64_t key;
	const struct ibv_context *ctx;
	uint32_t number; /* as in log lines */
	pid_t pid;	 /* process that made it */
	struct strict_site site;
	uint32_t async_events; /* events that the program got */
};

/* The state of a context in strict mode. */
struct strict_context {
	struct verbs_ops ops;
	const struct verbs_ops *below;
};

/* A request that was posted and whose completion was not polled. */
struct strict_request {
	TAILQ_ENTRY(strict_request) entry;
	uint32_t serial; /* number of the request in its queue */
	uint64_t wr_id;
	bool signaled;
	bool writes; /* the device writes the memory */
	bool summed;
	bool hidden;		/* valgrind treats the memory as undefined: strict_content_hide() */
	uint64_t sum;		/* of the memory at the post, if summed */
	uint8_t *copy;		/* of the memory at the post; NULL: none */
	unsigned int posted_at; /* strict_written_position() at the post */
	unsigned int written_at; /* the same when the completion was polled */
	int num_sge;
	struct ibv_sge sge[];
};
TAILQ_HEAD(strict_requests, strict_request);

struct strict_queue {
	struct strict_requests requests;
	uint32_t next;		  /* serial number of the next request */
	uint32_t count, signaled; /* numbers of requests: all, and those with a completion */
	bool repeats;		  /* waiting requests had one wr_id; see strict_queue_repeats() */
};

/* The last completion with an error, other than a flush, that the program polled. */
struct strict_error {
	bool polled; /* since the program last changed the state of the queue pair */
	bool known;  /* since the queue pair was in RESET */
	bool reported;
	uint8_t status; /* enum ibv_wc_status */
	uint64_t wr_id;
	pid_t thread;	    /* thread that polled it ... */
	unsigned int polls; /* ... and how often this thread had polled */
};

/* Datagrams that a UD queue pair dropped. */
struct strict_drops {
	uint64_t wrong_qkey, short_receive;
	uint64_t early; /* before the first receive was posted */
};

struct strict_qp {
	struct strict_record record;
	struct uroce_qp *qp;
	pthread_mutex_t send, recv; /* held during a post */
	struct strict_queue sq, rq;
	uint8_t state; /* enum ibv_qp_state that the program asked for, or was told of */
	bool polled;   /* the completion of a send was polled */
	struct strict_error error;
	uint32_t immediate;	   /* last one, as a number of this host; under send */
	unsigned int immediates;   /* small ones in a row, each one more than the last */
	struct strict_drops drops; /* that were reported; under qp->lock */
	bool receives;		   /* UD: a receive was posted; under qp->lock */
	bool send_full, recv_full; /* and logged; under send or recv */
	/* for unready.c: values at the last check, number of checks without progress, whether this
	 * was reported */
	uint64_t unready_naks;
	uint32_t unready_tail, unready_looks;
	bool unready;
	bool building; /* between ibv_wr_start() and ibv_wr_complete(); under send */
	void (*wr_start)(struct ibv_qp_ex *ex);
	int (*wr_complete)(struct ibv_qp_ex *ex);
	void (*wr_abort)(struct ibv_qp_ex *ex);
};

struct strict_srq {
	struct strict_record record;
	struct uroce_srq *srq;
	pthread_mutex_t recv;
	struct strict_queue rq;
};

struct strict_cq {
	struct strict_record record;
	pthread_mutex_t poll;
	bool overflowed; /* and reported */
	/* for watch.c, with the lock held */
	struct uroce_cq *cq;
	uint32_t polls;		/* polls by the program */
	pid_t poller;		/* thread of the last poll; 0: none */
	bool event_handled;	/* polled since the last event */
	uint32_t armed_head;	/* position of the next completion when the program armed it */
	bool watched;		/* completions waited at the last look ... */
	uint32_t watched_polls; /* ... value of @polls at that time */
	bool unarmed;		/* and reported */
	uint32_t comp_events;	/* events that the program got */
	uint32_t completions;	/* that the program polled */
	/* for silent.c: values at the last check, checks without progress, whether reported */
	uint32_t silent_polls, silent_posted, silent_completions, silent_looks;
	bool silent;
	/* for left.c: values at the last check, checks in which polls found nothing, and checks in
	 * which completions were left; whether reported */
	uint32_t left_polls, left_completions, vain_looks, left_looks;
	bool left;
	int (*start_poll)(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *ex);
};

static inline const struct verbs_ops *strict_below(const struct ibv_context *ctx)
{
	return to_uctx(ctx)->strict->below;
}

void strict_lock(void);
void strict_unlock(void);

/* Return the key of an object: the number of a queue pair, else its address. */
uint64_t strict_key(enum strict_kind kind, const void *object);
/* Allocate a record that is not entered yet. NULL: no memory. */
void *strict_record_new(enum strict_kind kind, const struct ibv_context *ctx, size_t size);
/* Enter the record of a made object. */
void strict_record_add(struct strict_record *record, const void *object);
/* Return the record of an object, or NULL. With or without the lock. */
void *strict_record_find(enum strict_kind kind, const void *object);
void *strict_record_find_locked(enum strict_kind kind, uint64_t key);
/* Remove the record of an object and free it. */
void strict_record_end(struct strict_record *record);
/* Call @visit for the records of a kind, with the lock held, until it returns true. */
void strict_records_visit(enum strict_kind kind,
			  bool (*visit)(struct strict_record *record, void *arg), void *arg);
/* Write lines about the objects of @ctx that are left and forget them. NULL: of all contexts. */
void strict_leaks(const struct ibv_context *ctx);

/* The keys of the last deregistered regions, with the call that deregistered them. */
void strict_old_key_add(uint32_t key);
bool strict_old_key_find(uint32_t key, struct strict_site *ret_site);

/* queue.c; all but the first two with the lock held */
struct strict_request *strict_request_new(uint64_t wr_id, bool signaled, int num_sge,
					  const struct ibv_sge *sge);
void strict_requests_free(struct strict_requests *requests);
void strict_queue_init(struct strict_queue *queue);
void strict_queue_add(struct strict_queue *queue, struct strict_request *request);
/* Take back the requests from @serial on. */
void strict_queue_cut(struct strict_queue *queue, uint32_t serial);
/* Move the requests that the completion @wc ends to @ret_done. */
void strict_queue_complete(struct strict_queue *queue, const struct ibv_wc *wc,
			   struct strict_requests *ret_done);
/* The same for a receive, which may complete before older ones. */
void strict_queue_complete_one(struct strict_queue *queue, const struct ibv_wc *wc,
			       struct strict_requests *ret_done);
/* A completion with a number that several waiting requests have may belong to each of them: check
 * the memory of the queue's requests no longer. */
void strict_queue_repeats(struct strict_queue *queue);
void strict_queue_clear(struct strict_queue *queue, struct strict_requests *ret_done);
/* Return whether a request may name @lkey: a search of all queues takes long. */
bool strict_key_named(uint32_t lkey);
bool strict_queue_has(const struct strict_queue *queue, uint64_t wr_id);
/* Return the oldest request that names @lkey, or NULL. */
const struct strict_request *strict_queue_names(const struct strict_queue *queue, uint32_t lkey);

/* region.c: check the entries of a request against the regions. */
struct strict_entries {
	const struct ibv_context *ctx;
	const struct ibv_pd *pd;
	struct uroce_keys *keys;
	const char *queue, *verb; /* "qp", "ibv_post_send" */
	uint32_t number;
	uint64_t wr_id;
	bool write; /* the device writes the memory */
	int num_sge;
	const struct ibv_sge *sge;
};
void strict_entries_check(const struct strict_entries *entries);
/*
 * Copy the first @size bytes of an entry. Read through the kernel, because its memory may be
 * unmapped. Return: whether that worked.
 */
bool strict_entry_read(struct uroce_keys *keys, const struct ibv_sge *sge, size_t size,
		       void *bytes);

/* attributes.c: check the attributes of a change that succeeded. */
void strict_attributes_check(const struct strict_qp *qp, const struct verbs_modify_qp *in);

/* error.c: errors that the program ignores */
/* Count a poll of the calling thread. */
void strict_error_poll(void);
/* Note the error @wc, which the calling thread has polled; with the lock held. */
void strict_error_note(struct strict_qp *qp, const struct ibv_wc *wc);
/* The program changed the state; with the lock held. */
void strict_error_state(struct strict_qp *qp, enum ibv_qp_state state);
/* Check a post by @verb. */
void strict_error_post(struct strict_qp *qp, const char *verb, uint64_t wr_id);
/* Check the end of the queue pair. */
void strict_error_destroy(struct strict_qp *qp);

/* datagram.c: dropped datagrams, and the room for the GRH, of a UD queue pair */
struct strict_datagrams {
	const struct ibv_context *ctx;
	uint32_t number; /* of the queue pair */
	struct strict_drops drops;
};
/* Check the number of the peer before a datagram is posted; under qp->send. */
void strict_datagram_send(const struct strict_qp *qp, const struct ibv_send_wr *wr);
/* Check a receive before it is posted; under qp->recv. */
void strict_datagram_recv(struct strict_qp *qp, const struct strict_entries *entries);
/* Return whether datagrams were dropped since the last call, and their number. With the lock held:
 * if another thread uses the queue pair, the next call counts them. */
bool strict_datagram_try_drops(struct strict_qp *qp, struct strict_drops *ret_drops);
/* Report dropped datagrams; without the lock. */
void strict_datagrams_report(const struct strict_datagrams *of);
void strict_datagrams_check(struct strict_qp *qp);

/*
 * room.c: entries of the queues, which only polled completions free. Return: 0, or ENOMEM if @n
 * requests more, or a receive more, do not fit. Under qp->send or qp->recv.
 */
int strict_room_check(struct strict_qp *qp, const char *verb, uint32_t n);
int strict_receive_room_check(struct strict_qp *qp);

/* poll.c: report once that completions were lost. */
void strict_overflow_check(struct strict_cq *cq, const char *verb);

/* content.c: changes of the memory of sends */
/* Set the sum of a request. */
void strict_content_sum(struct uroce_keys *keys, struct strict_request *request);
/* Check the memory of completed requests of a queue pair. */
void strict_content_check(const struct ibv_context *ctx, struct uroce_keys *keys, uint32_t number,
			  const struct strict_requests *done);

/* Keep a copy of the memory of a receive. */
void strict_content_keep(struct uroce_keys *keys, struct strict_request *request);
/* Let valgrind report each read of the receive's memory before the request is freed. */
void strict_content_hide(struct uroce_keys *keys, struct strict_request *request);
void strict_content_show(struct strict_request *request);
/* Check the memory of a receive with the completion @wc. */
void strict_content_received(const struct ibv_context *ctx, struct uroce_keys *keys,
			     const struct strict_request *request, const struct ibv_wc *wc);

/* written.c: memory that the device writes */
/* Return the current position among the writes; with the lock held. */
unsigned int strict_written_position(void);
/* Note the memory that completed requests wrote; with the lock held. */
void strict_written_note(struct strict_requests *done);
/* Return whether the device may have written memory of @request, which has completed, since its
 * post, or a peer may write there. */
bool strict_written(struct uroce_keys *keys, const struct strict_request *request);

/* watch.c: a thread that finds programs that wait in vain */
/* Start the thread unless it runs. */
void strict_watch_start(void);
/* Wait until the thread has stopped using objects whose records were removed before the call. */
void strict_watch_wait(void);
/* silent.c: find programs that poll for a completion that cannot come. */
void strict_silence_look(void);
/* left.c: find completion queues that the program forgets, while it polls another one. */
void strict_left_look(void);
/* unready.c: find sends that wait for a receive of the peer. */
void strict_unready_look(void);
/*
 * waits.c: return whether a thread of the process waits for @fd and for nothing else, and thread
 * @poller cannot poll instead: it has ended, or waits for @fd or for other threads. 0: no thread
 */
bool strict_waits_for(int fd, pid_t poller);

/* immediate.c: immediate data that looks like a number in host order; under qp->send */
void strict_immediate_check(struct strict_qp *qp, const char *verb, uint64_t wr_id,
			    unsigned int opcode, __be32 data);

/* inherited.c: report a call on an object that a forked child inherited */
void strict_inherited(const struct ibv_context *ctx, const char *verb, const char *object,
		      uint32_t number);

/* object.c, post.c, poll.c: set the operations that check. */
void strict_object_ops(struct verbs_ops *ops);
void strict_post_ops(struct verbs_ops *ops);
void strict_poll_ops(struct verbs_ops *ops);
/* Put the checks before the functions of an extended queue pair or CQ. */
void strict_builders_wrap(struct strict_qp *qp);
void strict_walk_wrap(struct strict_cq *cq, struct ibv_cq_ex *ex);

#endif
