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
	LIST_ENTRY(uroce_pd) entry; /* of host->pds */
	/* regions, windows, QPs, SRQs and views by who imported it: freed with none left */
	atomic_uint users;
};

struct uroce_mr {
	struct verbs_mr vmr;
	struct uroce_key *key;
	struct uroce_dm *dm; /* whose memory it is, or NULL */
	int segment;	     /* memory that peers can map: its index; -1: they cannot */
	/* Of another process's, imported: where it is mapped. */
	void *mapped;
	size_t mapped_size;
};

/* Device memory: this process's, for there is no other. */
struct uroce_dm {
	struct verbs_dm vdm;
	LIST_ENTRY(uroce_dm) entry; /* of host->dms, unless imported */
	uint8_t *bytes;
	atomic_uint regions;	 /* of it, and views by who imported it: freed with none left */
	struct uroce_dm *origin; /* of an imported one: this process's; NULL: another's, mapped */
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
	struct uroce_lock lock; /* writers of the pipe */
	struct uroce_pipe pipe; /* its read end is channel.fd */
};

/* Memory of a queue: of a parent domain's allocator, or of malloc() with @parent NULL. */
struct uroce_memory {
	void *at;
	struct verbs_pd *parent;
	uint64_t type; /* enum uroce_resource_type */
};

#endif
