/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An agent is one side of a program: it holds the device and the objects, and takes the steps of
 * its side with one thread for each owner. The agent does not check rules.
 */
#ifndef RDMA_CONFORM_AGENT_H
#define RDMA_CONFORM_AGENT_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>

#include "rdma-conform/event.h"

struct region {
	struct ibv_mr *mr;
	uint8_t *memory; /* stays mapped when the region is deregistered */
	size_t length;
};

struct cq {
	struct ibv_cq *cq;
	struct ibv_cq_ex *extended; /* the same queue, or NULL */
	struct ibv_comp_channel *channel;
	struct ibv_qp **crowd;
	unsigned int crowd_count;
};

struct mw {
	struct ibv_mw *mw;
	uint64_t address;
};

struct cm;

struct qp {
	struct ibv_qp *qp;
	struct cm *cm;	   /* its connection, or NULL if the device needs none */
	uint16_t own_port; /* TCP port of @cm */
	struct ibv_qp_ex *extended;
	union ibv_gid attached_to;
	struct ibv_ah *ah, *group; /* of a datagram pair: the partner, and the multicast group */
	uint8_t send_cq, recv_cq, srq;
	bool signal_all, attached;
	uint32_t psn;
	_Atomic int sending, receiving; /* number of expected completions */
	_Atomic bool ended;		/* in the error state: posted requests are flushed */
};

struct object {
	pthread_rwlock_t lock; /* held for writing while the object is created or destroyed */
	union {
		struct region region;
		struct cq cq;
		struct ibv_srq *srq;
		struct mw mw;
		struct qp qp;
		struct ibv_pd *pd;
	};
	bool there;
	_Atomic unsigned int events; /* asynchronous events that were read */
};

/* Data about this side's objects for the other side, exchanged at each sync. */
struct publication {
	union ibv_gid gid;
	uint32_t lid, epoch;
	struct {
		uint32_t number, psn;
		uint16_t port;
	} qp[OBJECTS];
	struct place {
		uint64_t address;
		uint32_t key, there;
	} region[OBJECTS], mw[OBJECTS];
};

/* Return the Q_Key of all queue pairs of the program. It is even. */
uint32_t program_qkey(const struct program *program);

#define CHAIN 16

struct chain {
	unsigned int count;
	uint8_t qp;
	struct ibv_send_wr wr[CHAIN];
	struct ibv_sge sge[CHAIN][SGES];
	uint16_t step[CHAIN];
};

struct agent_thread {
	struct agent *agent;
	uint8_t number;
	uint16_t epoch, step;
	struct event *events;
	unsigned int count, room;
	struct chain *chain; /* requests that wait for the last of their list */
	pthread_t thread;
};

struct agent {
	uint8_t side;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct offer offer;
	uint8_t port, gid_index;
	uint16_t lid;
	bool global, by_cm; /* @by_cm: the connection manager connects queue pairs */
	union ibv_gid gid;
	int peer;	  /* socket to the other side's agent */
	int64_t patience; /* ns to wait for an expected event */
	int64_t end;	  /* end of the total time for waits of the program */

	const struct program *program;
	struct object objects['z' - 'a' + 1][OBJECTS]; /* first index: the letter */
	struct publication other;
	pthread_barrier_t barrier;
	_Atomic bool alone;	     /* the other side has gone */
	_Atomic int64_t peer_synced; /* when the other side was seen at its next sync, or 0 */
	/* Indexed by message: the queue pair and the kind of the completed request. */
	struct owner {
		uint8_t qp;
		bool receive, signaled;
	} owner[256];
	struct agent_thread threads[THREADS];
};

struct agent_options {
	const char *device;
	int64_t gid_index; /* -1: the first suitable one */
	int64_t port, patience;
};

/* Open the device. Return 0 or a negative errno, with the reason on standard error. */
int agent_open(struct agent *agent, uint8_t side, const struct agent_options *options);
/* Take this side's steps. The events are in the threads until agent_forget(). */
void agent_run(struct agent *agent, const struct program *program);
void agent_forget(struct agent *agent); /* call it once */

/* Bytes and frames on the sockets between controller and agents. */
/* The functions return 0 or a negative errno. @limit: longest wait in ns, after which they return
 * -ETIMEDOUT */
int wire_write(int fd, const void *data, size_t length);
int wire_read(int fd, void *data, size_t length, int64_t limit);
int wire_frame_write(int fd, const void *data, uint32_t length);
/* Read a frame, allocate *@ret_data for it, and add a zero byte at the end. */
int wire_frame_read(int fd, void **ret_data, uint32_t *ret_length, int64_t limit);

/* For the source files of the agent only. */
int64_t now(void);
struct event *log_event(struct agent_thread *t, enum event_kind kind);
void log_skip(struct agent_thread *t, enum skip why);
/* Record that the step returned @error, a positive errno. For functions that return NULL it is
 * errno. */
struct event *log_done(struct agent_thread *t, int error);
/* Do the same, and record up to five values for the rules. */
#define log_values(t, error, ...) log_list(t, error, (const uint64_t[5]){ __VA_ARGS__ })
void log_list(struct agent_thread *t, int error, const uint64_t values[5]);
struct object *object_of(struct agent *agent, char kind, uint8_t number);
/* Return the object, or NULL if it does not exist. */
struct object *object_there(struct agent *agent, char kind, uint8_t number);

/* Take a step. @o: its object, which is held, or NULL if the verb has none. */
#define AS_PROTOTYPE(name, text, ...) \
	void step_##text(struct agent_thread *t, const struct step *step, struct object *o);
VERBS(AS_PROTOTYPE)
#undef AS_PROTOTYPE

int access_flags(uint64_t words);
/* Destroy the object of @o, which is held for change. Return a positive errno. */
int object_destroy(struct agent *agent, char kind, struct object *o);
/* Record the result of creating an object: @made, or NULL with errno. @o stays held. */
struct event *object_made(struct agent_thread *t, struct object *o, const void *made);
int positive(int r);
/* The address of a side as @agent reaches it. */
struct ibv_ah_attr address_of(const struct agent *agent, union ibv_gid gid, uint16_t lid);
int qp_to_init(struct agent *agent, struct ibv_qp *qp);
int qp_to_rtr(struct agent *agent, struct ibv_qp *qp, const struct ibv_ah_attr *address,
	      uint32_t number, uint32_t psn);
/* With the timeout and the retries of @step. */
int qp_to_rts(struct ibv_qp *qp, uint32_t psn, const struct step *step);
/* Run @probe. Return a positive errno: EOPNOTSUPP, if the device does not support it. */
int probe_run(struct agent *agent, enum probe probe);
/* Run a probe of the connection manager. Return a positive errno, as probe_run() does. */
int cm_probe(struct agent *agent, enum probe probe);
bool gid_is_ipv4(const union ibv_gid *gid);
/* Set the GID to the IPv4 address of the device. Return whether the connection manager has it. */
bool cm_address(struct agent *agent);
/*
 * Listen for the connection of a queue pair. *@ret_port: TCP port in network byte order; 0: failed
 */
struct cm *cm_listen(struct agent *agent, uint16_t *ret_port);
/* Connect queue pair @qp_num. Return a positive errno. */
int cm_connect(struct cm *cm, uint32_t qp_num, const union ibv_gid *gid, uint16_t port);
void cm_end(struct cm *cm);
void async_read(struct agent_thread *t, int wait_ms);
/* Return when a wait of @us microseconds ends. If @us is 0, wait for an expected event. All waits
 * of a program share one limit, because a side that is silent for too long counts as hung. */
int64_t wait_end(const struct agent *agent, uint64_t us);
/* Return whether to wait until @end. Return false soon after the other side has come to its next
 * sync, because it sends nothing more. */
bool worth_waiting(struct agent *agent, int64_t end);
/* Skip requests that wait for the rest of their list. */
void chain_leave_out(struct agent_thread *t);

#endif
