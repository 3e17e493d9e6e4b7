/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The uroce device that does the work. */
#include "tests/adapters/lab/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern __thread bool libc_untouched;

static struct ibv_context *context;

bool model_on(void)
{
	static int on = -1;

	if (on < 0)
		on = getenv("DEVICES_BACKEND") && !getenv("DEVICES_TRACE");
	return on;
}

static void die(const char *what)
{
	fprintf(stderr, "devices: the model cannot work: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct ibv_context *open_uroce(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *found = NULL;

	for (int i = 0; list && list[i] && !found; i++) {
		if (!strncmp(ibv_get_device_name(list[i]), "uroce", 5))
			found = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	return found;
}

void model_open(void)
{
	bool before = libc_untouched;

	if (context)
		return;
	libc_untouched = true;
	context = open_uroce();
	libc_untouched = before;
	if (!context)
		die("no uroce device");
	fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
}

void model_forget(void)
{
	context = NULL;
}

struct ibv_context *model_context(void)
{
	return context;
}

void model_query_device(struct ibv_device_attr *ret_attr)
{
	if (ibv_query_device(context, ret_attr))
		die("query_device");
}

void model_query_port(struct ibv_port_attr *ret_attr)
{
	if (ibv_query_port(context, 1, ret_attr))
		die("query_port");
}

int model_query_gid(uint32_t index, union ibv_gid *ret_gid, const char **ret_type,
		    uint32_t *ret_interface)
{
	struct ibv_gid_entry entry;

	if (ibv_query_gid_ex(context, 1, index, &entry, 0))
		return ENODATA;
	*ret_gid = entry.gid;
	*ret_type = "RoCE v2";
	*ret_interface = entry.ndev_ifindex;
	return 0;
}

void model_query_odp(struct ib_uverbs_ex_query_device_resp *ret)
{
	struct ibv_device_attr_ex attr;

	if (!model_on())
		return;
	if (ibv_query_device_ex(context, NULL, &attr))
		die("query_device_ex");
	ret->odp_caps.general_caps = attr.odp_caps.general_caps;
	ret->odp_caps.per_transport_caps.rc_odp_caps = attr.odp_caps.per_transport_caps.rc_odp_caps;
	ret->odp_caps.per_transport_caps.uc_odp_caps = attr.odp_caps.per_transport_caps.uc_odp_caps;
	ret->odp_caps.per_transport_caps.ud_odp_caps = attr.odp_caps.per_transport_caps.ud_odp_caps;
	ret->xrc_odp_caps = attr.xrc_odp_caps;
	ret->max_dm_size = attr.max_dm_size;
}
