/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of the shim and the model into one kind of device. The file of a device has its kernel
 * driver's answers, its mappings, its work requests and its completions. It calls no library.
 *
 * Functions return 0 or a positive errno, as a kernel does.
 */
#ifndef DEVICES_DEVICE_H
#define DEVICES_DEVICE_H

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "tests/adapters/lab/shim/object.h"

enum {
	WORK_SGES = 64,
	WORK_INLINE = 4096,
	WORK_SILENT = 0x7f, /* a note: the process did not post the request */
};

/* One command of the process, from any interface: the core's request and response, and the request
 * and response of the driver. */
struct command {
	const void *in;
	size_t in_len;
	void *out;
	size_t out_len;
	struct {
		const void *in;
		size_t in_len;
		void *out;
		size_t out_len;
	} driver;
};

/* Write the driver's answer, at most as many bytes as the process has room for. */
void command_reply(struct command *command, const void *answer, size_t length);
/* Read the driver's request, which may be longer or shorter than the struct of this header. */
void command_request(const struct command *command, void *ret_request, size_t length);

/* A field of the driver's request, for the trace: 'x' a number, 'p' an address of the process. */
struct field {
	const char *name;
	uint16_t offset, size;
	char kind; /* 'x': number, 's': number that is usually 0, 'p': address */
};
#define FIELD(type, member, how)                                                                \
	{                                                                                       \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), how \
	}

enum request_kind {
	REQUEST_CONTEXT,
	REQUEST_REGION,
	REQUEST_CQ,
	REQUEST_RESIZE,
	REQUEST_QP,
	REQUEST_QP_TABLE, /* of one that receives through a table */
	REQUEST_MODIFY,
	REQUEST_SRQ,
	REQUEST_WQ,
	REQUEST_KINDS,
};

/* The kind of mapping behind an offset that the process maps. */
enum region_kind {
	REGION_MEMORY,	  /* compared at each step of a trace */
	REGION_REGISTERS, /* every store is traced */
};

/*
 * A decoded work request. wr.sg_list, wr.sg_list[].addr of inline data and `address` point into it.
 */
struct work {
	struct ibv_send_wr wr; /* a receive uses only sg_list and num_sge */
	struct ibv_sge sge[WORK_SGES];
	uint8_t data[WORK_INLINE];
	struct ibv_ah_attr address; /* datagrams */
	/* The request of a DC initiator has these, too. */
	struct {
		uint64_t key;
		uint32_t target;
	} dc;
	uint16_t id; /* comes back in the completion, and so does note */
	uint8_t note;
	uint32_t entries; /* of the ring, which the request uses */
	uint32_t cursor;  /* of the receive queue, after the request */
	bool executed;	  /* the device has executed it, so that nothing is sent */
	bool copies;	  /* copies sge[0] to sge[1] within the process and sends nothing */
	/* A memory window that is bound: its new key, and the memory that it gives access to. */
	struct {
		uint32_t mw_rkey, new_rkey, mr_lkey;
		unsigned access;
		uint64_t address, length;
		/* the address by which peers name the first byte: 0, or the address in the
		 * process */
		uint64_t start;
		uint32_t qp;	   /* queue pair whose peers may use the window */
		struct ibv_mr *mr; /* of the model, instead of mr_lkey; or NULL */
		bool again;	   /* the window is already bound */
	} bind;
};

/* A completion of a work request that this device decoded. */
struct completion {
	const struct object *qp; /* NULL: of an XRC SRQ, by a queue pair of another process */
	struct object *srq;	 /* a receive of an SRQ */
	bool receive;
	uint16_t id;
	uint8_t note;
	const struct ibv_wc *wc;
};

struct tagged; /* model/tag.h */

/* A transition, as MODIFY_QP makes it. */
int qp_modify(struct object *qp, const struct ib_uverbs_modify_qp *q);

struct device {
	const char *name, *ibdev, *modalias;
	uint32_t vendor_id, part_id;
	uint32_t driver_id; /* announced by netlink; 0: sysfs identifies the device */
	int abi_version;
	int node_type, link_layer;
	bool resizes_srq;
	bool loose_modify;	/* members that the mask does not name have undefined values */
	bool short_numbers;	/* QPNs have 16 bits, and work is datagrams: model/datagram.c */
	bool short_srq_numbers; /* of XRC SRQs: model/number.h */
	uint32_t xrc_bit;	/* bit that only the process sees in the QPN of an XRC receiver */
	uint32_t number_step;	/* numbers of queue pairs are multiples of it; 0: any number */
	uint8_t gid_base;	/* index of the backend's GID that is the device's first GID */
	uint32_t lacks;		/* capabilities that the port does not have */
	uint8_t cqes_beyond;	/* entries above max_cqe that the driver accepts */
	uint8_t receive_sges;	/* limit of a shared receive, if it is not max_srq_sge */
	const struct field *fields[REQUEST_KINDS];

	/* Answers to commands. The objects exist already. q is the core's request and is changed
	 * to the granted values. */
	int (*get_context)(struct command *command);
	int (*query_device)(struct ibv_device_attr *attr, struct command *command);
	/* The capabilities that backend and device share in run mode; all capabilities of the
	 * device otherwise. */
	void (*query_device_ex)(struct ib_uverbs_ex_query_device_resp *ret);
	int (*alloc_pd)(struct object *pd, struct command *command);
	/* Note the registration of a region; may be NULL. */
	int (*reg_mr)(struct object *mr, const struct ib_uverbs_reg_mr *q, struct command *command);
	int (*create_cq)(struct object *cq, uint32_t *cqe, struct command *command);
	int (*resize_cq)(struct object *cq, uint32_t *cqe, struct command *command);
	int (*create_qp)(struct object *qp, struct ib_uverbs_ex_create_qp *q,
			 struct command *command);
	/* Whether a queue pair may have this rate; NULL: the device has no rate limits. */
	int (*pace)(struct object *qp, const struct ib_uverbs_ex_modify_qp *q,
		    struct command *command);
	/* Check or change a transition before it happens; may be NULL. */
	int (*transition)(struct object *qp, struct ib_uverbs_modify_qp *q,
			  struct command *command);
	/* Write the driver's answer to a transition; may be NULL. */
	void (*modified)(struct object *qp, struct command *command);
	int (*create_srq)(struct object *srq, struct ib_uverbs_create_xsrq *q,
			  struct command *command);
	int (*create_wq)(struct object *wq, struct ib_uverbs_ex_create_wq *q,
			 struct command *command);
	int (*create_ah)(struct object *ah, const struct ib_uverbs_ah_attr *q,
			 struct command *command);
	void (*destroy)(struct object *object); /* called before the object is freed */
	/* An event (IBV_EVENT_) of an object that a command of the device created. */
	void (*async_event)(const struct object *object, int event);
	int (*alloc_dm)(struct object *dm, uint32_t log_align, struct ib_uverbs_ioctl_hdr *call);
	/* Run a method of an object that only this device has; EPROTONOSUPPORT: there is no such
	 * method. */
	int (*method)(uint16_t object, uint16_t method, struct ib_uverbs_ioctl_hdr *call);

	enum region_kind (*region)(uint64_t offset, size_t length, char *ret_name, size_t size);
	void (*mapped)(uint64_t offset, void *at, size_t length);
	void (*unmapped)(const void *at); /* may come before the object is destroyed */
	/* A store to registers, in trace mode. */
	void (*stored)(const char *region, size_t offset, const uint8_t *bytes, size_t length);

	/* Run mode: time passes. */
	void (*tick)(void);
	/* Run mode. Return 1 for a request, 0 for none, or a negative errno for a malformed
	 * request, which moves the QP to the error state. */
	int (*next_send)(struct object *qp, struct work *work);
	int (*next_receive)(struct object *queue, struct work *work);
	/* Return the number of completions for which the ring has room. */
	uint32_t (*room)(struct object *cq);
	/* Receive a frame from the wire, and send a frame of a raw packet queue. NULL: the device
	 * has no such queues. */
	void (*frame)(const void *frame, size_t length);
	void (*send_frame)(struct object *qp, const void *frame, size_t length);
	/* Write raw bytes that a scenario gives; NULL: the device does not support this. */
	void (*entry)(struct object *cq, const void *bytes, size_t length);
	void (*complete)(struct object *cq, const struct completion *completion);
	/* Write a completion of tag matching; NULL: the device matches no tags. */
	void (*tagged)(struct object *cq, const struct tagged *what);
	/* Whether the process has armed the CQ since the last call. */
	bool (*armed)(struct object *cq, struct arm *ret_arm);
	/* For a trace: a mask of the 16 bytes at this offset of "qp0.sq" that the device
	 * ignores. */
	unsigned (*ignored)(const char *region, size_t offset);
	/* For a trace: a mask of the bytes that the device ignores in a store into registers. */
	unsigned (*undefined)(const char *region, size_t offset, const uint8_t *bytes);
	/* For a trace: the device's id of the request that the process posted as number `index`. */
	uint16_t (*traced_id)(const struct object *qp, bool receive, uint32_t index);
	uint8_t (*traced_note)(enum ibv_wr_opcode opcode);
};

/* clang-format off */
/* The list of all devices. Add a new device here and in documentation/devices.md. */
#define ALL_DEVICES(X)                                                                             \
	X(mlx5) X(mlx5_dynamic) X(mlx5_full)                                                       \
	X(mlx4) X(mlx4_ib)                                                                         \
	X(efa)                                                                                     \
	X(vmw_pvrdma)                                                                              \
	X(mana) X(mana_rc)                                                                         \
	X(erdma) X(erdma_roce)                                                                     \
	X(bnxt_re)                                                                                 \
	X(cxgb4) X(cxgb4_t5) X(cxgb4_t4) X(cxgb4_verbs)                                            \
	X(irdma) X(irdma_iwarp) X(irdma_x722) X(irdma_gen3)                                        \
	X(hns) X(hns_full) X(hns_hip08)                                                            \
	X(ionic) X(ionic_v1)                                                                       \
	X(mthca) X(mthca_tavor)                                                                    \
	X(ocrdma) X(ocrdma_gen1)                                                                  \
	X(qedr) X(qedr_dpm) X(qedr_iwarp)
/* clang-format on */

#define DECLARE_DEVICE(name) extern const struct device device_##name;
ALL_DEVICES(DECLARE_DEVICE)
#undef DECLARE_DEVICE

/* The device that is played, or NULL. */
extern const struct device *device;

#endif
