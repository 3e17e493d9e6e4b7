/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the program verdicts. */
#ifndef TESTS_VM_VERDICTS_H
#define TESTS_VM_VERDICTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

extern struct bench {
	struct ibv_context *ctx;
	struct ibv_context *other; /* of the same device */
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* region of buf */
	char buf[1 << 16] __attribute__((aligned(4096)));
} b;

/* End the program if a call failed. */
void must(bool good, const char *what);
/* Print the line of one request. */
__attribute__((format(printf, 2, 3))) void say(int error, const char *fmt, ...);

/* The errno of a call that just returned this pointer. */
#define ERROR_OF(pointer) ((pointer) ? 0 : errno)

/* verdicts_objects.c */
void try_queries(void);
void try_objects(void);

/* verdicts_qp.c */
void try_create_qp(void);
void try_modify_qp(void);
/* Return a queue pair in @state; qp_connect() connects it to @dest. */
struct ibv_qp *qp_in(enum ibv_qp_type type, enum ibv_qp_state state, struct ibv_srq *srq);
void qp_connect(struct ibv_qp *qp, uint32_t dest);

/* verdicts_post.c */
void try_posts(void);

#endif
