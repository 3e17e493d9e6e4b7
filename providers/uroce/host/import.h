/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between a process that imports objects and the process that owns them. The descriptor of
 * a context (ibv_context.cmd_fd) is one end of a socket, called the import socket. The owner's
 * thread listens at the owner's end.
 *
 * A process that has the descriptor sends a new socket through the import socket and uses that from
 * then on; this connection is called a visit. The owner's object counts the visits that hold it. It
 * cannot be destroyed as long as the count is not 0. The end of a visit, also by the death of the
 * process, gives all its objects back.
 */
#ifndef UROCE_IMPORT_H
#define UROCE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/uroce/engine/engine.h"

struct uroce_context;
struct uroce_host;

enum import_what {
	IMPORT_VISIT, /* sent through the import socket, with a socket */
	IMPORT_PD,
	IMPORT_MR,
	IMPORT_DM,
};

enum {
	IMPORT_MAGIC = 0x75696d31,
};

struct import_ask {
	uint32_t magic;
	uint16_t what;	    /* enum import_what */
	uint16_t give_back; /* 1: the object is no longer needed */
	uint32_t handle;
	uint32_t pd_handle; /* protection domain that must contain the region */
};

/* The answer. The descriptor of the memory comes with it, except for a protection domain. */
struct import_answer {
	uint32_t magic;
	int32_t result; /* 0, or a negative errno */
	uint64_t length;
	uint64_t iova;
	uint64_t place; /* offset in the file, bytes */
	uint32_t access;
	uint32_t reserved;
};

/* The importing side of a visit. */
struct uroce_owner {
	pthread_mutex_t lock; /* protects domains, and one question with its answer at a time */
	int fd;		      /* socket of the visit; -1: the visit ended */
	LIST_HEAD(, import_domain) domains;
};

/*
 * Send or receive a message of fixed size with at most one descriptor over a packet socket. Never
 * blocks. @ret_fd: a descriptor that the caller closes, or -1. Return: -EPROTO if something else
 * was received; -ENODEV if the other end is closed; -EAGAIN.
 */
int uroce_import_send(int socket, const void *message, size_t size, int fd);
int uroce_import_receive(int socket, void *ret_message, size_t size, int *ret_fd);

/* Open the import socket of a context. The context's cmd_fd is the other end. */
int uroce_import_socket_open(struct uroce_context *ctx);
/* Close the import socket. Ends all visits. */
void uroce_import_socket_close(struct uroce_context *ctx);
/*
 * Return the context of this process whose import socket @cmd_fd leads to, or NULL if the import
 * socket belongs to another process.
 */
struct ibv_context *uroce_import_socket_context(struct uroce_host *host, int cmd_fd);
/* Return whether @cmd_fd leads to a context of this device, in any process. */
bool uroce_import_socket_is(const char *device_name, int cmd_fd);

/*
 * Find an object of @ctx by its handle and add a holder. Return: -ENOENT; -EINVAL if a region is
 * not in the domain @pd_handle.
 */
int uroce_import_hold_pd(const struct ibv_context *ctx, uint32_t handle, struct uroce_pd **ret);
int uroce_import_hold_mr(const struct ibv_context *ctx, uint32_t handle, uint32_t pd_handle,
			 struct uroce_key **ret);
int uroce_import_hold_dm(const struct ibv_context *ctx, uint32_t handle, struct uroce_dm **ret);
void uroce_import_release(struct uroce_host *host, enum import_what what, void *object);

#endif
