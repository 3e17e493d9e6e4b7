/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interfaces that have a device: those that UROCE names, or all that have an address. */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "providers/uroce/host/interface.h"
#include "providers/uroce/host/interface_list.h"
#include "providers/uroce/host/process.h"
#include "util/env.h"
#include "util/netlink.h"

enum {
	INTERFACES_MAX = 1024, /* as many as the kernel's device has */
};

/* --- a set of interfaces, in the order of their devices --- */

struct choice {
	unsigned int index[INTERFACES_MAX];
	unsigned int count;
	unsigned int room;     /* entries that may be used now */
	unsigned int left_out; /* interfaces for which there was no room */
};

static bool choice_has(const struct choice *choice, unsigned int index)
{
	for (unsigned int i = 0; i < choice->count; i++)
		if (choice->index[i] == index)
			return true;
	return false;
}

static void choice_add(struct choice *choice, unsigned int index)
{
	if (choice_has(choice, index))
		return;
	if (choice->count < choice->room)
		choice->index[choice->count++] = index;
	else
		choice->left_out++;
}

/* Log once in a process, because programs list devices often. */
static void left_out_log(const struct choice *choice)
{
	static atomic_flag logged = ATOMIC_FLAG_INIT;

	if (choice->left_out && !atomic_flag_test_and_set(&logged))
		log_warn(
			"uroce: %u interfaces have no device, because there are %u already: name the interfaces that "
			"need one, as in UROCE=on:eth0,lo",
			choice->left_out, choice->count);
}

/* --- interfaces by name --- */

/* Return the index of the interface whose device has this name; 0: there is none. */
static unsigned int index_of_device(const char *name)
{
	struct if_nameindex *all = if_nameindex();
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int index = 0;

	for (const struct if_nameindex *i = all; i && i->if_index && !index; i++) {
		uroce_device_name(i->if_name, device);
		if (!strcmp(device, name))
			index = i->if_index;
	}
	if (all)
		if_freenameindex(all);
	return index;
}

static void choice_by_name(struct choice *choice, const char *name)
{
	unsigned int index;

	errno = 0;
	index = strlen(name) < IF_NAMESIZE ? if_nametoindex(name) : 0;
	if (!index)
		index = index_of_device(name);
	if (index)
		choice_add(choice, index);
	else if (uroce_call_is_denied(errno))
		(void)uroce_call_failed("socket");
	else
		log_err("uroce: no interface '%s' in this network namespace (named in UROCE)",
			name);
}

/* Choose the interfaces named after the colon of "policy:eth0,eth1". */
static int choice_from_text(struct choice *choice, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *name;

	if (!copy)
		return -ENOMEM;
	if (!text[strspn(text, ", ")])
		log_err("uroce: UROCE names no interface behind ':': UROCE=on:INTERFACE, or "
			"UROCE=on for all");
	while ((name = strsep(&rest, ", ")))
		if (*name)
			choice_by_name(choice, name);
	return 0;
}

/* --- interfaces with an address --- */

/* Return whether processes of other hosts can use the interface. */
static bool interface_usable(int fd, unsigned int index)
{
	struct ifreq req = {};

	return if_indextoname(index, req.ifr_name) && !ioctl(fd, SIOCGIFFLAGS, &req) &&
	       (req.ifr_flags & IFF_UP) && !(req.ifr_flags & IFF_LOOPBACK);
}

/* A pass over the addresses of this network namespace. */
struct reading {
	struct choice *choice;
	int fd;
	unsigned int last; /* index of the last address: the kernel lists by interface */
	bool link_local;   /* choose interfaces with link-local addresses as well */
};

static int address_answer(struct nlmsghdr *hdr, void *arg)
{
	struct reading *reading = arg;
	const struct ifaddrmsg *message = NLMSG_DATA(hdr);

	if (!netlink_has(hdr, sizeof(*message)))
		return -EBADMSG;
	if ((message->ifa_family != AF_INET && message->ifa_family != AF_INET6) ||
	    message->ifa_index == reading->last ||
	    (message->ifa_scope == RT_SCOPE_LINK && !reading->link_local))
		return 0;
	reading->last = message->ifa_index;
	if (!choice_has(reading->choice, message->ifa_index) &&
	    interface_usable(reading->fd, message->ifa_index))
		choice_add(reading->choice, message->ifa_index);
	return 0;
}

static int addresses_pass(struct nl_sock *sock, struct reading *reading)
{
	struct ifaddrmsg header = { .ifa_family = AF_UNSPEC };
	_cleanup_nl_msg_ struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETADDR, NLM_F_DUMP);

	if (!msg || nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO))
		return -ENOMEM;
	return netlink_ask(sock, msg, address_answer, reading);
}

/*
 * Choose the interfaces that have an address beyond the link scope. If there are none, choose
 * others.
 */
static int choice_addressed(struct choice *choice)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct reading reading = { .choice = choice, .fd = fd };
	int r = fd < 0 ? uroce_call_failed("socket") : netlink_open(NETLINK_ROUTE, &sock);

	for (int pass = 0; pass < 2 && !r; pass++) {
		reading.link_local = pass;
		reading.last = 0;
		r = addresses_pass(sock, &reading);
	}
	return r;
}

/* lo is always usable, even if down, because processes of one host need no network. */
static int choice_usable(struct choice *choice)
{
	unsigned int lo = if_nametoindex("lo");
	int r;

	choice->room = INTERFACES_MAX - 1;
	r = choice_addressed(choice);
	choice->room = INTERFACES_MAX;
	if (lo)
		choice_add(choice, lo);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn("uroce: the addresses of this network namespace cannot be read: %s",
			 strerror(-r));
	return 0;
}

static int interfaces_choose(struct choice *choice)
{
	const char *text = env_get(ENV_UROCE);
	const char *names = text ? strchr(text, ':') : NULL;

	choice->room = INTERFACES_MAX;
	return names ? choice_from_text(choice, names + 1) : choice_usable(choice);
}

/* --- devices --- */

/*
 * Return the EUI-64 of the MAC address. lo has no MAC address and gets a locally administered
 * EUI-64.
 */
static uint64_t interface_guid(const struct uroce_interface *i)
{
	uint8_t guid[8] = { i->mac[0] ^ 2, i->mac[1], i->mac[2], 0xff,
			    0xfe,	   i->mac[3], i->mac[4], i->mac[5] };
	uint64_t r;

	if (i->loopback)
		guid[7] = 1;
	memcpy(&r, guid, sizeof(r));
	return r;
}

static int device_add(struct verbs_device_list *list, unsigned int index)
{
	struct uroce_interface i;
	struct verbs_device *device;
	char name[IF_NAMESIZE];

	/* The interface may have been removed since it was listed. */
	if (!if_indextoname(index, name) || uroce_interface_query(name, &i) < 0)
		return 0;
	device = calloc(1, sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->index = -1;
	device->node_guid = interface_guid(&i);
	device->private_data = i.index;
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	uroce_device_name(i.name, device->device.name);
	memcpy(device->device.dev_name, device->device.name, sizeof(device->device.dev_name));
	verbs_device_add(list, device);
	return 0;
}

int uroce_list_devices(struct verbs_device_list *list)
{
	_cleanup_free_ struct choice *choice = calloc(1, sizeof(*choice));
	int r = choice ? interfaces_choose(choice) : -ENOMEM;

	uroce_host_follow();
	for (unsigned int i = 0; !r && i < choice->count; i++)
		r = device_add(list, choice->index[i]);
	if (!r)
		left_out_log(choice);
	return r;
}
