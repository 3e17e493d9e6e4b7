/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device's numbers of address handles and memory regions. */
#include "libibverbs/uverbs/cmd.h"
#include "providers/efa/direct/direct.h"

EFADV_EXPORT int efadv_query_ah(struct ibv_ah *ibah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	if (!efadv_context(ibah->context, __func__))
		return EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_ah_attr, ahn, inlen))
		return -efadv_refuse(ibah->context, __func__, inlen);
	memset(attr, 0, inlen);
	attr->ahn = to_eah(ibah)->number;
	return 0;
}

EFADV_EXPORT int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t inlen)
{
	uint16_t valid = 0, receive = 0, read = 0, rdma_receive = 0;
	const struct uverbs_attr a[] = {
		uverbs_idr(EFA_IB_ATTR_QUERY_MR_HANDLE, mr->handle),
		uverbs_out(EFA_IB_ATTR_QUERY_MR_RESP_IC_ID_VALIDITY, &valid, sizeof(valid)),
		uverbs_out(EFA_IB_ATTR_QUERY_MR_RESP_RECV_IC_ID, &receive, sizeof(receive)),
		uverbs_out(EFA_IB_ATTR_QUERY_MR_RESP_RDMA_READ_IC_ID, &read, sizeof(read)),
		uverbs_out(EFA_IB_ATTR_QUERY_MR_RESP_RDMA_RECV_IC_ID, &rdma_receive,
			   sizeof(rdma_receive)),
	};
	int r;

	if (!efadv_context(mr->context, __func__))
		return EOPNOTSUPP;
	if (!HAS_MEMBER(struct efadv_mr_attr, rdma_recv_ic_id, inlen))
		return -efadv_refuse(mr->context, __func__, inlen);
	r = uverbs_ioctl(mr->context, UVERBS_OBJECT_MR, EFA_IB_METHOD_MR_QUERY, a, ARRAY_SIZE(a),
			 NULL);
	if (r < 0) {
		verbs_err(mr->context, "mr %u: %s: %s", mr->handle, __func__, strerror(-r));
		return -r;
	}
	memset(attr, 0, inlen);
	attr->ic_id_validity = valid & (EFADV_MR_ATTR_VALIDITY_RECV_IC_ID |
					EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID |
					EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID);
	if (valid & EFA_QUERY_MR_VALIDITY_RECV_IC_ID)
		attr->recv_ic_id = receive;
	if (valid & EFA_QUERY_MR_VALIDITY_RDMA_READ_IC_ID)
		attr->rdma_read_ic_id = read;
	if (valid & EFA_QUERY_MR_VALIDITY_RDMA_RECV_IC_ID)
		attr->rdma_recv_ic_id = rdma_receive;
	return 0;
}
