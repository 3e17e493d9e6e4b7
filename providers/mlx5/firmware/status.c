/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The status of a command that the firmware refused. */
#include "providers/mlx5/firmware/firmware.h"

enum {
	STATUS_SHIFT = 24,
};

int mlx5_fw_errno(int r, const void *out)
{
	if (r != -EREMOTEIO)
		return r;
	switch (fw_get(out, 0) >> STATUS_SHIFT) {
	case 0x02:
	case 0x03:
	case 0x05:
	case 0x09:
	case 0x0a:
	case 0x10:
	case 0x30:
	case 0x40:
		return -EINVAL;
	case 0x06:
		return -EBUSY;
	case 0x08:
		return -ENOMEM;
	case 0x0f:
		return -EAGAIN;
	default:
		return -EIO;
	}
}
