/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdma/rdma_netlink.h>

#include "libibverbs/discovery/discovery.h"
#include "util/cdev.h"

#define NLDEV_TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)
#define REQUEST_SIZE	    128 /* bytes: header, device index, kind of character device */

static struct nla_policy policy[RDMA_NLDEV_ATTR_MAX] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_DEV_NODE_TYPE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_NODE_GUID] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_CHARDEV] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_CHARDEV_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_CHARDEV_ABI] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID] = { .type = NLA_U32 },
};

struct nldev {
	struct nl_sock *sock;
	struct verbs_device_list *list;
	struct verbs_device *device; /* device of the current query */
	int error;		     /* error of a callback */
};

static int reply_parse(struct nl_msg *msg, uint16_t type, struct nlattr **tb)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);

	if (hdr->nlmsg_type != type)
		return -EPROTO;
	return nlmsg_parse(hdr, 0, tb, RDMA_NLDEV_ATTR_MAX - 1, policy) < 0 ? -EPROTO : 0;
}

static int device_fill(struct verbs_device *device, struct nlattr **tb)
{
	struct nlattr *type = tb[RDMA_NLDEV_ATTR_DEV_NODE_TYPE];
	struct nlattr *guid = tb[RDMA_NLDEV_ATTR_NODE_GUID];

	device->index = nla_get_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX]);
	if (guid)
		device->node_guid = htobe64(nla_get_u64(guid));
	disc_device_type(device, type ? nla_get_u8(type) : 0);
	return disc_device_name(device, nla_get_string(tb[RDMA_NLDEV_ATTR_DEV_NAME]));
}

static int device_reply(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX];
	struct verbs_device *device;
	struct nldev *nldev = arg;

	if (reply_parse(msg, NLDEV_TYPE(RDMA_NLDEV_CMD_GET), tb) ||
	    !tb[RDMA_NLDEV_ATTR_DEV_INDEX] || !tb[RDMA_NLDEV_ATTR_DEV_NAME]) {
		nldev->error = -EPROTO;
		return NL_SKIP;
	}
	device = disc_device_new(nldev->list, sizeof(*device));
	if (!device)
		nldev->error = -ENOMEM;
	else if (device_fill(device, tb))
		disc_device_drop(nldev->list, device);
	return NL_OK;
}

static int cdev_reply(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX];
	struct nldev *nldev = arg;
	struct verbs_device *device = nldev->device;

	if (reply_parse(msg, NLDEV_TYPE(RDMA_NLDEV_CMD_GET_CHARDEV), tb) ||
	    !tb[RDMA_NLDEV_ATTR_CHARDEV] || !tb[RDMA_NLDEV_ATTR_CHARDEV_NAME] ||
	    !tb[RDMA_NLDEV_ATTR_CHARDEV_ABI]) {
		nldev->error = -EPROTO;
		return NL_SKIP;
	}
	device->cdev = cdev_decode(nla_get_u64(tb[RDMA_NLDEV_ATTR_CHARDEV]));
	device->abi_version = nla_get_u64(tb[RDMA_NLDEV_ATTR_CHARDEV_ABI]);
	if (tb[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID])
		device->driver_id = nla_get_u32(tb[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID]);
	nldev->error =
		disc_device_cdev_name(device, nla_get_string(tb[RDMA_NLDEV_ATTR_CHARDEV_NAME]));
	return NL_OK;
}

static int request_run(struct nldev *nldev, struct nl_msg *msg, nl_recvmsg_msg_cb_t reply)
{
	int r;

	nldev->error = 0;
	nl_socket_modify_cb(nldev->sock, NL_CB_VALID, NL_CB_CUSTOM, reply, nldev);
	r = nl_send_auto(nldev->sock, msg);
	if (r >= 0)
		r = nl_recvmsgs_default(nldev->sock);
	if (r < 0) {
		log_debug("RDMA netlink: %s", nl_geterror(r));
		return -EIO;
	}
	return nldev->error;
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
	r = request_run(nldev, msg, device_reply);
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
		r = request_run(nldev, msg, cdev_reply);
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
	struct nldev nldev = { .sock = nl_socket_alloc(), .list = list };
	int r;

	if (!nldev.sock)
		return -ENOMEM;
	nl_socket_disable_auto_ack(nldev.sock);
	nl_socket_disable_msg_peek(nldev.sock);
	r = nl_connect(nldev.sock, NETLINK_RDMA) < 0 ? -EOPNOTSUPP : 0;
	if (!r)
		r = devices_dump(&nldev);
	if (!r)
		r = cdevs_get(&nldev);
	nl_socket_free(nldev.sock);
	return r;
}
