/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block signatures, which the adapter generates, checks and strips: the 64 bytes behind the list of
 * a request that configures the key, and the report of wrong signatures.
 */
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/pd.h"

/* The formats in the ring. */
struct bsf_dif {
	__be16 valid;
	__be16 app_tag;
	__be32 ref_tag;
	uint8_t type;
	uint8_t seed;
	uint8_t reserved_10[3];
	uint8_t escapes;
	__be16 app_mask;
};

struct bsf_sig {
	uint8_t size;
	uint8_t check_mask;
	uint8_t wire; /* mask of copied bytes, or code of the block size */
	uint8_t mem;
	__be32 raw_size;
	__be32 wire_psv;
	__be32 mem_psv;
	uint8_t reserved_16[16];
	struct bsf_dif wire_dif;
	struct bsf_dif mem_dif;
};
_Static_assert(sizeof(struct bsf_sig) == MLX5_BSF_SIZE, "the adapter's");

enum {
	SAME_BLOCKS = 1 << 4, /* in the first byte */
	PSV_INDEX = 0xffffff,
	CRC_SHIFT = 24,
	CRC_REPEATS = 0x02,
	CRC_FROM_ZEROS = 0x01,
	DIF_VALID = 0xc000,
	DIF_CRC = 1,
	DIF_SUM = 2,
	DIF_REPEATS = 0x80,
	DIF_FROM_ONES = 0x08,
	DIF_REF_COUNTS = 0x40,
	DIF_ESCAPE_APP = 0x01,
	DIF_ESCAPE_BOTH = 0x02,
};

enum {
	PSV_IN_SIZE = 0x10,
	PSV_OUT_SIZE = 0x20,
};

/* ---- capabilities of the device */

void mlx5_sig_caps(struct mlx5_context *ctx, struct mlx5dv_sig_caps *ret_caps)
{
	uint32_t more = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x38);

	memset(ret_caps, 0, sizeof(*ret_caps));
	if (!(mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x50) >> 8 & 1) ||
	    !(mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0xa0) >> 31))
		return;
	ret_caps->block_prot = MLX5DV_SIG_PROT_CAP_T10DIF | MLX5DV_SIG_PROT_CAP_CRC;
	ret_caps->t10dif_bg = MLX5DV_SIG_T10DIF_BG_CAP_CRC | MLX5DV_SIG_T10DIF_BG_CAP_CSUM;
	ret_caps->block_size = MLX5DV_BLOCK_SIZE_CAP_512 | MLX5DV_BLOCK_SIZE_CAP_520 |
			       MLX5DV_BLOCK_SIZE_CAP_4096 | MLX5DV_BLOCK_SIZE_CAP_4160;
	if (mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x4c) >> 15 & 1)
		ret_caps->block_size |= MLX5DV_BLOCK_SIZE_CAP_4048;
	ret_caps->crc_type = MLX5DV_SIG_CRC_TYPE_CAP_CRC32;
	if (more >> 23 & 1)
		ret_caps->crc_type |= MLX5DV_SIG_CRC_TYPE_CAP_CRC32C;
	if (more >> 24 & 1)
		ret_caps->crc_type |= MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10;
}

/* ---- objects of the device */

static int psv_make(struct ibv_pd *pd, struct mlx5_psv *psv)
{
	uint32_t in[PSV_IN_SIZE / 4] = {}, out[PSV_OUT_SIZE / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_PSV << 16);
	fw_set(in, 8, 1u << 28 | ((struct mlx5_pd *)verbs_pd_protection(pd))->pdn);
	psv->object = mlx5_fw_create(pd->context, "CREATE_PSV", in, sizeof(in), out, sizeof(out));
	if (!psv->object)
		return -errno;
	psv->index = fw_get(out, 0x10) & PSV_INDEX;
	return 0;
}

static int psv_destroy(struct mlx5_psv *psv)
{
	int r = psv->object ? mlx5_fw_destroy(psv->object) : 0;

	if (!r)
		psv->object = NULL;
	return r;
}

struct mlx5_sig *mlx5_sig_new(struct ibv_pd *pd)
{
	struct mlx5_sig *sig = calloc(1, sizeof(*sig));
	int r = sig ? psv_make(pd, &sig->mem_psv) : -ENOMEM;

	if (!r)
		r = psv_make(pd, &sig->wire_psv);
	if (r < 0) {
		if (sig)
			psv_destroy(&sig->mem_psv);
		free(sig);
		return mlx5dv_fail(r);
	}
	/* The first request passes the initial number to the adapter. */
	sig->errors.count = 1;
	sig->errors.changed = true;
	return sig;
}

int mlx5_sig_free(struct mlx5_context *ctx, struct mlx5_sig *sig)
{
	int r = psv_destroy(&sig->mem_psv);

	if (!r)
		r = psv_destroy(&sig->wire_psv);
	if (r < 0)
		return r;
	mlx5_sig_errors_unpublish(ctx, &sig->errors);
	free(sig);
	return 0;
}

/* ---- attributes of requests */

static bool dif_set(const struct mlx5dv_sig_t10dif *dif, struct mlx5_sig_domain *domain)
{
	const uint16_t flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP |
			       MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE |
			       MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;

	domain->dif = *dif;
	domain->transient = (uint64_t)dif->bg << 48 | (uint64_t)dif->app_tag << 32 | dif->ref_tag;
	return (dif->bg == 0 || dif->bg == UINT16_MAX) &&
	       (unsigned int)dif->bg_type <= MLX5DV_SIG_T10DIF_CSUM && !(dif->flags & ~flags);
}

static bool crc_set(const struct mlx5dv_sig_crc *crc, struct mlx5_sig_domain *domain)
{
	bool wide = crc->type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10;

	domain->crc = *crc;
	domain->transient = wide ? crc->seed : crc->seed << 32;
	return (unsigned int)crc->type <= MLX5DV_SIG_CRC_TYPE_CRC64_XP10 &&
	       (!crc->seed || crc->seed == (wide ? UINT64_MAX : UINT32_MAX));
}

static bool domain_set(const struct mlx5dv_sig_block_domain *from, struct mlx5_sig_domain *domain)
{
	*domain = (struct mlx5_sig_domain){};
	if (!from)
		return true;
	if (from->comp_mask || !mlx5_block_of(from->block_size))
		return false;
	domain->there = true;
	domain->type = from->sig_type;
	domain->block_size = from->block_size;
	switch (from->sig_type) {
	case MLX5DV_SIG_TYPE_T10DIF:
		return from->sig.dif && dif_set(from->sig.dif, domain);
	case MLX5DV_SIG_TYPE_CRC:
		return from->sig.crc && crc_set(from->sig.crc, domain);
	default:
		return false;
	}
}

int mlx5_sig_set(struct mlx5_sig *sig, const struct mlx5dv_sig_block_attr *attr)
{
	struct mlx5_sig_block *block = &sig->next;

	if (attr->comp_mask || attr->flags & ~MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK ||
	    (!attr->mem && !attr->wire) || !domain_set(attr->mem, &block->mem) ||
	    !domain_set(attr->wire, &block->wire))
		return -EINVAL;
	block->flags = attr->flags;
	block->check_mask = attr->check_mask;
	block->copy_mask = attr->copy_mask;
	return 0;
}

/* ---- formats of the ring */

/* Compute the mask of signature bytes that the adapter copies between the domains. Return: whether
 * the blocks are the same in both. */
static bool copies(const struct mlx5_sig_domain *a, const struct mlx5_sig_domain *b,
		   uint8_t *ret_mask)
{
	if (!a->there || a->type != b->type || a->block_size != b->block_size)
		return false;
	if (a->type == MLX5DV_SIG_TYPE_CRC) {
		*ret_mask = a->crc.type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10
				    ? MLX5DV_SIG_MASK_CRC64_XP10
				    : MLX5DV_SIG_MASK_CRC32;
		return a->crc.type == b->crc.type;
	}
	*ret_mask = 0;
	if (a->dif.bg_type == b->dif.bg_type && a->dif.bg == b->dif.bg)
		*ret_mask |= MLX5DV_SIG_MASK_T10DIF_GUARD;
	if (a->dif.app_tag == b->dif.app_tag)
		*ret_mask |= MLX5DV_SIG_MASK_T10DIF_APPTAG;
	if (a->dif.ref_tag == b->dif.ref_tag)
		*ret_mask |= MLX5DV_SIG_MASK_T10DIF_REFTAG;
	return true;
}

static struct bsf_dif dif_bytes(const struct mlx5dv_sig_t10dif *dif)
{
	struct bsf_dif bsf = {
		.valid = htobe16(DIF_VALID),
		.app_tag = htobe16(dif->app_tag),
		.ref_tag = htobe32(dif->ref_tag),
		.type = dif->bg_type == MLX5DV_SIG_T10DIF_CRC ? DIF_CRC : DIF_SUM,
		.seed = DIF_REPEATS | (dif->bg ? DIF_FROM_ONES : 0),
		.app_mask = htobe16(UINT16_MAX),
	};

	if (dif->flags & MLX5DV_SIG_T10DIF_FLAG_REF_REMAP)
		bsf.escapes = DIF_REF_COUNTS;
	if (dif->flags & MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE)
		bsf.escapes |= DIF_ESCAPE_BOTH;
	else if (dif->flags & MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE)
		bsf.escapes |= DIF_ESCAPE_APP;
	return bsf;
}

/* Return the format word of a domain. For T10-DIF also fill in @ret_dif. */
static __be32 domain_bytes(const struct mlx5_sig_domain *domain, const struct mlx5_psv *psv,
			   struct bsf_dif *ret_dif)
{
	static const uint8_t crcs[] = {
		[MLX5DV_SIG_CRC_TYPE_CRC32] = 0x20,
		[MLX5DV_SIG_CRC_TYPE_CRC32C] = 0x40,
		[MLX5DV_SIG_CRC_TYPE_CRC64_XP10] = 0x50,
	};
	uint32_t format = 0;

	if (domain->type == MLX5DV_SIG_TYPE_CRC)
		format = crcs[domain->crc.type] | CRC_REPEATS |
			 (domain->crc.seed ? 0 : CRC_FROM_ZEROS);
	else
		*ret_dif = dif_bytes(&domain->dif);
	return htobe32(format << CRC_SHIFT | psv->index);
}

int mlx5_sig_write(const struct mlx5_sig *sig, const struct mlx5_sig_block *block, bool cipher,
		   uint8_t *ret_bsf)
{
	const struct mlx5_sig_domain *mem = &block->mem, *wire = &block->wire;
	bool chosen = block->flags & MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	struct bsf_sig bsf = {
		.size = cipher ? MLX5_BSF_SIZE_128 : MLX5_BSF_SIZE_64,
		.check_mask = mem->there || wire->there ? block->check_mask : 0,
		.raw_size = htobe32(UINT32_MAX),
	};
	uint8_t mask;

	if (mem->there) {
		bsf.mem_psv = domain_bytes(mem, &sig->mem_psv, &bsf.mem_dif);
		bsf.mem = mlx5_block_of(mem->block_size)->selector;
	}
	if (wire->there) {
		bsf.wire_psv = domain_bytes(wire, &sig->wire_psv, &bsf.wire_dif);
		if (copies(mem, wire, &mask)) {
			bsf.size |= SAME_BLOCKS;
			bsf.wire = chosen ? block->copy_mask : mask;
		} else if (chosen) {
			return -EINVAL;
		} else {
			bsf.wire = mlx5_block_of(wire->block_size)->selector;
		}
	}
	memcpy(ret_bsf, &bsf, sizeof(bsf));
	return 0;
}

/* ---- wrong signatures */

enum {
	SYNDROME_REF_TAG = 1 << 11,
	SYNDROME_APP_TAG = 1 << 12,
	SYNDROME_GUARD = 1 << 13,
	OF_BLOCKS = 0,
	DOMAIN_WIRE = 0,
	DOMAIN_MEMORY = 1,
};

/* Translate an error with a known syndrome. */
static struct mlx5dv_mkey_err error_say(const struct mlx5_sig_error *error,
					const struct mlx5_sig_domain *domain)
{
	enum mlx5dv_mkey_err_type type = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD;
	bool dif = domain->type == MLX5DV_SIG_TYPE_T10DIF;
	unsigned int shift = 0;
	uint64_t mask = UINT64_MAX;

	if (error->syndrome & SYNDROME_REF_TAG) {
		type = MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG;
		mask = UINT32_MAX;
	} else if (error->syndrome & SYNDROME_APP_TAG) {
		type = MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG;
		shift = 32;
		mask = UINT16_MAX;
	} else if (dif) {
		shift = 48;
	} else if (domain->crc.type != MLX5DV_SIG_CRC_TYPE_CRC64_XP10) {
		shift = 32;
	}
	return (struct mlx5dv_mkey_err){
		.err_type = type,
		.err.sig = { .actual_value = error->actual >> shift & mask,
			     .expected_value = error->expected >> shift & mask,
			     .offset = error->offset },
	};
}

/* The caller holds sig_lock. */
static int error_read(struct mlx5_sig *sig, struct mlx5dv_mkey_err *ret_err)
{
	const struct mlx5_sig_error *error = &sig->errors.last;
	const struct mlx5_sig_domain *domain = error->domain == DOMAIN_WIRE	? &sig->block.wire
					       : error->domain == DOMAIN_MEMORY ? &sig->block.mem
										: NULL;

	*ret_err = (struct mlx5dv_mkey_err){ .err_type = MLX5DV_MKEY_NO_ERR };
	if (!sig->errors.waits)
		return 0;
	if (!(error->syndrome & (SYNDROME_REF_TAG | SYNDROME_APP_TAG | SYNDROME_GUARD)) ||
	    error->type != OF_BLOCKS || !domain || !domain->there)
		return -EINVAL;
	*ret_err = error_say(error, domain);
	sig->errors.waits = false;
	return 0;
}

MLX5DV_EXPORT int _mlx5dv_mkey_check(struct mlx5dv_mkey *dv, struct mlx5dv_mkey_err *err_info,
				     size_t err_info_size)
{
	struct mlx5_mkey *mkey = to_mkey(dv);
	struct ibv_context *ibctx = mkey->object->context;
	struct mlx5_context *ctx = to_mctx(ibctx);
	struct mlx5dv_mkey_err err;
	int r;

	if (!mkey->sig) {
		verbs_err(ibctx, "mlx5dv_mkey_check: mkey 0x%x has no signatures", dv->lkey);
		return mlx5dv_errno(-EINVAL);
	}
	pthread_mutex_lock(&ctx->sig_lock);
	r = error_read(mkey->sig, &err);
	pthread_mutex_unlock(&ctx->sig_lock);
	if (r < 0) {
		verbs_err(ibctx,
			  "mlx5dv_mkey_check: mkey 0x%x: syndrome 0x%x, type %u, domain %u is no "
			  "error of its signatures",
			  dv->lkey, mkey->sig->errors.last.syndrome, mkey->sig->errors.last.type,
			  mkey->sig->errors.last.domain);
		return mlx5dv_errno(r);
	}
	memcpy(err_info, &err, err_info_size < sizeof(err) ? err_info_size : sizeof(err));
	return 0;
}
