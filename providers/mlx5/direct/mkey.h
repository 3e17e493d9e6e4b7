/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys that stand for other keys' memory: what requests write into them. */
#ifndef MLX5_MKEY_H
#define MLX5_MKEY_H

#include "providers/mlx5/direct/direct.h"

struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct mlx5dv_devx_obj *object;
	uint16_t entries; /* of its list */
	uint64_t length;  /* of the memory that it stands for, as the last layout said */
	bool crypto;	  /* requests may give it a cipher */
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *dv)
{
	return (struct mlx5_mkey *)dv;
}

enum {
	MLX5_BSF_SIZE = 64
};

/* Capabilities of ciphers: words 0x9c and 0x8c of the general group. */
#define MLX5_CAP_CRYPTO	    (1u << 22)
#define MLX5_CAP_XTS_MANY   (1u << 13) /* of many blocks, the tweak's last byte first */
#define MLX5_CAP_XTS_SINGLE (1u << 14)

/* bsf.c: what the adapter does to data on their way, behind a key's list. -EINVAL. */
int mlx5_bsf_cipher(struct mlx5_qp *qp, const struct mlx5dv_crypto_attr *attr);
/* crypto.c: the firmware's number */
uint32_t mlx5_dek_id(const struct mlx5dv_dek *dek);

#endif
