/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A machine that rdma-doctor examines: a folder with the files of a healthy host with one RoCE
 * device, and a kernel and library that answer as the test demands. Each test breaks one part of
 * it. */
#ifndef TESTS_UNIT_DOCTOR_WORLD_H
#define TESTS_UNIT_DOCTOR_WORLD_H

#include "tests/unit/unit.h"

#include "rdma-doctor/dcb.h"
#include "rdma-doctor/peer.h"
#include "rdma-doctor/transfer.h"

/* Kernel driver ids of the driver files in the machine. Only the provider of WORLD_GOOD loads. */
enum world_driver {
	WORLD_GOOD = 77,
	WORLD_WRONG_ABI,
	WORLD_NO_LIBRARY,
	WORLD_MISSING,
	WORLD_OTHER_RELEASE,
	WORLD_UNKNOWN,
};

struct world_device {
	const char *name, *node;
	uint32_t driver_id, abi;
};

struct world {
	char root[PATH_MAX];
	struct doctor doctor;

	/* Answers. */
	struct rdma_system system;
	/* devices that RDMA netlink reports, up to a device without a name */
	struct world_device devices[4];
	bool netdev_elsewhere; /* interfaces belong to another network namespace */
	int open_error, fork_error;
	bool other_library;	       /* the shared library is of another release */
	struct trial trial;	       /* of every device */
	struct trial_device listed[4]; /* by the library */
	struct transfer transfer;      /* of every device */
	struct dcb dcb;		       /* of every interface */
	struct peer peer;
};

extern struct world world;

/* Functions for cmocka: create a healthy machine, and remove it. */
int world_setup(void **state);
int world_teardown(void **state);

/* Change the machine. Paths are below its root. */
void world_write(const char *path, const char *text);
void world_remove(const char *path);
void world_link(const char *path, const char *target);

/* Add a second device, like the first, with the name and node @name and @node. */
void world_add(const char *name, const char *node);

/* Run the examination. */
void world_look(void);
const struct finding *world_finding(const char *rung);

/* Check that the first failure is @rung with the exit code @code; @cause and @fix occur in its
 * text. */
void expect_failure(const char *rung, int code, const char *cause, const char *fix);
/* Check that no rung failed and that @rung is in @state with @words. */
void expect_state(const char *rung, enum finding_state state, const char *words);

#endif
