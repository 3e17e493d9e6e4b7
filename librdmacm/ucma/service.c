/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Services of an InfiniBand fabric. The kernel asks the subnet administrator for them. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/backend.h"
#include "librdmacm/cm.h"
#include "librdmacm/id.h"
#include "librdmacm/ucma/command.h"
#include "util/util.h"

enum {
	SERVICES_FIRST = 16, /* room of the first query, in records */
	SERVICES_MAX = 370,  /* an answer has at most 64 KiB */
};

_Static_assert(SERVICES_MAX * sizeof(struct ucma_user_service_rec) < UINT16_MAX - 8,
	       "a command's out");

/* Convert the error of kernels before 6.17, which have no such command. */
static int newer_command(struct cm_id *id, const char *what, int r)
{
	if (r != -EINVAL && r != -ENOSYS)
		return r;
	cm_err(id, "the kernel does not know how to %s", what);
	return -EOPNOTSUPP;
}

int ucma_resolve_service(struct cm_id *id, const struct cm_service *service)
{
	struct ucma_abi_resolve_ib_service cmd = {
		.ibs = {
			.service_id = service->id,
			.flags = service->name[0] ? UCMA_IB_SERVICE_FLAG_NAME
						  : UCMA_IB_SERVICE_FLAG_ID,
		},
	};

	memcpy(cmd.ibs.service_name, service->name, sizeof(cmd.ibs.service_name));
	return newer_command(id, "resolve IB services",
			     ucma_id_command(id, UCMA_CMD_RESOLVE_IB_SERVICE, &cmd, NO_ANSWER));
}

int ucma_write_event(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	struct ucma_abi_write_cm_event cmd = {
		.event = event,
		.status = status,
		.param.arg = arg,
	};

	return newer_command(id, "take events from programs",
			     ucma_id_command(id, UCMA_CMD_WRITE_CM_EVENT, &cmd, NO_ANSWER));
}

/* ------------------------------------------------------------------ records */

/* Return the address of a service: the GID that offers it, and the service id to connect to. */
static int addrinfo_of(const struct cm_id *id, const struct ucma_user_service_rec *record,
		       struct rdma_addrinfo **ret_info)
{
	struct rdma_addrinfo *info = calloc(1, sizeof(*info));
	struct sockaddr_ib *to = calloc(1, sizeof(struct sockaddr_storage));

	if (!info || !to) {
		free(info);
		free(to);
		return -ENOMEM;
	}
	*to = (struct sockaddr_ib){
		.sib_family = AF_IB,
		.sib_pkey = record->pkey,
		.sib_sid = record->id,
		.sib_sid_mask = htobe64(UINT64_MAX),
	};
	memcpy(&to->sib_addr, record->gid, sizeof(to->sib_addr));
	info->ai_family = AF_IB;
	info->ai_port_space = id->id.ps;
	info->ai_qp_type = id->id.qp_type;
	info->ai_dst_addr = (struct sockaddr *)to;
	info->ai_dst_len = sizeof(*to);
	*ret_info = info;
	return 0;
}

static int list_of(const struct cm_id *id, const struct ucma_user_service_rec *records,
		   uint32_t count, struct rdma_addrinfo **ret_list)
{
	struct rdma_addrinfo *list = NULL, **next = &list;

	for (uint32_t i = 0; i < count; i++) {
		int r = addrinfo_of(id, &records[i], next);

		if (r < 0) {
			rdma_freeaddrinfo(list);
			return r;
		}
		next = &(*next)->ai_next;
	}
	*ret_list = list;
	return list ? 0 : -ENOENT;
}

/*
 * Query with room for @room records. Return: 0, with *@ret_count the number of all records; -errno.
 */
static int records_ask(struct cm_id *id, struct ucma_abi_query_ib_service_resp *answer,
		       uint32_t room, uint32_t *ret_count)
{
	struct ucma_abi_query cmd = {
		.response = ucma_answer_at(answer),
		.option = UCMA_QUERY_IB_SERVICE,
	};
	int r = ucma_id_command(id, UCMA_CMD_QUERY, &cmd,
				sizeof(*answer) + room * sizeof(struct ucma_user_service_rec));

	if (!r)
		*ret_count = answer->num_service_recs;
	return r;
}

/* List the services, unless there are more than @room. Return: the number of services; -errno. */
static int records_list(struct cm_id *id, uint32_t room, struct rdma_addrinfo **ret_list)
{
	_cleanup_free_ struct ucma_abi_query_ib_service_resp *answer =
		calloc(1, sizeof(*answer) + room * sizeof(struct ucma_user_service_rec));
	uint32_t count = 0;
	int r = answer ? records_ask(id, answer, room, &count) : -ENOMEM;

	if (r < 0)
		return r;
	if (count > SERVICES_MAX)
		count = SERVICES_MAX;
	if (count <= room)
		r = list_of(id, answer->recs, count, ret_list);
	return r < 0 ? r : (int)count;
}

int ucma_query_services(struct cm_id *id, struct rdma_addrinfo **ret_info)
{
	int r = records_list(id, SERVICES_FIRST, ret_info);

	if (r > SERVICES_FIRST)
		r = records_list(id, SERVICES_MAX, ret_info);
	if (r == -ENODATA || r == -EINVAL) /* no service was resolved, or the kernel is older */
		return -ENOENT;
	return r < 0 ? r : 0;
}
