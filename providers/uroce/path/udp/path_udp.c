/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP path: opening and closing of its sockets. */
#include <arpa/inet.h>
#include <string.h>

#include "providers/uroce/path/udp/udp_call.h"
#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

/* --- sockets --- */

/* Replace the socket of a GID. Neither side may use the path during the call. Return: the old
 * fd. */
static int socket_exchange(struct uroce_udp *udp, unsigned int index, const union ibv_gid *gid,
			   int fd)
{
	struct udp_port *port = &udp->ports[index];
	int old;

	uroce_lock(&udp->path.host->progress_lock);
	uroce_lock(&udp->lock);
	uroce_udp_leave(udp);
	/* Messages that still wait for room are lost, as on a network, together with their
	 * identifications. */
	for (unsigned int i = udp->first; i < udp->count; i++)
		if (udp->messages[i].flow)
			uroce_udp_tx_flow_break(udp, udp->messages[i].flow, false);
	udp->first = udp->count = udp->used = 0;
	atomic_store_explicit(&udp->path.pending, false, memory_order_relaxed);
	uroce_udp_flows_close(udp, index);
	old = port->fd;
	port->fd = fd;
	if (gid)
		port->gid = *gid;
	if (fd >= 0 && atomic_load_explicit(&udp->shows_headers, memory_order_relaxed))
		uroce_udp_socket_show_header(fd, uroce_gid_is_ipv4(&port->gid));
	port->pace = (struct udp_pace){ .joins = true };
	udp->slots = max_of(udp->slots, index + 1);
	uroce_unlock(&udp->lock);
	uroce_unlock(&udp->path.host->progress_lock);
	return old;
}

static void explain_bind(const struct udp_link *link, const union ibv_gid *gid, int r)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	if (r == -EADDRINUSE)
		log_err("%s: UDP port 4791 of %s (interface %s) belongs to %s in this network namespace: other hosts "
			"cannot be reached from this address. Processes of one user share it; for others, stop that "
			"owner ('modprobe -r rdma_rxe' for rxe, which has the port as long as its module is loaded), use another "
			"address, or a network namespace of your own",
			link->name, text, link->netdev, uroce_udp_port_owner(gid));
	else
		log_info("%s: no UDP socket for %s (interface %s) yet: %s", link->name, text,
			 link->netdev, strerror(-r));
}

int uroce_udp_bind(struct uroce_path *path, unsigned int index, const union ibv_gid *gid)
{
	struct uroce_udp *udp = to_udp(path);
	int fd, r = uroce_udp_socket_bound(udp, gid, &fd);

	if (r < 0) {
		if (udp->ports[index].fd != r)
			explain_bind(&udp->link, gid, r);
		socket_exchange(udp, index, gid, r);
		return r;
	}
	socket_exchange(udp, index, gid, fd);
	return path->host->events->watch(path->host, fd, WATCH_SOCKET, path);
}

void uroce_udp_unbind(struct uroce_path *path, unsigned int index)
{
	int fd = socket_exchange(to_udp(path), index, NULL, -1);

	if (fd < 0)
		return;
	path->host->events->unwatch(path->host, fd);
	close(fd);
}

bool uroce_udp_is_bound(const struct uroce_path *path, unsigned int index)
{
	return ((const struct uroce_udp *)path)->ports[index].fd >= 0;
}

void uroce_udp_headers_show(struct uroce_path *path)
{
	struct uroce_udp *udp = to_udp(path);

	assert_held(&path->host->progress_lock);
	if (atomic_exchange_explicit(&udp->shows_headers, true, memory_order_relaxed))
		return;
	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		if (udp->ports[i].fd >= 0)
			uroce_udp_socket_show_header(udp->ports[i].fd,
						     uroce_gid_is_ipv4(&udp->ports[i].gid));
	/* Check all flows, because another device may send to RC and UD QPs from one port. */
	for (unsigned int i = 0; i < udp->rx_count; i++)
		if (udp->rx_flows[i].fd >= 0)
			uroce_udp_socket_show_header(udp->rx_flows[i].fd,
						     udp->rx_flows[i].icrc.ipv4);
}

bool uroce_udp_headers_shown(const struct uroce_path *path)
{
	return atomic_load_explicit(&((const struct uroce_udp *)path)->shows_headers,
				    memory_order_relaxed);
}

uint64_t uroce_udp_wrong(const struct uroce_path *path)
{
	return ((const struct uroce_udp *)path)->wrong;
}

void uroce_udp_reindex(struct uroce_path *path, int ifindex)
{
	atomic_store_explicit(&to_udp(path)->link.ifindex, ifindex, memory_order_relaxed);
}

int uroce_udp_open(struct path_host *host, const struct udp_link *link,
		   struct uroce_path **ret_path)
{
	struct uroce_udp *udp = calloc(1, sizeof(*udp));
	int r = udp ? uroce_udp_receiver_new(&udp->receiver) : -ENOMEM;

	if (r < 0) {
		free(udp);
		return r;
	}
	udp->path = (struct uroce_path){ .ops = &uroce_udp_ops, .host = host, .name = "udp" };
	udp->link = *link;
	udp->segmentation = true;
	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		udp->ports[i].fd = -1;
	uroce_udp_flows_init(udp);
	atomic_store_explicit(&udp->shows_headers, host->capture != NULL, memory_order_relaxed);
	*ret_path = &udp->path;
	return 0;
}

void uroce_udp_close(struct uroce_path *path)
{
	struct uroce_udp *udp = to_udp(path);

	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		if (udp->ports[i].fd >= 0)
			uroce_udp_unbind(path, i);
	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		uroce_udp_flows_close(udp, i);
	free(udp->receiver);
	free(udp);
}
