/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_getaddrinfo(), field by field. The expected values are those of the distribution's
 * library, which runs this program too in tests/hosts/vm/suite.d/39-cm-upstream.sh. */
#include <arpa/inet.h>
#include <netdb.h>

#include <infiniband/ib.h>

#include "tests/lib/rt_cm.h"

/* Errors of the C library's getaddrinfo() are passed on; musl has other values for some of them. */
#ifdef __GLIBC__
#define WRONG_TYPE   EAI_SOCKTYPE
#define WRONG_FAMILY EAI_ADDRFAMILY
#else
#define WRONG_TYPE   EAI_SERVICE
#define WRONG_FAMILY EAI_NONAME
#endif

enum which {
	NOTHING,
	SRC,
	DST
};

struct question {
	const char *title;
	const char *node, *service;
	struct rdma_addrinfo hints;
	bool no_hints;
	int gai; /* the call returns it; 0: success */
	int flags, qp_type, port_space;
	enum which filled;
	sa_family_t family;
	const char *address; /* NULL: only its family */
	uint16_t port;
};

#define PASSIVE RAI_PASSIVE
#define NUMERIC RAI_NUMERICHOST

static const struct question questions[] = {
	{ "no hints", "192.0.2.7", "7471", .no_hints = true, .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP, .filled = DST, .family = AF_INET, .address = "192.0.2.7",
	  .port = 7471 },
	{ "no hints, IPv6", "2001:db8::7", "7471", .no_hints = true, .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP, .filled = DST, .family = AF_INET6, .address = "2001:db8::7",
	  .port = 7471 },
	{ "no service", "192.0.2.7", NULL, .no_hints = true, .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP, .filled = DST, .family = AF_INET, .address = "192.0.2.7" },
	{ "empty hints", "192.0.2.7", "7471", .qp_type = IBV_QPT_RC, .port_space = RDMA_PS_TCP,
	  .filled = DST, .family = AF_INET, .address = "192.0.2.7", .port = 7471 },
	{ "localhost, passive",
	  "localhost",
	  NULL,
	  { .ai_flags = PASSIVE, .ai_family = AF_INET },
	  .flags = PASSIVE,
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = SRC,
	  .family = AF_INET,
	  .address = "127.0.0.1" },
	{ "passive, any address",
	  NULL,
	  "7471",
	  { .ai_flags = PASSIVE },
	  .flags = PASSIVE,
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = SRC,
	  .family = AF_INET,
	  .address = "0.0.0.0",
	  .port = 7471 },
	{ "passive, any IPv6 address",
	  NULL,
	  "7471",
	  { .ai_flags = PASSIVE, .ai_family = AF_INET6 },
	  .flags = PASSIVE,
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = SRC,
	  .family = AF_INET6,
	  .address = "::",
	  .port = 7471 },
	{ "the other flags are not in the answer",
	  "192.0.2.7",
	  "7471",
	  { .ai_flags = NUMERIC | RAI_NOROUTE | RAI_FAMILY, .ai_family = AF_INET },
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "datagrams by port space",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_UDP },
	  .qp_type = IBV_QPT_UD,
	  .port_space = RDMA_PS_UDP,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "datagrams by QP type",
	  "192.0.2.7",
	  "7471",
	  { .ai_qp_type = IBV_QPT_UD },
	  .qp_type = IBV_QPT_UD,
	  .port_space = RDMA_PS_UDP,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "IP over InfiniBand",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_IPOIB },
	  .qp_type = IBV_QPT_UD,
	  .port_space = RDMA_PS_IPOIB,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "RDMA_PS_IB",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_IB },
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_IB,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "RDMA_PS_IB and datagrams",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_IB, .ai_qp_type = IBV_QPT_UD },
	  .qp_type = IBV_QPT_UD,
	  .port_space = RDMA_PS_IB,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "XRC",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_IB, .ai_qp_type = IBV_QPT_XRC_SEND },
	  .qp_type = IBV_QPT_XRC_SEND,
	  .port_space = RDMA_PS_IB,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "UC",
	  "192.0.2.7",
	  "7471",
	  { .ai_qp_type = IBV_QPT_UC },
	  .qp_type = IBV_QPT_UC,
	  .port_space = RDMA_PS_TCP,
	  .filled = DST,
	  .family = AF_INET,
	  .address = "192.0.2.7",
	  .port = 7471 },
	{ "a contradiction",
	  "192.0.2.7",
	  "7471",
	  { .ai_port_space = RDMA_PS_UDP, .ai_qp_type = IBV_QPT_RC },
	  .gai = WRONG_TYPE },
	{ "the family without RAI_FAMILY",
	  "192.0.2.7",
	  "7471",
	  { .ai_flags = NUMERIC, .ai_family = AF_INET6 },
	  .gai = WRONG_FAMILY },
	{ "not a number", "host.example", "7471", { .ai_flags = NUMERIC }, .gai = EAI_NONAME },
	{ "a GID",
	  "2001:db8::7",
	  "7471",
	  { .ai_flags = NUMERIC | RAI_FAMILY,
	    .ai_family = AF_IB,
	    .ai_port_space = RDMA_PS_IB,
	    .ai_qp_type = IBV_QPT_RC },
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_IB,
	  .filled = DST,
	  .family = AF_IB,
	  .address = "2001:db8::7",
	  .port = 7471 },
	{ "a GID, passive, and no service",
	  "2001:db8::7",
	  NULL,
	  { .ai_flags = PASSIVE | NUMERIC | RAI_FAMILY,
	    .ai_family = AF_IB,
	    .ai_port_space = RDMA_PS_TCP },
	  .flags = PASSIVE,
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = SRC,
	  .family = AF_IB,
	  .address = "2001:db8::7" },
	{ "a GID that is not said to be a number",
	  "2001:db8::7",
	  "7471",
	  { .ai_flags = RAI_FAMILY, .ai_family = AF_IB },
	  .qp_type = IBV_QPT_RC,
	  .port_space = RDMA_PS_TCP,
	  .filled = DST,
	  .family = AF_INET6,
	  .address = "2001:db8::7",
	  .port = 7471 },
	/* nothing is asked for: the hints are returned unchanged */
	{ "hints alone",
	  NULL,
	  NULL,
	  { .ai_flags = PASSIVE | RAI_NOROUTE },
	  .flags = PASSIVE | RAI_NOROUTE },
	{ "hints alone, with a service",
	  NULL,
	  NULL,
	  { .ai_family = AF_INET6, .ai_qp_type = IBV_QPT_UD, .ai_port_space = RDMA_PS_IB },
	  .family = AF_INET6,
	  .qp_type = IBV_QPT_UD,
	  .port_space = RDMA_PS_IB },
};

static const void *bytes_of(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return &((const struct sockaddr_in *)address)->sin_addr;
	if (address->sa_family == AF_INET6)
		return &((const struct sockaddr_in6 *)address)->sin6_addr;
	return &((const struct sockaddr_ib *)address)->sib_addr;
}

static uint64_t service_of(const struct sockaddr *address)
{
	if (address->sa_family == AF_IB)
		return be64toh(((const struct sockaddr_ib *)address)->sib_sid);
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static void check_ib(const struct question *q, const struct sockaddr_ib *sib)
{
	uint64_t mask = RDMA_IB_IP_PS_MASK | (q->port ? RDMA_IB_IP_PORT_MASK : 0);

	CHECK_INT(ntohs(sib->sib_pkey), 0xffff);
	CHECK(be64toh(sib->sib_sid_mask) == mask);
	CHECK_INT(sib->sib_flowinfo, 0);
	CHECK(!sib->sib_scope_id);
}

static void check_address(const struct question *q, const struct sockaddr *address,
			  socklen_t length)
{
	int family = q->family == AF_INET ? AF_INET : AF_INET6; /* family of its text */
	uint8_t bytes[16];

	CHECK(address);
	CHECK_INT(length, q->family == AF_INET	  ? sizeof(struct sockaddr_in)
			  : q->family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_ib));
	CHECK_INT(address->sa_family, q->family);
	CHECK_INT(inet_pton(family, q->address, bytes), 1);
	CHECK(!memcmp(bytes_of(address), bytes, family == AF_INET ? 4 : 16));
	if (q->family != AF_IB) {
		CHECK_INT(service_of(address), q->port);
		return;
	}
	CHECK_INT(service_of(address), (uint64_t)q->port_space << 16 | q->port);
	check_ib(q, (const struct sockaddr_ib *)address);
}

static void ask(const void *arg)
{
	const struct question *q = arg;
	struct rdma_addrinfo *info = NULL;

	rdma_destroy_event_channel(rt_cm_channel()); /* skips the case if there is no channel */
	CHECK_INT(rdma_getaddrinfo(q->node, q->service, q->no_hints ? NULL : &q->hints, &info),
		  q->gai);
	if (q->gai)
		return;
	CHECK_INT(info->ai_flags, q->flags);
	CHECK_INT(info->ai_family, q->family);
	CHECK_INT(info->ai_qp_type, q->qp_type);
	CHECK_INT(info->ai_port_space, q->port_space);
	CHECK(!info->ai_src_canonname && !info->ai_dst_canonname);
	CHECK(!info->ai_route && !info->ai_route_len);
	CHECK(!info->ai_connect && !info->ai_connect_len);
	CHECK(!info->ai_next);
	if (q->filled == SRC)
		check_address(q, info->ai_src_addr, info->ai_src_len);
	else
		CHECK(!info->ai_src_addr && !info->ai_src_len);
	if (q->filled == DST)
		check_address(q, info->ai_dst_addr, info->ai_dst_len);
	else
		CHECK(!info->ai_dst_addr && !info->ai_dst_len);
	rdma_freeaddrinfo(info);
}

/* ---- addresses that the caller knows ---- */

static void known(void)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) },
			   dst = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000202) };
	struct rdma_addrinfo hints = { .ai_src_addr = (struct sockaddr *)&src,
				       .ai_src_len = sizeof(src),
				       .ai_dst_addr = (struct sockaddr *)&dst,
				       .ai_dst_len = sizeof(dst) },
			     *info;

	rdma_destroy_event_channel(rt_cm_channel());
	CHECK_OK(rdma_getaddrinfo(NULL, NULL, &hints, &info));
	CHECK_INT(info->ai_src_len, sizeof(src));
	CHECK(info->ai_src_addr != hints.ai_src_addr);
	CHECK(!memcmp(info->ai_src_addr, &src, sizeof(src)));
	CHECK_INT(info->ai_dst_len, sizeof(dst));
	CHECK(!memcmp(info->ai_dst_addr, &dst, sizeof(dst)));
	rdma_freeaddrinfo(info);

	/* a name takes precedence over the hint's address; the source stays */
	CHECK_OK(rdma_getaddrinfo("192.0.2.9", NULL, &hints, &info));
	CHECK(memcmp(info->ai_dst_addr, &dst, sizeof(dst)));
	CHECK(!memcmp(info->ai_src_addr, &src, sizeof(src)));
	rdma_freeaddrinfo(info);

	/* on the listening side the name is the source */
	hints.ai_flags = RAI_PASSIVE;
	CHECK_OK(rdma_getaddrinfo("192.0.2.9", NULL, &hints, &info));
	CHECK(memcmp(info->ai_src_addr, &src, sizeof(src)));
	CHECK(!info->ai_dst_addr);
	rdma_freeaddrinfo(info);
}

static void refused(void)
{
	struct rdma_addrinfo *info;

	rdma_destroy_event_channel(rt_cm_channel());
	CHECK_INT(rdma_getaddrinfo(NULL, NULL, NULL, &info), -1);
	CHECK_INT(errno, EINVAL);
}

static struct rt_case cases[RT_COUNT(questions) + 2] = {
	{ "addresses that are known", known },
	{ "nothing at all", refused },
};

int main(void)
{
	for (int i = 0; i < RT_COUNT(questions); i++)
		cases[2 + i] = (struct rt_case){ .name = questions[i].title,
						 .run_with = ask,
						 .arg = &questions[i] };
	return rt_main(cases, RT_COUNT(cases));
}
