/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects, methods and attributes of the verbs ioctl, in one section per object: its methods first,
 * then the attributes of each method. The numbers are the ABI; the name of an attribute is all the
 * type information there is, so the comment behind it says what travels: "new" and "old" are object
 * handles that come to be or exist, the rest is the C type, "out" when the kernel writes it.
 */
#ifndef IB_USER_IOCTL_CMDS_H
#define IB_USER_IOCTL_CMDS_H

/* The top four bits of an id are its name space: 0 the core, 1 the driver. */
#define UVERBS_ID_NS_MASK  0xF000
#define UVERBS_ID_NS_SHIFT 12

/* Older names of the driver's name space. */
#define UVERBS_UDATA_DRIVER_DATA_NS   1
#define UVERBS_UDATA_DRIVER_DATA_FLAG (1UL << UVERBS_ID_NS_SHIFT)

/*
 * First ids of the driver's name space; the legacy command structs of a provider travel as UHW_IN
 * and UHW_OUT.
 */
enum {
	UVERBS_ID_DRIVER_NS = 1UL << UVERBS_ID_NS_SHIFT,
	UVERBS_ATTR_UHW_IN = UVERBS_ID_DRIVER_NS,
	UVERBS_ATTR_UHW_OUT = UVERBS_ATTR_UHW_IN + 1,
	UVERBS_ID_DRIVER_NS_WITH_UHW = UVERBS_ATTR_UHW_IN + 2,
};

enum uverbs_default_objects {
	UVERBS_OBJECT_DEVICE = 0, /* carries methods only, never a handle */
	UVERBS_OBJECT_PD = 1,
	UVERBS_OBJECT_COMP_CHANNEL = 2,
	UVERBS_OBJECT_CQ = 3,
	UVERBS_OBJECT_QP = 4,
	UVERBS_OBJECT_SRQ = 5,
	UVERBS_OBJECT_AH = 6,
	UVERBS_OBJECT_MR = 7,
	UVERBS_OBJECT_MW = 8,
	UVERBS_OBJECT_FLOW = 9,
	UVERBS_OBJECT_XRCD = 10,
	UVERBS_OBJECT_RWQ_IND_TBL = 11,
	UVERBS_OBJECT_WQ = 12,
	UVERBS_OBJECT_FLOW_ACTION = 13,
	UVERBS_OBJECT_DM = 14,
	UVERBS_OBJECT_COUNTERS = 15,
	UVERBS_OBJECT_ASYNC_EVENT = 16,
	UVERBS_OBJECT_DMAH = 17,
	UVERBS_OBJECT_DMABUF = 18,
	UVERBS_OBJECT_COMP_CNTR = 19,
};

/* ---- device and context ---- */

enum uverbs_methods_device {
	UVERBS_METHOD_INVOKE_WRITE = 0,
	UVERBS_METHOD_INFO_HANDLES = 1,
	UVERBS_METHOD_QUERY_PORT = 2,
	UVERBS_METHOD_GET_CONTEXT = 3,
	UVERBS_METHOD_QUERY_CONTEXT = 4,
	UVERBS_METHOD_QUERY_GID_TABLE = 5,
	UVERBS_METHOD_QUERY_GID_ENTRY = 6,
	UVERBS_METHOD_QUERY_PORT_SPEED = 7,
	UVERBS_METHOD_QUERY_COMP_CNTR_CAPS = 8,
};

enum uverbs_attrs_invoke_write_cmd_attr_ids {
	UVERBS_ATTR_CORE_IN = 0,   /* legacy command struct */
	UVERBS_ATTR_CORE_OUT = 1,  /* out, legacy response struct */
	UVERBS_ATTR_WRITE_CMD = 2, /* u64, enum ib_uverbs_write_cmds */
};

enum uverbs_attrs_info_handles_id {
	UVERBS_ATTR_INFO_OBJECT_ID = 0,	    /* u64, enum uverbs_default_objects */
	UVERBS_ATTR_INFO_TOTAL_HANDLES = 1, /* out, u32 */
	UVERBS_ATTR_INFO_HANDLES_LIST = 2,  /* out, u32 array */
};

enum uverbs_attrs_query_port_cmd_attr_ids {
	UVERBS_ATTR_QUERY_PORT_PORT_NUM = 0, /* u64, from 1 */
	UVERBS_ATTR_QUERY_PORT_RESP = 1,     /* out, struct ib_uverbs_query_port_resp_ex */
};

enum uverbs_attrs_query_port_speed_cmd_attr_ids {
	UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM = 0,
	UVERBS_ATTR_QUERY_PORT_SPEED_RESP = 1, /* out */
};

enum uverbs_attrs_query_comp_cntr_caps_attr_ids {
	UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_COUNTERS = 0,	      /* out, u32 */
	UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_VALUE = 1,		      /* out, u64 */
	UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_SUPPORTED_QP_ATTACH_OPS = 2, /* out, u32 */
};

enum uverbs_attrs_get_context_attr_ids {
	UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS = 0, /* out, u32 */
	UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT = 1,     /* out, u64, enum ib_uverbs_core_support */
	UVERBS_ATTR_GET_CONTEXT_FD_ARR = 2,	      /* capability file descriptors */
};

enum uverbs_attrs_query_context_attr_ids {
	UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS = 0, /* out, u32 */
	UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT = 1,	/* out, u64 */
};

enum uverbs_attrs_query_gid_table_cmd_attr_ids {
	UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE = 0,   /* u64, bytes */
	UVERBS_ATTR_QUERY_GID_TABLE_FLAGS = 1,	      /* u32, none defined */
	UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES = 2, /* out, struct ib_uverbs_gid_entry array */
	UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES = 3, /* out, u64 */
};

enum uverbs_attrs_query_gid_entry_cmd_attr_ids {
	UVERBS_ATTR_QUERY_GID_ENTRY_PORT = 0,	    /* u64 */
	UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX = 1,  /* u64 */
	UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS = 2,	    /* u32, none defined */
	UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY = 3, /* out, struct ib_uverbs_gid_entry */
};

/* ---- asynchronous event file ---- */

enum uverbs_method_async_event {
	UVERBS_METHOD_ASYNC_EVENT_ALLOC = 0,
};

enum uverbs_attrs_async_event_create {
	UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE = 0, /* new file descriptor */
};

/* ---- protection domain ---- */

enum uverbs_methods_pd {
	UVERBS_METHOD_PD_DESTROY = 0,
};

enum uverbs_attrs_pd_destroy_ids {
	UVERBS_ATTR_DESTROY_PD_HANDLE = 0, /* old */
};

/* ---- memory region ---- */

enum uverbs_methods_mr {
	UVERBS_METHOD_DM_MR_REG = 0,
	UVERBS_METHOD_MR_DESTROY = 1,
	UVERBS_METHOD_ADVISE_MR = 2,
	UVERBS_METHOD_QUERY_MR = 3,
	UVERBS_METHOD_REG_DMABUF_MR = 4,
	UVERBS_METHOD_REG_MR = 5,
};

enum uverbs_attrs_reg_dm_mr_cmd_attr_ids {
	UVERBS_ATTR_REG_DM_MR_HANDLE = 0,	/* new */
	UVERBS_ATTR_REG_DM_MR_OFFSET = 1,	/* u64 */
	UVERBS_ATTR_REG_DM_MR_LENGTH = 2,	/* u64 */
	UVERBS_ATTR_REG_DM_MR_PD_HANDLE = 3,	/* old */
	UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS = 4, /* u32, enum ib_uverbs_access_flags */
	UVERBS_ATTR_REG_DM_MR_DM_HANDLE = 5,	/* old */
	UVERBS_ATTR_REG_DM_MR_RESP_LKEY = 6,	/* out, u32 */
	UVERBS_ATTR_REG_DM_MR_RESP_RKEY = 7,	/* out, u32 */
};

enum uverbs_attrs_mr_destroy_ids {
	UVERBS_ATTR_DESTROY_MR_HANDLE = 0, /* old */
};

enum uverbs_attrs_advise_mr_cmd_attr_ids {
	UVERBS_ATTR_ADVISE_MR_PD_HANDLE = 0, /* old */
	UVERBS_ATTR_ADVISE_MR_ADVICE = 1,    /* u64, enum ib_uverbs_advise_mr_advice */
	UVERBS_ATTR_ADVISE_MR_FLAGS = 2,     /* u32, enum ib_uverbs_advise_mr_flag */
	UVERBS_ATTR_ADVISE_MR_SGE_LIST = 3,  /* struct ib_uverbs_sge array */
};

enum uverbs_attrs_query_mr_cmd_attr_ids {
	UVERBS_ATTR_QUERY_MR_HANDLE = 0,      /* old */
	UVERBS_ATTR_QUERY_MR_RESP_LKEY = 1,   /* out, u32 */
	UVERBS_ATTR_QUERY_MR_RESP_RKEY = 2,   /* out, u32 */
	UVERBS_ATTR_QUERY_MR_RESP_LENGTH = 3, /* out, u64 */
	UVERBS_ATTR_QUERY_MR_RESP_IOVA = 4,   /* out, u64 */
};

enum uverbs_attrs_reg_dmabuf_mr_cmd_attr_ids {
	UVERBS_ATTR_REG_DMABUF_MR_HANDLE = 0,	    /* new */
	UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE = 1,    /* old */
	UVERBS_ATTR_REG_DMABUF_MR_OFFSET = 2,	    /* u64 */
	UVERBS_ATTR_REG_DMABUF_MR_LENGTH = 3,	    /* u64 */
	UVERBS_ATTR_REG_DMABUF_MR_IOVA = 4,	    /* u64 */
	UVERBS_ATTR_REG_DMABUF_MR_FD = 5,	    /* dma-buf file descriptor */
	UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS = 6, /* u32, enum ib_uverbs_access_flags */
	UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY = 7,    /* out, u32 */
	UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY = 8,    /* out, u32 */
};

/* Either ADDR or both FD and FD_OFFSET name the memory. */
enum uverbs_attrs_reg_mr_cmd_attr_ids {
	UVERBS_ATTR_REG_MR_HANDLE = 0,	     /* new */
	UVERBS_ATTR_REG_MR_PD_HANDLE = 1,    /* old */
	UVERBS_ATTR_REG_MR_DMA_HANDLE = 2,   /* old */
	UVERBS_ATTR_REG_MR_IOVA = 3,	     /* u64 */
	UVERBS_ATTR_REG_MR_ADDR = 4,	     /* u64 */
	UVERBS_ATTR_REG_MR_LENGTH = 5,	     /* u64 */
	UVERBS_ATTR_REG_MR_ACCESS_FLAGS = 6, /* u32, enum ib_uverbs_access_flags */
	UVERBS_ATTR_REG_MR_FD = 7,	     /* dma-buf file descriptor */
	UVERBS_ATTR_REG_MR_FD_OFFSET = 8,    /* u64 */
	UVERBS_ATTR_REG_MR_RESP_LKEY = 9,    /* out, u32 */
	UVERBS_ATTR_REG_MR_RESP_RKEY = 10,   /* out, u32 */
};

/* ---- memory window ---- */

enum uverbs_methods_mw {
	UVERBS_METHOD_MW_DESTROY = 0,
};

enum uverbs_attrs_mw_destroy_ids {
	UVERBS_ATTR_DESTROY_MW_HANDLE = 0, /* old */
};

/* ---- device memory ---- */

enum uverbs_methods_dm {
	UVERBS_METHOD_DM_ALLOC = 0,
	UVERBS_METHOD_DM_FREE = 1,
};

enum uverbs_attrs_alloc_dm_cmd_attr_ids {
	UVERBS_ATTR_ALLOC_DM_HANDLE = 0,    /* new */
	UVERBS_ATTR_ALLOC_DM_LENGTH = 1,    /* u64 */
	UVERBS_ATTR_ALLOC_DM_ALIGNMENT = 2, /* u32, log2 */
};

enum uverbs_attrs_free_dm_cmd_attr_ids {
	UVERBS_ATTR_FREE_DM_HANDLE = 0, /* old */
};

/* ---- DMA handle: placement hints for a memory region ---- */

enum uverbs_methods_dmah {
	UVERBS_METHOD_DMAH_ALLOC = 0,
	UVERBS_METHOD_DMAH_FREE = 1,
};

enum uverbs_attrs_alloc_dmah_cmd_attr_ids {
	UVERBS_ATTR_ALLOC_DMAH_HANDLE = 0,	 /* new */
	UVERBS_ATTR_ALLOC_DMAH_CPU_ID = 1,	 /* u32 */
	UVERBS_ATTR_ALLOC_DMAH_TPH_MEM_TYPE = 2, /* elem_id */
	UVERBS_ATTR_ALLOC_DMAH_PH = 3,		 /* u8 */
};

enum uverbs_attrs_free_dmah_cmd_attr_ids {
	UVERBS_ATTR_FREE_DMA_HANDLE = 0, /* old */
};

/* ---- dma-buf of a device's mmap area ---- */

enum uverbs_methods_dmabuf {
	UVERBS_METHOD_DMABUF_ALLOC = 0,
};

enum uverbs_attrs_alloc_dmabuf_cmd_attr_ids {
	UVERBS_ATTR_ALLOC_DMABUF_HANDLE = 0, /* new */
	UVERBS_ATTR_ALLOC_DMABUF_PGOFF = 1,  /* u64 */
};

/* ---- completion queue ---- */

enum uverbs_methods_cq {
	UVERBS_METHOD_CQ_CREATE = 0,
	UVERBS_METHOD_CQ_DESTROY = 1,
};

enum uverbs_attrs_create_cq_cmd_attr_ids {
	UVERBS_ATTR_CREATE_CQ_HANDLE = 0,	  /* new */
	UVERBS_ATTR_CREATE_CQ_CQE = 1,		  /* u32 */
	UVERBS_ATTR_CREATE_CQ_USER_HANDLE = 2,	  /* u64 */
	UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL = 3,	  /* old file descriptor */
	UVERBS_ATTR_CREATE_CQ_COMP_VECTOR = 4,	  /* u32 */
	UVERBS_ATTR_CREATE_CQ_FLAGS = 5,	  /* u32, enum ib_uverbs_ex_create_cq_flags */
	UVERBS_ATTR_CREATE_CQ_RESP_CQE = 6,	  /* out, u32 */
	UVERBS_ATTR_CREATE_CQ_EVENT_FD = 7,	  /* old file descriptor */
	UVERBS_ATTR_CREATE_CQ_BUFFER_VA = 8,	  /* u64 */
	UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH = 9,  /* u64 */
	UVERBS_ATTR_CREATE_CQ_BUFFER_FD = 10,	  /* dma-buf file descriptor */
	UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET = 11, /* u64 */
	UVERBS_ATTR_CREATE_CQ_BUF_UMEM = 12,	  /* struct ib_uverbs_buffer_desc */
};

enum uverbs_attrs_destroy_cq_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_CQ_HANDLE = 0, /* old */
	UVERBS_ATTR_DESTROY_CQ_RESP = 1,   /* out, struct ib_uverbs_destroy_cq_resp */
};

/* ---- queue pair ---- */

enum uverbs_methods_qp {
	UVERBS_METHOD_QP_CREATE = 0,
	UVERBS_METHOD_QP_DESTROY = 1,
	UVERBS_METHOD_QP_ATTACH_COMP_CNTR = 2,
};

enum uverbs_attrs_create_qp_cmd_attr_ids {
	UVERBS_ATTR_CREATE_QP_HANDLE = 0,	    /* new */
	UVERBS_ATTR_CREATE_QP_XRCD_HANDLE = 1,	    /* old */
	UVERBS_ATTR_CREATE_QP_PD_HANDLE = 2,	    /* old */
	UVERBS_ATTR_CREATE_QP_SRQ_HANDLE = 3,	    /* old */
	UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE = 4,   /* old */
	UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE = 5,   /* old */
	UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE = 6, /* old */
	UVERBS_ATTR_CREATE_QP_USER_HANDLE = 7,	    /* u64 */
	UVERBS_ATTR_CREATE_QP_CAP = 8,		    /* struct ib_uverbs_qp_cap */
	UVERBS_ATTR_CREATE_QP_TYPE = 9,		    /* u64, enum ib_uverbs_qp_type */
	UVERBS_ATTR_CREATE_QP_FLAGS = 10,	    /* u32, enum ib_uverbs_qp_create_flags */
	UVERBS_ATTR_CREATE_QP_SOURCE_QPN = 11,	    /* u32 */
	UVERBS_ATTR_CREATE_QP_EVENT_FD = 12,	    /* old file descriptor */
	UVERBS_ATTR_CREATE_QP_RESP_CAP = 13,	    /* out, struct ib_uverbs_qp_cap */
	UVERBS_ATTR_CREATE_QP_RESP_QP_NUM = 14,	    /* out, u32 */
	UVERBS_ATTR_CREATE_QP_BUF_UMEM = 15,	    /* struct ib_uverbs_buffer_desc */
	UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM = 16,	    /* struct ib_uverbs_buffer_desc */
	UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM = 17,	    /* struct ib_uverbs_buffer_desc */
};

enum uverbs_attrs_destroy_qp_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_QP_HANDLE = 0, /* old */
	UVERBS_ATTR_DESTROY_QP_RESP = 1,   /* out, struct ib_uverbs_destroy_qp_resp */
};

enum uverbs_attrs_qp_attach_comp_cntr_cmd_attr_ids {
	UVERBS_ATTR_QP_ATTACH_COMP_CNTR_HANDLE = 0,	 /* old */
	UVERBS_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE = 1, /* old */
	UVERBS_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK = 2,	 /* u32 */
};

/* ---- completion counter ---- */

enum uverbs_methods_comp_cntr {
	UVERBS_METHOD_COMP_CNTR_CREATE = 0,
	UVERBS_METHOD_COMP_CNTR_DESTROY = 1,
	UVERBS_METHOD_COMP_CNTR_MODIFY = 2,
	UVERBS_METHOD_COMP_CNTR_READ = 3,
};

enum uverbs_attrs_create_comp_cntr_cmd_attr_ids {
	UVERBS_ATTR_CREATE_COMP_CNTR_HANDLE = 0, /* new */
};

enum uverbs_attrs_destroy_comp_cntr_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_COMP_CNTR_HANDLE = 0, /* old */
};

enum uverbs_attrs_modify_comp_cntr_cmd_attr_ids {
	UVERBS_ATTR_MODIFY_COMP_CNTR_HANDLE = 0, /* old */
	UVERBS_ATTR_MODIFY_COMP_CNTR_ENTRY = 1,	 /* u64, enum ib_uverbs_comp_cntr_entry */
	UVERBS_ATTR_MODIFY_COMP_CNTR_OP = 2,	 /* u64, enum ib_uverbs_comp_cntr_modify_op */
	UVERBS_ATTR_MODIFY_COMP_CNTR_VALUE = 3,	 /* u64 */
};

enum uverbs_attrs_read_comp_cntr_cmd_attr_ids {
	UVERBS_ATTR_READ_COMP_CNTR_HANDLE = 0,	   /* old */
	UVERBS_ATTR_READ_COMP_CNTR_ENTRY = 1,	   /* u64, enum ib_uverbs_comp_cntr_entry */
	UVERBS_ATTR_READ_COMP_CNTR_RESP_VALUE = 2, /* out, u64 */
};

/* ---- shared receive queue ---- */

enum uverbs_methods_srq {
	UVERBS_METHOD_SRQ_CREATE = 0,
	UVERBS_METHOD_SRQ_DESTROY = 1,
};

enum uverbs_attrs_create_srq_cmd_attr_ids {
	UVERBS_ATTR_CREATE_SRQ_HANDLE = 0,	  /* new */
	UVERBS_ATTR_CREATE_SRQ_PD_HANDLE = 1,	  /* old */
	UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE = 2,	  /* old */
	UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE = 3,	  /* old */
	UVERBS_ATTR_CREATE_SRQ_USER_HANDLE = 4,	  /* u64 */
	UVERBS_ATTR_CREATE_SRQ_MAX_WR = 5,	  /* u32 */
	UVERBS_ATTR_CREATE_SRQ_MAX_SGE = 6,	  /* u32 */
	UVERBS_ATTR_CREATE_SRQ_LIMIT = 7,	  /* u32 */
	UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS = 8,  /* u32 */
	UVERBS_ATTR_CREATE_SRQ_TYPE = 9,	  /* u64, enum ib_uverbs_srq_type */
	UVERBS_ATTR_CREATE_SRQ_EVENT_FD = 10,	  /* old file descriptor */
	UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR = 11,  /* out, u32 */
	UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE = 12, /* out, u32 */
	UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM = 13, /* out, u32 */
};

enum uverbs_attrs_destroy_srq_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_SRQ_HANDLE = 0, /* old */
	UVERBS_ATTR_DESTROY_SRQ_RESP = 1,   /* out, struct ib_uverbs_destroy_srq_resp */
};

/* ---- work queue and indirection table ---- */

enum uverbs_methods_wq {
	UVERBS_METHOD_WQ_CREATE = 0,
	UVERBS_METHOD_WQ_DESTROY = 1,
};

enum uverbs_attrs_create_wq_cmd_attr_ids {
	UVERBS_ATTR_CREATE_WQ_HANDLE = 0,	 /* new */
	UVERBS_ATTR_CREATE_WQ_PD_HANDLE = 1,	 /* old */
	UVERBS_ATTR_CREATE_WQ_CQ_HANDLE = 2,	 /* old */
	UVERBS_ATTR_CREATE_WQ_USER_HANDLE = 3,	 /* u64 */
	UVERBS_ATTR_CREATE_WQ_TYPE = 4,		 /* u64, enum ib_uverbs_wq_type */
	UVERBS_ATTR_CREATE_WQ_EVENT_FD = 5,	 /* old file descriptor */
	UVERBS_ATTR_CREATE_WQ_MAX_WR = 6,	 /* u32 */
	UVERBS_ATTR_CREATE_WQ_MAX_SGE = 7,	 /* u32 */
	UVERBS_ATTR_CREATE_WQ_FLAGS = 8,	 /* u32, enum ib_uverbs_wq_flags */
	UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR = 9,	 /* out, u32 */
	UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE = 10, /* out, u32 */
	UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM = 11,	 /* out, u32 */
};

enum uverbs_attrs_destroy_wq_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_WQ_HANDLE = 0, /* old */
	UVERBS_ATTR_DESTROY_WQ_RESP = 1,   /* out, struct ib_uverbs_ex_destroy_wq_resp */
};

enum uverbs_methods_rwq_ind_tbl {
	UVERBS_METHOD_RWQ_IND_TBL_DESTROY = 0,
};

enum uverbs_attrs_rwq_ind_tbl_destroy_ids {
	UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE = 0, /* old */
};

/* ---- address handle and XRC domain ---- */

enum uverbs_methods_ah {
	UVERBS_METHOD_AH_DESTROY = 0,
};

enum uverbs_attrs_ah_destroy_ids {
	UVERBS_ATTR_DESTROY_AH_HANDLE = 0, /* old */
};

enum uverbs_methods_xrcd {
	UVERBS_METHOD_XRCD_DESTROY = 0,
};

enum uverbs_attrs_xrcd_destroy_ids {
	UVERBS_ATTR_DESTROY_XRCD_HANDLE = 0, /* old */
};

/* ---- flow and flow action ---- */

enum uverbs_methods_flow {
	UVERBS_METHOD_FLOW_DESTROY = 0,
};

enum uverbs_attrs_flow_destroy_ids {
	UVERBS_ATTR_DESTROY_FLOW_HANDLE = 0, /* old */
};

enum uverbs_methods_actions_flow_action_ops {
	UVERBS_METHOD_FLOW_ACTION_ESP_CREATE = 0,
	UVERBS_METHOD_FLOW_ACTION_DESTROY = 1,
	UVERBS_METHOD_FLOW_ACTION_ESP_MODIFY = 2,
};

enum uverbs_attrs_create_flow_action_esp {
	UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE = 0, /* new */
	UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS = 1,	       /* struct ib_uverbs_flow_action_esp */
	UVERBS_ATTR_FLOW_ACTION_ESP_ESN = 2,	       /* u32 */
	UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT = 3, /* elem_id, enum ib_uverbs_flow_action_esp_keymat */
	UVERBS_ATTR_FLOW_ACTION_ESP_REPLAY = 4, /* elem_id, enum ib_uverbs_flow_action_esp_replay */
	UVERBS_ATTR_FLOW_ACTION_ESP_ENCAP = 5,	/* struct ib_uverbs_flow_action_esp_encap */
};

/* The other attributes are those of creation. */
enum uverbs_attrs_modify_flow_action_esp {
	UVERBS_ATTR_MODIFY_FLOW_ACTION_ESP_HANDLE = UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE,
};

enum uverbs_attrs_destroy_flow_action_esp {
	UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE = 0, /* old */
};

/* ---- counters ---- */

enum uverbs_methods_actions_counters_ops {
	UVERBS_METHOD_COUNTERS_CREATE = 0,
	UVERBS_METHOD_COUNTERS_DESTROY = 1,
	UVERBS_METHOD_COUNTERS_READ = 2,
};

enum uverbs_attrs_create_counters_cmd_attr_ids {
	UVERBS_ATTR_CREATE_COUNTERS_HANDLE = 0, /* new */
};

enum uverbs_attrs_destroy_counters_cmd_attr_ids {
	UVERBS_ATTR_DESTROY_COUNTERS_HANDLE = 0, /* old */
};

enum uverbs_attrs_read_counters_cmd_attr_ids {
	UVERBS_ATTR_READ_COUNTERS_HANDLE = 0, /* old */
	UVERBS_ATTR_READ_COUNTERS_BUFF = 1,   /* out, u64 array */
	UVERBS_ATTR_READ_COUNTERS_FLAGS = 2,  /* u32, enum ib_uverbs_read_counters_flags */
};

#endif /* IB_USER_IOCTL_CMDS_H */
