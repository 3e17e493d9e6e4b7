/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "rdma-doctor/counter.h"
#include "rdma-doctor/dcb.h"
#include "util/netlink.h"

/* Return: 0 or -errno; -EOPNOTSUPP: neither the driver nor, perhaps, the kernel has DCB */
static int dcb_ask(const char *netdev, struct dcb *dcb)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = NULL;
	struct dcbmsg header = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET };
	int r = netlink_open(NETLINK_ROUTE, &sock);

	if (r < 0)
		return r;
	msg = nlmsg_alloc_simple(RTM_GETDCB, 0);
	if (!msg || nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO) < 0 ||
	    nla_put_string(msg, DCB_ATTR_IFNAME, netdev) < 0)
		return -ENOMEM;
	return netlink_ask(sock, msg, dcb_answer, dcb);
}

void system_dcb(const char *netdev, struct dcb *ret_dcb)
{
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };
	struct dcb dcb = {};

	dcb.error = dcb_ask(netdev, &dcb);
	if (!netdev_ethtool(netdev, &pause)) {
		dcb.pause_known = true;
		dcb.pause_receive = pause.rx_pause;
		dcb.pause_send = pause.tx_pause;
	}
	*ret_dcb = dcb;
}
