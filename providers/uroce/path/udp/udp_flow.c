/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

enum {
	REST = 4096, /* messages until a missing flow is tried again. Also messages after which an
			unused flow may be replaced. */
	REST_TIMES = 16, /* factor of REST each time packets of the flow seem to be lost */
	REST_MAX = REST << 16,
	SILENCE = 1024, /* polls without a packet after which a receive flow is silent */
};

void uroce_udp_flows_init(struct uroce_udp *udp)
{
	for (int i = 0; i < UDP_TX_FLOWS; i++)
		udp->tx_flows[i].fd = -1;
	for (int i = 0; i < UDP_RX_FLOWS; i++)
		udp->rx_flows[i].fd = -1;
}

/* --- sending --- */

static void tx_flow_close(struct udp_tx_flow *flow)
{
	if (flow->fd >= 0)
		close(flow->fd);
	flow->fd = -1;
}

void uroce_udp_tx_flow_break(struct uroce_udp *udp, struct udp_tx_flow *flow, bool lossy)
{
	tx_flow_close(flow);
	flow->used = udp->begun;
	if (!lossy)
		return;
	/*
	 * A flow that has carried many messages is tried again soon, because its peer was only late
	 * or the network has changed.
	 */
	flow->rest = flow->carried >= REST ? REST
					   : min_of(flow->rest, REST_MAX / REST_TIMES) * REST_TIMES;
}

static int tx_flow_open(struct uroce_udp *udp, struct udp_tx_flow *flow, const struct uroce_av *av)
{
	_cleanup_close_ int fd = -1;
	union uroce_address from;
	socklen_t length = sizeof(from);
	int r;

	uroce_address_from_gid(&av->route.sgid, 0, udp->link.ifindex, &from);
	r = uroce_udp_socket_connected(udp, &from, &av->addr, &fd);
	if (!r && from.sa.sa_family == AF_INET)
		r = uroce_udp_socket_number(fd, &flow->id);
	if (r < 0)
		return r;
	if (getsockname(fd, &from.sa, &length))
		return -errno;
	flow->port = uroce_address_port(&from);
	uroce_icrc_init(&flow->icrc, &from, &av->addr);
	flow->fd = take_fd(&fd);
	return 0;
}

static bool tx_flow_is(const struct udp_tx_flow *flow, const struct uroce_av *av, uint16_t slot)
{
	return flow->known && flow->slot == slot && flow->gid_index == av->sgid_index &&
	       uroce_address_equal(&flow->to, &av->addr);
}

static struct udp_tx_flow *tx_flow_place(struct uroce_udp *udp, const struct uroce_av *av,
					 uint16_t slot)
{
	uint32_t last;

	memcpy(&last, av->route.dgid.raw + sizeof(av->route.dgid) - sizeof(last), sizeof(last));
	return &udp->tx_flows[(last ^ slot) * 0x9e3779b1u >> (32 - UDP_TX_FLOW_BITS)];
}

/* Make the flow of a destination in its place. */
static void tx_flow_renew(struct uroce_udp *udp, struct udp_tx_flow *flow,
			  const struct uroce_av *av, uint16_t slot)
{
	uint32_t rest = tx_flow_is(flow, av, slot) ? flow->rest : REST;
	int r;

	tx_flow_close(flow);
	*flow = (struct udp_tx_flow){ .to = av->addr,
				      .gid_index = av->sgid_index,
				      .slot = slot,
				      .known = true,
				      .fd = -1,
				      .rest = rest };
	r = tx_flow_open(udp, flow, av);
	if (r < 0)
		log_debug(
			"%s: no socket for packets to one host alone: %s (they share that of port 4791)",
			udp->link.name, strerror(-r));
}

struct udp_tx_flow *uroce_udp_tx_flow_known(struct uroce_udp *udp, const struct uroce_av *av,
					    uint32_t dest_qpn)
{
	uint16_t slot = uroce_qpn_slot(dest_qpn);
	struct udp_tx_flow *flow = tx_flow_place(udp, av, slot);

	return tx_flow_is(flow, av, slot) && flow->fd >= 0 ? flow : NULL;
}

struct udp_tx_flow *uroce_udp_tx_flow(struct uroce_udp *udp, const struct uroce_av *av,
				      const struct uroce_hdr *hdr)
{
	uint16_t slot = uroce_qpn_slot(hdr->dest_qpn);
	struct udp_tx_flow *flow;
	bool mine, rested;

	if (hdr->opcode >= UROCE_UC)
		return NULL;
	flow = tx_flow_place(udp, av, slot);
	mine = tx_flow_is(flow, av, slot);
	if (likely(mine && flow->fd >= 0)) {
		flow->used = udp->begun;
		flow->carried++;
		return flow;
	}
	rested = !flow->known || udp->begun - flow->used >= flow->rest;
	if (!rested || udp->count) /* queued messages may still use it */
		return NULL;
	tx_flow_renew(udp, flow, av, slot);
	flow->used = udp->begun;
	return flow->fd >= 0 ? flow : NULL;
}

/* --- receiving --- */

static void rx_flow_close(struct uroce_udp *udp, struct udp_rx_flow *flow)
{
	struct path_host *host = udp->path.host;

	if (flow->fd < 0)
		return;
	host->events->unwatch(host, flow->fd);
	uroce_udp_socket_forget(flow->fd, &flow->from);
	flow->fd = -1;
}

/*
 * Return a free place, or a place whose flow is silent. NULL: there is no such place, or the source
 * already has a flow.
 */
static struct udp_rx_flow *rx_flow_place(struct uroce_udp *udp, unsigned int gid_index,
					 const union uroce_address *from)
{
	struct udp_rx_flow *place = NULL;

	for (int i = 0; i < UDP_RX_FLOWS; i++) {
		struct udp_rx_flow *flow = &udp->rx_flows[i];

		if (flow->fd >= 0 && flow->gid_index == gid_index &&
		    uroce_address_equal(&flow->from, from) &&
		    uroce_address_port(&flow->from) == uroce_address_port(from))
			return NULL;
		if (!place && (flow->fd < 0 || flow->pace.idle > SILENCE))
			place = flow;
	}
	return place;
}

void uroce_udp_rx_flow_open(struct uroce_udp *udp, const struct udp_source *source,
			    unsigned int gid_index)
{
	struct path_host *host = udp->path.host;
	union uroce_address from, to;
	struct udp_rx_flow *flow;
	int fd, r;

	assert_held(&host->progress_lock);
	uroce_address_from_gid(&source->gid, source->port, udp->link.ifindex, &from);
	uroce_address_from_gid(&udp->ports[gid_index].gid, UROCE_UDP_PORT, udp->link.ifindex, &to);
	flow = rx_flow_place(udp, gid_index, &from);
	if (!flow)
		return;
	r = uroce_udp_socket_connected_back(udp, &to, &from, &fd);
	if (r < 0) {
		log_debug(
			"%s: no socket for what one host sends: %s (it comes by that of port 4791)",
			udp->link.name, strerror(-r));
		udp->rx_refused = true;
		return;
	}
	rx_flow_close(udp, flow);
	*flow = (struct udp_rx_flow){
		.from = from, .source = *source, .gid_index = gid_index, .fd = fd
	};
	flow->pace.joins = true;
	udp->rx_count = max_of(udp->rx_count, (unsigned int)(flow - udp->rx_flows) + 1);
	uroce_icrc_init(&flow->icrc, &from, &to);
	if (host->events->watch(host, fd, WATCH_SOCKET, &udp->path) < 0)
		rx_flow_close(udp, flow);
}

/* --- both --- */

void uroce_udp_flows_close(struct uroce_udp *udp, unsigned int gid_index)
{
	for (int i = 0; i < UDP_TX_FLOWS; i++)
		if (udp->tx_flows[i].gid_index == gid_index) {
			tx_flow_close(&udp->tx_flows[i]);
			udp->tx_flows[i].known = false;
		}
	for (int i = 0; i < UDP_RX_FLOWS; i++)
		if (udp->rx_flows[i].gid_index == gid_index)
			rx_flow_close(udp, &udp->rx_flows[i]);
	udp->rx_refused = false;
}
