/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one ioctl of a uverbs device: a header, then an array of typed attributes.
 * ib_user_ioctl_cmds.h names them.
 */
#ifndef RDMA_USER_IOCTL_CMDS_H
#define RDMA_USER_IOCTL_CMDS_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* Shared with the umad and the PSM device nodes. */
#define RDMA_IOCTL_MAGIC 0x1b

#define RDMA_VERBS_IOCTL _IOWR(RDMA_IOCTL_MAGIC, 1, struct ib_uverbs_ioctl_hdr)

enum {
	UVERBS_ATTR_F_MANDATORY = 1U << 0,    /* from the caller: fail if this is unknown */
	UVERBS_ATTR_F_VALID_OUTPUT = 1U << 1, /* from the kernel: it wrote this output */
};

/*
 * One attribute. Input of up to 8 bytes sits in data itself, longer input behind the pointer in
 * data.
 */
struct ib_uverbs_attr {
	__u16 attr_id; /* meaning depends on object and method */
	__u16 len;     /* bytes, for pointers and handle arrays */
	__u16 flags;   /* UVERBS_ATTR_F_* */
	union {
		struct {
			__u8 elem_id;
			__u8 reserved;
		} enum_data;
		__u16 reserved;
	} attr_data;
	union {
		__aligned_u64 data; /* value, handle or pointer */
		__s64 data_s64;	    /* file descriptor */
	};
};

struct ib_uverbs_ioctl_hdr {
	__u16 length; /* bytes, attributes included */
	__u16 object_id;
	__u16 method_id;
	__u16 num_attrs;
	__aligned_u64 reserved1;
	__u32 driver_id; /* enum rdma_driver_id; must be the device's */
	__u32 reserved2;
	struct ib_uverbs_attr attrs[];
};

#endif /* RDMA_USER_IOCTL_CMDS_H */
