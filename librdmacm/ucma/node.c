/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/rdma_cma_abi.h>
#include <rdma/rdma_netlink.h>

#include "librdmacm/ucma/node.h"
#include "util/cancel.h"
#include "util/cdev.h"
#include "util/log.h"
#include "util/netlink.h"
#include "util/sysfs.h"
#include "util/util.h"

static int class_read(const char *attribute, char *text, size_t size)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/class/misc/rdma_cm/%s", sysfs_root(), attribute);
	return sysfs_read(AT_FDCWD, path, text, size);
}

struct cm_cdev {
	dev_t number;
	int abi_version; /* 0: unknown */
};

static int number_read(dev_t *ret_number)
{
	unsigned int major_number, minor_number;
	char text[32];
	int r = class_read("dev", text, sizeof(text));

	if (r < 0)
		return r;
	if (sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return -EINVAL;
	*ret_number = makedev(major_number, minor_number);
	return 0;
}

/*
 * Load the module by opening the static node, because sysfs has the device only after that. Return:
 * whether there is such a node.
 */
static bool module_load(void)
{
	int fd = open(CDEV_DIR "/rdma_cm", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != ENOENT;
}

static int sysfs_find(struct cm_cdev *ret_cdev)
{
	struct cm_cdev cdev = {};
	char text[16];
	int r = number_read(&cdev.number);

	if (r < 0)
		return r;
	if (class_read("abi_version", text, sizeof(text)) < 0 ||
	    sscanf(text, "%d", &cdev.abi_version) != 1)
		cdev.abi_version = 0;
	*ret_cdev = cdev;
	return 0;
}

static int netlink_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *number = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_CHARDEV);
	struct nlattr *abi = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_CHARDEV_ABI);
	struct cm_cdev *cdev = arg;

	if (!number || netlink_attr_size(number) < sizeof(uint64_t))
		return -EPROTO;
	cdev->number = cdev_decode(netlink_attr_u64(number));
	if (abi && netlink_attr_size(abi) >= sizeof(uint64_t))
		cdev->abi_version = netlink_attr_u64(abi);
	return 0;
}

/* Ask by netlink, because a container may have no sysfs. The kernel loads the module for it. */
static int netlink_find(struct cm_cdev *ret_cdev)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = NULL;
	struct cm_cdev cdev = {};
	int r = netlink_open(NETLINK_RDMA, &sock);

	if (r < 0)
		return r;
	msg = nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV), 0);
	if (!msg || nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm"))
		return -ENOMEM;
	r = netlink_ask(sock, msg, netlink_answer, &cdev);
	if (r < 0)
		return r;
	if (!cdev.number)
		return -EPROTO;
	*ret_cdev = cdev;
	return 0;
}

static int cdev_find(struct cm_cdev *ret_cdev)
{
	int r = sysfs_find(ret_cdev);

	if (r >= 0 || !module_load())
		return r;
	r = sysfs_find(ret_cdev);
	return r < 0 && !netlink_find(ret_cdev) ? 0 : r;
}

static int abi_check(int version)
{
	if (!version ||
	    (version >= RDMA_USER_CM_MIN_ABI_VERSION && version <= RDMA_USER_CM_MAX_ABI_VERSION))
		return 0;
	log_err("rdma_cm: the kernel's connection manager has ABI %d; %d to %d are known", version,
		RDMA_USER_CM_MIN_ABI_VERSION, RDMA_USER_CM_MAX_ABI_VERSION);
	return -ENODEV;
}

/*
 * Return the device's number. Look it up until it is found, because a module may be loaded later.
 */
static int number_get(dev_t *ret_number)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static dev_t known;
	_cleanup_cancel_ int cancel = cancel_off();
	int r = 0;

	pthread_mutex_lock(&lock);
	if (!known) {
		struct cm_cdev cdev;

		r = cdev_find(&cdev);
		if (!r)
			r = abi_check(cdev.abi_version);
		if (!r)
			known = cdev.number;
	}
	if (!r)
		*ret_number = known;
	pthread_mutex_unlock(&lock);
	return r;
}

int ucma_node_open(void)
{
	dev_t number = 0;
	int r = number_get(&number);

	if (r < 0)
		return r == -ENOENT ? -ENODEV : r;
	r = cdev_open("rdma_cm", number);
	return r == -ENOENT ? -ENODEV : r;
}

ssize_t ucma_node_write(int fd, const struct iovec *commands, int count)
{
	ssize_t length = count == 1 ? write(fd, commands->iov_base, commands->iov_len)
				    : writev(fd, commands, count);

	return length < 0 ? -errno : length;
}
