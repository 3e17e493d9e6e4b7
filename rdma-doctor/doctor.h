/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma-doctor: the rungs between a program and RDMA, looked at from the bottom up.
 *
 * A rung is a row of rungs.c and a check function in the file of its noun. Some look at the host,
 * the others at each device that still stands: a device falls on the first rung that fails for it.
 * A rung of devices has failed when the last one fell there. Nothing on the machine is changed.
 *
 *   rdma_doctor.c  options                    ladder.c   runs the rungs
 *   rungs.c        the table of rungs         report.c   text and JSON
 *   devices.c      the kernel's RDMA devices  finding.c  what a check found, in words
 *   host.c         files, container, unit     system.c   what is asked of the kernel
 *   trial.c        the library, tried         capture.c  what the library says meanwhile
 *   child.c        a process that may crash   hardware.c adapters on the PCI bus
 *   limit.c        limits of the rdma cgroup  describe.c a device in the JSON report
 *   ending.c       what ended a process
 *   paths.c, log.c stand for files of the library that discovery uses
 */
#ifndef RDMA_DOCTOR_DOCTOR_H
#define RDMA_DOCTOR_DOCTOR_H

#include "libibverbs/discovery/discovery.h"
#include "util/text.h"

enum finding_state {
	FINDING_OK,
	FINDING_NOTE,	  /* works, but is worth knowing */
	FINDING_UNSEEN,	  /* could not be looked at: the words say why */
	FINDING_UNNEEDED, /* does not matter here: the words say why */
	FINDING_FAILED,
};

struct finding {
	enum finding_state state;
	struct text what; /* what was found; of a failure: its cause */
	struct text fix;  /* a command or a setting; empty when there is nothing to do */
};

/* Append to the words, printable ASCII only, whatever the arguments contain. */
void finding_set(struct finding *f, enum finding_state state, const char *fmt, ...) _printf_(3, 4);
void finding_fix(struct finding *f, const char *fmt, ...) _printf_(2, 3);
#define finding_ok(f, ...)	 finding_set(f, FINDING_OK, __VA_ARGS__)
#define finding_note(f, ...)	 finding_set(f, FINDING_NOTE, __VA_ARGS__)
#define finding_unseen(f, ...)	 finding_set(f, FINDING_UNSEEN, __VA_ARGS__)
#define finding_unneeded(f, ...) finding_set(f, FINDING_UNNEEDED, __VA_ARGS__)
#define finding_fail(f, ...)	 finding_set(f, FINDING_FAILED, __VA_ARGS__)

/* Everything but printable ASCII becomes '?'. */
void text_make_printable(char *text);

struct rung;
struct doctor_userspace;

struct doctor_device {
	char name[IBV_SYSFS_NAME_MAX];
	struct verbs_device *verbs; /* as discovery has it; NULL: no uverbs character device */
	const struct verbs_provider *provider;
	const struct rung *fell; /* where; NULL: it stands */
	struct finding finding;	 /* of the fall */
};

/* Facts of the kernel's RDMA subsystem. */
struct rdma_system {
	int error;	     /* 0, or -errno of asking */
	bool mode_known;     /* RDMA netlink told the namespace mode */
	bool exclusive;	     /* a device belongs to one network namespace */
	bool copies_on_fork; /* pinned pages are copied for the child at fork() */
};

#define DOCTOR_DEVICES_MAX 256

struct doctor {
	const char *root;   /* prefix of every path that is looked at; "": this machine */
	bool live;	    /* the kernel and the library may be asked, not only files */
	const char *wanted; /* only this device; NULL: all */
	const char *pid;    /* whose limits: "self" or a number */
	bool strict;	    /* a note is a failure */
	bool all;	    /* show what does not matter here, too */

	unsigned int required_number; /* of the kernel's devices; 0: any */
	const char *required[DOCTOR_DEVICES_MAX];
	unsigned int required_count;

	struct verbs_device_list list;
	struct doctor_device devices[DOCTOR_DEVICES_MAX];
	unsigned int count;
	bool lost;			    /* an adapter has no device beside others that have */
	bool userspace_wanted;		    /* @wanted is a device of uroce */
	struct doctor_userspace *userspace; /* the devices that were tried; NULL without any */
	struct rdma_system system;
};

struct rung {
	const char *name;
	int exit_code;	   /* of the program when this is the first rung that failed */
	const char *about; /* what it looks at */
	/* One of the two: of the host, or of one device. */
	void (*check)(struct doctor *d, struct finding *f);
	void (*check_device)(struct doctor *d, struct doctor_device *dev, struct finding *f);
};

extern const struct rung rungs[];
extern const unsigned int rung_count;

/* ladder.c: look at everything. @findings: one a rung. */
void ladder_climb(struct doctor *d, struct finding *findings);
/* The rung that is being looked at; behind the last one: none. Seen by the parent of a child that
 * climbs. */
extern unsigned int *ladder_place;
/* Return: index of the first rung that failed, -1 when none did. */
int ladder_first_failure(const struct finding *findings);

/* report.c: to standard output. */
void report_text(const struct doctor *d, const struct finding *findings);
void report_json(const struct doctor *d, const struct finding *findings);

/* describe.c: the elements of "devices" in the JSON. */
void describe_device(const struct doctor_device *dev);
void describe_userspace(const struct doctor_userspace *dev);

/* devices.c */
void devices_find(struct doctor *d);
void devices_drop(struct doctor *d);
/* A device of uroce is wanted; the kernel cannot have it. */
bool devices_wanted_is_userspace(const struct doctor *d);
bool device_name_is_userspace(const char *name);
/* Find an examined device by any of its names, or return NULL. */
struct doctor_device *devices_find_named(struct doctor *d, const char *name);
/* Fit to be part of a path and of a line. */
bool device_name_usable(const char *name);
/* "<sysfs>/class/infiniband/<device>/<path>". Return: length of the text; -errno. */
int device_read(const struct doctor_device *dev, const char *path, char *buf, size_t size);

/* paths.c: take driver files and providers from below @root. Before the first use of them. */
void paths_set_root(const char *root);

/* log.c: the first line that discovery logged since the last call; "" when none. */
const char *log_take(void);
/* Behind the words that only say who speaks and how loud. */
const char *log_content(const char *line);

/* host.c */
int host_read(const struct doctor *d, const char *path, char *buf, size_t size);
bool host_exists(const struct doctor *d, const char *path);
bool sysfs_exists(const char *path);
/* The last part of where a link of sysfs points to; "" when there is none. */
void sysfs_link(const char *path, char *ret_name, size_t size);
/* Whether /dev was made for this process or its unit, in place of the host's. */
bool host_dev_is_private(const struct doctor *d);
enum host_place {
	HOST_PLAIN,
	HOST_CONTAINER,
	HOST_KUBERNETES,
	HOST_UNIT,
};
/* Where the process lives, whose limits count. @unit: its systemd unit, for HOST_UNIT. */
enum host_place host_place(const struct doctor *d, char *unit, size_t size);
bool host_in_container(const struct doctor *d);
/* Of the running kernel, printable; "unknown" when it cannot be read. */
void host_release(const struct doctor *d, char *release, size_t size);

/* system.c: what is asked of the kernel. */
void system_ask(struct rdma_system *ret_system);
/* Open for reading and writing, and close. Return: 0; -errno. */
int system_node_open(const char *path);
/* Whether the library can keep registered memory from children. Return: 0; -errno. */
int system_fork_init(void);
/* The shared library takes providers of the release this program was built with. @ret_path: its
 * file. */
bool system_library_is_ours(const char **ret_path);

/* uroce.c: the user-space device takes part here, and its provider is installed. */
bool uroce_serves(const struct doctor *d);

/* The checks, each in the file of its noun. */
void kernel_check(struct doctor *d, struct finding *f);
void netlink_check(struct doctor *d, struct finding *f);
void namespace_check(struct doctor *d, struct finding *f);
void device_check(struct doctor *d, struct finding *f);
void node_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void permission_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void provider_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void abi_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void port_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void gid_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void memlock_check(struct doctor *d, struct finding *f);
void fork_check(struct doctor *d, struct finding *f);
void rdma_cm_check(struct doctor *d, struct finding *f);
void uroce_check(struct doctor *d, struct finding *f);
void verbs_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void require_check(struct doctor *d, struct finding *f);

#endif
