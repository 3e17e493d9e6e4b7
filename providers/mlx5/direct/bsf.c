/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ciphers of keys: 64 bytes (a byte stream format) behind the list of a request that configures the
 * key, and behind the 64 bytes of its signatures. */
#include "providers/mlx5/direct/mkey.h"

/* The format in the ring. */
struct bsf_cipher {
	uint8_t size; /* two highest bits: 64 bytes; lowest bits: KIND_CIPHER */
	uint8_t order;
	uint8_t reserved_2;
	uint8_t standard;
	__be32 raw_size;
	uint8_t block;
	uint8_t reserved_9[7];
	uint8_t tweak[16];
	__be32 dek;
	uint8_t reserved_36[4];
	uint8_t keytag[8];
	uint8_t reserved_48[16];
};
_Static_assert(sizeof(struct bsf_cipher) == MLX5_BSF_SIZE, "the adapter's");

enum {
	KIND_CIPHER = 1,
	ORDER_RAW = 2, /* orders from here on allow signatures in one domain only */
};

static const struct mlx5_block blocks[] = {
	[MLX5DV_BLOCK_SIZE_512] = { 512, 1 },	[MLX5DV_BLOCK_SIZE_520] = { 520, 2 },
	[MLX5DV_BLOCK_SIZE_4048] = { 4048, 6 }, [MLX5DV_BLOCK_SIZE_4096] = { 4096, 3 },
	[MLX5DV_BLOCK_SIZE_4160] = { 4160, 4 },
};

const struct mlx5_block *mlx5_block_of(enum mlx5dv_block_size size)
{
	return (unsigned int)size < ARRAY_SIZE(blocks) ? &blocks[size] : NULL;
}

/* Return the adapter's code for the order of signature and encryption, which depends on the
 * direction. */
static uint8_t order_code(const struct mlx5dv_crypto_attr *attr)
{
	bool before = attr->signature_crypto_order ==
		      MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX;

	if (attr->encrypt_on_tx)
		return before ? 0 : 2;
	return before ? 3 : 1;
}

static bool attr_is_known(const struct mlx5dv_crypto_attr *attr)
{
	return !attr->comp_mask && attr->crypto_standard == MLX5DV_CRYPTO_STANDARD_AES_XTS &&
	       mlx5_block_of(attr->data_unit_size) &&
	       (unsigned int)attr->signature_crypto_order <=
		       MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX &&
	       attr->dek;
}

int mlx5_cipher_set(struct mlx5_qp *qp, struct mlx5_cipher *cipher,
		    const struct mlx5dv_crypto_attr *attr)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	bool many = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x8c) & MLX5_CAP_XTS_MANY;
	struct bsf_cipher bsf = {
		.size = KIND_CIPHER,
		.raw_size = htobe32(UINT32_MAX),
	};

	if (!attr_is_known(attr))
		return -EINVAL;
	bsf.order = order_code(attr);
	bsf.block = blocks[attr->data_unit_size].selector;
	bsf.dek = htobe32(mlx5_dek_id(attr->dek));
	for (unsigned int i = 0; i < sizeof(bsf.tweak); i++)
		bsf.tweak[many ? sizeof(bsf.tweak) - 1 - i : i] = attr->initial_tweak[i];
	memcpy(bsf.keytag, attr->keytag, sizeof(bsf.keytag));
	cipher->there = true;
	memcpy(cipher->bsf, &bsf, sizeof(bsf));
	cipher->block_most = many ? 0 : blocks[attr->data_unit_size].bytes;
	return 0;
}

int mlx5_cipher_write(const struct mlx5_cipher *cipher, const struct mlx5_sig_block *block,
		      uint8_t *ret_bsf)
{
	const struct bsf_cipher *bsf = (const void *)cipher->bsf;

	if (block && bsf->order >= ORDER_RAW && block->mem.there && block->wire.there)
		return -EINVAL;
	memcpy(ret_bsf, bsf, sizeof(*bsf));
	ret_bsf[0] |= block ? MLX5_BSF_SIZE_128 : MLX5_BSF_SIZE_64;
	return 0;
}
