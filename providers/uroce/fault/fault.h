/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults on demand: UROCE_FAULTS, a list of rules (uroce(7) has the grammar), makes the device
 * lose, repeat, reorder, delay and damage packets, refuse verbs and raise asynchronous events.
 *
 *   fault_parse.c  the text becomes rules
 *   path_fault.c   rules for packets: a path between the engine and the UDP path, and its mirror
 *                  where packets arrive
 *   held.c         packets that wait
 *   fault_call.c   rules by number: of calls and of posts
 *   capture.c capture_wish.c pcapng.c
 *                  UROCE_CAPTURE: packets as a wire would show them, in a file
 *
 * What events do is host/fault_event.c's; the operations with rules in front are
 * verbs/fault_verbs.c's.
 *
 * Same seed, same trace: what happens to a packet depends on the seed, the rule, and on which
 * packet it is (number of the QP, direction, opcode, PSN counted from the QP's first, how often it
 * was sent), not on time, threads or other random numbers.
 *
 * Without the variables there is neither struct uroce_faults nor struct uroce_capture, and none of
 * this is reached.
 *
 * Locks: uroce_faults.lock and the capture's, leaves; others_lock, below progress_lock as a QP's
 * is. Threads: any sends; what arrives comes with progress_lock held. Includes: engine,
 * path/path.h, wire, base. Included by: host, verbs.
 */
#ifndef UROCE_FAULT_H
#define UROCE_FAULT_H

#include "providers/uroce/engine/engine.h"

enum {
	FAULT_RULES = 32,
	FAULT_TRIES = 1024, /* number of PSNs whose transmissions are counted; a power of two */
	FAULT_TEXT = 1024,
};

enum fault_kind {
	FAULT_DROP,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_CORRUPT,
	FAULT_VERB, /* the actions from here on do not concern packets */
	FAULT_EVENT,
};

/* Verbs that rules can make fail. They have the names of members of struct verbs_ops. */
#define FAULT_VERBS(X)         \
	X(query_device)        \
	X(query_port)          \
	X(create_comp_channel) \
	X(alloc_pd)            \
	X(reg_mr)              \
	X(rereg_mr)            \
	X(dereg_mr)            \
	X(alloc_mw)            \
	X(create_cq)           \
	X(resize_cq)           \
	X(req_notify_cq)       \
	X(create_srq)          \
	X(modify_srq)          \
	X(create_qp)           \
	X(modify_qp)           \
	X(query_qp)            \
	X(create_ah)           \
	X(attach_mcast)        \
	X(post_send)           \
	X(post_recv)           \
	X(post_srq_recv)

enum fault_verb {
#define X(verb) FAULT_VERB_##verb,
	FAULT_VERBS(X)
#undef X
	FAULT_VERB_COUNT
};

struct fault_rule {
	enum fault_kind kind;
	char text[64]; /* the rule as written, for the trace */
	/* Condition: by chance, by number, or (for events) by time. */
	uint64_t chance; /* parts of 2^32; 0: by number */
	uint32_t nth;	 /* counted from 1 */
	bool onward;	 /* also all later occurrences */
	uint64_t time;	 /* ns after the device was opened; 0: by number */
	/* which packets */
	bool incoming;
	uint64_t opcodes[4];	      /* bit for each opcode of the BTH */
	uint32_t psn_first, psn_last; /* relative to the first PSN of the QP */
	uint32_t qp;		      /* number of the QP in its process, from 1 on; 0: any QP */
	uint32_t times;		      /* limit for each QP; 0: no limit */
	uint32_t by;		      /* reorder: number of packets that overtake */
	uint64_t delay;		      /* ns; for reorder: the longest delay */
	/* Effect: the verb that fails, the event that happens. */
	enum fault_verb verb;
	int error; /* positive errno */
	enum ibv_event_type event;
};

/* The state of the rules for one direction of a QP. */
struct fault_side {
	uint32_t matched[FAULT_RULES]; /* number of packets that matched the rule */
	uint32_t hits[FAULT_RULES];
	struct {
		uint32_t psn;
		uint32_t count;
	} tries[2][FAULT_TRIES]; /* responses, requests */
};

/* State of one QP. Outgoing packets under qp->lock, incoming packets under progress_lock. */
struct fault_flow {
	/*
	 * number of the QP in the order of creation, from 1 on; 0: the packets belong to no QP
	 * (QP1)
	 */
	uint32_t number;
	struct fault_side side[2]; /* outgoing, incoming */
	atomic_uint posts;
	int (*wr_complete)(struct ibv_qp_ex *qp);
};

struct fault_held;
TAILQ_HEAD(fault_held_list, fault_held);

struct uroce_faults {
	struct path_host *host;	     /* host that gets held packets */
	struct uroce_engine *engine; /* engine whose thread must wake to release held packets */
	uint64_t seed;
	unsigned int count;
	struct fault_rule rules[FAULT_RULES];
	bool packets;	   /* there are rules for packets, or for a port that goes down */
	uint64_t start;	   /* uroce_now() when the rules were read */
	atomic_uint qps;   /* created so far */
	atomic_uint posts; /* number of posts of send requests, by all QPs */
	atomic_uint calls[FAULT_VERB_COUNT];
	atomic_bool port_down;
	atomic_bool dead;	 /* DEVICE_FATAL has happened, so every verb fails */
	atomic_uint events_left; /* number of events that wait for their time */
	/* which of these events have happened; only for the progress thread */
	bool fired[FAULT_RULES];
	/* protects the list of held packets; no other lock is taken under it */
	struct uroce_lock lock;
	struct fault_held_list held;
	struct uroce_lock others_lock; /* protects @others like the lock of a QP */
	struct fault_flow *others;     /* packets that belong to no QP */
};

/* --- fault_parse.c --- */

/*
 * Parse rules from @text. -EINVAL: *@ret is unusable, and @message (FAULT_TEXT bytes) names the
 * wrong word and the permitted words.
 */
int uroce_faults_parse(const char *text, struct uroce_faults *ret, char *message);

/*
 * Read the rules from the environment. *@ret_faults: NULL if there are none. -EINVAL: a rule is
 * wrong, which is logged. Then the device must not be opened.
 */
int uroce_faults_new(struct uroce_faults **ret_faults);
void uroce_faults_free(struct uroce_faults *faults);

/*
 * Return whether rule @rule of @faults applies by chance to the packet or call that @key
 * identifies.
 */
bool uroce_fault_chance(const struct uroce_faults *faults, unsigned int rule, uint64_t key);
/* Return evenly distributed bits from the seed and @key. */
uint64_t uroce_fault_hash(const struct uroce_faults *faults, uint64_t salt, uint64_t key);

/* --- path_fault.c --- */

/* Make a path in front of @inner. */
int uroce_fault_path_new(struct uroce_faults *faults, struct uroce_path *inner,
			 struct uroce_path **ret_path);
void uroce_fault_path_free(struct uroce_path *path);

int uroce_fault_qp_init(struct uroce_faults *faults, struct uroce_qp *qp);
void uroce_fault_qp_free(struct uroce_qp *qp);

/*
 * Handle a packet that arrived for @qp. Return it to the host, marked as seen: once, twice, later
 * or never. Under progress_lock.
 */
void uroce_fault_receive(struct uroce_faults *faults, struct uroce_qp *qp, struct uroce_packet *pkt,
			 const union ibv_gid *sgid, uint64_t now);

/* --- held.c --- */

/* Release held packets whose time has come. Under progress_lock. */
void uroce_fault_run(struct uroce_faults *faults, uint64_t now);
/* Return whether the thread must make another pass soon. */
bool uroce_fault_waiting(struct uroce_faults *faults);

/* --- fault_call.c --- */

/* Count a call of @verb. Return: 0, or the -errno with which a rule makes it fail. */
int uroce_fault_call(struct uroce_faults *faults, enum fault_verb verb);
/*
 * Count send requests that were posted to @qp, and call @fire for each rule of an event that
 * applies.
 */
void uroce_fault_posted(struct uroce_faults *faults, struct uroce_qp *qp,
			void (*fire)(const struct fault_rule *rule, struct uroce_qp *qp));

#include "providers/uroce/fault/capture.h"

#endif
