/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include <rdma/rdma_netlink.h>

#include "libibverbs/discovery/discovery.h"
#include "util/cdev.h"
#include "util/netlink.h"

#define NLDEV_TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)
#define REQUEST_SIZE	    128 /* bytes: header, device index, kind of character device */

struct nldev {
	struct nl_sock *sock;
	struct verbs_device_list *list;
	struct verbs_device *device; /* device of the current query */
};

static struct nlattr *attr_find(struct nlmsghdr *hdr, int type, size_t size)
{
	struct nlattr *attr = nlmsg_find_attr(hdr, 0, type);

	return attr && netlink_attr_size(attr) >= size ? attr : NULL;
}

/* Find a text. It ends within the attribute. */
static const char *text_find(struct nlmsghdr *hdr, int type)
{
	struct nlattr *attr = attr_find(hdr, type, 1);

	return attr && memchr(netlink_attr_data(attr), '\0', netlink_attr_size(attr))
		       ? netlink_attr_data(attr)
		       : NULL;
}

static int device_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *index = attr_find(hdr, RDMA_NLDEV_ATTR_DEV_INDEX, sizeof(uint32_t));
	struct nlattr *type = attr_find(hdr, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, sizeof(uint8_t));
	struct nlattr *guid = attr_find(hdr, RDMA_NLDEV_ATTR_NODE_GUID, sizeof(uint64_t));
	const char *name = text_find(hdr, RDMA_NLDEV_ATTR_DEV_NAME);
	struct verbs_device *device;
	struct nldev *nldev = arg;

	if (hdr->nlmsg_type != NLDEV_TYPE(RDMA_NLDEV_CMD_GET) || !index || !name)
		return -EPROTO;
	device = disc_device_new(nldev->list, sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->index = netlink_attr_u32(index);
	if (guid)
		device->node_guid = htobe64(netlink_attr_u64(guid));
	disc_device_type(device, type ? netlink_attr_u8(type) : 0);
	if (disc_device_name(device, name))
		disc_device_drop(nldev->list, device);
	return 0;
}

static int cdev_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *number = attr_find(hdr, RDMA_NLDEV_ATTR_CHARDEV, sizeof(uint64_t));
	struct nlattr *abi = attr_find(hdr, RDMA_NLDEV_ATTR_CHARDEV_ABI, sizeof(uint64_t));
	struct nlattr *driver = attr_find(hdr, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, sizeof(uint32_t));
	const char *name = text_find(hdr, RDMA_NLDEV_ATTR_CHARDEV_NAME);
	struct verbs_device *device = ((struct nldev *)arg)->device;

	if (hdr->nlmsg_type != NLDEV_TYPE(RDMA_NLDEV_CMD_GET_CHARDEV) || !number || !abi || !name)
		return -EPROTO;
	device->cdev = cdev_decode(netlink_attr_u64(number));
	device->abi_version = netlink_attr_u64(abi);
	if (driver)
		device->driver_id = netlink_attr_u32(driver);
	return disc_device_cdev_name(device, name);
}

static int request_run(struct nldev *nldev, struct nl_msg *msg, netlink_answer_fn answer)
{
	int r = netlink_ask(nldev->sock, msg, answer, nldev);

	if (r < 0)
		log_debug("RDMA netlink: %s", strerror(-r));
	return r;
}

/* Make a small request, because libnl's default is a page that is cleared each time. */
static struct nl_msg *request_new(uint16_t command, int flags)
{
	struct nl_msg *msg = nlmsg_alloc_size(REQUEST_SIZE);

	if (msg && !nlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, NLDEV_TYPE(command), 0,
			      NLM_F_REQUEST | flags)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static int devices_dump(struct nldev *nldev)
{
	struct nl_msg *msg = request_new(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	int r;

	if (!msg)
		return -ENOMEM;
	r = request_run(nldev, msg, device_answer);
	nlmsg_free(msg);
	return r;
}

static int cdev_get(struct nldev *nldev, struct verbs_device *device)
{
	struct nl_msg *msg = request_new(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	int r = -ENOMEM;

	if (!msg)
		return r;
	nldev->device = device;
	if (!nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device->index) &&
	    !nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs"))
		r = request_run(nldev, msg, cdev_answer);
	nlmsg_free(msg);
	return r;
}

/* Query the character devices. Devices without a uverbs node are not listed, because user space
 * cannot use them. */
static int cdevs_get(struct nldev *nldev)
{
	struct verbs_device *device = LIST_FIRST(&nldev->list->devices), *next;
	unsigned int total = nldev->list->count;
	int r;

	for (; device; device = next) {
		next = LIST_NEXT(device, entry);
		r = cdev_get(nldev, device);
		if (!r)
			continue;
		log_warn("%s has no uverbs character device: not listed", device->device.name);
		disc_device_drop(nldev->list, device);
	}
	return total && !nldev->list->count ? -EOPNOTSUPP : 0;
}

int disc_nldev_list(struct verbs_device_list *list)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	struct nldev nldev = { .list = list };
	int r = netlink_open(NETLINK_RDMA, &sock);

	if (r < 0)
		return r == -ENOMEM ? r : -EOPNOTSUPP;
	nl_socket_disable_auto_ack(sock);
	nldev.sock = sock;
	r = devices_dump(&nldev);
	return r < 0 ? r : cdevs_get(&nldev);
}
