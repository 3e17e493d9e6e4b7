/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams through a umad device: what read() and write() carry, and agent
 * registration. All structs have one layout on 32 and 64 bit.
 */
#ifndef IB_USER_MAD_H
#define IB_USER_MAD_H

#include <linux/types.h>
#include <rdma/rdma_user_ioctl.h>

#define IB_USER_MAD_ABI_VERSION 5

/* Header of a file on which IB_USER_MAD_ENABLE_PKEY was not called: no P_Key index. */
struct ib_user_mad_hdr_old {
	__u32 id;
	__u32 status;
	__u32 timeout_ms;
	__u32 retries;
	__u32 length;
	__be32 qpn;
	__be32 qkey;
	__be16 lid;
	__u8 sl;
	__u8 path_bits;
	__u8 grh_present;
	__u8 gid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 gid[16];
	__be32 flow_label;
};

/*
 * In front of each MAD. On receive the fields describe the sender; those marked "send" are unset
 * then.
 */
struct ib_user_mad_hdr {
	__u32 id;	  /* agent */
	__u32 status;	  /* 0, or ETIMEDOUT when no response came */
	__u32 timeout_ms; /* send: wait for a response */
	__u32 retries;	  /* send */
	__u32 length;	  /* bytes of header and MAD */
	__be32 qpn;
	__be32 qkey; /* send */
	__be16 lid;
	__u8 sl;
	__u8 path_bits;
	__u8 grh_present; /* the fields below up to flow_label count */
	__u8 gid_index;	  /* send */
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 gid[16];
	__be32 flow_label;
	__u16 pkey_index;
	__u8 reserved[6];
};

struct ib_user_mad {
	struct ib_user_mad_hdr hdr;
	__aligned_u64 data[];
};

/* A long aligned to 4: the layout of the time when method_mask was an array of u32. */
typedef unsigned long __attribute__((aligned(4))) packed_ulong;

#define IB_USER_MAD_LONGS_PER_METHOD_MASK (128 / (8 * sizeof(long)))

/* Ask to receive unsolicited MADs of a class; older form. */
struct ib_user_mad_reg_req {
	__u32 id;						     /* out */
	packed_ulong method_mask[IB_USER_MAD_LONGS_PER_METHOD_MASK]; /* one bit a method */
	__u8 qpn;						     /* 0 or 1 */
	__u8 mgmt_class;
	__u8 mgmt_class_version;
	__u8 oui[3];	   /* vendor classes 0x30 to 0x4f */
	__u8 rmpp_version; /* 0: no RMPP */
};

enum {
	IB_USER_MAD_USER_RMPP = 1 << 0, /* the caller does RMPP itself */
};

#define IB_USER_MAD_REG_FLAGS_CAP (IB_USER_MAD_USER_RMPP)

/* Ask to receive unsolicited MADs of a class. */
struct ib_user_mad_reg_req2 {
	__u32 id;  /* out */
	__u32 qpn; /* 0 or 1 */
	__u8 mgmt_class;
	__u8 mgmt_class_version;
	__u16 res;   /* ignored */
	__u32 flags; /* within IB_USER_MAD_REG_FLAGS_CAP; the kernel writes what it supports */
	__aligned_u64 method_mask[2]; /* one bit a method */
	__u32 oui;		      /* vendor classes 0x30 to 0x4f */
	__u8 rmpp_version;	      /* 0: no RMPP */
	__u8 reserved[3];
};

#endif /* IB_USER_MAD_H */
