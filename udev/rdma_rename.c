/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_rename(8): gives an RDMA device a name that stays; called by udev when a device appears. */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "udev/name.h"
#include "util/netlink.h"
#include "util/sysfs.h"
#include "util/util.h"
#include "util/version.h"

#define NLDEV_TYPE(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)

static struct nla_policy policy[RDMA_NLDEV_ATTR_MAX] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { .type = NLA_U32 },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_NODE_GUID] = { .type = NLA_U64 },
	[RDMA_NLDEV_ATTR_DEV_PROTOCOL] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE] = { .type = NLA_U8 },
	[RDMA_NLDEV_ATTR_RES_SUMMARY] = { .type = NLA_NESTED },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME] = { .type = NLA_STRING },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR] = { .type = NLA_U64 },
};

/* The answer of the kernel about the device with this name. */
struct kernel_device {
	const char *name;
	bool found;
	uint32_t index;
	uint64_t node_guid;
	char protocol[16];
	bool user_named;
	uint64_t contexts; /* processes that have it open, each as often as it has */
};

static int device_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX], *protocol;
	struct kernel_device *device = arg;

	if (nlmsg_parse(hdr, 0, tb, RDMA_NLDEV_ATTR_MAX - 1, policy) < 0)
		return -EPROTO;
	if (!tb[RDMA_NLDEV_ATTR_DEV_NAME] || !tb[RDMA_NLDEV_ATTR_DEV_INDEX] ||
	    strcmp(nla_get_string(tb[RDMA_NLDEV_ATTR_DEV_NAME]), device->name))
		return 0;
	device->found = true;
	device->index = nla_get_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX]);
	if (tb[RDMA_NLDEV_ATTR_NODE_GUID])
		device->node_guid = nla_get_u64(tb[RDMA_NLDEV_ATTR_NODE_GUID]);
	if (tb[RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE])
		device->user_named = nla_get_u8(tb[RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE]) ==
				     RDMA_NAME_ASSIGN_TYPE_USER;
	protocol = tb[RDMA_NLDEV_ATTR_DEV_PROTOCOL];
	if (protocol)
		snprintf(device->protocol, sizeof(device->protocol), "%s",
			 nla_get_string(protocol));
	return 0;
}

static int usage_answer(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX], *entry;
	struct kernel_device *device = arg;
	int left;

	if (nlmsg_parse(hdr, 0, tb, RDMA_NLDEV_ATTR_MAX - 1, policy) < 0)
		return -EPROTO;
	if (!tb[RDMA_NLDEV_ATTR_RES_SUMMARY])
		return 0;
	nla_for_each_nested(entry, tb[RDMA_NLDEV_ATTR_RES_SUMMARY], left)
	{
		struct nlattr *one[RDMA_NLDEV_ATTR_MAX];

		if (nla_parse_nested(one, RDMA_NLDEV_ATTR_MAX - 1, entry, policy) < 0)
			return -EPROTO;
		if (one[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME] &&
		    one[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR] &&
		    !strcmp(nla_get_string(one[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME]), "ctx"))
			device->contexts = nla_get_u64(one[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR]);
	}
	return 0;
}

static struct nl_msg *request(int command, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg && !nlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, NLDEV_TYPE(command), 0, flags)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

static int kernel_find(struct nl_sock *sock, struct kernel_device *device)
{
	_cleanup_nl_msg_ struct nl_msg *msg = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	int r = msg ? netlink_ask(sock, msg, device_answer, device) : -ENOMEM;

	if (r == 0 && !device->found)
		r = -ENODEV;
	return r;
}

/* If the kernel cannot report this, rename the device. */
static void kernel_count_contexts(struct nl_sock *sock, struct kernel_device *device)
{
	_cleanup_nl_msg_ struct nl_msg *msg = request(RDMA_NLDEV_CMD_RES_GET, NLM_F_ACK);

	if (msg && nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device->index) == 0)
		netlink_ask(sock, msg, usage_answer, device);
}

static int kernel_rename(struct nl_sock *sock, uint32_t index, const char *name)
{
	_cleanup_nl_msg_ struct nl_msg *msg = request(RDMA_NLDEV_CMD_SET, NLM_F_ACK);

	if (!msg || nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index) < 0 ||
	    nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name) < 0)
		return -ENOMEM;
	return netlink_ask(sock, msg, NULL, NULL);
}

static int device_folder(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s", sysfs_root(), name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* udev discards what its programs print on standard error, so also write to the journal. */
static int refuse(const char *name, const char *what, const char *why)
{
	fprintf(stderr, "rdma_rename: %s: %s: %s\n", name, what, why);
	openlog("rdma_rename", 0, LOG_DAEMON);
	syslog(LOG_WARNING, "%s: %s: %s", name, what, why);
	return 1;
}

static int device_name(const struct kernel_device *device, enum name_policy how, const char *fixed,
		       char ret_name[NAME_SIZE])
{
	_cleanup_close_ int folder = device_folder(device->name);
	const struct name_device source = {
		.name = device->name,
		.prefix = device->protocol,
		.user_named = device->user_named,
		.node_guid = device->node_guid,
		.folder = folder,
		.fixed = fixed,
	};

	if (folder < 0)
		return folder;
	return name_make(how, &source, ret_name);
}

static int rename_device(const char *old, enum name_policy how, const char *fixed, bool dry_run)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	struct kernel_device device = { .name = old };
	char name[NAME_SIZE];
	int r = netlink_open(NETLINK_RDMA, &sock);

	if (r < 0)
		return refuse(old, "this kernel has no RDMA netlink (module ib_core)",
			      strerror(-r));
	r = kernel_find(sock, &device);
	if (r < 0)
		return refuse(old, "the kernel has no such RDMA device", strerror(-r));
	r = device_name(&device, how, fixed, name);
	if (r < 0)
		return refuse(old, "there is no such name for this device", strerror(-r));
	if (!dry_run && strcmp(name, old)) {
		kernel_count_contexts(sock, &device);
		if (device.contexts)
			return refuse(old, "programs have it open, it keeps its name",
				      strerror(EBUSY));
		r = kernel_rename(sock, device.index, name);
	}
	if (r < 0)
		return refuse(old, name, strerror(-r));
	puts(name);
	return 0;
}

static void usage(FILE *out)
{
	fputs("usage: rdma_rename [--dry-run] DEVICE POLICY [NAME]\n"
	      "\n"
	      "Renames an RDMA device and prints its name. POLICY is NAME_FALLBACK, NAME_KERNEL,\n"
	      "NAME_ONBOARD, NAME_PCI, NAME_GUID or NAME_FIXED, which takes NAME: rdma_rename(8).\n"
	      "\n"
	      "  --dry-run   only print the name\n"
	      "  -v          nothing: what is wrong is always said\n"
	      "  -h, --help  this text\n"
	      "  --version   the version\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	bool dry_run = false;
	int c, how;

	while ((c = getopt_long(argc, argv, "vh", known, NULL)) >= 0) {
		if (c == 'h') {
			usage(stdout);
			return 0;
		}
		if (c == 'V') {
			version_print();
			return 0;
		}
		if (c != 'n' && c != 'v') {
			usage(stderr);
			return 2;
		}
		dry_run |= c == 'n';
	}
	argv += optind;
	argc -= optind;
	how = argc >= 2 ? name_policy_parse(argv[1]) : -EINVAL;
	if (how < 0 && argc >= 2) {
		refuse(argv[0], argv[1],
		       "no such policy, the device keeps its name; there are fallback, kernel, "
		       "onboard, pci, guid and fixed");
		return 2;
	}
	if (how < 0) {
		usage(stderr);
		return 2;
	}
	if (argc != (how == NAME_FIXED ? 3 : 2)) {
		refuse(argv[0], argv[1],
		       how == NAME_FIXED
			       ? "this policy needs one name behind it, the device keeps its name"
			       : "this policy takes no name, the device keeps its name");
		return 2;
	}
	return rename_device(argv[0], how, argv[2], dry_run);
}
