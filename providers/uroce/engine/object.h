/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects that are not queues: domains, regions, device memory, windows, addresses, channels. */
#ifndef UROCE_ENGINE_OBJECT_H
#define UROCE_ENGINE_OBJECT_H

#include <sys/queue.h>

#include "libibverbs/provider.h"
#include "providers/uroce/path/path.h"

struct uroce_key;

struct uroce_pd {
	union {
		struct ibv_pd pd;
		struct verbs_pd vpd;
	};
	LIST_ENTRY(uroce_pd) entry; /* in host->pds */
	/* regions, windows, QPs, SRQs and imports; freed only with none left */
	atomic_uint users;
};

struct uroce_mr {
	struct verbs_mr vmr;
	struct uroce_key *key;
	struct uroce_dm *dm; /* device memory of the region, or NULL */
	int segment;	     /* index of the segment that peers can map; -1: they cannot */
	/* Mapping of a region that was imported from another process. */
	void *mapped;
	size_t mapped_size;
};

/* Device memory: memory of this process, because the device has none. */
struct uroce_dm {
	struct verbs_dm vdm;
	LIST_ENTRY(uroce_dm) entry; /* in host->dms, unless imported */
	uint8_t *bytes;
	atomic_uint regions; /* regions of it, and imports; freed only with none left */
	/* object that was imported from this process; NULL: mapped from another process */
	struct uroce_dm *origin;
	size_t mapped_size;
};

struct uroce_mw {
	struct ibv_mw mw;
	struct uroce_key *key;
};

struct uroce_ah {
	struct ibv_ah ah;
	struct uroce_av av;
};

struct uroce_comp_channel {
	struct ibv_comp_channel channel;
	struct uroce_lock lock; /* protects writers of the pipe */
	struct uroce_pipe pipe; /* read end: channel.fd */
};

/* Memory of a queue: from the allocator of a parent domain, or from malloc() if @parent is NULL. */
struct uroce_memory {
	void *at;
	struct verbs_pd *parent;
	uint64_t type; /* enum uroce_resource_type */
};

#endif
