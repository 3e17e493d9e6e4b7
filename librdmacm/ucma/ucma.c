/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's connection manager. A command is an initialised struct and a call: ucma_command()
 * fills the header, writes, and checks how much was taken. Where one old command tells what takes
 * two of the newer ones (QUERY_ROUTE: addresses, GIDs and paths) the old one is used; AF_IB needs
 * the newer.
 *
 * The kernel hands back in events the number an identifier was created with: its address here. It
 * stops doing so before it answers the destruction, together with how many events it handed out.
 */
#include <string.h>

#include <infiniband/ib.h>

#include "libibverbs/convert.h"
#include "librdmacm/cm.h"
#include "librdmacm/sockaddr.h"
#include "librdmacm/ucma/node.h"

#define INDEX_UNKNOWN (-1) /* device index; kernels before 5.7 leave it as it was */

/* Out: nothing comes back. */
#define NO_ANSWER 0

static int ucma_command(int fd, uint32_t number, void *command, size_t size, size_t out)
{
	struct ucma_abi_cmd_hdr *hdr = command;
	ssize_t length;

	*hdr = (struct ucma_abi_cmd_hdr){
		.cmd = number,
		.in = size - sizeof(*hdr),
		.out = out,
	};
	length = ucma_node_write(fd, command, size);
	if (length < 0)
		return length;
	return length == size ? 0 : -EIO;
}

static int id_command(struct cm_id *id, uint32_t number, void *command, size_t size, size_t out)
{
	return ucma_command(cm_id_channel(id)->ucma_fd, number, command, size, out);
}

static uint64_t answer_at(void *p)
{
	return (uintptr_t)p;
}

/* ------------------------------------------------------------------ channels and identifiers */

static int ucma_open_channel(struct cm_channel *ch, int *ret_fd)
{
	int fd = ucma_node_open();

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

static void ucma_close_channel(struct cm_channel *ch)
{
	close(ch->ucma_fd);
}

static int ucma_create_id(struct cm_id *id)
{
	struct ucma_abi_create_id_resp answer = {};
	struct ucma_abi_create_id cmd = {
		.uid = answer_at(id),
		.response = answer_at(&answer),
		.ps = id->id.ps,
		.qp_type = id->id.qp_type,
	};
	int r = id_command(id, UCMA_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(answer));

	if (r < 0) {
		cm_err(id, "the kernel makes no identifier for port space 0x%x: %s", id->id.ps,
		       strerror(-r));
		return r;
	}
	id->handle = answer.id;
	return 0;
}

static int destroy_handle(int fd, uint32_t number, uint32_t handle, uint32_t *ret_events)
{
	struct ucma_abi_destroy_id_resp answer = {};
	struct ucma_abi_destroy_id cmd = {
		.response = answer_at(&answer),
		.id = handle,
	};
	int r = ucma_command(fd, number, &cmd, sizeof(cmd), sizeof(answer));

	if (!r)
		*ret_events = answer.events_reported;
	return r;
}

static int ucma_destroy_id(struct cm_id *id, uint32_t *ret_events)
{
	return destroy_handle(cm_id_channel(id)->ucma_fd, UCMA_CMD_DESTROY_ID, id->handle,
			      ret_events);
}

static void ucma_drop_request(struct cm_channel *ch, struct cm_event *ev)
{
	uint32_t events;

	destroy_handle(ch->ucma_fd, UCMA_CMD_DESTROY_ID, ev->new_handle, &events);
}

static int ucma_migrate_id(struct cm_id *id, struct cm_channel *to, uint32_t *ret_events)
{
	struct ucma_abi_migrate_resp answer = {};
	struct ucma_abi_migrate_id cmd = {
		.response = answer_at(&answer),
		.id = id->handle,
		.fd = cm_id_channel(id)->ucma_fd,
	};
	int r = ucma_command(to->ucma_fd, UCMA_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(answer));

	if (!r)
		*ret_events = answer.events_reported;
	return r;
}

/* ------------------------------------------------------------------ addresses and routes */

static int ucma_bind_addr(struct cm_id *id, const struct sockaddr *addr)
{
	struct ucma_abi_bind cmd = {
		.id = id->handle,
		.addr_size = cm_addr_size(addr),
	};

	memcpy(&cmd.addr, addr, cmd.addr_size);
	return id_command(id, UCMA_CMD_BIND, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_resolve_addr(struct cm_id *id, const struct sockaddr *src,
			     const struct sockaddr *dst, int timeout_ms)
{
	struct ucma_abi_resolve_addr cmd = {
		.id = id->handle,
		.timeout_ms = timeout_ms,
		.src_size = src ? cm_addr_size(src) : 0,
		.dst_size = cm_addr_size(dst),
	};

	if (src)
		memcpy(&cmd.src_addr, src, cmd.src_size);
	memcpy(&cmd.dst_addr, dst, cmd.dst_size);
	return id_command(id, UCMA_CMD_RESOLVE_ADDR, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_resolve_route(struct cm_id *id, int timeout_ms)
{
	struct ucma_abi_resolve_route cmd = {
		.id = id->handle,
		.timeout_ms = timeout_ms,
	};

	return id_command(id, UCMA_CMD_RESOLVE_ROUTE, &cmd, sizeof(cmd), NO_ANSWER);
}

static int set_device(struct cm_id *id, __be64 guid, uint32_t index, uint8_t port_num)
{
	struct cm_device *dev;
	int r;

	if (!port_num) /* no device yet: the kernel says nothing about one */
		return 0;
	id->id.port_num = port_num;
	if (id->dev)
		return 0;
	r = cm_device_find(guid, (int)index, &dev);
	return r < 0 ? r : cm_id_set_device(id, dev);
}

static void set_addr(struct sockaddr_storage *to, const void *from)
{
	const struct sockaddr *addr = from;
	socklen_t size = cm_addr_size(addr);

	if (size)
		memcpy(to, from, size);
}

static int set_paths(struct cm_id *id, struct ib_user_path_rec *routes, uint32_t num_paths)
{
	struct ibv_sa_path_rec paths[2];

	if (!num_paths)
		return 0;
	num_paths = min_of(num_paths, 2u);
	for (uint32_t i = 0; i < num_paths; i++)
		ibv_copy_path_rec_from_kern(&paths[i], &routes[i]);
	return cm_id_set_paths(id, paths, num_paths);
}

static int query_addr(struct cm_id *id, uint32_t option, struct ucma_abi_query_addr_resp *answer)
{
	struct ucma_abi_query cmd = {
		.response = answer_at(answer),
		.id = id->handle,
		.option = option,
	};

	*answer = (struct ucma_abi_query_addr_resp){ .ibdev_index = INDEX_UNKNOWN };
	return id_command(id, UCMA_CMD_QUERY, &cmd, sizeof(cmd), sizeof(*answer));
}

static int query_addr_ib(struct cm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct ucma_abi_query_addr_resp answer;
	int r = query_addr(id, UCMA_QUERY_ADDR, &answer);

	if (r < 0)
		return r;
	set_addr(&addr->src_storage, &answer.src_addr);
	set_addr(&addr->dst_storage, &answer.dst_addr);
	r = set_device(id, answer.node_guid, answer.ibdev_index, answer.port_num);
	if (r < 0 || !answer.port_num)
		return r;
	r = query_addr(id, UCMA_QUERY_GID, &answer);
	if (r < 0)
		return r;
	addr->addr.ibaddr.pkey = answer.pkey;
	memcpy(&addr->addr.ibaddr.sgid, &((struct sockaddr_ib *)&answer.src_addr)->sib_addr, 16);
	memcpy(&addr->addr.ibaddr.dgid, &((struct sockaddr_ib *)&answer.dst_addr)->sib_addr, 16);
	return 0;
}

/* Addresses, GIDs, device and, once resolved, paths: for IP addresses. */
static int query_route(struct cm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct ucma_abi_query_route_resp answer = { .ibdev_index = INDEX_UNKNOWN };
	struct ucma_abi_query cmd = {
		.response = answer_at(&answer),
		.id = id->handle,
	};
	/* the command of old has no option, and the kernel takes the longer one */
	int r = id_command(id, UCMA_CMD_QUERY_ROUTE, &cmd, sizeof(cmd), sizeof(answer));

	if (r < 0)
		return r;
	if (answer.src_addr.sin6_family == AF_IB) /* longer than the answer's room */
		return query_addr_ib(id);
	set_addr(&addr->src_storage, &answer.src_addr);
	set_addr(&addr->dst_storage, &answer.dst_addr);
	memcpy(&addr->addr.ibaddr.sgid, answer.ib_route[0].sgid, 16);
	memcpy(&addr->addr.ibaddr.dgid, answer.ib_route[0].dgid, 16);
	addr->addr.ibaddr.pkey = answer.ib_route[0].pkey;
	r = set_device(id, answer.node_guid, answer.ibdev_index, answer.port_num);
	return r < 0 ? r : set_paths(id, answer.ib_route, answer.num_paths);
}

/* A path record of the wire's form. */
static struct ibv_sa_path_rec path_unpack(const struct ibv_path_record *p)
{
	uint32_t flow = be32toh(p->flowlabel_hoplimit);

	return (struct ibv_sa_path_rec){
		.dgid = p->dgid,
		.sgid = p->sgid,
		.dlid = p->dlid,
		.slid = p->slid,
		.flow_label = htobe32(flow >> 8 & 0xfffff),
		.hop_limit = flow & 0xff,
		.traffic_class = p->tclass,
		.reversible = p->reversible_numpath >> 7,
		.numb_path = p->reversible_numpath & 0x7f,
		.pkey = p->pkey,
		.sl = be16toh(p->qosclass_sl) & 0xf,
		.mtu_selector = p->mtu >> 6,
		.mtu = p->mtu & 0x3f,
		.rate_selector = p->rate >> 6,
		.rate = p->rate & 0x3f,
		.packet_life_time_selector = p->packetlifetime >> 6,
		.packet_life_time = p->packetlifetime & 0x3f,
		.preference = p->preference,
	};
}

enum {
	PATHS_MAX = 6
};

struct path_answer {
	struct ucma_abi_query_path_resp head;
	struct ibv_path_data data[PATHS_MAX];
};

static int query_paths_ib(struct cm_id *id)
{
	struct ibv_sa_path_rec paths[PATHS_MAX];
	struct path_answer answer = {};
	struct ucma_abi_query cmd = {
		.response = answer_at(&answer),
		.id = id->handle,
		.option = UCMA_QUERY_PATH,
	};
	int r = id_command(id, UCMA_CMD_QUERY, &cmd, sizeof(cmd), sizeof(answer));
	uint32_t count = min_of(answer.head.num_paths, (uint32_t)PATHS_MAX);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		paths[i] = path_unpack(&answer.data[i].path);
	return cm_id_set_paths(id, paths, count);
}

static bool is_ib(const struct cm_id *id)
{
	return id->id.route.addr.src_addr.sa_family == AF_IB ||
	       id->id.route.addr.dst_addr.sa_family == AF_IB || id->id.ps == RDMA_PS_IB;
}

static bool has_ip(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET || addr->sa_family == AF_INET6;
}

/* RoCE's GID of an IP address is the address itself. */
static void set_gid(union ibv_gid *gid, const struct rdma_addr *addr)
{
	if (addr->dst_addr.sa_family == AF_INET6) {
		memcpy(gid->raw, &addr->dst_sin6.sin6_addr, sizeof(gid->raw));
		return;
	}
	*gid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	memcpy(gid->raw + 12, &addr->dst_sin.sin_addr, 4);
}

/*
 * Once the local address is bound to a port of Ethernet, resolving another one adds nothing the
 * kernel would have to be asked for.
 */
static bool addr_known(const struct cm_id *id)
{
	const struct rdma_addr *addr = &id->id.route.addr;

	return id->dev && id->dev->device->transport_type == IBV_TRANSPORT_IB &&
	       id->id.ps != RDMA_PS_IB && has_ip(&addr->src_addr) && has_ip(&addr->dst_addr) &&
	       !cm_addr_is_any(&addr->src_addr) && cm_addr_port(&addr->src_addr) &&
	       cm_device_link_layer(id->dev, id->id.port_num) == IBV_LINK_LAYER_ETHERNET;
}

static int ucma_query_addr(struct cm_id *id)
{
	if (addr_known(id)) {
		set_gid(&id->id.route.addr.addr.ibaddr.dgid, &id->id.route.addr);
		return 0;
	}
	return is_ib(id) ? query_addr_ib(id) : query_route(id);
}

static int ucma_query_route(struct cm_id *id)
{
	if (is_ib(id))
		return query_paths_ib(id);
	/* of a connection request the first query told everything */
	return id->id.route.num_paths ? 0 : query_route(id);
}

/* ------------------------------------------------------------------ connections */

static int ucma_listen(struct cm_id *id, int backlog)
{
	struct ucma_abi_listen cmd = {
		.id = id->handle,
		.backlog = backlog,
	};

	return id_command(id, UCMA_CMD_LISTEN, &cmd, sizeof(cmd), NO_ANSWER);
}

static void set_conn(struct ucma_abi_conn_param *to, const struct cm_conn *conn)
{
	*to = (struct ucma_abi_conn_param){
		.qp_num = conn->qp_num,
		.private_data_len = conn->private_data_len,
		.srq = conn->srq,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry_count,
		.valid = 1,
	};
	if (conn->private_data_len)
		memcpy(to->private_data, conn->private_data, conn->private_data_len);
}

static struct ucma_abi_ece ece_of(const struct cm_conn *conn)
{
	return (struct ucma_abi_ece){
		.vendor_id = conn->ece.vendor_id,
		.attr_mod = conn->ece.options,
	};
}

static int ucma_connect(struct cm_id *id, const struct cm_conn *conn)
{
	struct ucma_abi_connect cmd = {
		.id = id->handle,
		.ece = ece_of(conn),
	};

	set_conn(&cmd.conn_param, conn);
	return id_command(id, UCMA_CMD_CONNECT, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_accept(struct cm_id *id, const struct cm_conn *conn)
{
	struct ucma_abi_accept cmd = {
		.uid = answer_at(id),
		.id = id->handle,
	};

	if (conn) {
		set_conn(&cmd.conn_param, conn);
		cmd.ece = ece_of(conn);
	}
	return id_command(id, UCMA_CMD_ACCEPT, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_reject(struct cm_id *id, const struct cm_reject *reject)
{
	struct ucma_abi_reject cmd = {
		.id = id->handle,
		.private_data_len = reject->private_data_len,
		.reason = reject->reason,
	};

	if (reject->private_data_len)
		memcpy(cmd.private_data, reject->private_data, reject->private_data_len);
	return id_command(id, UCMA_CMD_REJECT, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_disconnect(struct cm_id *id)
{
	struct ucma_abi_disconnect cmd = { .id = id->handle };

	return id_command(id, UCMA_CMD_DISCONNECT, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_notify(struct cm_id *id, enum ibv_event_type event)
{
	struct ucma_abi_notify cmd = {
		.id = id->handle,
		.event = event,
	};

	return id_command(id, UCMA_CMD_NOTIFY, &cmd, sizeof(cmd), NO_ANSWER);
}

static int ucma_init_qp_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *ret_mask)
{
	struct ib_uverbs_qp_attr answer = {};
	struct ucma_abi_init_qp_attr cmd = {
		.response = answer_at(&answer),
		.id = id->handle,
		.qp_state = attr->qp_state,
	};
	int r = id_command(id, UCMA_CMD_INIT_QP_ATTR, &cmd, sizeof(cmd), sizeof(answer));

	if (r < 0) {
		cm_err(id, "the kernel gives no attributes for QP state %d: %s", attr->qp_state,
		       strerror(-r));
		return r;
	}
	ibv_copy_qp_attr_from_kern(attr, &answer);
	*ret_mask = answer.qp_attr_mask;
	return 0;
}

/* ------------------------------------------------------------------ multicast */

static int ucma_join(struct cm_mc *mc)
{
	const struct sockaddr *addr = (const struct sockaddr *)&mc->addr;
	struct ucma_abi_create_id_resp answer = {};
	struct ucma_abi_join_mcast cmd = {
		.response = answer_at(&answer),
		.uid = answer_at(mc),
		.id = mc->id->handle,
		.addr_size = cm_addr_size(addr),
		.join_flags = mc->join_flags,
		.addr = mc->addr,
	};
	int r = id_command(mc->id, UCMA_CMD_JOIN_MCAST, &cmd, sizeof(cmd), sizeof(answer));

	if (!r)
		mc->handle = answer.id;
	return r;
}

static int ucma_leave(struct cm_mc *mc, uint32_t *ret_events)
{
	return destroy_handle(cm_id_channel(mc->id)->ucma_fd, UCMA_CMD_LEAVE_MCAST, mc->handle,
			      ret_events);
}

/* ------------------------------------------------------------------ options, services */

static int ucma_set_option(struct cm_id *id, int level, int optname, const void *value,
			   size_t length)
{
	struct ucma_abi_set_option cmd = {
		.optval = answer_at((void *)value),
		.id = id->handle,
		.level = level,
		.optname = optname,
		.optlen = length,
	};

	return id_command(id, UCMA_CMD_SET_OPTION, &cmd, sizeof(cmd), NO_ANSWER);
}

/* Kernels before 6.17 have no such command. */
static int newer_command(struct cm_id *id, const char *what, int r)
{
	if (r != -EINVAL && r != -ENOSYS)
		return r;
	cm_err(id, "the kernel does not know how to %s", what);
	return -EOPNOTSUPP;
}

static int ucma_resolve_service(struct cm_id *id, const struct cm_service *service)
{
	struct ucma_abi_resolve_ib_service cmd = {
		.id = id->handle,
		.service_id = service->id,
		.flags = service->name[0] ? UCMA_IB_SERVICE_NAME : UCMA_IB_SERVICE_ID,
	};

	memcpy(cmd.service_name, service->name, sizeof(cmd.service_name));
	return newer_command(
		id, "resolve IB services",
		id_command(id, UCMA_CMD_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), NO_ANSWER));
}

static int ucma_write_event(struct cm_id *id, enum rdma_cm_event_type event, int status,
			    uint64_t arg)
{
	struct ucma_abi_write_cm_event cmd = {
		.id = id->handle,
		.event = event,
		.status = status,
		.param.arg = arg,
	};

	return newer_command(id, "take events from programs",
			     id_command(id, UCMA_CMD_WRITE_CM_EVENT, &cmd, sizeof(cmd), NO_ANSWER));
}

/* ------------------------------------------------------------------ events */

static void copy_data(struct cm_event *ev, const uint8_t *data, uint8_t length,
		      const void **ret_data, uint8_t *ret_length)
{
	*ret_length = length;
	if (!length)
		return;
	memcpy(ev->private_data, data, length);
	*ret_data = ev->private_data;
}

static void event_conn(struct cm_event *ev, const struct ucma_abi_conn_param *from)
{
	struct rdma_conn_param *to = &ev->event.param.conn;

	copy_data(ev, from->private_data, from->private_data_len, &to->private_data,
		  &to->private_data_len);
	to->responder_resources = from->responder_resources;
	to->initiator_depth = from->initiator_depth;
	to->flow_control = from->flow_control;
	to->retry_count = from->retry_count;
	to->rnr_retry_count = from->rnr_retry_count;
	to->srq = from->srq;
	to->qp_num = from->qp_num;
}

static void event_ud(struct cm_event *ev, struct ucma_abi_ud_param *from)
{
	struct rdma_ud_param *to = &ev->event.param.ud;

	copy_data(ev, from->private_data, from->private_data_len, &to->private_data,
		  &to->private_data_len);
	ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
	to->qp_num = from->qp_num;
	to->qkey = from->qkey;
}

/*
 * The kernel's record as an event. Of whom it speaks is our own word, given at creation; what it
 * says is taken as it is, apart from event numbers nobody knows.
 */
static bool event_read(struct cm_event *ev, struct ucma_abi_event_resp *from)
{
	void *owner = (void *)(uintptr_t)from->uid;

	if (!owner || from->event > RDMA_CM_EVENT_INTERNAL)
		return false;
	ev->event.event = from->event;
	ev->event.status = (int)from->status;
	if (from->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    from->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		ev->mc = owner;
	ev->id = ev->mc ? ev->mc->id : owner;
	ev->new_handle = from->id;
	ev->ece = (struct ibv_ece){
		.vendor_id = from->ece.vendor_id,
		.options = from->ece.attr_mod,
	};
	if (from->event == RDMA_CM_EVENT_USER || from->event == RDMA_CM_EVENT_INTERNAL)
		memcpy(&ev->event.param.arg, from->param.arg32, sizeof(ev->event.param.arg));
	else if (ev->mc || cm_id_is_ud(ev->id))
		event_ud(ev, &from->param.ud);
	else
		event_conn(ev, &from->param.conn);
	return true;
}

static int ucma_get_event(struct cm_channel *ch, struct cm_event *ev)
{
	for (;;) {
		struct ucma_abi_event_resp answer;
		struct ucma_abi_get_event cmd = { .response = answer_at(&answer) };
		int r;

		answer.uid = 0;
		r = ucma_command(ch->ucma_fd, UCMA_CMD_GET_EVENT, &cmd, sizeof(cmd),
				 sizeof(answer));
		if (r < 0)
			return r;
		if (event_read(ev, &answer))
			return 0;
	}
}

const struct cm_backend_ops ucma_ops = {
	.name = "kernel's",
	.open_channel = ucma_open_channel,
	.close_channel = ucma_close_channel,
	.get_event = ucma_get_event,
	.create_id = ucma_create_id,
	.destroy_id = ucma_destroy_id,
	.drop_request = ucma_drop_request,
	.migrate_id = ucma_migrate_id,
	.bind_addr = ucma_bind_addr,
	.resolve_addr = ucma_resolve_addr,
	.resolve_route = ucma_resolve_route,
	.query_addr = ucma_query_addr,
	.query_route = ucma_query_route,
	.listen = ucma_listen,
	.connect = ucma_connect,
	.accept = ucma_accept,
	.reject = ucma_reject,
	.disconnect = ucma_disconnect,
	.notify = ucma_notify,
	.init_qp_attr = ucma_init_qp_attr,
	.join = ucma_join,
	.leave = ucma_leave,
	.set_option = ucma_set_option,
	.resolve_service = ucma_resolve_service,
	.write_event = ucma_write_event,
};
