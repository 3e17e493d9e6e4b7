/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses by service record: RAI_SA. The subnet administrator of a fabric answers the query of an
 * identifier that is bound to a port of the fabric.
 */
#include <endian.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/backend.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "util/log.h"

/* Parse a service: a number or a name. */
static int service_of(const char *service, struct cm_service *ret_service)
{
	char *end;
	uint64_t number;

	if (!service || !*service || strlen(service) >= sizeof(ret_service->name))
		return -EINVAL;
	number = strtoull(service, &end, 0);
	*ret_service = (struct cm_service){ .id = *end ? 0 : number };
	if (*end)
		strcpy(ret_service->name, service);
	return 0;
}

int cm_service_resolve(struct cm_id *id, const char *service)
{
	struct cm_service wanted;
	int r = service_of(service, &wanted);

	if (!r)
		r = cm_need_backend(id, "rdma_resolve_addrinfo");
	if (r < 0)
		return r;
	if (!id->backend->resolve_service)
		return cm_unsupported(id, "asking the subnet administrator for a service");
	r = id->backend->resolve_service(id, &wanted);
	return r < 0 ? r : cm_sync_wait(id);
}

/* ------------------------------------------------------------------ without an identifier */

struct search {
	const char *service;
	const struct rdma_addrinfo *hints;
	struct rdma_addrinfo *list, **next;
	bool infiniband; /* an InfiniBand port was found */
	int error;	 /* error of the last port that gave no answer */
};

static int port_ask(struct cm_id *id, const union ibv_gid *gid, struct search *search)
{
	struct sockaddr_ib port = { .sib_family = AF_IB, .sib_pkey = htobe16(0xffff) };
	int r;

	memcpy(&port.sib_addr, gid->raw, sizeof(port.sib_addr));
	r = cm_addr_bind(id, (struct sockaddr *)&port);
	if (!r)
		r = cm_service_resolve(id, search->service);
	if (!r && !id->backend->query_services)
		r = -EOPNOTSUPP;
	return r < 0 ? r : id->backend->query_services(id, search->next);
}

static int port_search(struct cm_device *dev, uint8_t port_num, struct search *search)
{
	int qp_type = search->hints->ai_qp_type ? search->hints->ai_qp_type : IBV_QPT_RC;
	union ibv_gid gid;
	struct cm_id *id;
	int r = ibv_query_gid(dev->verbs, port_num, 0, &gid) ? -errno : 0;

	if (!r)
		r = cm_id_create(NULL, NULL, RDMA_PS_IB, qp_type, &id);
	if (r < 0)
		return r;
	r = port_ask(id, &gid, search);
	while (*search->next)
		search->next = &(*search->next)->ai_next;
	cm_id_destroy(id);
	return r;
}

static int device_search(struct cm_device *dev, void *arg)
{
	struct search *search = arg;
	struct ibv_device_attr attr;

	if (dev->user || cm_device_open(dev) < 0 || ibv_query_device(dev->verbs, &attr))
		return 0;
	for (int port = 1; port <= attr.phys_port_cnt; port++) {
		int r;

		if (cm_device_link_layer(dev, port) != IBV_LINK_LAYER_INFINIBAND)
			continue;
		search->infiniband = true;
		r = port_search(dev, port, search);
		if (r < 0)
			search->error = r;
	}
	return 0;
}

int cm_service_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			   struct rdma_addrinfo **ret_info)
{
	struct search search = { .service = service, .hints = hints, .next = &search.list };

	if (node || hints->ai_flags & RAI_DNS) {
		log_err("rdma_getaddrinfo: RAI_SA is for a service alone, without %s",
			node ? "a node" : "RAI_DNS");
		return -EOPNOTSUPP;
	}
	if (!service)
		return -EINVAL;
	cm_devices_each(device_search, &search);
	if (search.list) {
		*ret_info = search.list;
		return 0;
	}
	if (!search.infiniband)
		log_err("rdma_getaddrinfo: RAI_SA: there is no InfiniBand port");
	else
		log_err("rdma_getaddrinfo: RAI_SA: service %s: %s", service,
			strerror(search.error ? -search.error : ENOENT));
	return search.infiniband && search.error ? search.error : -ENOENT;
}
