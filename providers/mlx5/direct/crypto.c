/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of the firmware: keys that encrypt data, and the login that wrapped keys need. */
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/pd.h"

enum {
	ID_MASK = 0xffffff,
	LOGIN_SIZE = 0x100, /* bytes of an object behind the head of its command */
	CREDENTIAL = 0x40,
	CREDENTIAL_SIZE = 48,
	DEK_SIZE = 0x100,
	DEK_OPAQUE = 0x30,
	DEK_KEY = 0x40,
	DEK_KEY_SIZE = 128,
	DEK_PURPOSE_XTS = 3,
	CAP_WRAPPED_METHODS = 0x10, /* of the crypto group */
	CAP_METHOD_XTS = 1 << 2,
	CAP_DEKS = 0x14,
	CAP_SELFTESTS = 0x18,
};

#define CAP_WRAPPED	  (1u << 31)
#define CAP_COMMISSIONING (1u << 30)
#define CAP_XTS		  (MLX5_CAP_XTS_MANY | MLX5_CAP_XTS_SINGLE)

struct mlx5dv_crypto_login_obj {
	struct mlx5dv_devx_obj *object;
};

struct mlx5dv_dek {
	struct mlx5dv_devx_obj *object;
};

uint32_t mlx5_dek_id(const struct mlx5dv_dek *dek)
{
	return dek->object->object_id & ID_MASK;
}

/* ---- capabilities of the device */

void mlx5_crypto_caps(struct mlx5_context *ctx, struct mlx5dv_crypto_caps *ret_caps)
{
	uint32_t engines = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x8c), more;

	memset(ret_caps, 0, sizeof(*ret_caps));
	if (engines & MLX5_CAP_XTS_SINGLE)
		ret_caps->crypto_engines = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK;
	if (engines & MLX5_CAP_XTS_MANY)
		ret_caps->crypto_engines = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |
					   MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK;
	if (!(mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x9c) & MLX5_CAP_CRYPTO))
		return;
	ret_caps->flags = MLX5DV_CRYPTO_CAPS_CRYPTO;
	more = mlx5_fw_cap(ctx, MLX5_FW_CAPS_CRYPTO, CAP_WRAPPED_METHODS);
	if (more & CAP_WRAPPED)
		ret_caps->flags |= MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL;
	if (more & CAP_COMMISSIONING)
		ret_caps->flags |= MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_GOING_TO_COMMISSIONING;
	if (more & CAP_METHOD_XTS)
		ret_caps->wrapped_import_method = MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS;
	ret_caps->log_max_num_deks = mlx5_fw_cap(ctx, MLX5_FW_CAPS_CRYPTO, CAP_DEKS) >> 16 & 0x1f;
	ret_caps->failed_selftests = mlx5_fw_cap(ctx, MLX5_FW_CAPS_CRYPTO, CAP_SELFTESTS) >> 16;
}

static void object_head(void *in, uint32_t opcode, uint32_t type)
{
	fw_set(in, 0, opcode << 16);
	fw_set(in, 4, type);
}

static int object_query(struct mlx5dv_devx_obj *object, const char *function, uint32_t type,
			void *out, size_t outlen)
{
	uint32_t in[FW_HEAD / 4] = {};

	object_head(in, MLX5_FW_QUERY_GENERAL_OBJECT, type);
	fw_set(in, 8, object->object_id);
	return mlx5_fw_query(object, function, in, sizeof(in), out, outlen);
}

/* ---- logins */

static int login_check(struct mlx5_context *ctx, const char *function,
		       const struct mlx5dv_crypto_login_attr_ex *attr)
{
	const struct ibv_context *ibctx = &ctx->vctx.context;

	if (attr->comp_mask || attr->credential_id > ID_MASK || attr->import_kek_id > ID_MASK) {
		verbs_err(ibctx, "%s: comp_mask 0x%llx, ids 0x%x and 0x%x (24 bits)", function,
			  (unsigned long long)attr->comp_mask, attr->credential_id,
			  attr->import_kek_id);
		return -EINVAL;
	}
	if (!attr->credential || attr->credential_len != CREDENTIAL_SIZE) {
		verbs_err(ibctx, "%s: a credential of %zu bytes (it has %d)", function,
			  attr->credential_len, CREDENTIAL_SIZE);
		return -EINVAL;
	}
	if (!(mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x9c) & MLX5_CAP_CRYPTO) ||
	    !mlx5_fw_has_object(ctx, MLX5_FW_OBJ_LOGIN) ||
	    !(mlx5_fw_cap(ctx, MLX5_FW_CAPS_CRYPTO, CAP_WRAPPED_METHODS) & CAP_WRAPPED)) {
		verbs_err(ibctx, "%s: the device takes no wrapped keys", function);
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct mlx5dv_devx_obj *login_new(struct mlx5_context *ctx, const char *function,
					 const struct mlx5dv_crypto_login_attr_ex *attr)
{
	uint32_t in[(FW_HEAD + LOGIN_SIZE) / 4] = {}, out[FW_HEAD / 4] = {};
	int r = login_check(ctx, function, attr);

	if (r < 0)
		return mlx5dv_fail(r);
	object_head(in, MLX5_FW_CREATE_GENERAL_OBJECT, MLX5_FW_OBJ_LOGIN);
	fw_set(in, FW_HEAD + 0x10, attr->credential_id);
	fw_set(in, FW_HEAD + 0x14, attr->import_kek_id);
	memcpy((char *)in + FW_HEAD + CREDENTIAL, attr->credential, CREDENTIAL_SIZE);
	return mlx5_fw_create(&ctx->vctx.context, function, in, sizeof(in), out, sizeof(out));
}

static int login_state(struct mlx5dv_devx_obj *login, const char *function,
		       enum mlx5dv_crypto_login_state *ret_state)
{
	uint32_t out[(FW_HEAD + LOGIN_SIZE) / 4] = {};
	int r = object_query(login, function, MLX5_FW_OBJ_LOGIN, out, sizeof(out));
	unsigned int state = fw_get(out, FW_HEAD + 0x10) >> 24 & 0xf;

	if (r < 0)
		return r;
	if (state > 1) {
		verbs_err(login->context, "%s: the firmware says state %u", function, state);
		return -EINVAL;
	}
	*ret_state = state ? MLX5DV_CRYPTO_LOGIN_STATE_INVALID : MLX5DV_CRYPTO_LOGIN_STATE_VALID;
	return 0;
}

/* Log in. A context has at most one login. */
MLX5DV_EXPORT int mlx5dv_crypto_login(struct ibv_context *ibctx,
				      struct mlx5dv_crypto_login_attr *attr)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	const struct mlx5dv_crypto_login_attr_ex ex = {
		.credential_id = attr->credential_id,
		.import_kek_id = attr->import_kek_id,
		.credential = attr->credential,
		.credential_len = sizeof(attr->credential),
		.comp_mask = attr->comp_mask,
	};
	int r = 0;

	if (!ctx)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ctx->qpn_lock);
	if (ctx->crypto_login) {
		verbs_err(ibctx, "%s: there is a login already", __func__);
		r = -EEXIST;
	} else {
		ctx->crypto_login = login_new(ctx, __func__, &ex);
		r = ctx->crypto_login ? 0 : -errno;
	}
	pthread_mutex_unlock(&ctx->qpn_lock);
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT int mlx5dv_crypto_login_query_state(struct ibv_context *ibctx,
						  enum mlx5dv_crypto_login_state *state)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	int r = 0;

	if (!ctx)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ctx->qpn_lock);
	if (ctx->crypto_login)
		r = login_state(ctx->crypto_login, __func__, state);
	else
		*state = MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN;
	pthread_mutex_unlock(&ctx->qpn_lock);
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT int mlx5dv_crypto_logout(struct ibv_context *ibctx)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	int r = -ENOENT;

	if (!ctx)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ctx->qpn_lock);
	if (ctx->crypto_login)
		r = mlx5_fw_destroy(ctx->crypto_login);
	else
		verbs_err(ibctx, "%s: there is no login", __func__);
	if (!r)
		ctx->crypto_login = NULL;
	pthread_mutex_unlock(&ctx->qpn_lock);
	return mlx5dv_errno(r);
}

MLX5DV_EXPORT struct mlx5dv_crypto_login_obj *
mlx5dv_crypto_login_create(struct ibv_context *ibctx, struct mlx5dv_crypto_login_attr_ex *attr)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct mlx5dv_crypto_login_obj *login;

	if (!ctx)
		return NULL;
	login = calloc(1, sizeof(*login));
	if (!login)
		return mlx5dv_fail(-ENOMEM);
	login->object = login_new(ctx, __func__, attr);
	if (!login->object) {
		free(login);
		return NULL;
	}
	return login;
}

MLX5DV_EXPORT int mlx5dv_crypto_login_query(struct mlx5dv_crypto_login_obj *login,
					    struct mlx5dv_crypto_login_query_attr *attr)
{
	if (attr->comp_mask) {
		verbs_err(login->object->context, "%s: comp_mask is not 0", __func__);
		return mlx5dv_errno(-EINVAL);
	}
	return mlx5dv_errno(login_state(login->object, __func__, &attr->state));
}

MLX5DV_EXPORT int mlx5dv_crypto_login_destroy(struct mlx5dv_crypto_login_obj *login)
{
	int r = mlx5_fw_destroy(login->object);

	if (!r)
		free(login);
	return mlx5dv_errno(r);
}

/* ---- keys */

/* Return whether the login fits the key: wrapped keys need a login, and plain keys must not have
 * it. */
static bool dek_login_fits(struct mlx5_context *ctx, const struct mlx5dv_dek_init_attr *attr)
{
	bool wrapped = mlx5_fw_cap(ctx, MLX5_FW_CAPS_CRYPTO, CAP_WRAPPED_METHODS) & CAP_METHOD_XTS;
	bool named = attr->comp_mask & MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;

	return wrapped == (named ? attr->crypto_login != NULL : ctx->crypto_login != NULL);
}

static int dek_check(struct mlx5_context *ctx, const struct mlx5dv_dek_init_attr *attr)
{
	const struct ibv_context *ibctx = &ctx->vctx.context;

	if (!(mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x8c) & CAP_XTS) ||
	    !mlx5_fw_has_object(ctx, MLX5_FW_OBJ_DEK)) {
		verbs_err(ibctx, "mlx5dv_dek_create: the device encrypts nothing");
		return -EOPNOTSUPP;
	}
	if (attr->key_purpose != MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS ||
	    (attr->key_size != MLX5DV_CRYPTO_KEY_SIZE_128 &&
	     attr->key_size != MLX5DV_CRYPTO_KEY_SIZE_256) ||
	    !comp_mask_ok(attr->comp_mask, MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN)) {
		verbs_err(ibctx, "mlx5dv_dek_create: purpose %d, size %d, comp_mask 0x%llx",
			  attr->key_purpose, attr->key_size, (unsigned long long)attr->comp_mask);
		return -EINVAL;
	}
	if (!dek_login_fits(ctx, attr)) {
		verbs_err(ibctx,
			  "mlx5dv_dek_create: wrapped keys need a login, others must have none");
		return -EINVAL;
	}
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_dek *mlx5dv_dek_create(struct ibv_context *ibctx,
						   struct mlx5dv_dek_init_attr *attr)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	uint32_t in[(FW_HEAD + DEK_SIZE) / 4] = {}, out[FW_HEAD / 4] = {};
	struct mlx5dv_dek *dek;
	int r;

	if (!ctx)
		return NULL;
	r = dek_check(ctx, attr);
	dek = r < 0 ? NULL : calloc(1, sizeof(*dek));
	if (!dek)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	object_head(in, MLX5_FW_CREATE_GENERAL_OBJECT, MLX5_FW_OBJ_DEK);
	fw_set(in, FW_HEAD + 8,
	       attr->key_size << 8 | (attr->has_keytag ? 1 << 7 : 0) | DEK_PURPOSE_XTS);
	fw_set(in, FW_HEAD + 0xc, ((struct mlx5_pd *)verbs_pd_protection(attr->pd))->pdn);
	memcpy((char *)in + FW_HEAD + DEK_OPAQUE, attr->opaque, sizeof(attr->opaque));
	memcpy((char *)in + FW_HEAD + DEK_KEY, attr->key, DEK_KEY_SIZE);
	dek->object = mlx5_fw_create(ibctx, __func__, in, sizeof(in), out, sizeof(out));
	explicit_bzero(in, sizeof(in));
	if (!dek->object) {
		free(dek);
		return NULL;
	}
	return dek;
}

MLX5DV_EXPORT int mlx5dv_dek_query(struct mlx5dv_dek *dek, struct mlx5dv_dek_attr *attr)
{
	uint32_t out[(FW_HEAD + DEK_SIZE) / 4] = {};
	unsigned int state;
	int r;

	if (attr->comp_mask) {
		verbs_err(dek->object->context, "%s: comp_mask is not 0", __func__);
		return mlx5dv_errno(-EINVAL);
	}
	r = object_query(dek->object, __func__, MLX5_FW_OBJ_DEK, out, sizeof(out));
	state = fw_get(out, FW_HEAD + 8) >> 24;
	if (!r && state > 1) {
		verbs_err(dek->object->context, "%s: the firmware says state %u", __func__, state);
		r = -EINVAL;
	}
	if (r < 0)
		return mlx5dv_errno(r);
	attr->state = state ? MLX5DV_DEK_STATE_ERROR : MLX5DV_DEK_STATE_READY;
	memcpy(attr->opaque, (char *)out + FW_HEAD + DEK_OPAQUE, sizeof(attr->opaque));
	return 0;
}

MLX5DV_EXPORT int mlx5dv_dek_destroy(struct mlx5dv_dek *dek)
{
	int r = mlx5_fw_destroy(dek->object);

	if (!r)
		free(dek);
	return mlx5dv_errno(r);
}
