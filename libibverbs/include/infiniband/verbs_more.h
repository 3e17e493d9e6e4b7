/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this library has beyond the verbs of other releases: a program that uses it needs this
 * library. The functions are in a version of their own, IBVERBS_MORE_1.0. The rules that verbs.h
 * states for all functions apply to these, too.
 */
#ifndef INFINIBAND_VERBS_MORE_H
#define INFINIBAND_VERBS_MORE_H

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- which GID to use ---- */

/*
 * What speaks against an entry of a GID table, the worst last. Entries are compared by the sum of
 * their flaws: less is better.
 */
enum ibv_gid_flaw {
	IBV_GID_FLAW_LINK_LOCAL =
		1 << 0, /* no router forwards it, and the peer's is not link-local */
	IBV_GID_FLAW_NO_ROUTE = 1 << 1,	    /* no route leads from it to the peer */
	IBV_GID_FLAW_ROCE_V1 = 1 << 2,	    /* crosses no router; peers of RoCE v2 do not hear it */
	IBV_GID_FLAW_OTHER_FAMILY = 1 << 3, /* one is an IPv4 address, the peer's an IPv6 one */
	IBV_GID_FLAW_NO_ADDRESS = 1 << 4,   /* no interface of this namespace has the address */
	IBV_GID_FLAW_LINK_DOWN = 1 << 5,    /* its network interface is down, or has no carrier */
	IBV_GID_FLAW_NO_INTERFACE = 1 << 6, /* its network interface is in another namespace */
};

/**
 * ibv_best_gid() - the index that a program should use when its user named none
 * @peer: whom it is to reach, or NULL
 *
 * Of entries with the same flaws the first one; an index above 255 is not chosen, for no address
 * vector holds it. Return: 0 or an errno value; ENODATA when the port's table is empty.
 */
int ibv_best_gid(struct ibv_context *context, uint32_t port_num, const union ibv_gid *peer,
		 uint32_t *gid_index);

/**
 * ibv_gid_flaws() - what speaks against an entry: OR of enum ibv_gid_flaw
 *
 * Return: 0 or an errno value; ENODATA for an unused entry, EINVAL for an index beyond the table.
 */
int ibv_gid_flaws(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		  const union ibv_gid *peer, uint32_t *flaws);

/**
 * ibv_gid_flaw_str() - one of them in words
 */
const char *ibv_gid_flaw_str(enum ibv_gid_flaw flaw);

/* ---- what an object was made with ---- */

/**
 * ibv_query_ah() - the address that an address handle leads to, as it was given when it was created
 *
 * Return: 0 or an errno value.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "query address handle".
 */
int ibv_query_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr);

enum ibv_mr_kind {
	IBV_MR_KIND_MEMORY,   /* memory of this process */
	IBV_MR_KIND_NULL,     /* ibv_alloc_null_mr() */
	IBV_MR_KIND_DMABUF,   /* memory of another device */
	IBV_MR_KIND_DM,	      /* memory of this device */
	IBV_MR_KIND_IMPORTED, /* another process registered it, and its kind is not known */
};

/* Bits of ibv_mr_attr.comp_mask. */
enum ibv_mr_attr_mask {
	IBV_MR_ATTR_ADDR = 1 << 0,
	IBV_MR_ATTR_LENGTH = 1 << 1,
	IBV_MR_ATTR_IOVA = 1 << 2,
	IBV_MR_ATTR_ACCESS = 1 << 3,
};

/**
 * struct ibv_mr_attr - a memory region as it is
 *
 * @comp_mask: which of the first members after it are known; the others are 0
 * @addr: in this process
 * @length: bytes
 * @iova: what work requests name the first byte by
 * @access: OR of enum ibv_access_flags; of optional flags those that the device took
 * @kind: enum ibv_mr_kind
 */
struct ibv_mr_attr {
	uint32_t comp_mask;
	uint32_t access;
	void *addr;
	uint64_t length;
	uint64_t iova;
	struct ibv_pd *pd;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t kind;
};

/**
 * ibv_query_mr() - what a memory region covers and allows
 *
 * Return: 0 or an errno value.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "query memory region".
 */
int _ibv_query_mr(struct ibv_mr *mr, struct ibv_mr_attr *attr, size_t attr_size);

static inline int ibv_query_mr(struct ibv_mr *mr, struct ibv_mr_attr *attr)
{
	return _ibv_query_mr(mr, attr, sizeof(*attr));
}

#ifdef __cplusplus
}
#endif

#endif
