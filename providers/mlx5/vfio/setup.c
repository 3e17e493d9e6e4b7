/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Start and end of a function. The kernel's driver does the same for functions that it owns. */
#include <time.h>

#include "providers/mlx5/vfio/function.h"

enum {
	ISSI = 1, /* version of the interface between firmware and software */
	CAP_SIZE = 0x1010,
	CAP = 0x10, /* offset of the capabilities in commands and answers */

	CAP_FAST_TEARDOWN = 1 << 14,	/* of word 0x20 */
	CAP_LINK_STAYS_DOWN = 1 << 11,	/* of word 0x34 */
	CAP_ETHERNET = 1,		/* of word 0x34, from bit 8 on */
	CAP_ROCE = 1 << 2,		/* of word 0x40 */
	CAP_CHECKSUMS = 3 << 14,	/* of word 0x40 */
	CAP_UMEM_WITHOUT_UID = 1 << 13, /* of word 0x48 */
	CAP_KEY_BY_NAME = 1 << 25,	/* of word 0x4c */
	CAP_UAR_SIZE = 0xffff,		/* of word 0x90 */
	CAP_ROCE_SOURCE_PORT = 1 << 27, /* of word 0 of RoCE */

	PAGES_AT_BOOT = 1,
	PAGES_AT_INIT = 2,
	REGISTER_ENDIANNESS = 0x7004,
	TEARDOWN_GRACEFUL = 0,
	TEARDOWN_FAST = 2,
	STATE_DISABLED = 1,

	INITIALIZING_MS = 120000,
	INITIALIZING_STEP_MS = 2,
	DISABLED_MS = 3000,
};

/* Capability groups in the firmware's numbers. */
enum group {
	GROUP_GENERAL = 0,
	GROUP_ROCE = 4,
};

struct caps {
	uint32_t current[CAP_SIZE / 4], possible[CAP_SIZE / 4];
};

static void sleep_ms(unsigned int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000l };

	nanosleep(&time, NULL);
}

static int initialized_wait(struct vfio_context *v)
{
	uint64_t end = vfio_now_ms() + INITIALIZING_MS;

	while (vfio_reg_read(v, VFIO_REG_INITIALIZING) >> 31) {
		if (vfio_now_ms() > end) {
			verbs_err(&v->vctx.context, "its firmware does not start within %d s",
				  INITIALIZING_MS / 1000);
			return -EBUSY;
		}
		sleep_ms(INITIALIZING_STEP_MS);
	}
	return 0;
}

static int hca_enable(struct vfio_context *v)
{
	uint32_t in[FW_HEAD / 4] = {}, out[0xc / 4] = {};

	fw_set(in, 0, VFIO_OP_ENABLE_HCA << 16);
	return vfio_command(v, in, sizeof(in), out, sizeof(out));
}

static int issi_set(struct vfio_context *v)
{
	uint32_t in[FW_HEAD / 4] = {}, out[0x70 / 4] = {};
	int r;

	fw_set(in, 0, VFIO_OP_QUERY_ISSI << 16);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	if (!(fw_get(out, 0x6c) >> ISSI & 1)) {
		verbs_err(&v->vctx.context,
			  "its firmware lacks version %d of the interface: update the firmware",
			  ISSI);
		return -EOPNOTSUPP;
	}
	return vfio_command_word(v, VFIO_OP_SET_ISSI, ISSI, NULL);
}

static int pages_provide(struct vfio_context *v, unsigned int when)
{
	uint32_t in[FW_HEAD / 4] = {}, out[FW_HEAD / 4] = {};
	struct vfio_page_request request;
	int r;

	fw_set(in, 0, VFIO_OP_QUERY_PAGES << 16);
	fw_set(in, 4, when);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	request.function = fw_get(out, 8) & 0xffff;
	request.count = (int32_t)fw_get(out, 0xc);
	return vfio_pages_give(v, &request);
}

static int endianness_set(struct vfio_context *v)
{
	uint32_t in[0x20 / 4] = {}, out[0x20 / 4] = {};

	fw_set(in, 0, VFIO_OP_ACCESS_REGISTER << 16);
	fw_set(in, 8, REGISTER_ENDIANNESS);
#if __BYTE_ORDER == __BIG_ENDIAN
	fw_set(in, 0x10, 0x80u << 24);
#endif
	return vfio_command(v, in, sizeof(in), out, sizeof(out));
}

/* ---- capabilities */

static int caps_query(struct vfio_context *v, enum group group, struct caps *caps)
{
	uint32_t *const answers[] = { caps->possible, caps->current };
	int r = 0;

	for (int current = 1; !r && current >= 0; current--) {
		uint32_t in[FW_HEAD / 4] = {};

		fw_set(in, 0, MLX5_FW_QUERY_HCA_CAP << 16);
		fw_set(in, 4, (uint32_t)group << 1 | current);
		r = vfio_command(v, in, sizeof(in), answers[current], CAP_SIZE);
	}
	return r;
}

/* Set the capabilities of @in, behind a head that is written here. */
static int caps_set(struct vfio_context *v, enum group group, uint32_t in[CAP_SIZE / 4])
{
	uint32_t out[FW_HEAD / 4] = {};

	memset(in, 0, CAP);
	fw_set(in, 0, VFIO_OP_SET_HCA_CAP << 16);
	fw_set(in, 4, (uint32_t)group << 1);
	return vfio_command(v, in, CAP_SIZE, out, sizeof(out));
}

static uint32_t cap_get(const uint32_t *answer, unsigned int offset)
{
	return fw_get(answer, CAP + offset);
}

static void cap_change(uint32_t *in, unsigned int offset, uint32_t clear, uint32_t set)
{
	uint32_t value = (cap_get(in, offset) & ~clear) | set;

	((__be32 *)in)[(CAP + offset) / 4] = htobe32(value);
}

static int general_set(struct vfio_context *v, const struct caps *caps)
{
	const struct vfio_device *device = (struct vfio_device *)v->vctx.context.device;
	_cleanup_free_ uint32_t *in = malloc(CAP_SIZE);

	if (!in)
		return -ENOMEM;
	memcpy(in, caps->current, CAP_SIZE);
	cap_change(in, 0x40, CAP_CHECKSUMS, 0);
	cap_change(in, 0x34, 0, device->link_down ? CAP_LINK_STAYS_DOWN : 0);
	/* Pages of registers have 4 KiB on every system: the number of a page is its place. */
	cap_change(in, 0x90, CAP_UAR_SIZE, 0);
	cap_change(in, 0x4c, 0, cap_get(caps->possible, 0x4c) & CAP_KEY_BY_NAME);
	return caps_set(v, GROUP_GENERAL, in);
}

static int roce_set(struct vfio_context *v)
{
	_cleanup_free_ struct caps *caps = calloc(1, sizeof(*caps));
	int r = caps ? caps_query(v, GROUP_ROCE, caps) : -ENOMEM;

	if (r < 0 || !(cap_get(caps->possible, 0) & CAP_ROCE_SOURCE_PORT) ||
	    cap_get(caps->current, 0) & CAP_ROCE_SOURCE_PORT)
		return r;
	cap_change(caps->current, 0, 0, CAP_ROCE_SOURCE_PORT);
	return caps_set(v, GROUP_ROCE, caps->current);
}

static int capabilities_set(struct vfio_context *v, const struct caps *caps)
{
	int r = general_set(v, caps);

	if (!r && cap_get(caps->current, 0x40) & CAP_ROCE)
		r = roce_set(v);
	if (r < 0)
		return r;
	v->fast_teardown = cap_get(caps->current, 0x20) & CAP_FAST_TEARDOWN;
	if (cap_get(caps->current, 0x48) & CAP_UMEM_WITHOUT_UID)
		return 0;
	verbs_err(&v->vctx.context,
		  "its firmware registers memory only for the kernel's contexts: update the "
		  "firmware");
	return -EOPNOTSUPP;
}

static int roce_enable(struct vfio_context *v)
{
	uint32_t in[0x200 / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, VFIO_OP_MODIFY_VPORT << 16);
	fw_set(in, 0xc, 1 << 1);
	fw_set(in, 0x100, 1);
	return vfio_command(v, in, sizeof(in), out, sizeof(out));
}

/* ---- start and end */

static int function_prepare(struct vfio_context *v)
{
	int r = initialized_wait(v);

	if (!r)
		r = hca_enable(v);
	if (!r)
		r = issi_set(v);
	if (!r)
		r = pages_provide(v, PAGES_AT_BOOT);
	return r < 0 ? r : endianness_set(v);
}

int vfio_function_start(struct vfio_context *v)
{
	_cleanup_free_ struct caps *caps = calloc(1, sizeof(*caps));
	int r = caps ? function_prepare(v) : -ENOMEM;

	if (!r)
		r = caps_query(v, GROUP_GENERAL, caps);
	if (!r)
		r = capabilities_set(v, caps);
	if (!r)
		r = pages_provide(v, PAGES_AT_INIT);
	if (!r)
		r = vfio_command_word(v, VFIO_OP_INIT_HCA, 0, NULL);
	if (!r && (cap_get(caps->current, 0x34) >> 8 & 3) == CAP_ETHERNET)
		r = roce_enable(v);
	v->started = !r;
	return r;
}

static int teardown(struct vfio_context *v, uint32_t profile)
{
	uint32_t in[FW_HEAD / 4] = {}, out[FW_HEAD / 4] = {};
	int r;

	fw_set(in, 0, VFIO_OP_TEARDOWN_HCA << 16);
	fw_set(in, 8, profile);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	return !r && fw_get(out, 0xc) & 1 ? -EIO : r;
}

/* Disable the interface, and wait until the function has done it. */
static int interface_disable(struct vfio_context *v)
{
	uint64_t end = vfio_now_ms() + DISABLED_MS;
	uint32_t low = vfio_reg_read(v, VFIO_REG_QUEUE_LOW);

	vfio_reg_write(v, VFIO_REG_QUEUE_LOW, (low & 0xfffff000) | STATE_DISABLED << 8);
	while ((vfio_reg_read(v, VFIO_REG_QUEUE_LOW) >> 8 & 7) != STATE_DISABLED) {
		if (vfio_now_ms() > end)
			return -ETIMEDOUT;
		sleep_ms(1);
	}
	return 0;
}

void vfio_function_stop(struct vfio_context *v)
{
	int r = -EOPNOTSUPP;

	if (!v->started)
		return;
	v->started = false;
	if (v->fast_teardown) {
		r = teardown(v, TEARDOWN_FAST);
		if (!r)
			r = interface_disable(v);
	}
	if (r < 0)
		teardown(v, TEARDOWN_GRACEFUL);
}
