/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlink family NETLINK_RDMA: device interface (NLDEV), iWARP port mapper (IWPM), local service
 * (LS). A message type is client << 10 | operation.
 */
#ifndef _RDMA_NETLINK_H
#define _RDMA_NETLINK_H

#include <linux/types.h>

enum {
	RDMA_NL_IWCM = 2,
	RDMA_NL_RSVD = 3,
	RDMA_NL_LS = 4,	   /* local service: path resolution by a daemon */
	RDMA_NL_NLDEV = 5, /* devices and their resources */
	RDMA_NL_NUM_CLIENTS = 6,
};

enum {
	RDMA_NL_GROUP_IWPM = 2,
	RDMA_NL_GROUP_LS = 3,
	RDMA_NL_GROUP_NOTIFY = 4,
	RDMA_NL_NUM_GROUPS = 5,
};

#define RDMA_NL_GET_CLIENT(type)     (((type) >> 10) & 0x3f)
#define RDMA_NL_GET_OP(type)	     ((type)&0x3ff)
#define RDMA_NL_GET_TYPE(client, op) (((client) << 10) + (op))

/* ---- iWARP port mapper ---- */

/* Oldest and newest version the kernel speaks. */
#define IWPM_UABI_VERSION_MIN 3
#define IWPM_UABI_VERSION     4

enum {
	IWPM_FLAGS_NO_PORT_MAP = 1 << 0, /* leave the port as it is */
};

enum {
	RDMA_NL_IWPM_REG_PID = 0,
	RDMA_NL_IWPM_ADD_MAPPING = 1,
	RDMA_NL_IWPM_QUERY_MAPPING = 2,
	RDMA_NL_IWPM_REMOVE_MAPPING = 3,
	RDMA_NL_IWPM_REMOTE_INFO = 4,
	RDMA_NL_IWPM_HANDLE_ERR = 5,
	RDMA_NL_IWPM_MAPINFO = 6,
	RDMA_NL_IWPM_MAPINFO_NUM = 7,
	RDMA_NL_IWPM_HELLO = 8,
	RDMA_NL_IWPM_NUM_OPS = 9,
};

enum {
	IWPM_NLA_REG_PID_UNSPEC = 0,
	IWPM_NLA_REG_PID_SEQ = 1,
	IWPM_NLA_REG_IF_NAME = 2,
	IWPM_NLA_REG_IBDEV_NAME = 3,
	IWPM_NLA_REG_ULIB_NAME = 4,
	IWPM_NLA_REG_PID_MAX = 5,
};

enum {
	IWPM_NLA_RREG_PID_UNSPEC = 0,
	IWPM_NLA_RREG_PID_SEQ = 1,
	IWPM_NLA_RREG_IBDEV_NAME = 2,
	IWPM_NLA_RREG_ULIB_NAME = 3,
	IWPM_NLA_RREG_ULIB_VER = 4,
	IWPM_NLA_RREG_PID_ERR = 5,
	IWPM_NLA_RREG_PID_MAX = 6,
};

enum {
	IWPM_NLA_MANAGE_MAPPING_UNSPEC = 0,
	IWPM_NLA_MANAGE_MAPPING_SEQ = 1,
	IWPM_NLA_MANAGE_ADDR = 2,
	IWPM_NLA_MANAGE_FLAGS = 3,
	IWPM_NLA_MANAGE_MAPPING_MAX = 4,
};

enum {
	IWPM_NLA_RMANAGE_MAPPING_UNSPEC = 0,
	IWPM_NLA_RMANAGE_MAPPING_SEQ = 1,
	IWPM_NLA_RMANAGE_ADDR = 2,
	IWPM_NLA_RMANAGE_MAPPED_LOC_ADDR = 3,
	IWPM_NLA_MANAGE_MAPPED_LOC_ADDR = IWPM_NLA_RMANAGE_MAPPED_LOC_ADDR, /* older name */
	IWPM_NLA_RMANAGE_MAPPING_ERR = 4,
	IWPM_NLA_RMANAGE_MAPPING_MAX = 5,
};

#define IWPM_NLA_MAPINFO_SEND_MAX   3
#define IWPM_NLA_REMOVE_MAPPING_MAX 3

enum {
	IWPM_NLA_QUERY_MAPPING_UNSPEC = 0,
	IWPM_NLA_QUERY_MAPPING_SEQ = 1,
	IWPM_NLA_QUERY_LOCAL_ADDR = 2,
	IWPM_NLA_QUERY_REMOTE_ADDR = 3,
	IWPM_NLA_QUERY_FLAGS = 4,
	IWPM_NLA_QUERY_MAPPING_MAX = 5,
};

enum {
	IWPM_NLA_RQUERY_MAPPING_UNSPEC = 0,
	IWPM_NLA_RQUERY_MAPPING_SEQ = 1,
	IWPM_NLA_RQUERY_LOCAL_ADDR = 2,
	IWPM_NLA_RQUERY_REMOTE_ADDR = 3,
	IWPM_NLA_RQUERY_MAPPED_LOC_ADDR = 4,
	IWPM_NLA_RQUERY_MAPPED_REM_ADDR = 5,
	IWPM_NLA_RQUERY_MAPPING_ERR = 6,
	IWPM_NLA_RQUERY_MAPPING_MAX = 7,
};

enum {
	IWPM_NLA_MAPINFO_REQ_UNSPEC = 0,
	IWPM_NLA_MAPINFO_ULIB_NAME = 1,
	IWPM_NLA_MAPINFO_ULIB_VER = 2,
	IWPM_NLA_MAPINFO_REQ_MAX = 3,
};

enum {
	IWPM_NLA_MAPINFO_UNSPEC = 0,
	IWPM_NLA_MAPINFO_LOCAL_ADDR = 1,
	IWPM_NLA_MAPINFO_MAPPED_ADDR = 2,
	IWPM_NLA_MAPINFO_FLAGS = 3,
	IWPM_NLA_MAPINFO_MAX = 4,
};

enum {
	IWPM_NLA_MAPINFO_NUM_UNSPEC = 0,
	IWPM_NLA_MAPINFO_SEQ = 1,
	IWPM_NLA_MAPINFO_SEND_NUM = 2,
	IWPM_NLA_MAPINFO_ACK_NUM = 3,
	IWPM_NLA_MAPINFO_NUM_MAX = 4,
};

enum {
	IWPM_NLA_ERR_UNSPEC = 0,
	IWPM_NLA_ERR_SEQ = 1,
	IWPM_NLA_ERR_CODE = 2,
	IWPM_NLA_ERR_MAX = 3,
};

enum {
	IWPM_NLA_HELLO_UNSPEC = 0,
	IWPM_NLA_HELLO_ABI_VERSION = 1,
	IWPM_NLA_HELLO_MAX = 2,
};

/* ---- node types ---- */

/* The first three equal NodeInfo:NodeType. */
enum {
	RDMA_NODE_IB_CA = 1,
	RDMA_NODE_IB_SWITCH = 2,
	RDMA_NODE_IB_ROUTER = 3,
	RDMA_NODE_RNIC = 4,
	RDMA_NODE_USNIC = 5,
	RDMA_NODE_USNIC_UDP = 6,
	RDMA_NODE_UNSPECIFIED = 7,
};

/* ---- local service ---- */

/* The kernel asks for RESOLVE and IP_RESOLVE; the daemon sends SET_TIMEOUT. */
enum {
	RDMA_NL_LS_OP_RESOLVE = 0,
	RDMA_NL_LS_OP_SET_TIMEOUT = 1,
	RDMA_NL_LS_OP_IP_RESOLVE = 2,
	RDMA_NL_LS_NUM_OPS = 3,
};

/* Message flag: the request failed. */
#define RDMA_NL_LS_F_ERR 0x0100

/* What the paths are for. */
enum {
	LS_RESOLVE_PATH_USE_ALL = 0,		/* a connection: up to six records */
	LS_RESOLVE_PATH_USE_UNIDIRECTIONAL = 1, /* one direction of UD: one record */
	LS_RESOLVE_PATH_USE_GMP = 2,		/* management: at least one reversible record */
	LS_RESOLVE_PATH_USE_MAX = 3,
};

#define LS_DEVICE_NAME_MAX 64

/* Between netlink header and attributes of RDMA_NL_LS_OP_RESOLVE. */
struct rdma_ls_resolve_header {
	__u8 device_name[LS_DEVICE_NAME_MAX];
	__u8 port_num;
	__u8 path_use;
};

struct rdma_ls_ip_resolve_header {
	__u32 ifindex;
};

/* Attribute flag: fail if not understood. The mask needs linux/netlink.h. */
#define RDMA_NLA_F_MANDATORY (1 << 13)
#define RDMA_NLA_TYPE_MASK   (~(NLA_F_NESTED | NLA_F_NET_BYTEORDER | RDMA_NLA_F_MANDATORY))

enum {
	LS_NLA_TYPE_UNSPEC = 0,
	LS_NLA_TYPE_PATH_RECORD = 1, /* struct ib_path_rec_data */
	LS_NLA_TYPE_TIMEOUT = 2,     /* u32 */
	LS_NLA_TYPE_SERVICE_ID = 3,  /* u64 */
	LS_NLA_TYPE_DGID = 4,	     /* struct rdma_nla_ls_gid */
	LS_NLA_TYPE_SGID = 5,	     /* struct rdma_nla_ls_gid */
	LS_NLA_TYPE_TCLASS = 6,	     /* u8 */
	LS_NLA_TYPE_PKEY = 7,	     /* u16 */
	LS_NLA_TYPE_QOS_CLASS = 8,   /* u16 */
	LS_NLA_TYPE_IPV4 = 9,	     /* u32, network order */
	LS_NLA_TYPE_IPV6 = 10,	     /* 16 bytes, network order */
	LS_NLA_TYPE_MAX = 11,
};

struct rdma_nla_ls_gid {
	__u8 gid[16];
};

/* ---- device interface ---- */

enum rdma_nldev_command {
	RDMA_NLDEV_CMD_UNSPEC = 0,
	RDMA_NLDEV_CMD_GET = 1, /* also as a dump */
	RDMA_NLDEV_CMD_SET = 2,
	RDMA_NLDEV_CMD_NEWLINK = 3,
	RDMA_NLDEV_CMD_DELLINK = 4,
	RDMA_NLDEV_CMD_PORT_GET = 5, /* also as a dump */
	RDMA_NLDEV_CMD_SYS_GET = 6,
	RDMA_NLDEV_CMD_SYS_SET = 7,
	RDMA_NLDEV_CMD_RES_GET = 9,	   /* 8 is not used */
	RDMA_NLDEV_CMD_RES_QP_GET = 10,	   /* also as a dump */
	RDMA_NLDEV_CMD_RES_CM_ID_GET = 11, /* also as a dump */
	RDMA_NLDEV_CMD_RES_CQ_GET = 12,	   /* also as a dump */
	RDMA_NLDEV_CMD_RES_MR_GET = 13,	   /* also as a dump */
	RDMA_NLDEV_CMD_RES_PD_GET = 14,	   /* also as a dump */
	RDMA_NLDEV_CMD_GET_CHARDEV = 15,
	RDMA_NLDEV_CMD_STAT_SET = 16,
	RDMA_NLDEV_CMD_STAT_GET = 17, /* also as a dump */
	RDMA_NLDEV_CMD_STAT_DEL = 18,
	RDMA_NLDEV_CMD_RES_QP_GET_RAW = 19,
	RDMA_NLDEV_CMD_RES_CQ_GET_RAW = 20,
	RDMA_NLDEV_CMD_RES_MR_GET_RAW = 21,
	RDMA_NLDEV_CMD_RES_CTX_GET = 22, /* also as a dump */
	RDMA_NLDEV_CMD_RES_SRQ_GET = 23, /* also as a dump */
	RDMA_NLDEV_CMD_STAT_GET_STATUS = 24,
	RDMA_NLDEV_CMD_RES_SRQ_GET_RAW = 25,
	RDMA_NLDEV_CMD_NEWDEV = 26,
	RDMA_NLDEV_CMD_DELDEV = 27,
	RDMA_NLDEV_CMD_MONITOR = 28,
	RDMA_NLDEV_NUM_OPS = 29, /* one past the last */
};

enum rdma_nldev_print_type {
	RDMA_NLDEV_PRINT_TYPE_UNSPEC = 0,
	RDMA_NLDEV_PRINT_TYPE_HEX = 1,
};

enum rdma_nldev_attr {
	RDMA_NLDEV_ATTR_UNSPEC = 0,
	RDMA_NLDEV_ATTR_PAD = RDMA_NLDEV_ATTR_UNSPEC, /* aligns a 64 bit attribute */
	RDMA_NLDEV_ATTR_DEV_INDEX = 1,		      /* u32 */
	RDMA_NLDEV_ATTR_DEV_NAME = 2,		      /* string */
	RDMA_NLDEV_ATTR_PORT_INDEX = 3,		      /* u32, from 1; of a device: how many ports */
	RDMA_NLDEV_ATTR_CAP_FLAGS = 4,	/* u64; of a port: CapabilityMask, CapabilityMask2 << 32 */
	RDMA_NLDEV_ATTR_FW_VERSION = 5, /* string */
	RDMA_NLDEV_ATTR_NODE_GUID = 6,	/* u64, host order */
	RDMA_NLDEV_ATTR_SYS_IMAGE_GUID = 7,   /* u64, host order */
	RDMA_NLDEV_ATTR_SUBNET_PREFIX = 8,    /* u64, host order */
	RDMA_NLDEV_ATTR_LID = 9,	      /* u32 */
	RDMA_NLDEV_ATTR_SM_LID = 10,	      /* u32 */
	RDMA_NLDEV_ATTR_LMC = 11,	      /* u8 */
	RDMA_NLDEV_ATTR_PORT_STATE = 12,      /* u8 */
	RDMA_NLDEV_ATTR_PORT_PHYS_STATE = 13, /* u8 */
	RDMA_NLDEV_ATTR_DEV_NODE_TYPE = 14,   /* u8, RDMA_NODE_* */

	/* resources */
	RDMA_NLDEV_ATTR_RES_SUMMARY = 15,	     /* nested */
	RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY = 16,	     /* nested */
	RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME = 17, /* string */
	RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR = 18, /* u64 */
	RDMA_NLDEV_ATTR_RES_QP = 19,		     /* nested */
	RDMA_NLDEV_ATTR_RES_QP_ENTRY = 20,	     /* nested */
	RDMA_NLDEV_ATTR_RES_LQPN = 21,		     /* u32 */
	RDMA_NLDEV_ATTR_RES_RQPN = 22,		     /* u32 */
	RDMA_NLDEV_ATTR_RES_RQ_PSN = 23,	     /* u32 */
	RDMA_NLDEV_ATTR_RES_SQ_PSN = 24,	     /* u32 */
	RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE = 25,     /* u8 */
	RDMA_NLDEV_ATTR_RES_TYPE = 26,		     /* u8, QP type */
	RDMA_NLDEV_ATTR_RES_STATE = 27,		     /* u8 */
	RDMA_NLDEV_ATTR_RES_PID = 28,		     /* u32; objects of processes */
	RDMA_NLDEV_ATTR_RES_KERN_NAME = 29,	     /* string; objects of the kernel */
	RDMA_NLDEV_ATTR_RES_CM_ID = 30,		     /* nested */
	RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY = 31,	     /* nested */
	RDMA_NLDEV_ATTR_RES_PS = 32,		     /* u32, port space */
	RDMA_NLDEV_ATTR_RES_SRC_ADDR = 33,	     /* struct __kernel_sockaddr_storage */
	RDMA_NLDEV_ATTR_RES_DST_ADDR = 34,	     /* struct __kernel_sockaddr_storage */
	RDMA_NLDEV_ATTR_RES_CQ = 35,		     /* nested */
	RDMA_NLDEV_ATTR_RES_CQ_ENTRY = 36,	     /* nested */
	RDMA_NLDEV_ATTR_RES_CQE = 37,		     /* u32 */
	RDMA_NLDEV_ATTR_RES_USECNT = 38,	     /* u64 */
	RDMA_NLDEV_ATTR_RES_POLL_CTX = 39,	     /* u8 */
	RDMA_NLDEV_ATTR_RES_MR = 40,		     /* nested */
	RDMA_NLDEV_ATTR_RES_MR_ENTRY = 41,	     /* nested */
	RDMA_NLDEV_ATTR_RES_RKEY = 42,		     /* u32 */
	RDMA_NLDEV_ATTR_RES_LKEY = 43,		     /* u32 */
	RDMA_NLDEV_ATTR_RES_IOVA = 44,		     /* u64 */
	RDMA_NLDEV_ATTR_RES_MRLEN = 45,		     /* u64 */
	RDMA_NLDEV_ATTR_RES_PD = 46,		     /* nested */
	RDMA_NLDEV_ATTR_RES_PD_ENTRY = 47,	     /* nested */
	RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY = 48,     /* u32 */
	RDMA_NLDEV_ATTR_RES_UNSAFE_GLOBAL_RKEY = 49, /* u32 */

	/* network device of a port */
	RDMA_NLDEV_ATTR_NDEV_INDEX = 50, /* u32 */
	RDMA_NLDEV_ATTR_NDEV_NAME = 51,	 /* string */

	/* whatever a driver adds */
	RDMA_NLDEV_ATTR_DRIVER = 52,		/* nested */
	RDMA_NLDEV_ATTR_DRIVER_ENTRY = 53,	/* nested */
	RDMA_NLDEV_ATTR_DRIVER_STRING = 54,	/* string */
	RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE = 55, /* u8, enum rdma_nldev_print_type */
	RDMA_NLDEV_ATTR_DRIVER_S32 = 56,	/* s32 */
	RDMA_NLDEV_ATTR_DRIVER_U32 = 57,	/* u32 */
	RDMA_NLDEV_ATTR_DRIVER_S64 = 58,	/* s64 */
	RDMA_NLDEV_ATTR_DRIVER_U64 = 59,	/* u64 */

	/* numbers that name one object; a QP is named by RES_LQPN */
	RDMA_NLDEV_ATTR_RES_PDN = 60,	 /* u32 */
	RDMA_NLDEV_ATTR_RES_CQN = 61,	 /* u32 */
	RDMA_NLDEV_ATTR_RES_MRN = 62,	 /* u32 */
	RDMA_NLDEV_ATTR_RES_CM_IDN = 63, /* u32 */
	RDMA_NLDEV_ATTR_RES_CTXN = 64,	 /* u32 */

	/* links and the system */
	RDMA_NLDEV_ATTR_LINK_TYPE = 65,	     /* string, as in "rxe" or "siw" */
	RDMA_NLDEV_SYS_ATTR_NETNS_MODE = 66, /* u8, 1: devices shared by all namespaces */
	RDMA_NLDEV_ATTR_DEV_PROTOCOL = 67,   /* string: ib, roce, iw, opa, usnic */
	RDMA_NLDEV_NET_NS_FD = 68,	     /* u32, file descriptor */

	/* character devices */
	RDMA_NLDEV_ATTR_CHARDEV_TYPE = 69,     /* string: uverbs, umad, issm, ... */
	RDMA_NLDEV_ATTR_CHARDEV_NAME = 70,     /* string, the node below /dev/infiniband */
	RDMA_NLDEV_ATTR_CHARDEV_ABI = 71,      /* u64 */
	RDMA_NLDEV_ATTR_CHARDEV = 72,	       /* u64, dev_t */
	RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID = 73, /* u32, enum rdma_driver_id */

	/* counters */
	RDMA_NLDEV_ATTR_STAT_MODE = 74,			 /* u32, enum rdma_nl_counter_mode */
	RDMA_NLDEV_ATTR_STAT_RES = 75,			 /* u32 */
	RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK = 76,	 /* u32, enum rdma_nl_counter_mask */
	RDMA_NLDEV_ATTR_STAT_COUNTER = 77,		 /* nested */
	RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY = 78,	 /* nested */
	RDMA_NLDEV_ATTR_STAT_COUNTER_ID = 79,		 /* u32 */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTERS = 80,		 /* nested */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY = 81,	 /* nested */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME = 82,	 /* string */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE = 83, /* u64 */

	/* later additions, in the order they came */
	RDMA_NLDEV_ATTR_DEV_DIM = 84,		       /* u8 */
	RDMA_NLDEV_ATTR_RES_RAW = 85,		       /* binary */
	RDMA_NLDEV_ATTR_RES_CTX = 86,		       /* nested */
	RDMA_NLDEV_ATTR_RES_CTX_ENTRY = 87,	       /* nested */
	RDMA_NLDEV_ATTR_RES_SRQ = 88,		       /* nested */
	RDMA_NLDEV_ATTR_RES_SRQ_ENTRY = 89,	       /* nested */
	RDMA_NLDEV_ATTR_RES_SRQN = 90,		       /* u32 */
	RDMA_NLDEV_ATTR_MIN_RANGE = 91,		       /* u32 */
	RDMA_NLDEV_ATTR_MAX_RANGE = 92,		       /* u32 */
	RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK = 93,	       /* u8 */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX = 94,     /* u32 */
	RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC = 95,   /* u8 */
	RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE = 96, /* u8 */
	RDMA_NLDEV_ATTR_DRIVER_DETAILS = 97,	       /* u8 */
	RDMA_NLDEV_ATTR_RES_SUBTYPE = 98,	       /* string, driver QPs */
	RDMA_NLDEV_ATTR_DEV_TYPE = 99,		       /* u8, enum rdma_nl_dev_type */
	RDMA_NLDEV_ATTR_PARENT_NAME = 100,	       /* string */
	RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE = 101,	       /* u8, enum rdma_nl_name_assign_type */
	RDMA_NLDEV_ATTR_EVENT_TYPE = 102,	       /* u8, enum rdma_nl_notify_event_type */
	RDMA_NLDEV_SYS_ATTR_MONITOR_MODE = 103,	       /* u8 */
	RDMA_NLDEV_ATTR_STAT_OPCOUNTER_ENABLED = 104,  /* u8 */
	RDMA_NLDEV_ATTR_MAX = 105,		       /* one past the last */
};

/* How QPs get their counter: one way at a time. */
enum rdma_nl_counter_mode {
	RDMA_COUNTER_MODE_NONE = 0,
	RDMA_COUNTER_MODE_AUTO = 1,   /* when the QP is initialised, by its type */
	RDMA_COUNTER_MODE_MANUAL = 2, /* as the administrator says */
	RDMA_COUNTER_MODE_MAX = 3,
};

enum rdma_nl_counter_mask {
	RDMA_COUNTER_MASK_QP_TYPE = 1,
	RDMA_COUNTER_MASK_PID = 1 << 1,
};

enum rdma_nl_dev_type {
	RDMA_DEVICE_TYPE_SMI = 1,
};

enum rdma_nl_name_assign_type {
	RDMA_NAME_ASSIGN_TYPE_UNKNOWN = 0,
	RDMA_NAME_ASSIGN_TYPE_USER = 1, /* named by user space */
};

enum rdma_nl_notify_event_type {
	RDMA_REGISTER_EVENT = 0,
	RDMA_UNREGISTER_EVENT = 1,
	RDMA_NETDEV_ATTACH_EVENT = 2,
	RDMA_NETDEV_DETACH_EVENT = 3,
	RDMA_RENAME_EVENT = 4,
	RDMA_NETDEV_RENAME_EVENT = 5,
};

#endif /* _RDMA_NETLINK_H */
