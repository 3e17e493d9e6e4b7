/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interfaces and addresses that come and go while the process runs. A user-space device is an
 * interface, so the list of devices is read again after each change: before an address is looked up
 * by a call, and by the thread, which opens new devices for listeners on any address.
 *
 * The kernel queues its message about a change before the call that made the change returns. A
 * socket without messages therefore proves that the list is right.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "librdmacm/device.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/listen.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/wake.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/util.h"

/*
 * @lock is held while the list is read and new devices are opened: before the manager's locks and
 * those of the core.
 * @fd: netlink; -1: not opened yet, or the system does not allow it
 * @open: @fd belongs to this process: a forked child must not take its parent's messages
 * @news: the list was read since new devices were last opened for listeners
 */
static struct {
	pthread_mutex_t lock;
	int fd;
	atomic_bool open;
	atomic_bool news;
} interfaces = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.fd = -1,
};

static int socket_open(void)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK,
					     .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
							  RTMGRP_IPV6_IFADDR };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address))) {
		log_info("rdma_cm: changes of interfaces are not reported to this process: %s",
			 strerror(errno));
		return -1;
	}
	return take_fd(&fd);
}

static void fork_child(void)
{
	atomic_store(&interfaces.open, false);
}

static void fork_watch(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/* Open the socket if needed. Return: whether it is new. Then earlier changes are unknown. */
static bool socket_need(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (atomic_load(&interfaces.open))
		return false;
	pthread_once(&once, fork_watch);
	if (interfaces.fd >= 0)
		close(interfaces.fd);
	interfaces.fd = socket_open();
	atomic_store(&interfaces.open, true);
	return true;
}

/* Take all messages without reading the changes in them. Return: whether there were messages. */
static bool socket_drain(void)
{
	bool any = false;
	char start; /* first byte of a message; recv() discards the rest */

	while (recv(interfaces.fd, &start, sizeof(start), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		any = true;
	return any;
}

static void follow_locked(void)
{
	bool changed = socket_need();

	if (interfaces.fd < 0 || socket_drain())
		changed = true;
	if (!changed)
		return;
	cm_devices_refresh();
	atomic_store(&interfaces.news, true);
}

void ibcm_interfaces_follow(void)
{
	_cleanup_cancel_ int cancel = cancel_off();

	if (ibcm_is_child())
		return;
	pthread_mutex_lock(&interfaces.lock);
	follow_locked();
	pthread_mutex_unlock(&interfaces.lock);
	/* This call may have taken the message that the thread waits for. */
	if (ibcm_interfaces_wanted())
		ibcm_wake();
}

void ibcm_interfaces_begin(void)
{
	if (!atomic_load(&interfaces.open))
		ibcm_interfaces_follow();
}

bool ibcm_interfaces_wanted(void)
{
	bool wanted;

	if (!atomic_load(&interfaces.news))
		return false;
	ibcm_lock();
	wanted = ibcm_listener_on_any();
	ibcm_unlock();
	return wanted;
}

void ibcm_interfaces_serve(void)
{
	struct ibcm_dev *any;

	pthread_mutex_lock(&interfaces.lock);
	follow_locked();
	if (ibcm_interfaces_wanted()) {
		atomic_store(&interfaces.news, false);
		(void)ibcm_dev_get_all(&any);
	}
	pthread_mutex_unlock(&interfaces.lock);
}

int ibcm_interfaces_fd(void)
{
	return interfaces.fd;
}

void ibcm_interfaces_fork_begin(void)
{
	pthread_mutex_lock(&interfaces.lock);
}

void ibcm_interfaces_fork_end(void)
{
	pthread_mutex_unlock(&interfaces.lock);
}
