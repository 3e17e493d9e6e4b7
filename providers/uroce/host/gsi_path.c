/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths of MADs to other hosts. A path is looked up at most once a second for each destination,
 * because a lookup reads the host's addresses and routes, and a manager may answer a thousand
 * requests a second.
 */
#include <string.h>

#include "providers/uroce/host/av.h"
#include "providers/uroce/host/gsi.h"

#define PATH_LIFE 1000000000ull /* ns */

static struct gsi_path *path_place(struct gsi_paths *paths, const struct verbs_gsi_mad *mad)
{
	uint64_t half[2];

	memcpy(half, mad->remote_gid.raw, sizeof(half));
	return &paths->place[((half[0] ^ half[1]) * 0x9e3779b97f4a7c15ull >> 32 ^ mad->sgid_index) %
			     GSI_PATHS];
}

static bool path_is(const struct gsi_path *path, const struct verbs_gsi_mad *mad, uint64_t now)
{
	return now < path->until && path->av.sgid_index == mad->sgid_index &&
	       path->av.route.traffic_class == mad->traffic_class &&
	       !memcmp(&path->dgid, &mad->remote_gid, sizeof(path->dgid)) &&
	       !memcmp(&path->av.route.sgid, &mad->local_gid, sizeof(mad->local_gid));
}

int uroce_gsi_path(struct uroce_dev *dev, struct gsi_paths *paths, const struct verbs_gsi_mad *mad,
		   struct uroce_av *ret_av)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = mad->port_num,
		.grh = { .dgid = mad->remote_gid,
			 .sgid_index = mad->sgid_index,
			 .hop_limit = 64,
			 .traffic_class = mad->traffic_class },
	};
	uint64_t now = uroce_now();
	struct gsi_path *path = path_place(paths, mad), found;
	int r;

	pthread_mutex_lock(&paths->lock);
	found = *path;
	pthread_mutex_unlock(&paths->lock);
	if (path_is(&found, mad, now)) {
		*ret_av = found.av;
		return 0;
	}
	r = uroce_av_resolve(dev, &attr, 0, &found.av);
	if (r < 0)
		return r;
	found.dgid = mad->remote_gid;
	found.until = now + PATH_LIFE;
	pthread_mutex_lock(&paths->lock);
	*path = found;
	pthread_mutex_unlock(&paths->lock);
	*ret_av = found.av;
	return 0;
}
