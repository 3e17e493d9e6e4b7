/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <libudev.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "rdma-ndd/report.h"
#include "rdma-ndd/watch.h"
#include "util/util.h"

/* Listen to events that udev has processed: its rules have already renamed the device. */
static struct udev_monitor *monitor_open(void)
{
	struct udev *udev = udev_new();
	struct udev_monitor *monitor = udev ? udev_monitor_new_from_netlink(udev, "udev") : NULL;

	if (monitor &&
	    (udev_monitor_filter_add_match_subsystem_devtype(monitor, "infiniband", NULL) < 0 ||
	     udev_monitor_enable_receiving(monitor) < 0)) {
		udev_monitor_unref(monitor);
		monitor = NULL;
	}
	/* The monitor has its own reference. */
	udev_unref(udev);
	return monitor;
}

static int signals_open(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int watch_open(struct watch *watch, int hostname_fd)
{
	int signal_fd = signals_open();

	if (signal_fd < 0)
		return signal_fd;
	*watch = (struct watch){
		.monitor = monitor_open(),
		.hostname_fd = hostname_fd,
		.signal_fd = signal_fd,
	};
	return 0;
}

void watch_close(struct watch *watch)
{
	if (watch->monitor)
		udev_monitor_unref(watch->monitor);
	close(watch->signal_fd);
}

/*
 * Discard the events, because only their arrival counts. NULL means that the queue is empty or has
 * overflowed.
 */
static void monitor_drain(struct udev_monitor *monitor)
{
	struct udev_device *device;

	while ((device = udev_monitor_receive_device(monitor))) {
		const char *action = udev_device_get_action(device);
		const char *name = udev_device_get_sysname(device);

		report(LOG_DEBUG, "event: %s %s", action ? action : "?", name ? name : "?");
		udev_device_unref(device);
	}
}

static int signals_drain(int fd)
{
	struct signalfd_siginfo info;
	int events = 0;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		events |= info.ssi_signo == SIGHUP ? WATCH_RELOAD : WATCH_STOP;
	return events;
}

int watch_wait(struct watch *watch, int timeout)
{
	/* poll() ignores negative descriptors. */
	struct pollfd fds[] = {
		{ .fd = watch->signal_fd, .events = POLLIN },
		{ .fd = watch->hostname_fd, .events = POLLPRI },
		{ .fd = watch->monitor ? udev_monitor_get_fd(watch->monitor) : -1,
		  .events = POLLIN },
	};
	int events = 0;

	if (poll(fds, ARRAY_SIZE(fds), timeout) < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (fds[0].revents)
		events |= signals_drain(watch->signal_fd);
	if (fds[1].revents)
		events |= WATCH_HOSTNAME;
	if (fds[2].revents) {
		events |= WATCH_DEVICES;
		monitor_drain(watch->monitor);
	}
	return events;
}
