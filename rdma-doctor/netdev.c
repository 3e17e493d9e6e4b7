/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Statistics of a network interface and of its driver, from the kernel and not from sysfs, which
 * may show another network namespace. The kernel gives them to every user.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "rdma-doctor/counter.h"
#include "util/netlink.h"

#define STATISTICS_MAX 16384

static int ethtool_ask(int fd, const char *netdev, void *data)
{
	struct ifreq request = { .ifr_data = data };

	strncpy(request.ifr_name, netdev, IFNAMSIZ - 1);
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

int netdev_ethtool(const char *netdev, void *data)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : ethtool_ask(fd, netdev, data);
}

/* Return the number of statistics or -errno. */
static int statistics_count(int fd, const char *netdev)
{
	struct {
		struct ethtool_sset_info info;
		__u32 count;
	} question = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1 << ETH_SS_STATS } };
	int r = ethtool_ask(fd, netdev, &question);

	if (r < 0 || !question.info.sset_mask)
		return r < 0 ? r : -EOPNOTSUPP;
	return question.count > STATISTICS_MAX ? -E2BIG : (int)question.count;
}

static void statistics_add(const struct ethtool_gstrings *names, const struct ethtool_stats *values,
			   const char *netdev, struct sample *sample)
{
	struct counter counter = { .source = SOURCE_ETHTOOL };

	snprintf(counter.owner, sizeof(counter.owner), "%s", netdev);
	for (__u32 i = 0; i < names->len && i < values->n_stats; i++) {
		const char *name = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;

		snprintf(counter.name, sizeof(counter.name), "%.*s", ETH_GSTRING_LEN, name);
		counter.value = values->data[i];
		if (counter.name[0])
			sample_add(sample, &counter);
	}
}

static int ethtool_sample(const char *netdev, struct sample *sample)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_free_ struct ethtool_gstrings *names = NULL;
	_cleanup_free_ struct ethtool_stats *values = NULL;
	int count, r;

	if (fd < 0)
		return -errno;
	count = statistics_count(fd, netdev);
	if (count <= 0)
		return count;
	/* Allocate room for twice as many, because the number may grow between the two queries. */
	names = calloc(1, sizeof(*names) + 2 * (size_t)count * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + 2 * (size_t)count * sizeof(values->data[0]));
	if (!names || !values)
		return -ENOMEM;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = count;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = count;
	r = ethtool_ask(fd, netdev, names);
	if (!r)
		r = ethtool_ask(fd, netdev, values);
	if (r < 0)
		return r;
	if (names->len > 2 * (__u32)count || values->n_stats > 2 * (__u32)count)
		return -E2BIG;
	statistics_add(names, values, netdev, sample);
	return 0;
}

#define FIELD(name)                                             \
	{                                                       \
#name, offsetof(struct rtnl_link_stats64, name) \
	}
/* Names of the files in sysfs. */
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD(rx_packets),	 FIELD(tx_packets),	     FIELD(rx_bytes),
	FIELD(tx_bytes),	 FIELD(rx_errors),	     FIELD(tx_errors),
	FIELD(rx_dropped),	 FIELD(tx_dropped),	     FIELD(multicast),
	FIELD(collisions),	 FIELD(rx_length_errors),    FIELD(rx_over_errors),
	FIELD(rx_crc_errors),	 FIELD(rx_frame_errors),     FIELD(rx_fifo_errors),
	FIELD(rx_missed_errors), FIELD(tx_aborted_errors),   FIELD(tx_carrier_errors),
	FIELD(tx_fifo_errors),	 FIELD(tx_heartbeat_errors), FIELD(tx_window_errors),
};

struct link_sample {
	const char *netdev;
	struct sample *sample;
};

static void link_add(const struct link_sample *link, const char *name, uint64_t value)
{
	struct counter counter = { .source = SOURCE_STATISTICS, .value = value };

	snprintf(counter.owner, sizeof(counter.owner), "%s", link->netdev);
	snprintf(counter.name, sizeof(counter.name), "%s", name);
	sample_add(link->sample, &counter);
}

static int link_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *stats = nlmsg_find_attr(hdr, sizeof(struct ifinfomsg), IFLA_STATS64);
	struct nlattr *carrier =
		nlmsg_find_attr(hdr, sizeof(struct ifinfomsg), IFLA_CARRIER_CHANGES);
	const struct link_sample *link = arg;
	uint64_t value;

	for (unsigned int i = 0; stats && i < ARRAY_SIZE(fields); i++) {
		if (nla_len(stats) < (int)(fields[i].offset + sizeof(value)))
			break;
		memcpy(&value, (char *)nla_data(stats) + fields[i].offset, sizeof(value));
		link_add(link, fields[i].name, value);
	}
	if (carrier && nla_len(carrier) >= (int)sizeof(uint32_t))
		link_add(link, "carrier_changes", nla_get_u32(carrier));
	return 0;
}

static int link_sample(const char *netdev, struct sample *sample)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = NULL;
	struct link_sample link = { netdev, sample };
	struct ifinfomsg header = { .ifi_index = if_nametoindex(netdev) };
	int r;

	if (!header.ifi_index)
		return -ENODEV;
	r = netlink_open(NETLINK_ROUTE, &sock);
	if (r < 0)
		return r;
	msg = nlmsg_alloc_simple(RTM_GETLINK, 0);
	if (!msg || nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	return netlink_ask(sock, msg, link_answer, &link);
}

int system_netdev_sample(const char *netdev, struct sample *sample)
{
	int r = link_sample(netdev, sample);

	ethtool_sample(netdev, sample);
	return r;
}
