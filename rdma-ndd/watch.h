/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the daemon sleeps on: devices, the host name, and signals. */
#ifndef RDMA_NDD_WATCH_H
#define RDMA_NDD_WATCH_H

enum watch_event {
	WATCH_DEVICES = 1 << 0,
	WATCH_HOSTNAME = 1 << 1,
	WATCH_RELOAD = 1 << 2, /* SIGHUP */
	WATCH_STOP = 1 << 3,   /* SIGTERM, SIGINT */
};

struct udev_monitor;

struct watch {
	struct udev_monitor *monitor; /* NULL: device events cannot be had */
	int hostname_fd;	      /* the caller's; -1: cannot be had */
	int signal_fd;
};

/*
 * From here on device events are kept, so that a look at the devices after it misses none; and the
 * four signals above are delivered here only.
 * Return: 0, -errno. That udev is missing is no error: watch->monitor is NULL.
 */
int watch_open(struct watch *watch, int hostname_fd);
void watch_close(struct watch *watch);

/*
 * Wait until something happened, and empty the queues of what did.
 * @timeout: milliseconds; -1 for ever
 * Return: OR of enum watch_event, 0 after the timeout or an interruption; -errno.
 */
int watch_wait(struct watch *watch, int timeout);

#endif
