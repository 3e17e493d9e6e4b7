/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What processes say to each other about objects that one imports of the other. The descriptor of a
 * context (ibv_context.cmd_fd) is one end of a socket, the door; the owner's thread listens at the
 * other end. Who has the descriptor sends a socket of its own through it, and speaks by that: a
 * visit. Whatever an importing process holds is counted in the owner's object, which cannot be
 * destroyed meanwhile, and is given back when the visit ends, as it does at the process's death.
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
	IMPORT_VISIT, /* by the door, with a socket */
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
	uint16_t give_back; /* 1: it is no longer needed */
	uint32_t handle;
	uint32_t pd_handle; /* of the domain that a region has to be of */
};

/* With the descriptor of the memory, if it is not a domain. */
struct import_answer {
	uint32_t magic;
	int32_t result; /* 0, or a negative errno */
	uint64_t length;
	uint64_t iova;
	uint64_t place; /* bytes from the file's beginning */
	uint32_t access;
	uint32_t reserved;
};

/* The importing side of a visit. */
struct uroce_owner {
	pthread_mutex_t lock; /* of the conversation, and of the domains */
	int fd;		      /* -1: it ended */
	LIST_HEAD(, import_domain) domains;
};

/*
 * Messages of a fixed size with at most one descriptor, over a socket of packets; without waiting.
 * @ret_fd: the caller's, -1 for none. -EPROTO: something else came; -ENODEV: the other end is
 * closed; -EAGAIN.
 */
int uroce_import_send(int socket, const void *message, size_t size, int fd);
int uroce_import_receive(int socket, void *ret_message, size_t size, int *ret_fd);

/* A context's door; its cmd_fd is the other end. */
int uroce_door_open(struct uroce_context *ctx);
/* Everything that was imported of it is given back. */
void uroce_door_close(struct uroce_context *ctx);
/* The context of this process whose door @cmd_fd leads to; NULL: another process's. */
struct ibv_context *uroce_door_context(struct uroce_host *host, int cmd_fd);
/* Whether it leads to a context of this device, of whichever process. */
bool uroce_door_is(const char *device_name, int cmd_fd);

/* Objects of @ctx by handle, held by one more. -ENOENT; -EINVAL: not in the domain @pd_handle. */
int uroce_import_hold_pd(const struct ibv_context *ctx, uint32_t handle, struct uroce_pd **ret);
int uroce_import_hold_mr(const struct ibv_context *ctx, uint32_t handle, uint32_t pd_handle,
			 struct uroce_key **ret);
int uroce_import_hold_dm(const struct ibv_context *ctx, uint32_t handle, struct uroce_dm **ret);
void uroce_import_release(struct uroce_host *host, enum import_what what, void *object);

#endif
