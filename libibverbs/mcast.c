/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of UD queue pairs. */
#include <arpa/inet.h>
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

typedef int (*mcast_op)(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* Return whether the GID is ff..::, or an IPv4 group of 224.0.0.0/4 in the form of RoCE. */
static bool mcast_gid_ok(const union ibv_gid *gid)
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid->raw[0] == 0xff)
		return true;
	return !memcmp(gid->raw, v4_mapped, sizeof(v4_mapped)) && (gid->raw[12] & 0xf0) == 0xe0;
}

static int mcast_check(struct ibv_qp *qp, const union ibv_gid *gid, const char *verb)
{
	char text[INET6_ADDRSTRLEN];

	if (qp->qp_type != IBV_QPT_UD) {
		verbs_err(qp->context, "qp 0x%x: %s: only a UD QP has multicast groups", qp->qp_num,
			  verb);
		return -EINVAL;
	}
	if (!mcast_gid_ok(gid)) {
		verbs_err(qp->context, "qp 0x%x: %s: %s is not a multicast GID (ff00::/8)",
			  qp->qp_num, verb, inet_ntop(AF_INET6, gid, text, sizeof(text)));
		return -EINVAL;
	}
	return 0;
}

static const char *mcast_hint(int r)
{
	switch (r) {
	case -EINVAL:
		return " (not attached, or the LID is not that of the group)";
	case -ENOMEM:
		return " (no more groups or members: see max_mcast_grp and max_mcast_qp_attach)";
	default:
		return "";
	}
}

static int mcast_change(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid, mcast_op op,
			const char *verb)
{
	char text[INET6_ADDRSTRLEN];
	int r;

	if (unlikely(!gid))
		return explain_null(verb, "gid");
	if (!op)
		return verbs_unsupported(qp->context, verb);
	r = mcast_check(qp, gid, verb);
	if (r < 0)
		return r;
	r = op(to_vqp(qp), gid, lid);
	if (r < 0)
		verbs_err(qp->context, "qp 0x%x: %s: group %s lid 0x%x: %s%s", qp->qp_num, verb,
			  inet_ntop(AF_INET6, gid, text, sizeof(text)), lid, strerror(-r),
			  mcast_hint(r));
	return r;
}

VERBS_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	mcast_op op = ctx_ops(qp->context)->attach_mcast;

	return ret_int(mcast_change(qp, gid, lid, op, "ibv_attach_mcast"));
}

VERBS_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	mcast_op op = ctx_ops(qp->context)->detach_mcast;

	return ret_int(mcast_change(qp, gid, lid, op, "ibv_detach_mcast"));
}
