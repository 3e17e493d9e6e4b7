/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The MTU of a device, from the MTU of its interface. */
#include "providers/uroce/host/device.h"
#include "providers/uroce/host/objects.h"

enum {
	/* IPv6 + UDP + BTH with extensions + ICRC. The kernel's device reserves the same. */
	PACKET_OVERHEAD = 40 + 8 + BTH_LEN + ATOMIC_ETH_LEN + ICRC_LEN,
};

static enum ibv_mtu mtu_of_link(uint32_t link_mtu)
{
	enum ibv_mtu mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && (128u << mtu) + PACKET_OVERHEAD > link_mtu)
		mtu--;
	return mtu;
}

enum ibv_mtu uroce_dev_active_mtu(const struct uroce_dev *dev)
{
	return mtu_of_link(dev->link_mtu);
}

uint32_t uroce_dev_mtu(const struct uroce_dev *dev)
{
	return 128u << mtu_of_link(dev->link_mtu);
}
