/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma-doctor: checks of all layers between a program and RDMA, from the bottom up. Each check is
 * called a rung.
 *
 * A rung is a row of rungs.c and a check function in the file of its noun. Some rungs check the
 * host, the others check each device that has passed all rungs so far. A device fails at its first
 * failing rung. A rung for devices fails if no device passes it. The program does not change the
 * machine.
 *
 *   rdma_doctor.c  options                    ladder.c   runs the rungs
 *   rungs.c        the table of rungs         report.c   text and JSON
 *   devices.c      the kernel's RDMA devices  finding.c  the text of a finding
 *   host.c         files, container, unit     system.c   queries of the kernel
 *   trial.c        trial of the library       capture.c  messages of the library
 *   child.c        a process that may crash   hardware.c adapters on the PCI bus
 *   limit.c        limits of the rdma cgroup  describe.c a device in the JSON report
 *   ending.c       causes of a process's end
 *   transfer.c     the rungs of --transfer    loopback.c two queue pairs of a device
 *   loopback_parts.c  the transfers between them
 *   watch.c        the rungs of --watch       counter.c  the meaning of counters
 *   sample.c       values of counters         netdev.c   counters of interfaces
 *   clock.c        the monotonic clock
 *   peer.c         the rungs of --peer        peer_side.c  device and flows of one side
 *   peer_client.c  --peer                     peer_server.c  --serve
 *   peer_message.c the messages between them  peer_pfc.c  PFC of both hosts
 *   gid_table.c    the GIDs of a device
 *   pcie.c, numa.c, power.c, dcb.c  the rungs of --speed
 *   dcb_query.c    PFC of an interface        dcb_answer.c  the kernel's answer
 *   paths.c, log.c replace files of the library that discovery uses
 */
#ifndef RDMA_DOCTOR_DOCTOR_H
#define RDMA_DOCTOR_DOCTOR_H

#include "libibverbs/discovery/discovery.h"
#include "util/text.h"

enum finding_state {
	FINDING_OK,
	FINDING_NOTE,	  /* works, but has a limitation */
	FINDING_UNSEEN,	  /* could not be checked: the text has the reason */
	FINDING_UNNEEDED, /* does not matter here: the text has the reason */
	FINDING_FAILED,
};

struct finding {
	enum finding_state state;
	struct text what; /* the finding; for a failure: its cause */
	struct text fix;  /* a command or a setting; empty if nothing has to be done */
};

/* Set the state, and append to the text. Only printable ASCII is kept. */
void finding_set(struct finding *f, enum finding_state state, const char *fmt, ...) _printf_(3, 4);
void finding_fix(struct finding *f, const char *fmt, ...) _printf_(2, 3);
/* Quote a name if it has characters that the shell would interpret. The text is valid until the
 * third call after this one. */
const char *finding_word(const char *name);
#define finding_ok(f, ...)	 finding_set(f, FINDING_OK, __VA_ARGS__)
#define finding_note(f, ...)	 finding_set(f, FINDING_NOTE, __VA_ARGS__)
#define finding_unseen(f, ...)	 finding_set(f, FINDING_UNSEEN, __VA_ARGS__)
#define finding_unneeded(f, ...) finding_set(f, FINDING_UNNEEDED, __VA_ARGS__)
#define finding_fail(f, ...)	 finding_set(f, FINDING_FAILED, __VA_ARGS__)

struct rung;
struct doctor_userspace;
struct transfer;
struct watch;
struct peer;

struct doctor_device {
	char name[IBV_SYSFS_NAME_MAX];
	struct verbs_device *verbs; /* from discovery; NULL: no uverbs character device */
	const struct verbs_provider *provider;
	const struct rung *fell; /* rung on which the device fell; NULL: none */
	struct finding finding;	 /* finding of that rung */
};

/* Facts of the kernel's RDMA subsystem. */
struct rdma_system {
	int error;	     /* 0 or -errno of the query */
	bool mode_known;     /* RDMA netlink reported the namespace mode */
	bool exclusive;	     /* a device belongs to one network namespace */
	bool copies_on_fork; /* pinned pages are copied for the child at fork() */
};

#define DOCTOR_DEVICES_MAX 1024

struct doctor {
	const char *root;   /* prefix of every examined path; "": this machine */
	bool live;	    /* queries of the kernel and the library are allowed, not only files */
	const char *wanted; /* only this device; NULL: all */
	const char *pid;    /* process whose limits are checked: "self" or a number */
	bool strict;	    /* a note is a failure */
	bool transfer_wanted;	    /* send data through a device */
	bool speed_wanted;	    /* check what makes a working host slow */
	const char *peer_host;	    /* send data to rdma-doctor --serve there; NULL: none */
	unsigned int watch_seconds; /* how long to watch counters; 0: not at all */
	bool all;		    /* also show rungs that do not matter here */

	unsigned int required_number; /* number of kernel devices; 0: any */
	const char *required[DOCTOR_DEVICES_MAX];
	unsigned int required_count;

	struct verbs_device_list list;
	struct doctor_device devices[DOCTOR_DEVICES_MAX];
	unsigned int count;
	bool too_many;			    /* the host has more devices than @devices */
	bool lost;			    /* an adapter has no device, but other adapters have */
	bool userspace_wanted;		    /* @wanted is a device of uroce */
	struct doctor_userspace *userspace; /* tried devices; NULL: none */
	struct transfer *transfer;	    /* its result; NULL: none */
	struct peer *peer;		    /* result of --peer; NULL: none */
	struct watch *watch;		    /* counters that are watched; NULL: none */
	struct rdma_system system;
};

struct rung {
	const char *name;
	int exit_code;	   /* of the program if this is the first failed rung */
	const char *about; /* subject of the check */
	bool speed;	   /* with --speed, a note is a failure */
	/* Exactly one is set: a check of the host, or of one device. */
	void (*check)(struct doctor *d, struct finding *f);
	void (*check_device)(struct doctor *d, struct doctor_device *dev, struct finding *f);
};

extern const struct rung rungs[];
extern const unsigned int rung_count;

/* ladder.c: run all checks. @findings: one for each rung. */
void ladder_climb(struct doctor *d, struct finding *findings);
/* The current rung, or behind the last rung: none. The parent of the checking child reads it. */
extern unsigned int *ladder_place;
/* Return the index of the first failed rung; -1: no rung failed. */
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
/* Return whether the wanted device belongs to uroce, so that the kernel cannot have it. */
bool devices_wanted_is_userspace(const struct doctor *d);
bool device_name_is_userspace(const char *name);
/* Return whether @wanted is the name of the device, its PCI address, its network interface or its
 * uverbs device. @uverbs: "" if it has none */
bool device_is_called(const char *name, const char *uverbs, const char *wanted);
/* Find an examined device by any of its names, or return NULL. */
struct doctor_device *devices_find_named(struct doctor *d, const char *name);
/* Return whether the name may be part of a path and of a line. */
bool device_name_usable(const char *name);
/* Read "<sysfs>/class/infiniband/<device>/<path>". Return: length of the text or -errno. */
int device_read(const struct doctor_device *dev, const char *path, char *buf, size_t size);

/*
 * paths.c: take driver files and providers from below @root. To be called before their first use.
 */
void paths_set_root(const char *root);

/* log.c: return the first line that discovery logged since the last call, or "". */
const char *log_take(void);
/* Return the message without its prefix of program and log level. */
const char *log_content(const char *line);

/* host.c */
int host_read(const struct doctor *d, const char *path, char *buf, size_t size);
bool host_exists(const struct doctor *d, const char *path);
bool sysfs_exists(const char *path);
/* Return whether the kernel has the class, and not only uroce-run, which makes files of its own. */
bool sysfs_has_class(const char *path);
/* Return whether uroce-run made the files of the device. */
bool sysfs_is_played(const char *device);
/* Return the last component of the target of a sysfs link; "" if there is no such link. */
void sysfs_link(const char *path, char *ret_name, size_t size);
/* Return whether this process or its unit has a /dev of its own instead of that of the host. */
bool host_dev_is_private(const struct doctor *d);
enum host_place {
	HOST_PLAIN,
	HOST_CONTAINER,
	HOST_KUBERNETES,
	HOST_UNIT,
};
/* Return the environment of the process whose limits are checked. @unit: its systemd unit, for
 * HOST_UNIT */
enum host_place host_place(const struct doctor *d, char *unit, size_t size);
bool host_in_container(const struct doctor *d);
/* Return the printable release of the running kernel; "unknown" if it cannot be read. */
void host_release(const struct doctor *d, char *release, size_t size);

/* system.c: query the kernel. */
void system_ask(struct rdma_system *ret_system);
/* Return whether the network namespace of this process has the interface. */
bool system_netdev_exists(const char *name);
/* Open for reading and writing, and close. Return: 0 or -errno. */
int system_node_open(const char *path);
/* Check whether the library can protect registered memory during fork(). Return: 0 or -errno. */
int system_fork_init(void);
/* Return whether the shared library has the provider interface of this program's release.
 * @ret_path: file of the library */
bool system_library_is_ours(const char **ret_path);

/* uroce.c: return whether the user-space device is enabled and its provider is installed. */
bool uroce_serves(const struct doctor *d);
/* Take back a failure of the kernel if uroce serves instead, or if the user asks for it. */
void uroce_instead(const struct doctor *d, struct finding *f);

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
void rc_check(struct doctor *d, struct finding *f);
void ud_check(struct doctor *d, struct finding *f);
void latency_check(struct doctor *d, struct finding *f);
void rate_check(struct doctor *d, struct finding *f);
void links_check(struct doctor *d, struct finding *f);
void drops_check(struct doctor *d, struct finding *f);
void losses_check(struct doctor *d, struct finding *f);
void receivers_check(struct doctor *d, struct finding *f);
void refusals_check(struct doctor *d, struct finding *f);
void congestion_check(struct doctor *d, struct finding *f);
void peer_check(struct doctor *d, struct finding *f);
void pair_check(struct doctor *d, struct finding *f);
void path_check(struct doctor *d, struct finding *f);
void path_mtu_check(struct doctor *d, struct finding *f);
void dscp_check(struct doctor *d, struct finding *f);
void slow_check(struct doctor *d, struct finding *f);
void loss_check(struct doctor *d, struct finding *f);
void pfc_check(struct doctor *d, struct finding *f);
void ecn_check(struct doctor *d, struct finding *f);
void pcie_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void ordering_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void numa_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void irq_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void iommu_check(struct doctor *d, struct doctor_device *dev, struct finding *f);
void power_check(struct doctor *d, struct finding *f);
void hugepages_check(struct doctor *d, struct finding *f);
void dcb_check(struct doctor *d, struct doctor_device *dev, struct finding *f);

#endif
