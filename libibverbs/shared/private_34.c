/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names that vendor libraries of the distribution (libmlx5, libefa, libmlx4, libmana) import
 * from the node IBVERBS_PRIVATE_34. Programs link those libraries for the direct verbs in them, and
 * the dynamic linker must find every name before such a program starts. These functions are never
 * called for a device of this libibverbs, because its providers use IBVERBS_PRIVATE_101 and a
 * vendor library ignores devices that are not its own. Any call comes from a driver of another
 * release. It fails and logs what to install.
 */
#include <string.h>

#include "libibverbs/library.h"

/*
 * Vendor libraries read this variable when they destroy objects of a removed device. With this
 * libibverbs they never have such objects.
 */
extern bool verbs_allow_disassociate_destroy;
VERBS_EXPORT bool verbs_allow_disassociate_destroy;

static void refuse(const char *name)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	errno = EOPNOTSUPP;
	if (!atomic_flag_test_and_set(&said))
		log_notice("libibverbs: Warning: a driver of another release called %s: this "
			   "libibverbs cannot work with it: install libibverbs and its providers "
			   "from the same release\n",
			   name);
}

/* Arguments of the callers are ignored. */
#define REFUSE(type, name, value)    \
	type name(void);             \
	VERBS_EXPORT type name(void) \
	{                            \
		refuse(#name);       \
		return value;        \
	}
#define NUMBER(name)  REFUSE(int, name, EOPNOTSUPP)
#define MINUS1(name)  REFUSE(int, name, -1)
#define POINTER(name) REFUSE(void *, name, NULL)
#define NOTHING(name) REFUSE(void, name, )
/* Vendor libraries call these while they are loaded, without a device. This is not an error. */
#define SILENT(name)                 \
	void name(void);             \
	VERBS_EXPORT void name(void) \
	{                            \
	}

SILENT(verbs_register_driver_34)
SILENT(__verbs_log)

POINTER(_verbs_init_and_alloc_context)
POINTER(verbs_open_device)
NOTHING(verbs_init_cq)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)

REFUSE(unsigned int, __ioctl_final_num_attrs, 0)
NUMBER(execute_ioctl)
MINUS1(ibv_read_ibdev_sysfs_file)

NUMBER(ibv_cmd_advise_mr)
NUMBER(ibv_cmd_alloc_dm)
NUMBER(ibv_cmd_alloc_mw)
NUMBER(ibv_cmd_alloc_pd)
NUMBER(ibv_cmd_attach_mcast)
NUMBER(ibv_cmd_close_xrcd)
NUMBER(ibv_cmd_create_ah)
NUMBER(ibv_cmd_create_counters)
NUMBER(ibv_cmd_create_cq)
NUMBER(ibv_cmd_create_cq_ex)
NUMBER(ibv_cmd_create_flow)
NUMBER(ibv_cmd_create_flow_action_esp)
NUMBER(ibv_cmd_create_qp)
NUMBER(ibv_cmd_create_qp_ex)
NUMBER(ibv_cmd_create_qp_ex2)
NUMBER(ibv_cmd_create_rwq_ind_table)
NUMBER(ibv_cmd_create_srq)
NUMBER(ibv_cmd_create_srq_ex)
NUMBER(ibv_cmd_create_wq)
NUMBER(ibv_cmd_dealloc_mw)
NUMBER(ibv_cmd_dealloc_pd)
NUMBER(ibv_cmd_dereg_mr)
NUMBER(ibv_cmd_destroy_ah)
NUMBER(ibv_cmd_destroy_counters)
NUMBER(ibv_cmd_destroy_cq)
NUMBER(ibv_cmd_destroy_flow)
NUMBER(ibv_cmd_destroy_flow_action)
NUMBER(ibv_cmd_destroy_qp)
NUMBER(ibv_cmd_destroy_rwq_ind_table)
NUMBER(ibv_cmd_destroy_srq)
NUMBER(ibv_cmd_destroy_wq)
NUMBER(ibv_cmd_detach_mcast)
NUMBER(ibv_cmd_free_dm)
NUMBER(ibv_cmd_get_context)
NUMBER(ibv_cmd_modify_cq)
NUMBER(ibv_cmd_modify_flow_action_esp)
NUMBER(ibv_cmd_modify_qp)
NUMBER(ibv_cmd_modify_qp_ex)
NUMBER(ibv_cmd_modify_srq)
NUMBER(ibv_cmd_modify_wq)
NUMBER(ibv_cmd_open_qp)
NUMBER(ibv_cmd_open_xrcd)
NUMBER(ibv_cmd_poll_cq)
NUMBER(ibv_cmd_post_recv)
NUMBER(ibv_cmd_post_send)
NUMBER(ibv_cmd_post_srq_recv)
NUMBER(ibv_cmd_query_context)
NUMBER(ibv_cmd_query_device_any)
NUMBER(ibv_cmd_query_mr)
NUMBER(ibv_cmd_query_port)
NUMBER(ibv_cmd_query_qp)
NUMBER(ibv_cmd_query_srq)
NUMBER(ibv_cmd_read_counters)
NUMBER(ibv_cmd_reg_dm_mr)
NUMBER(ibv_cmd_reg_dmabuf_mr)
NUMBER(ibv_cmd_reg_mr)
NUMBER(ibv_cmd_req_notify_cq)
NUMBER(ibv_cmd_rereg_mr)
NUMBER(ibv_cmd_resize_cq)

/* Since release 45. */
NUMBER(ibv_cmd_alloc_dmah)
NUMBER(ibv_cmd_create_comp_cntr)
NUMBER(ibv_cmd_create_cq_ex2)
NUMBER(ibv_cmd_destroy_comp_cntr)
MINUS1(ibv_cmd_export_dmabuf_fd)
NUMBER(ibv_cmd_free_dmah)
NUMBER(ibv_cmd_inc_comp_cntr)
NUMBER(ibv_cmd_inc_err_comp_cntr)
NUMBER(ibv_cmd_qp_attach_comp_cntr)
NUMBER(ibv_cmd_query_comp_cntr_caps)
NUMBER(ibv_cmd_query_port_speed)
NUMBER(ibv_cmd_read_comp_cntr)
NUMBER(ibv_cmd_read_err_comp_cntr)
NUMBER(ibv_cmd_reg_mr_ex)
NUMBER(ibv_cmd_set_comp_cntr)
NUMBER(ibv_cmd_set_err_comp_cntr)
POINTER(ibv_dmabuf_heap_alloc)
POINTER(ibv_dmabuf_heap_cc_shared_init)
NOTHING(ibv_dmabuf_heap_destroy)
NOTHING(ibv_dmabuf_heap_free)
