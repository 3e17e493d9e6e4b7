/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run mode: the model executes the work of a played device on a uroce device (the backend),
 * which is linked into the shim with hidden names. QPNs, keys and GIDs come from the backend, so
 * that every kind of played device can talk to every other kind. The model knows verbs and no
 * vendor format: the file of each device reads its rings and writes its completions.
 *
 * Every function is called with device_lock held and returns 0 or a positive errno. Outside of
 * run mode it does nothing.
 */
#ifndef DEVICES_MODEL_H
#define DEVICES_MODEL_H

#include <stdbool.h>
#include "tests/adapters/lab/device/device.h"
#include "tests/adapters/lab/model/number.h"

bool model_on(void);

/* backend.c. Open the backend before all other calls; end the process if there is no backend. */
void model_open(void);
struct ibv_context *model_context(void);
/* Forget the context in a child of the process that opened it. */
void model_forget(void);
void model_query_device(struct ibv_device_attr *ret_attr);
/* Return the capabilities of on-demand paging. */
void model_query_odp(struct ib_uverbs_ex_query_device_resp *ret);
void model_query_port(struct ibv_port_attr *ret_attr);
/* *ret_type is a name such as "RoCE v2", *ret_interface an index. ENODATA: no GID at this index. */
int model_query_gid(uint32_t index, union ibv_gid *ret_gid, const char **ret_type,
		    uint32_t *ret_interface);

/* thread.c: start the thread that reads the rings and writes completions until the process ends. */
void model_start(void);
/* Read the receives that the process has posted, before a thread of uroce executes a packet. */
void model_look(void);
enum {
	MODEL_PACKET_NS = 1000000 /* longest time that a pass of uroce waits for device_lock */
};
/* Take device_lock, waiting at most @ns; model_command_end() releases it. */
bool model_lock_soon(long ns);
/* Sleep for DEVICES_LATE milliseconds between reading the rings and executing the requests. */
void model_be_late(void);
/* Execute everything that the process has posted. */
void model_settle(void);
/* Take device_lock for a command; the model's thread gives way. */
void model_command_begin(void);
void model_command_end(void);

/* memory.c */
int model_alloc_pd(struct object *pd);
int model_reg_mr(struct object *mr, const struct ib_uverbs_reg_mr *q);
/* Register the memory of region @of at @iova too, with a key that has this lowest byte. */
int model_alias_mr(struct object *mr, const struct object *of, uint64_t iova, unsigned access,
		   uint8_t lowest);
/* @pd: the region's protection domain from now on */
int model_rereg_mr(struct object *mr, struct object *pd, const struct ib_uverbs_rereg_mr *q);
int model_alloc_mw(struct object *mw, enum ibv_mw_type type);
int model_reg_dm_mr(struct object *mr, uint64_t offset, uint64_t length, unsigned access);
int model_advise_mr(struct object *pd, unsigned advice, unsigned flags,
		    const struct ib_uverbs_sge *list, unsigned count);
/* Return the key of a null region, or 0 if the backend has none. */
uint32_t model_null_lkey(struct object *pd);
struct ibv_mw *model_find_mw(uint32_t rkey);
struct ibv_mr *model_find_mr(uint32_t lkey);
/* Register memory of the process for memory windows; NULL: it cannot be registered. */
struct ibv_mr *model_open_region(struct object *pd, void *at, size_t length);
void model_close_region(struct ibv_mr *mr);
/* Return a key for the memory of a QP's send ring, or 0 if none can be allocated. */
uint32_t model_ring_key(struct object *qp, void *ring, size_t length);

/* cq.c */
int model_create_cq(struct object *cq, uint32_t entries);
int model_resize_cq(struct object *cq, uint32_t entries);
/* Write the backend's completions into the ring, and an event to the process if it armed the CQ.
 * Return whether there were completions. */
bool model_drain_cq(struct object *cq);
/* Read from the records which CQs the process has armed. */
void model_see_arms(void);

/* qp.c: @sends and @receives are the entries of the rings. */
int model_create_qp(struct object *qp, const struct ib_uverbs_ex_create_qp *q, uint32_t sends,
		    uint32_t receives);
int model_modify_qp(struct object *qp, const struct ib_uverbs_modify_qp *q);
int model_query_qp(struct object *qp, struct ib_uverbs_query_qp_resp *ret);
/* Return whether there is a queue pair whose lost messages are not sent again. */
bool model_loses_messages(void);
int model_mcast(struct object *qp, const uint8_t *gid, uint16_t lid, bool attach);

/* xrc.c: open a domain, and open an existing queue pair of a domain */
int model_open_xrcd(struct object *xrcd, int fd, int oflags);
int model_open_qp(struct object *qp, uint32_t number);

/* dc.c: initiators and targets of dynamically connected transport */
int model_create_dc(struct object *qp);
int model_modify_dc(struct object *qp, const struct ib_uverbs_modify_qp *q);
void model_destroy_dc(struct object *qp);
/* Make one pass of the model; return whether there was work. */
bool model_dc(struct object *qp);
/* Return the target that uses this queue pair of the backend, or NULL. */
struct object *model_find_dc(uint32_t qp_num);

/* srq.c */
int model_create_srq(struct object *srq, uint32_t entries, uint32_t sges);
int model_modify_srq(struct object *srq, const struct ib_uverbs_modify_srq *q);
int model_query_srq(struct object *srq, struct ib_uverbs_query_srq_resp *ret);

/* ring.c: return whether there was work. */
bool model_send(struct object *qp);
bool model_receive(struct object *queue);
bool model_receive_all(void);
uint64_t model_wr_id(const struct object *owner, bool receive, const struct work *work);

/* Copy memory of the process within the process; EACCES: a key does not allow it. */
int model_copy(const struct object *qp, const struct work *work);

/* datagram.c: a QP of datagrams only, which arrive without a GRH. */
int model_create_datagram(struct object *qp, bool reliable);
void model_destroy_datagram(struct object *qp);
/* Post the receives of a QP that is ready to receive. */
void model_datagram_ready(struct object *qp);
bool model_datagram(struct object *qp);
/* Return the upper byte of the backend's QPNs, which is the same for all QPs of this process. */
uint8_t model_host_number(void);

/* Return an address handle of the cache that serves sends, creating it if needed. */
struct ibv_ah *model_find_ah(struct ibv_pd *pd, const struct ibv_ah_attr *address);
void model_forget_ahs(const struct ibv_pd *pd);

/* Destroy the backend's part of an object; EBUSY: other objects use it. */
int model_destroy(struct object *object);

#endif
