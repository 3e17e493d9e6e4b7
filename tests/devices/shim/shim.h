/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A kernel and a device, played to a process by LD_PRELOAD. The environment says which:
 *
 * - DEVICES_DEVICE: mlx5, mlx5-dynamic, mlx5-full, mlx4, mlx4-ib, efa, vmw_pvrdma, mana; without it
 *   the shim does nothing
 * - DEVICES_SYSFS: a folder, where each process gets a tree that announces the device; SYSFS_PATH
 *   names it
 * - DEVICES_BACKEND: run mode: what UROCE is to the model's own uroce, e.g. on:lo
 * - DEVICES_LATE: milliseconds that the model's threads lose where that is the worst for messages
 * - DEVICES_TRACE: trace mode: the file to write
 * - DEVICES_STORES: unseen: registers are plain memory in trace mode, too, for counting
 *   instructions
 * - DEVICES_FAULT: COMMAND:ERRNO[:N]: the N-th such command fails, with 0 each; MMAP is one
 * - DEVICES_WILD: a number: drivers answer with wrong bytes, which depend on it
 * - DEVICES_ABI: write: a kernel without the ioctl ABI
 * - DEVICES_HOST: words, separated by commas, that make the host another one: no-wc has no write
 *   combining, new-firmware has version 16.35.1,
 *   raw-numbers tells the firmware's numbers of raw packet queue pairs
 */
#ifndef DEVICES_SHIM_H
#define DEVICES_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "tests/devices/device/device.h"

/* sysfs.c: writes the tree once, before anybody reads in it. */
void sysfs_announce(void);

/* command.c: one write() or ioctl() on the command descriptor; 0 or a positive errno. */
int command_write(int fd, const void *bytes, size_t length);
int command_ioctl(int fd, struct ib_uverbs_ioctl_hdr *call);
/* Runs the handler of a struct command. */
int command_run(uint32_t number, struct command *command);
/* Says the driver's part of a request in the trace. */
void command_trace(enum request_kind kind, const struct command *command);

/* native.c: methods whose attributes are typed. */
int native_run(struct ib_uverbs_ioctl_hdr *call);

/* event.c */
int event_channel_new(int *ret_fd);
int event_async_new(int *ret_fd);
/* The command that comes now is of the context with this descriptor, and what it makes, too. */
void event_context(int fd);
/* Where that context reads its asynchronous events; 0: it has not asked for any. */
int event_async_reader(void);
/* Whether this is the process's end of a channel; without the lock. */
bool event_has(int fd);
void event_close(int fd);
/* A record for who reads the channel. */
void event_write(int reader, const void *record, size_t length);
void event_completion(struct object *cq);
void event_async(struct object *object, int event);
/* Whether the CQ's channel has an event that the process has not read. */
bool event_is_unread(const struct object *cq);
/* Takes back what the process has not read; event_count[] is then what it has. */
void event_withdraw(struct object *object);

/* netlink.c: RDMA netlink. A new socket, or -1; whether it is one; a request on it. */
struct msghdr;
int rdma_netlink_open(int type);
bool rdma_netlink_is(int fd);
void rdma_netlink_close(int fd);
ssize_t rdma_netlink_send(int fd, const struct msghdr *msg);

/* fault.c: the errno that this command is to fail with, or 0. */
int fault_of(const char *command);
/* Whether DEVICES_HOST has this word. */
bool host_is(const char *word);
/* What a driver that has gone wild makes of its answer. */
void fault_spoil(void *answer, size_t length);

/* The libc's own, below the shim. */
int real_open(const char *path, int flags, mode_t mode);
int real_close(int fd);
ssize_t real_write(int fd, const void *bytes, size_t length);
int real_socket(int domain, int type, int protocol);

#endif
