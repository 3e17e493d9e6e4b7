/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rungs of --peer: the path between this host and another one. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/json.h"
#include "rdma-doctor/peer.h"
#include "util/enum.h"

uint32_t peer_size(unsigned int i)
{
	return 256 << i;
}

/* Traffic classes of DSCP 0, 26 and 46. 26 is common for RoCE, and 46 for its notifications. */
uint32_t peer_class(unsigned int i)
{
	static const uint8_t classes[PEER_CLASSES] = { 0, 26 << 2, 46 << 2 };

	return classes[i];
}

static const char *const way_names[WAYS] = {
	[WAY_THERE] = "to the peer",
	[WAY_BACK] = "from the peer",
};

static const char *roce_name(const struct peer_hello *hello)
{
	static const char *const names[] = {
		[IBV_GID_TYPE_IB] = "InfiniBand",
		[IBV_GID_TYPE_ROCE_V1] = "RoCE v1",
		[IBV_GID_TYPE_ROCE_V2] = "RoCE v2",
	};

	return enum_name(names, ARRAY_SIZE(names), hello->roce, "?");
}

static uint32_t mtu_bytes(const struct peer_hello *hello)
{
	return 128 << hello->mtu;
}

const struct peer *peer_get(struct doctor *d, enum peer_step step, struct finding *f)
{
	if (!d->peer_host) {
		finding_unneeded(f, "--peer asks for it");
		return NULL;
	}
	if (!d->live) {
		finding_unseen(f, "a copy of a machine's files cannot be tried");
		return NULL;
	}
	if (!d->peer) {
		d->peer = calloc(1, sizeof(*d->peer));
		if (d->peer)
			system_peer(d, d->peer_host, d->peer);
	}
	if (!d->peer || d->peer->step < step) {
		finding_unneeded(f, "the transfer did not come this far");
		return NULL;
	}
	return d->peer;
}

void peer_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_CONNECT, f);

	if (!p)
		return;
	if (!p->error || p->error == -EPROTONOSUPPORT) {
		finding_ok(f, "%s of this host and %s of %s", p->device, p->peer_device,
			   d->peer_host);
		return;
	}
	finding_fail(f, "%s: %s", d->peer_host, p->text);
	if (p->error == PEER_NO_ADDRESS && p->step == PEER_CONNECT)
		finding_fix(f, "name a host that getent hosts %s finds, or use its address",
			    d->peer_host);
	else if (p->step == PEER_CONNECT)
		finding_fix(f,
			    "run rdma-doctor --serve on %s, and permit TCP port " PEER_TCP_PORT
			    " in its firewall",
			    d->peer_host);
	else if (p->step == PEER_OPEN)
		finding_fix(f, "rdma-doctor without --peer tells what this host lacks");
	else if (p->error == -ETIMEDOUT || p->error == -EFAULT)
		finding_fix(f,
			    "repeat it when no other client uses %s, or see the load of the "
			    "processors (top) and the kernel log (dmesg) of both hosts",
			    d->peer_host);
	else if (p->error == -ECONNREFUSED)
		finding_fix(f,
			    "run rdma-doctor on %s, as the user of --serve and with its limits: it "
			    "tells what that host lacks",
			    d->peer_host);
	else
		finding_fix(f, "run rdma-doctor on %s, too, and compare the versions",
			    d->peer_host);
}

void pair_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_GREET, f);
	char here[INET6_ADDRSTRLEN], there[INET6_ADDRSTRLEN];

	if (!p || !p->there.mtu) {
		if (p)
			finding_unneeded(f, "the transfer did not come this far");
		return;
	}
	inet_ntop(AF_INET6, p->here.gid, here, sizeof(here));
	inet_ntop(AF_INET6, p->there.gid, there, sizeof(there));
	finding_ok(f, "%s (%s, MTU %u) and %s (%s, MTU %u)", here, roce_name(&p->here),
		   mtu_bytes(&p->here), there, roce_name(&p->there), mtu_bytes(&p->there));
	if (p->here.link_layer != p->there.link_layer || p->here.roce != p->there.roce) {
		finding_fail(f, ": they cannot be connected");
		finding_fix(f, "use GIDs of one type at both ends (show_gids), RoCE v2 if both "
			       "have it");
	} else if (p->here.mtu != p->there.mtu) {
		finding_note(f, ": the smaller MTU is used");
		finding_fix(f, "set one MTU on both interfaces and on all switches between them: "
			       "ip link set dev INTERFACE mtu 4200 is enough for 4096");
	}
}

void path_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);

	if (!p)
		return;
	for (enum peer_way way = 0; way < WAYS; way++) {
		const struct peer_count *count = &p->path[way];

		finding_ok(f, "%s%u of %u datagrams %s", way ? ", " : "", count->arrived,
			   count->sent, way_names[way]);
		if (!count->sent || count->arrived)
			continue;
		finding_fail(f, ": none arrives, although TCP does");
		finding_fix(f, p->here.link_layer == IBV_LINK_LAYER_ETHERNET
				       ? "permit UDP to port 4791 from any port in all firewalls "
					 "(nft list ruleset) and switches between the hosts"
				       : "check the routes of the subnet manager (ibtracert)");
		return;
	}
}

/* Return the first size that does not arrive; PEER_SIZES: all arrive */
static unsigned int size_lost(const struct peer *p, enum peer_way way)
{
	unsigned int i = 0;

	while (i < PEER_SIZES && (!p->size[way][i].sent || p->size[way][i].arrived))
		i++;
	return i;
}

void path_mtu_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);
	const uint32_t mtu = p ? min_of(mtu_bytes(&p->here), mtu_bytes(&p->there)) : 0;

	if (!p)
		return;
	for (enum peer_way way = 0; way < WAYS; way++) {
		unsigned int i = size_lost(p, way);

		if (i == PEER_SIZES)
			continue;
		finding_fail(f,
			     "packets of %u bytes %s vanish, and smaller ones arrive; both "
			     "ports have an MTU of %u",
			     peer_size(i), way_names[way], mtu);
		finding_fix(f,
			    "raise the MTU of each switch, tunnel and interface on the way to %u "
			    "and more, or lower that of the hosts' interfaces",
			    mtu + 104);
		return;
	}
	if (p->size[WAY_BACK][0].sent)
		finding_ok(f, "packets of %u bytes pass in both ways", mtu);
	else
		finding_unneeded(f, "nothing arrived");
}

static bool class_is_changed(const struct peer *p, enum peer_way way, unsigned int i)
{
	return p->class_seen[way][i] >= 0 &&
	       (uint32_t)p->class_seen[way][i] >> 2 != peer_class(i) >> 2;
}

void dscp_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);
	bool known = false;

	if (!p)
		return;
	for (enum peer_way way = 0; way < WAYS; way++) {
		for (unsigned int i = 0; i < PEER_CLASSES; i++) {
			known |= p->class[way][i].arrived && p->class_seen[way][i] >= 0;
			if (!p->class[way][i].arrived || !class_is_changed(p, way, i))
				continue;
			finding_fail(f, "DSCP %u %s arrives as %d: the way changes it",
				     peer_class(i) >> 2, way_names[way],
				     p->class_seen[way][i] >> 2);
			finding_fix(f, "let the switches trust DSCP (mode L3) and not rewrite it: "
				       "with another DSCP, packets lose their priority, PFC and "
				       "ECN");
			return;
		}
	}
	if (!known) {
		finding_unseen(f, "no header of a datagram was seen");
		return;
	}
	finding_ok(f, "DSCP 0, 26 and 46 arrive as they were sent");
	if (p->hops_seen[WAY_THERE] > 0 && p->hops_seen[WAY_THERE] <= PEER_HOP_LIMIT)
		finding_ok(f, "; %d routers on the way there",
			   PEER_HOP_LIMIT - p->hops_seen[WAY_THERE]);
	finding_ok(f, "; the VLAN priority is not in what a receiver sees");
}

/* Check one host of the load. Return: whether it is slow. */
static bool slow_find(const char *host, const struct peer_report *report, struct finding *f)
{
	if (report->ms && report->stalled_ms > report->ms / 5 * 3) {
		finding_fail(f, "the process on %s did not run for %u of %u ms", host,
			     report->stalled_ms, report->ms);
		finding_fix(f,
			    "on %s, see the load of its processors (top) and the limit of the "
			    "cgroup (cpu.max, cpu.stat)",
			    host);
	} else if (report->drops) {
		finding_fail(f, "%s dropped %u packets because its receive buffers were full", host,
			     report->drops);
		finding_fix(
			f,
			"on %s, rdma-doctor --watch tells which counter it is; with uroce, raise "
			"net.core.rmem_max",
			host);
	}
	return f->state == FINDING_FAILED;
}

void slow_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);

	if (!p)
		return;
	if (!p->loaded)
		finding_unneeded(f, "the transfer did not come this far");
	else if (!slow_find(d->peer_host, &p->load_there, f) &&
		 !slow_find("this host", &p->load_here, f))
		finding_ok(f, "both hosts took the data in time");
}

void loss_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);
	bool lost = false;

	if (!p)
		return;
	if (!p->paced[WAY_BACK].sent) {
		finding_unneeded(f, "the transfer did not come this far");
		return;
	}
	for (enum peer_way way = 0; way < WAYS; way++) {
		const struct peer_count *count = &p->paced[way];

		finding_ok(f, "%s%u of %u datagrams %s were lost", way ? ", " : "",
			   count->sent - count->arrived, count->sent, way_names[way]);
		lost |= count->arrived < count->sent;
	}
	if (!lost)
		return;
	finding_fail(f, " without load");
	finding_fix(f,
		    "look for a bad cable or transceiver: rdma-doctor --watch on both hosts, and "
		    "the error counters of each switch port on the way");
}

/* Fewer are a note: a busy host acknowledges late, and packets are sent again. */
#define LOSSES_MANY 20

void ecn_check(struct doctor *d, struct finding *f)
{
	const struct peer *p = peer_get(d, PEER_FLOWS, f);
	uint64_t losses, marks;

	if (!p)
		return;
	if (!p->loaded) {
		finding_unneeded(f, "the transfer did not come this far");
		return;
	}
	losses = (uint64_t)p->load_here.losses + p->load_there.losses;
	marks = (uint64_t)p->load_here.marks + p->load_there.marks;
	if (p->load.status) {
		finding_fail(f, "the transfer over RC failed: %s; ",
			     ibv_wc_status_str(p->load.status));
		losses += LOSSES_MANY;
	}
	finding_set(f, f->state,
		    "%" PRIu64 ".%" PRIu64 " Gbit/s; counters of losses moved by %" PRIu64
		    ", those of congestion by %" PRIu64,
		    p->mbps / 1000, p->mbps / 100 % 10, losses, marks);
	if (losses && !marks) {
		finding_set(f, losses < LOSSES_MANY ? FINDING_NOTE : FINDING_FAILED,
			    ": packets were dropped under load, and none was marked");
		finding_fix(f, "let the switches mark (ECN) before they drop, in the queue of "
			       "the DSCP that RoCE uses, or use PFC");
	} else if (losses) {
		finding_note(f, ": packets were dropped although the switches mark");
		finding_fix(f, "lower the threshold of ECN in the switches, or use PFC");
	}
}

static void count_describe(const char *key, const struct peer_count count[WAYS])
{
	json_open(key, '{');
	json_number("sent_there", count[WAY_THERE].sent);
	json_number("arrived_there", count[WAY_THERE].arrived);
	json_number("sent_back", count[WAY_BACK].sent);
	json_number("arrived_back", count[WAY_BACK].arrived);
	json_close('}');
}

void peer_describe(const struct peer *p)
{
	json_open("peer", '{');
	json_bool("complete", p->step == PEER_DONE);
	if (p->device[0])
		json_string("device", p->device);
	if (p->peer_device[0])
		json_string("peer_device", p->peer_device);
	count_describe("path", p->path);
	count_describe("paced", p->paced);
	if (p->loaded) {
		json_number("rate_mbps", p->mbps);
		json_number("losses", (uint64_t)p->load_here.losses + p->load_there.losses);
		json_number("congestion", (uint64_t)p->load_here.marks + p->load_there.marks);
	}
	json_close('}');
}
