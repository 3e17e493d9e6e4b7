/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Indirect keys, which map memory of other keys: the state that requests configure. */
#ifndef MLX5_MKEY_H
#define MLX5_MKEY_H

#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/sig_error.h"

/* Transformations of data in transit (BSF): blocks of 64 bytes behind the list of a request. */
enum {
	MLX5_BSF_SIZE = 64,
	MLX5_BSF_SIZE_64 = 2 << 6, /* in the first byte: size of all blocks */
	MLX5_BSF_SIZE_128 = 3 << 6,
};

/* A cipher that a request configures. @block_most: maximum length of the key, bytes; 0: any */
struct mlx5_cipher {
	bool there;
	uint32_t block_most;
	uint8_t bsf[MLX5_BSF_SIZE];
};

/* Block signatures in memory or on the wire. */
struct mlx5_sig_domain {
	bool there;
	enum mlx5dv_sig_type type;
	enum mlx5dv_block_size block_size;
	struct mlx5dv_sig_t10dif dif; /* dif or crc is valid, by the type */
	struct mlx5dv_sig_crc crc;
	uint64_t transient; /* initial value of the adapter */
};

struct mlx5_sig_block {
	struct mlx5_sig_domain mem, wire;
	uint32_t flags;
	uint8_t check_mask, copy_mask;
};

/* An object for the state that the adapter keeps of a signature between blocks. */
struct mlx5_psv {
	struct mlx5dv_devx_obj *object;
	uint32_t index;
};

/*
 * The signatures of a key.
 * @block, @described: set by the last complete request; @next: set by the request being built
 */
struct mlx5_sig {
	struct mlx5_sig_errors errors;
	struct mlx5_psv mem_psv, wire_psv;
	bool described;
	struct mlx5_sig_block block, next;
};

struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct mlx5dv_devx_obj *object;
	uint16_t entries; /* largest number of list entries */
	uint64_t length;  /* bytes of the mapped memory, from the last layout */
	bool crypto;	  /* requests may give it a cipher */
	struct mlx5_cipher cipher, next_cipher;
	struct mlx5_sig *sig; /* NULL: requests may not give it signatures */
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *dv)
{
	return (struct mlx5_mkey *)dv;
}

/* Capabilities for ciphers: words 0x9c and 0x8c of the general group. */
#define MLX5_CAP_CRYPTO	    (1u << 22)
#define MLX5_CAP_XTS_MANY   (1u << 13) /* many blocks, last byte of the tweak first */
#define MLX5_CAP_XTS_SINGLE (1u << 14)

/* bsf.c. A block size in bytes, and its code in the adapter. */
struct mlx5_block {
	uint16_t bytes;
	uint8_t selector;
};
const struct mlx5_block *mlx5_block_of(enum mlx5dv_block_size size);
/* Set @cipher from @attr. -EINVAL: the attributes are not valid. */
int mlx5_cipher_set(struct mlx5_qp *qp, struct mlx5_cipher *cipher,
		    const struct mlx5dv_crypto_attr *attr);
/*
 * Write the block of the cipher, which follows the block of the signatures. -EINVAL: the two blocks
 * do not fit together.
 */
int mlx5_cipher_write(const struct mlx5_cipher *cipher, const struct mlx5_sig_block *block,
		      uint8_t *ret_bsf);
/* crypto.c: return the firmware's number */
uint32_t mlx5_dek_id(const struct mlx5dv_dek *dek);
void mlx5_crypto_caps(struct mlx5_context *ctx, struct mlx5dv_crypto_caps *ret_caps);

/* sig.c. Allocate the signatures of a key. NULL with errno. */
struct mlx5_sig *mlx5_sig_new(struct ibv_pd *pd);
int mlx5_sig_free(struct mlx5_context *ctx, struct mlx5_sig *sig);
/* Query the capabilities. All are 0 if the device has no signatures. */
void mlx5_sig_caps(struct mlx5_context *ctx, struct mlx5dv_sig_caps *ret_caps);
/* Set sig->next from @attr. -EINVAL: the attributes are not valid. */
int mlx5_sig_set(struct mlx5_sig *sig, const struct mlx5dv_sig_block_attr *attr);
/* Write the block of the signatures, without domains if @block has none. -EINVAL: the domains do
 * not allow a copy mask. */
int mlx5_sig_write(const struct mlx5_sig *sig, const struct mlx5_sig_block *block, bool cipher,
		   uint8_t *ret_bsf);

#endif
