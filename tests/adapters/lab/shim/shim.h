/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An LD_PRELOAD library that plays a kernel and a device to a process. Variables of the
 * environment:
 *
 * - DEVICES_DEVICE: a name of ALL_DEVICES in device/device.h, with '-' for '_' before a variant.
 *   Without it the shim does nothing.
 *
 * - DEVICES_SYSFS: folder in which each process gets a tree that announces the device.
 *   SYSFS_PATH is set to that tree.
 *
 * - DEVICES_BACKEND: run mode. The value is UROCE for the model's own copy of uroce, e.g. on:lo.
 *
 * - DEVICES_WIRE: run mode. The network interface by which frames of raw packet queues leave and
 *   arrive.
 *
 * - DEVICES_LATE: milliseconds that the model's threads sleep at the worst moment for messages.
 *
 * - DEVICES_TRACE: trace mode. The value is the file to write.
 *
 * - DEVICES_STORES: unseen makes registers plain memory in trace mode too, for counting
 *   instructions.
 *
 * - DEVICES_FAULT: COMMAND:ERRNO[:N] makes the N-th such command fail, with N=0 each one. MMAP
 *   is a command too.
 *
 * - DEVICES_WILD: a number from which wrong bytes in the driver's answers are derived.
 *
 * - DEVICES_ABI: write plays a kernel without the ioctl ABI.
 *
 * - DEVICES_HOST: words, separated by commas, that change the host: no-wc has no write
 *   combining, new-firmware has version 16.35.1, raw-numbers returns the firmware's numbers of
 *   raw packet queue pairs, out-of-order has mlx5's queue pairs whose data may arrive out of order,
 *   clock has a counter of mlx4, old-firmware has mlx5's completions of version 0,
 *   old-kernel answers as the drivers of Linux 5.4, all-capabilities advertises capabilities that
 *   some provider does not serve, large-pages has pages of 64 KiB, kernel-doorbells and
 *   no-status-page change the driver of cxgb4, steering-0 to steering-3 let
 *   software own mlx5's tables, with entries of this format, frames has raw packet queues of mlx5
 *   in run mode.
 */
#ifndef DEVICES_SHIM_H
#define DEVICES_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "tests/adapters/lab/device/device.h"

/* sysfs.c: write the tree once, before the process reads it. */
void sysfs_announce(void);

/* command.c: one write() or ioctl() on the command descriptor; 0 or a positive errno. */
int command_write(int fd, const void *bytes, size_t length);
int command_ioctl(int fd, struct ib_uverbs_ioctl_hdr *call);
/* Runs the handler of a struct command. */
int command_run(uint32_t number, struct command *command);
/* Write the driver's part of a request into the trace. */
void command_trace(enum request_kind kind, const struct command *command);

/* native.c: methods whose attributes are typed. */
int native_run(struct ib_uverbs_ioctl_hdr *call);

/* event.c */
int event_channel_new(int *ret_fd);
int event_async_new(int *ret_fd);
/* The next command belongs to the context with this descriptor, and so do objects that it
 * creates. */
void event_context(int fd);
/* Return the reader of that context's asynchronous events; 0: the context has asked for none. */
int event_async_reader(void);
/* Whether @fd is the process's end of a channel. Called without the lock. */
bool event_has(int fd);
void event_close(int fd);
/* Write a record to the reader of the channel. */
void event_write(int reader, const void *record, size_t length);
void event_completion(struct object *cq);
void event_async(struct object *object, int event);
/* Whether the CQ's channel has an event that the process has not read. */
bool event_is_unread(const struct object *cq);
/* Withdraw the events that the process has not read; event_count[] then counts those it read. */
void event_withdraw(struct object *object);

/* netlink.c, RDMA netlink. Open a socket or return -1; test a descriptor; answer a request. */
struct msghdr;
int rdma_netlink_open(int type);
bool rdma_netlink_is(int fd);
void rdma_netlink_close(int fd);
ssize_t rdma_netlink_send(int fd, const struct msghdr *msg);

/* fault.c: return the errno with which this command must fail, or 0. */
int fault_of(const char *command);
/* Whether DEVICES_HOST has this word. */
bool host_is(const char *word);
/* The bytes of a page of the kernel. */
size_t host_page(void);
/* The bytes of a driver's answer: @now, or @then on an old kernel. */
size_t host_answer(size_t now, size_t then);
/* Spoil a driver's answer as DEVICES_WILD demands. */
void fault_spoil(void *answer, size_t length);

/* The functions of the libc below the shim. */
int real_open(const char *path, int flags, mode_t mode);
int real_close(int fd);
ssize_t real_write(int fd, const void *bytes, size_t length);
int real_socket(int domain, int type, int protocol);

#endif
