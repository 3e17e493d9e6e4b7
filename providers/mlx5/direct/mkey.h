/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys that stand for other keys' memory: what requests write into them. */
#ifndef MLX5_MKEY_H
#define MLX5_MKEY_H

#include "providers/mlx5/direct/direct.h"

/* What the adapter does to data on their way: bytes behind the list of a request, each of 64. */
enum {
	MLX5_BSF_SIZE = 64,
	MLX5_BSF_SIZE_64 = 2 << 6, /* in the first byte: of all of them */
	MLX5_BSF_SIZE_128 = 3 << 6,
};

/* As a request says them. @block_most: the key's length at most; 0: any */
struct mlx5_cipher {
	bool there;
	uint32_t block_most;
	uint8_t bsf[MLX5_BSF_SIZE];
};

/* Signatures of blocks in memory, or on the wire. */
struct mlx5_sig_domain {
	bool there;
	enum mlx5dv_sig_type type;
	enum mlx5dv_block_size block_size;
	struct mlx5dv_sig_t10dif dif; /* by the type */
	struct mlx5dv_sig_crc crc;
	uint64_t transient; /* what the adapter begins with */
};

struct mlx5_sig_block {
	struct mlx5_sig_domain mem, wire;
	uint32_t flags;
	uint8_t check_mask, copy_mask;
};

/* What the adapter keeps of a domain's signature between blocks. */
struct mlx5_psv {
	struct mlx5dv_devx_obj *object;
	uint32_t index;
};

/* A signature that was not as expected, as a completion told. */
struct mlx5_sig_error {
	uint16_t syndrome;
	uint8_t type, domain;
	uint64_t expected, actual, offset;
};

/*
 * A key's signatures.
 * @block, @described: as the last request that was complete said; @next: as one says that is being
 * made
 */
struct mlx5_sig {
	LIST_ENTRY(mlx5_sig) entry;
	uint32_t key; /* its number, as completions have it */
	struct mlx5_psv mem_psv, wire_psv;
	bool published, described;
	struct mlx5_sig_block block, next;
	/* The rest: under the context's sig_lock. */
	uint32_t error_count;
	bool count_changed; /* since a request told the adapter */
	bool error_waits;
	struct mlx5_sig_error error;
};

struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct mlx5dv_devx_obj *object;
	uint16_t entries; /* of its list */
	uint64_t length;  /* of the memory that it stands for, as the last layout said */
	bool crypto;	  /* requests may give it a cipher */
	struct mlx5_cipher cipher, next_cipher;
	struct mlx5_sig *sig; /* NULL: requests may not give it signatures */
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *dv)
{
	return (struct mlx5_mkey *)dv;
}

/* Capabilities of ciphers: words 0x9c and 0x8c of the general group. */
#define MLX5_CAP_CRYPTO	    (1u << 22)
#define MLX5_CAP_XTS_MANY   (1u << 13) /* of many blocks, the tweak's last byte first */
#define MLX5_CAP_XTS_SINGLE (1u << 14)

/* bsf.c. By enum mlx5dv_block_size: in bytes, and as the adapter has it. */
struct mlx5_block {
	uint16_t bytes;
	uint8_t selector;
};
const struct mlx5_block *mlx5_block_of(enum mlx5dv_block_size size);
/* -EINVAL */
int mlx5_cipher_set(struct mlx5_qp *qp, struct mlx5_cipher *cipher,
		    const struct mlx5dv_crypto_attr *attr);
/* As it lies in the ring, behind the signatures when there are some. -EINVAL: not with those. */
int mlx5_cipher_write(const struct mlx5_cipher *cipher, const struct mlx5_sig_block *block,
		      uint8_t *ret_bsf);
/* crypto.c: the firmware's number */
uint32_t mlx5_dek_id(const struct mlx5dv_dek *dek);
void mlx5_crypto_caps(struct mlx5_context *ctx, struct mlx5dv_crypto_caps *ret_caps);

/* sig.c. NULL with errno. */
struct mlx5_sig *mlx5_sig_new(struct ibv_pd *pd);
int mlx5_sig_free(struct mlx5_context *ctx, struct mlx5_sig *sig);
/* Completions find it from now on. */
void mlx5_sig_publish(struct mlx5_context *ctx, struct mlx5_sig *sig, uint32_t key);
/* All 0: the device has none. */
void mlx5_sig_caps(struct mlx5_context *ctx, struct mlx5dv_sig_caps *ret_caps);
/* -EINVAL */
int mlx5_sig_set(struct mlx5_sig *sig, const struct mlx5dv_sig_block_attr *attr);
/* Without domains when @block has none. -EINVAL: a mask that its domains cannot have. */
int mlx5_sig_write(const struct mlx5_sig *sig, const struct mlx5_sig_block *block, bool cipher,
		   uint8_t *ret_bsf);
/* Whether the number of errors changed since the last call, and that number. */
bool mlx5_sig_count(struct mlx5_context *ctx, struct mlx5_sig *sig, uint32_t *ret_count);

#endif
