/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_query_comp_cntr_caps(struct ibv_context *ctx, struct ibv_comp_cntr_caps *ret_caps)
{
	const struct uverbs_attr a[] = {
		uverbs_out(UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_COUNTERS, &ret_caps->max_counters,
			   sizeof(ret_caps->max_counters)),
		uverbs_out(UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_MAX_VALUE, &ret_caps->max_value,
			   sizeof(ret_caps->max_value)),
		uverbs_out(UVERBS_ATTR_QUERY_COMP_CNTR_CAPS_SUPPORTED_QP_ATTACH_OPS,
			   &ret_caps->supported_qp_attach_ops,
			   sizeof(ret_caps->supported_qp_attach_ops)),
	};

	int r = uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_COMP_CNTR_CAPS, a,
			     ARRAY_SIZE(a), NULL);

	return r == -EPROTONOSUPPORT ? -EOPNOTSUPP : r; /* the kernel is older than counters */
}

int uverbs_create_comp_cntr(struct ibv_comp_cntr *cntr, const struct verbs_create_comp_cntr *in)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_COMP_CNTR_HANDLE, &cntr->handle),
	};

	return uverbs_ioctl(cntr->context, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE,
			    a, ARRAY_SIZE(a), in->udata);
}

int uverbs_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_DESTROY_COMP_CNTR_HANDLE, cntr->handle),
	};

	return uverbs_ioctl(cntr->context, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_DESTROY,
			    a, ARRAY_SIZE(a), NULL);
}

_Static_assert((int)VERBS_COMP_CNTR_DONE == IB_UVERBS_COMP_CNTR_ENTRY_COMP &&
		       (int)VERBS_COMP_CNTR_FAILED == IB_UVERBS_COMP_CNTR_ENTRY_ERR,
	       "the kernel numbers them so");

int uverbs_modify_comp_cntr(struct ibv_comp_cntr *cntr, const struct verbs_modify_comp_cntr *in)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_MODIFY_COMP_CNTR_HANDLE, cntr->handle),
		uverbs_const(UVERBS_ATTR_MODIFY_COMP_CNTR_ENTRY, in->entry),
		uverbs_const(UVERBS_ATTR_MODIFY_COMP_CNTR_OP,
			     in->add ? IB_UVERBS_COMP_CNTR_MODIFY_OP_INC
				     : IB_UVERBS_COMP_CNTR_MODIFY_OP_SET),
		uverbs_u64(UVERBS_ATTR_MODIFY_COMP_CNTR_VALUE, in->value),
	};

	return uverbs_ioctl(cntr->context, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_MODIFY,
			    a, ARRAY_SIZE(a), NULL);
}

int uverbs_read_comp_cntr(struct ibv_comp_cntr *cntr, enum verbs_comp_cntr_entry entry,
			  uint64_t *ret_value)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_READ_COMP_CNTR_HANDLE, cntr->handle),
		uverbs_const(UVERBS_ATTR_READ_COMP_CNTR_ENTRY, entry),
		uverbs_out(UVERBS_ATTR_READ_COMP_CNTR_RESP_VALUE, ret_value, sizeof(*ret_value)),
	};

	return uverbs_ioctl(cntr->context, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_READ, a,
			    ARRAY_SIZE(a), NULL);
}

/* Applications and the kernel use the same values for the operations. */
_Static_assert((int)IBV_QP_ATTACH_COMP_CNTR_OP_SEND == IB_UVERBS_QP_ATTACH_COMP_CNTR_OP_SEND &&
		       (int)IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE ==
			       IB_UVERBS_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE,
	       "one numbering");

int uverbs_qp_attach_comp_cntr(struct verbs_qp *qp, struct ibv_comp_cntr *cntr,
			       const struct ibv_qp_attach_comp_cntr_attr *attr)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_HANDLE, qp->qp.handle),
		uverbs_idr(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE, cntr->handle),
		uverbs_u32(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK, attr->op_mask),
	};

	return uverbs_ioctl(qp->qp.context, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_ATTACH_COMP_CNTR, a,
			    ARRAY_SIZE(a), NULL);
}
