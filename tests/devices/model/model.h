/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run mode: what a device does, by a uroce device of the model's own (the backend), which is linked
 * into the shim with hidden names. QPNs, keys and GIDs are the backend's, so that a fake device
 * talks to every other one. It knows verbs, and no vendor: rings are read and completions written
 * by the device's file.
 *
 * Every function is called under device_lock, returns 0 or a positive errno, and does nothing where
 * the mode is not run mode.
 */
#ifndef DEVICES_MODEL_H
#define DEVICES_MODEL_H

#include <stdbool.h>
#include "tests/devices/device/device.h"

bool model_on(void);

/* backend.c. Before anything else; ends the process when there is no backend. */
void model_open(void);
struct ibv_context *model_context(void);
/* This is a child of the process that opened it. */
void model_forget(void);
void model_query_device(struct ibv_device_attr *ret_attr);
/* On-demand paging. */
void model_query_odp(struct ib_uverbs_ex_query_device_resp *ret);
void model_query_port(struct ibv_port_attr *ret_attr);
/* The type: "RoCE v2"; the interface: its index. ENODATA: there is none at this index. */
int model_query_gid(uint32_t index, union ibv_gid *ret_gid, const char **ret_type,
		    uint32_t *ret_interface);

/* thread.c: rings in, completions out, for as long as the process lives. */
void model_start(void);
/* Another thread is about to execute what has arrived: the process posted receives before. */
void model_look(void);
enum {
	MODEL_PACKET_NS = 100000000 /* that a packet waits until rings can be looked at */
};
/* device_lock, for which this thread waits so long at most; model_command_end() gives it back. */
bool model_lock_soon(long ns);
/* Between a look at the rings and what is executed then. */
void model_be_late(void);
/* Everything that the process has posted. */
void model_settle(void);
/* A command waits for device_lock. */
void model_command_begin(void);
void model_command_end(void);

/* memory.c */
int model_alloc_pd(struct object *pd);
int model_reg_mr(struct object *mr, const struct ib_uverbs_reg_mr *q);
/* The memory of another region at other addresses, by a key with this lowest byte. */
int model_alias_mr(struct object *mr, const struct object *of, uint64_t iova, unsigned access,
		   uint8_t lowest);
/* @pd: what it is of from now on */
int model_rereg_mr(struct object *mr, struct object *pd, const struct ib_uverbs_rereg_mr *q);
int model_alloc_mw(struct object *mw, enum ibv_mw_type type);
int model_reg_dm_mr(struct object *mr, uint64_t offset, uint64_t length, unsigned access);
int model_advise_mr(struct object *pd, unsigned advice, unsigned flags,
		    const struct ib_uverbs_sge *list, unsigned count);
/* The key of a region that is nowhere; 0: the backend has none. */
uint32_t model_null_lkey(struct object *pd);
struct ibv_mw *model_find_mw(uint32_t rkey);
struct ibv_mr *model_find_mr(uint32_t lkey);
/* Memory of the process, which windows may open; NULL: not that. */
struct ibv_mr *model_open_region(struct object *pd, void *at, size_t length);
void model_close_region(struct ibv_mr *mr);
/* A key of the memory of a QP's send ring; 0: none is to be had. */
uint32_t model_ring_key(struct object *qp, void *ring, size_t length);

/* cq.c */
int model_create_cq(struct object *cq, uint32_t entries);
int model_resize_cq(struct object *cq, uint32_t entries);
/* Completions of the backend go into the ring, and an event to who asked; whether there were some.
 */
bool model_drain_cq(struct object *cq);
/* Which CQs the process has armed. */
void model_see_arms(void);

/* qp.c: the depths are what the ring can hold. */
int model_create_qp(struct object *qp, const struct ib_uverbs_ex_create_qp *q, uint32_t sends,
		    uint32_t receives);
int model_modify_qp(struct object *qp, const struct ib_uverbs_modify_qp *q);
int model_query_qp(struct object *qp, struct ib_uverbs_query_qp_resp *ret);
/* Whether there was a queue pair to which what is lost is not sent again. */
bool model_loses_messages(void);
int model_mcast(struct object *qp, const uint8_t *gid, uint16_t lid, bool attach);

/* xrc.c: a domain, and a queue pair of it once more */
int model_open_xrcd(struct object *xrcd, int fd, int oflags);
int model_open_qp(struct object *qp, uint32_t number);

/* dc.c: the halves of dynamically connected transport */
int model_create_dc(struct object *qp);
int model_modify_dc(struct object *qp, const struct ib_uverbs_modify_qp *q);
void model_destroy_dc(struct object *qp);
/* A pass of the model; whether there was something. */
bool model_dc(struct object *qp);
/* The target that has this queue pair of the backend; or NULL. */
struct object *model_find_dc(uint32_t qp_num);

/* srq.c */
int model_create_srq(struct object *srq, uint32_t entries, uint32_t sges);
int model_modify_srq(struct object *srq, const struct ib_uverbs_modify_srq *q);
int model_query_srq(struct object *srq, struct ib_uverbs_query_srq_resp *ret);

/* ring.c: whether there was something. */
bool model_send(struct object *qp);
bool model_receive(struct object *queue);
bool model_receive_all(void);
uint64_t model_wr_id(const struct object *owner, bool receive, const struct work *work);

/* Memory of the process to another place of it; EACCES: it may not. */
int model_copy(const struct object *qp, const struct work *work);

/* datagram.c: a QP of datagrams only, which come without a GRH. */
int model_create_datagram(struct object *qp, bool reliable);
void model_destroy_datagram(struct object *qp);
/* It may receive from now on. */
void model_datagram_ready(struct object *qp);
bool model_datagram(struct object *qp);
/* The part of the backend's QPNs that is the same for all of this process. */
uint8_t model_host_number(void);

/* The address handles that sends needed. */
struct ibv_ah *model_find_ah(struct ibv_pd *pd, const struct ibv_ah_attr *address);
void model_forget_ahs(const struct ibv_pd *pd);

/* An object goes; EBUSY: others need it. */
int model_destroy(struct object *object);

#endif
