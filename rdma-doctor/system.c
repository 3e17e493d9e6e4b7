/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of the running kernel other than reading files. */
#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>

#include <rdma/rdma_netlink.h>

#include "rdma-doctor/doctor.h"
#include "util/netlink.h"

static int system_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *mode = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
	struct nlattr *copies = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK);
	struct rdma_system *system = arg;

	if (mode && nla_len(mode) >= (int)sizeof(uint8_t)) {
		system->mode_known = true;
		system->exclusive = !nla_get_u8(mode);
	}
	if (copies && nla_len(copies) >= (int)sizeof(uint8_t))
		system->copies_on_fork = nla_get_u8(copies);
	return 0;
}

void system_ask(struct rdma_system *ret_system)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = NULL;
	struct rdma_system system = {};

	system.error = netlink_open(NETLINK_RDMA, &sock);
	if (!system.error) {
		msg = nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET),
					 0);
		system.error = msg ? netlink_ask(sock, msg, system_answer, &system) : -ENOMEM;
	}
	*ret_system = system;
}

bool system_netdev_exists(const char *name)
{
	return if_nametoindex(name) != 0;
}

int system_node_open(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : 0;
}

int system_fork_init(void)
{
	return -ibv_fork_init();
}

/* The private symbol node of the library, which providers need, has the number of the interface. */
#define TEXT_(n) #n
#define TEXT(n)	 TEXT_(n)

bool system_library_is_ours(const char **ret_path)
{
	Dl_info info;

	*ret_path = dladdr(ibv_get_device_list, &info) && info.dli_fname ? info.dli_fname : "?";
#ifdef RDMA_HAVE_DLVSYM
	return dlvsym(RTLD_DEFAULT, "verbs_device_add",
		      "IBVERBS_PRIVATE_" TEXT(RDMA_PROVIDER_ABI)) != NULL;
#else
	/* This C library has no symbol versions. Only libibverbs of this interface has this name.
	 */
	return dlsym(RTLD_DEFAULT, "verbs_device_add") != NULL;
#endif
}
