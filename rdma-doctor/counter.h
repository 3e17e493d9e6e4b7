/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of devices and interfaces: their meaning, and their values at a moment. */
#ifndef RDMA_DOCTOR_COUNTER_H
#define RDMA_DOCTOR_COUNTER_H

#include <net/if.h>

#include "rdma-doctor/doctor.h"

/* Each kind except the first two has a rung of --watch. */
enum counter_kind {
	COUNTER_OTHER,	 /* unknown */
	COUNTER_TRAFFIC, /* packets, bytes and requests in order */
	COUNTER_LINK,
	COUNTER_DROP,
	COUNTER_LOSS,
	COUNTER_RECEIVER,
	COUNTER_REFUSED,
	COUNTER_CONGESTION,
	COUNTER_KINDS,
};

struct counter_meaning {
	const char *pattern; /* of fnmatch() */
	enum counter_kind kind;
	enum finding_state state; /* of the rung if the counter moved */
	const char *text;
};

/* counter.c: return the meaning of a counter. The meaning of an unknown counter has an empty text.
 */
const struct counter_meaning *counter_meaning(const char *name);
const char *counter_kind_name(enum counter_kind kind);

enum counter_source {
	SOURCE_HW_COUNTERS, /* "hw_counters" of the device or of a port */
	SOURCE_COUNTERS,    /* "counters" of a port */
	SOURCE_STATISTICS,  /* "statistics" of an interface, and its changes of the carrier */
	SOURCE_ETHTOOL,	    /* statistics of the driver of an interface */
	SOURCE_UDP,	    /* UDP of this network namespace */
	SOURCE_UROCE,	    /* the device in user space of --transfer */
};

#define COUNTER_NAME 48

struct counter {
	char name[COUNTER_NAME];
	/* RDMA device or network interface; "" for UDP */
	char owner[IBV_SYSFS_NAME_MAX];
	unsigned int port; /* 0: of the device or of the interface */
	enum counter_source source;
	uint64_t value;
};

struct sample {
	struct counter *counters;
	unsigned int count, room;
};

/* sample.c: read all counters of the examined devices. A sample that runs out of memory ends early.
 */
void sample_take(const struct doctor *d, struct sample *ret_sample);
/* Read the counters of a port, and of UDP. */
void sample_port(const struct doctor *d, const char *device, unsigned int port,
		 struct sample *ret_sample);
void sample_drop(struct sample *sample);
void sample_add(struct sample *sample, const struct counter *counter);
/* Find the same counter of another sample, or return NULL. @place: where it probably is */
const struct counter *sample_find(const struct sample *sample, const struct counter *counter,
				  unsigned int place);
const char *counter_source_name(enum counter_source source);

/* netdev.c: add the statistics of an interface and of its driver. Return: 0 or -errno. */
int system_netdev_sample(const char *netdev, struct sample *sample);
/* Run a command of ethtool, whose structure is @data. Return: 0 or -errno. */
int netdev_ethtool(const char *netdev, void *data);

#endif
