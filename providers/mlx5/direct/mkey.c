/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/pd.h"

enum {
	IN_SIZE = 0x110,
	OUT_SIZE = 0x10,
	ENTRIES_UNIT = 4,
};

/* Fields of the key in CREATE_MKEY. */
#define KEY_FREE	      (1u << 30)
#define KEY_UMR		      (1u << 15)
#define KEY_READ	      (1u << 10)
#define KEY_LIST	      (2u << 8) /* the memory is a list of keys */
#define KEY_ANY_QP	      (0xffffffu << 8)
#define KEY_REMOTE_INVALIDATE (1u << 24)
#define KEY_BSF		      (1u << 30)
#define KEY_CRYPTO	      (1u << 27)

/* Return whether the device supports ciphers. */
static bool crypto_is_there(struct mlx5_context *ctx)
{
	return mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x9c) & MLX5_CAP_CRYPTO &&
	       mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x8c) &
		       (MLX5_CAP_XTS_MANY | MLX5_CAP_XTS_SINGLE);
}

static bool signatures_are_there(struct mlx5_context *ctx)
{
	struct mlx5dv_sig_caps caps;

	mlx5_sig_caps(ctx, &caps);
	return caps.block_prot;
}

static int mkey_check(const struct mlx5dv_mkey_init_attr *attr)
{
	struct ibv_context *ctx = attr->pd->context;
	uint32_t possible = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
			    MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE;

	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO &&
	    crypto_is_there(to_mctx(ctx)))
		possible |= MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO;
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE &&
	    signatures_are_there(to_mctx(ctx)))
		possible |= MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;

	if (!attr->create_flags || attr->create_flags & ~possible) {
		verbs_err(ctx, "mlx5dv_create_mkey: create_flags 0x%x (0x%x are possible)",
			  attr->create_flags, possible);
		return -EOPNOTSUPP;
	}
	if (attr->max_entries > UINT16_MAX - ENTRIES_UNIT) {
		verbs_err(ctx, "mlx5dv_create_mkey: max_entries %u", attr->max_entries);
		return -EINVAL;
	}
	return 0;
}

/* Create the object in the firmware and set the number of the key. */
static int mkey_make(struct mlx5_mkey *mkey, const struct mlx5dv_mkey_init_attr *attr)
{
	uint32_t in[IN_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};
	uint32_t bsf = (mkey->sig ? MLX5_BSF_SIZE : 0) + (mkey->crypto ? MLX5_BSF_SIZE : 0);

	fw_set(in, 0, MLX5_FW_CREATE_MKEY << 16);
	fw_set(in, 0x10, KEY_FREE | KEY_UMR | KEY_READ | KEY_LIST);
	fw_set(in, 0x14, KEY_ANY_QP);
	fw_set(in, 0x1c, ((struct mlx5_pd *)verbs_pd_protection(attr->pd))->pdn);
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE)
		fw_set(in, 0x1c, KEY_REMOTE_INVALIDATE);
	fw_set(in, 0x44, mkey->entries);
	fw_set(in, 0x1c, bsf ? KEY_BSF : 0);
	fw_set(in, 0x30, bsf / MLX_SEGMENT);
	fw_set(in, 0x4c, mkey->crypto ? KEY_CRYPTO : 0);
	mkey->object = mlx5_fw_create(attr->pd->context, "mlx5dv_create_mkey", in, sizeof(in), out,
				      sizeof(out));
	if (!mkey->object)
		return -errno;
	mkey->dv.lkey = mkey->dv.rkey = (fw_get(out, 8) & 0xffffff) << 8;
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_mkey *mlx5dv_create_mkey(struct mlx5dv_mkey_init_attr *attr)
{
	struct mlx5_context *ctx = mlx5dv_context(attr->pd->context, __func__);
	struct mlx5_mkey *mkey;
	int r;

	if (!ctx)
		return NULL;
	r = mkey_check(attr);
	mkey = r < 0 ? NULL : calloc(1, sizeof(*mkey));
	if (!mkey)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	mkey->entries = ROUND_UP(attr->max_entries, ENTRIES_UNIT);
	mkey->crypto = attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO;
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE) {
		mkey->sig = mlx5_sig_new(attr->pd);
		r = mkey->sig ? 0 : -errno;
	}
	if (!r)
		r = mkey_make(mkey, attr);
	if (r < 0) {
		if (mkey->sig)
			mlx5_sig_free(ctx, mkey->sig);
		free(mkey);
		return mlx5dv_fail(r);
	}
	if (mkey->sig)
		mlx5_sig_errors_publish(ctx, &mkey->sig->errors, mkey->dv.lkey >> 8);
	attr->max_entries = mkey->entries;
	return &mkey->dv;
}

MLX5DV_EXPORT int mlx5dv_destroy_mkey(struct mlx5dv_mkey *dv)
{
	struct mlx5_mkey *mkey = to_mkey(dv);
	int r = mkey->sig ? mlx5_sig_free(to_mctx(mkey->object->context), mkey->sig) : 0;

	if (!r) {
		mkey->sig = NULL;
		r = mlx5_fw_destroy(mkey->object);
	}
	if (!r)
		free(mkey);
	return mlx5dv_errno(r);
}
