/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that the daemon waits for: devices, the host name, and signals. */
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
	struct udev_monitor *monitor; /* NULL: the system offers no device events */
	/* descriptor that belongs to the caller; -1: the system offers none */
	int hostname_fd;
	int signal_fd;
};

/*
 * Start to queue device events, so that no event between this call and a later check of the devices
 * is lost. From now on only watch_wait() receives the four signals above. Return: 0; -errno. A
 * system without udev is no error: watch->monitor is NULL.
 */
int watch_open(struct watch *watch, int hostname_fd);
void watch_close(struct watch *watch);

/*
 * Wait for an event, and empty the queues of events.
 * @timeout: milliseconds; -1 for ever
 * Return: OR of enum watch_event, 0 after the timeout or an interruption; -errno.
 */
int watch_wait(struct watch *watch, int timeout);

#endif
