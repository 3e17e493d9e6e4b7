/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests of raw packet queue pairs: an Ethernet segment holds the first bytes of the packet,
 * which the adapter needs inline. The rest is as in other requests.
 */
#include "providers/mlx5/wqe.h"

enum {
	ETH_HEAD = 14, /* bytes of the segment before the bytes of the packet */
	MIN_INLINE = 18,
	MIN_TSO_HEADER = 14,
	IPOIB_INLINE = 4, /* the header of IPoIB */
};

/* Return the bytes of the packet that the adapter needs in the Ethernet segment. */
static uint32_t min_inline(const struct mlx5_qp *qp, const struct mlx5_raw *raw)
{
	const struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);

	if (qp->underlay)
		return raw->inlined && raw->num_sge && raw->sges[0].length >= MIN_INLINE
			       ? MIN_INLINE
			       : IPOIB_INLINE;
	return ctx->info.eth_min_inline == MLX5_USER_INLINE_MODE_NONE ? 0 : MIN_INLINE;
}

/* Return the bytes of the segment with @header bytes of the packet. */
static uint32_t eth_size(uint32_t header)
{
	return ROUND_UP(max_of(ETH_HEAD + header, (uint32_t)MLX_SEGMENT), MLX_SEGMENT);
}

/* Write the Ethernet segment. Return: the address behind it. */
static char *eth_write(const struct mlx5_sq *sq, char *seg, const struct mlx5_raw *raw,
		       const void *header, uint32_t length)
{
	struct mlx5_wqe_eth_seg *eth = (void *)seg;
	uint32_t size = eth_size(length);

	/* The segment starts in the first block of the request, and so do its first 32 bytes. */
	memset(eth, 0, sizeof(*eth));
	eth->cs_flags = raw->csum ? MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM : 0;
	eth->mss = htobe16(raw->mss);
	eth->inline_hdr_sz = htobe16(length);
	if (length)
		wqe_bytes(sq, seg + ETH_HEAD, header, length);
	seg += size;
	return seg >= sq->end ? sq->ring + (seg - sq->end) : seg;
}

/* Copy the first @want bytes of the packet. */
static bool header_gather(const struct mlx5_raw *raw, uint8_t *to, uint32_t want)
{
	for (size_t i = 0; i < raw->num_sge && want; i++) {
		uint32_t length = min_of(raw->sges[i].length, want);

		memcpy(to, (void *)(uintptr_t)raw->sges[i].addr, length);
		to += length;
		want -= length;
	}
	return !want;
}

/* Write the data behind the first @skip bytes as inline data. */
static enum kit_fault rest_inline(const struct mlx5_sq *sq, char *seg, const struct mlx5_raw *raw,
				  uint32_t skip, unsigned int *ds)
{
	char *at = seg + sizeof(struct mlx5_wqe_inl_data_seg);
	uint32_t total = 0;

	for (size_t i = 0; i < raw->num_sge; i++) {
		uint32_t over = min_of(raw->sges[i].length, skip);
		uint32_t length = raw->sges[i].length - over;

		skip -= over;
		if (length > sq->max_inline - total)
			return KIT_FAULT_INLINE;
		at = wqe_bytes(sq, at, (char *)(uintptr_t)raw->sges[i].addr + over, length);
		total += length;
	}
	if (total)
		wqe_inline_head(seg, total);
	*ds += wqe_inline_ds(total);
	return KIT_FAULT_NONE;
}

static void rest_list(const struct mlx5_sq *sq, char *seg, const struct mlx5_raw *raw,
		      uint32_t skip, unsigned int *ds)
{
	for (size_t i = 0; i < raw->num_sge; i++) {
		uint32_t over = min_of(raw->sges[i].length, skip);
		uint32_t length = raw->sges[i].length - over;

		skip -= over;
		if (!length)
			continue;
		seg = sq_wrap(sq, seg);
		wqe_data(seg, raw->sges[i].addr + over, length, raw->sges[i].lkey);
		seg += MLX_SEGMENT;
		++*ds;
	}
}

/* Check the limits of segmentation by the adapter: sizes of the header and of the data. */
static enum kit_fault tso_check(const struct mlx5_qp *qp, const struct mlx5_raw *raw)
{
	uint64_t length = 0;

	for (size_t i = 0; i < raw->num_sge; i++)
		length += raw->sges[i].length;
	if (raw->header_size < MIN_TSO_HEADER || raw->header_size > qp->sq.max_tso_header ||
	    length > to_mctx(qp->vqp.qp.context)->caps.tso_caps.max_tso)
		return KIT_FAULT_HEADER;
	return KIT_FAULT_NONE;
}

enum kit_fault mlx5_wqe_raw(const struct mlx5_qp *qp, char *seg, const struct mlx5_raw *raw,
			    unsigned int *ret_ds)
{
	const struct mlx5_sq *sq = &qp->sq;
	uint32_t length = raw->header ? raw->header_size : min_inline(qp, raw);
	uint32_t skip = raw->header ? 0 : length;
	uint8_t first[MIN_INLINE];
	enum kit_fault fault;

	if (raw->csum && !qp->computes_csum)
		return KIT_FAULT_SEND_FLAGS;
	if (raw->header) {
		fault = tso_check(qp, raw);
		if (fault)
			return fault;
	} else if (length && !header_gather(raw, first, length)) {
		return KIT_FAULT_HEADER;
	}
	seg = eth_write(sq, seg, raw, raw->header ? raw->header : first, length);
	*ret_ds = eth_size(length) / MLX_SEGMENT;
	if (raw->inlined)
		return rest_inline(sq, seg, raw, skip, ret_ds);
	rest_list(sq, seg, raw, skip, ret_ds);
	return KIT_FAULT_NONE;
}
