/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink, by which libraries learn the driver number of a device that has no other
 * identification. The socket is a real one between processes, so that libnl's calls on it need
 * no help. A request is not sent, but answered from another such socket. Sending an unknown
 * request fails. Of other devices the only answer is that the kernel copies pinned pages at a
 * fork. */
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/shim/shim.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>

enum {
	DEVICE_INDEX = 7,
	MAX_FD = 4096,
};

static bool ours[MAX_FD];

struct answer {
	_Alignas(NLMSG_ALIGNTO) uint8_t bytes[1024];
	size_t length;
	size_t start; /* of the message being made */
};

static struct nlmsghdr *message(struct answer *answer)
{
	return (void *)(answer->bytes + answer->start);
}

static void begin(struct answer *answer, const struct nlmsghdr *request, uint16_t type)
{
	answer->start = answer->length;
	*message(answer) = (struct nlmsghdr){
		.nlmsg_type = type,
		.nlmsg_flags = request->nlmsg_flags & NLM_F_DUMP ? NLM_F_MULTI : 0,
		.nlmsg_seq = request->nlmsg_seq,
		.nlmsg_pid = request->nlmsg_pid,
		.nlmsg_len = NLMSG_HDRLEN,
	};
	answer->length += NLMSG_HDRLEN;
}

static void put(struct answer *answer, uint16_t type, const void *value, size_t length)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + length, .nla_type = type };

	memcpy(answer->bytes + answer->length, &attr, sizeof(attr));
	memcpy(answer->bytes + answer->length + NLA_HDRLEN, value, length);
	answer->length += NLA_ALIGN(attr.nla_len);
	message(answer)->nlmsg_len = answer->length - answer->start;
}

static void put_32(struct answer *answer, uint16_t type, uint32_t value)
{
	put(answer, type, &value, sizeof(value));
}

static void put_64(struct answer *answer, uint16_t type, uint64_t value)
{
	put(answer, type, &value, sizeof(value));
}

static void put_text(struct answer *answer, uint16_t type, const char *text)
{
	put(answer, type, text, strlen(text) + 1);
}

static void put_device(struct answer *answer)
{
	uint8_t type = device->node_type;

	put_32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, DEVICE_INDEX);
	put_text(answer, RDMA_NLDEV_ATTR_DEV_NAME, device->ibdev);
	put_32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	put_64(answer, RDMA_NLDEV_ATTR_NODE_GUID, 0x020000fffe000001);
	put(answer, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, &type, sizeof(type));
}

static void put_node(struct answer *answer)
{
	put_text(answer, RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs0");
	put_64(answer, RDMA_NLDEV_ATTR_CHARDEV_ABI, device->abi_version);
	put_64(answer, RDMA_NLDEV_ATTR_CHARDEV, 1 << 8 | 3); /* that of /dev/null */
	put_32(answer, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, device->driver_id);
}

/* Append the acknowledgement that the request asks for. */
static void acknowledge(struct answer *answer, const struct nlmsghdr *request)
{
	const struct nlmsgerr none = { .msg = *request };

	begin(answer, request, NLMSG_ERROR);
	memcpy(answer->bytes + answer->length, &none, sizeof(none));
	answer->length += sizeof(none);
	message(answer)->nlmsg_len = answer->length - answer->start;
}

/* 0, or a positive errno. */
/* The network interface of the port. The loopback has no largest MTU, which DPDK asks for. */
static uint32_t interface_index(void)
{
	uint32_t index = model_frame_interface();

	if (!index)
		index = if_nametoindex("lab0");

	return index ? index : if_nametoindex("lo");
}

static int answer_to(const struct nlmsghdr *request, struct answer *ret)
{
	static const uint8_t copies = 1;

	ret->length = 0;
	begin(ret, request, request->nlmsg_type);
	if (request->nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET)) {
		put(ret, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, &copies, sizeof(copies));
		acknowledge(ret, request);
		return 0;
	}
	if (!device->driver_id && !host_is("netlink"))
		return EOPNOTSUPP;
	switch (request->nlmsg_type) {
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET):
		put_device(ret);
		begin(ret, request, NLMSG_DONE);
		return 0;
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET):
		put_device(ret);
		put_32(ret, RDMA_NLDEV_ATTR_NDEV_INDEX, interface_index());
		acknowledge(ret, request);
		return 0;
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV):
		put_node(ret);
		return 0;
	}
	return EOPNOTSUPP;
}

int rdma_netlink_open(int type)
{
	int fd = real_socket(AF_NETLINK, type, NETLINK_USERSOCK);

	if (fd >= 0 && fd < MAX_FD)
		ours[fd] = true;
	return fd;
}

bool rdma_netlink_is(int fd)
{
	return fd >= 0 && fd < MAX_FD && ours[fd];
}

void rdma_netlink_close(int fd)
{
	if (rdma_netlink_is(fd))
		ours[fd] = false;
}

static int deliver(int fd, const struct answer *answer)
{
	struct sockaddr_nl to;
	socklen_t length = sizeof(to);
	ssize_t n;
	int from;

	if (getsockname(fd, (struct sockaddr *)&to, &length))
		return errno;
	from = real_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	if (from < 0)
		return errno;
	n = sendto(from, answer->bytes, answer->length, 0, (struct sockaddr *)&to, length);
	real_close(from);
	return n == (ssize_t)answer->length ? 0 : EIO;
}

ssize_t rdma_netlink_send(int fd, const struct msghdr *msg)
{
	const struct nlmsghdr *request = msg->msg_iovlen == 1 ? msg->msg_iov->iov_base : NULL;
	struct answer answer;
	int r = EINVAL;

	if (request && msg->msg_iov->iov_len >= sizeof(*request))
		r = answer_to(request, &answer);
	if (!r)
		r = deliver(fd, &answer);
	if (!r)
		return msg->msg_iov->iov_len;
	errno = r;
	return -1;
}
