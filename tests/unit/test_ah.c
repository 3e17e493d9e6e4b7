/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles on a device that consists only of its tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libibverbs/ah.h"
#include "libibverbs/library.h"

#define GIDS 5

/* Port 1 is RoCE, port 2 InfiniBand. */
enum {
	PORT_ROCE = 1,
	PORT_IB = 2
};

static struct {
	const char *gid;
	enum ibv_gid_type type;
} gid_table[GIDS] = {
	{ "fe80::1", IBV_GID_TYPE_ROCE_V1 },
	{ "fe80::1", IBV_GID_TYPE_ROCE_V2 },
	{ "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1 },
	{ "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2 },
	{},
};

static struct ibv_ah_attr seen; /* by the last create_ah */
static int create_result;
static int destroyed;

static union ibv_gid gid(const char *text)
{
	union ibv_gid g;

	assert_int_equal(inet_pton(AF_INET6, text, &g), 1);
	return g;
}

static int fake_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			     struct ibv_device_attr_ex *ret_attr)
{
	ret_attr->orig_attr.phys_port_cnt = 2;
	ret_attr->phys_port_cnt_ex = 2;
	return 0;
}

static int fake_query_port(struct ibv_context *ctx, uint8_t port_num,
			   struct ibv_port_attr *ret_attr)
{
	*ret_attr = (struct ibv_port_attr){
		.gid_tbl_len = GIDS,
		.active_mtu = IBV_MTU_1024,
		.link_layer =
			port_num == PORT_ROCE ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND,
	};
	return 0;
}

static int fake_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
			  struct ibv_gid_entry *ret_entry)
{
	assert_true(index < GIDS);
	if (!gid_table[index].gid)
		return -ENODATA;
	*ret_entry = (struct ibv_gid_entry){
		.gid = gid(gid_table[index].gid),
		.gid_index = index,
		.port_num = port_num,
		.gid_type = port_num == PORT_ROCE ? gid_table[index].type : IBV_GID_TYPE_IB,
	};
	return 0;
}

static int fake_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	if (create_result)
		return create_result;
	seen = *in->attr;
	ah->handle = 9;
	return 0;
}

static int fake_destroy_ah(struct ibv_ah *ah)
{
	destroyed++;
	return 0;
}

static const struct verbs_ops ops = {
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	.query_gid = fake_query_gid,
	.create_ah = fake_create_ah,
	.destroy_ah = fake_destroy_ah,
};

static const struct verbs_provider provider = {
	.name = "fake",
	.sizes.ah = sizeof(struct ibv_ah) + 100,
	.ops = &ops,
};

static struct verbs_device device = { .device.name = "fake0", .provider = &provider };
static struct verbs_ex_private priv = {
	.provider = &provider,
	.ops = &ops,
	.device = &device,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};
static struct verbs_context vctx = { .sz = sizeof(vctx),
				     .priv = &priv,
				     .context.device = &device.device };
static struct ibv_context *ctx = &vctx.context;
static struct ibv_pd pd = { .context = &vctx.context };

/* ---- what the library said ---- */

static FILE *log_lines;

static void assert_said(const char *words)
{
	char text[4096];

	rewind(log_lines);
	text[fread(text, 1, sizeof(text) - 1, log_lines)] = 0;
	if (!strstr(text, words))
		fail_msg("'%s' is not in: %s", words, text);
	assert_int_equal(ftruncate(fileno(log_lines), 0), 0);
}

static int forget(void **state)
{
	create_result = 0;
	destroyed = 0;
	return ftruncate(fileno(log_lines), 0);
}

/* ---- create ---- */

static void assert_refused(struct ibv_ah_attr *attr, int error, const char *words)
{
	errno = 0;
	assert_null(ibv_create_ah(&pd, attr));
	assert_int_equal(errno, error);
	assert_said(words);
}

static struct ibv_ah_attr roce_attr(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = PORT_ROCE,
		.grh.sgid_index = 3,
		.grh.dgid = gid("::ffff:10.0.0.2"),
		.grh.hop_limit = 64,
	};
}

static void test_create(void **state)
{
	struct ibv_ah_attr attr = roce_attr();
	struct ibv_ah *ah = ibv_create_ah(&pd, &attr);

	assert_non_null(ah);
	assert_ptr_equal(ah->pd, &pd);
	assert_ptr_equal(ah->context, ctx);
	assert_memory_equal(&seen, &attr, sizeof(attr));
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(destroyed, 1);
}

static void test_create_infiniband(void **state)
{
	struct ibv_ah_attr attr = { .port_num = PORT_IB, .dlid = 5 };
	struct ibv_ah *ah = ibv_create_ah(&pd, &attr);

	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void test_refused(void **state)
{
	struct ibv_ah_attr attr = roce_attr();

	attr.is_global = 0;
	assert_refused(&attr, EINVAL, "fake0 ibv_create_ah: port 1: RoCE needs is_global");
	attr = roce_attr();
	attr.grh.sgid_index = GIDS;
	assert_refused(&attr, EINVAL, "sgid_index 5: the GID table has entries 0 to 4");
	attr.port_num = PORT_IB;
	assert_refused(&attr, EINVAL, "sgid_index 5");
	attr = roce_attr();
	attr.port_num = 0;
	assert_refused(&attr, EINVAL, "port 0");
	attr.port_num = 3;
	assert_refused(&attr, EINVAL, "port 3");
}

static void test_null(void **state)
{
	struct ibv_ah_attr attr = roce_attr();
	struct ibv_grh grh = {};
	struct ibv_wc wc = {};

	assert_null(ibv_create_ah(NULL, &attr));
	assert_said("ibv_create_ah: the PD is NULL");
	assert_null(ibv_create_ah(&pd, NULL));
	assert_said("ah_attr is NULL");
	assert_null(ibv_create_ah_from_wc(NULL, &wc, &grh, 1));
	assert_said("the PD is NULL");
}

static void test_explained(void **state)
{
	struct ibv_ah_attr attr = roce_attr();

	create_result = -EHOSTUNREACH;
	assert_refused(&attr, EHOSTUNREACH, "sgid_index 3 (::ffff:10.0.0.1) to ::ffff:10.0.0.2");
	create_result = -EINVAL;
	attr.grh.sgid_index = 4;
	assert_refused(&attr, EINVAL, "sgid_index 4: this entry of the GID table is empty");
	attr = (struct ibv_ah_attr){ .port_num = PORT_IB, .dlid = 5 };
	create_result = -ENOMEM;
	assert_refused(&attr, ENOMEM, "port 2 dlid 0x5");
}

/* ---- the header in front of a UD message ---- */

/* Return a header with a correct checksum. A device leaves arbitrary bytes in the first 20. */
static struct ibv_grh ipv4_header(int garbage)
{
	static const uint8_t header[20] = {
		0x45, 0x28, 0x00, 0x40, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11,
		0x14, 0x4f, 10,	  0,	0,    2,    10,	  0,	0,    1,
	};
	struct ibv_grh grh;

	memset(&grh, garbage, sizeof(grh));
	memcpy((uint8_t *)&grh + 20, header, sizeof(header));
	return grh;
}

static struct ibv_grh ipv6_header(uint8_t next_hdr)
{
	return (struct ibv_grh){
		.version_tclass_flow = htonl(6u << 28 | 0x28 << 20 | 0xabcde),
		.next_hdr = next_hdr,
		.hop_limit = 5,
		.sgid = gid("fe80::2"),
		.dgid = gid("fe80::1"),
	};
}

static void test_parse_ipv4(void **state)
{
	struct ibv_grh grh = ipv4_header(0x61);
	union ibv_gid local = gid("::ffff:10.0.0.1"), remote = gid("::ffff:10.0.0.2");
	struct ah_route route;

	/* The undefined part looks like IPv6: the checksum decides. */
	assert_int_equal(ah_grh_parse(&grh, true, &route), 0);
	assert_memory_equal(&route.local, &local, sizeof(local));
	assert_memory_equal(&route.remote, &remote, sizeof(remote));
	assert_int_equal(route.type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(route.traffic_class, 0x28);

	/* Without that ambiguity a device may leave the checksum out. */
	grh = ipv4_header(0);
	((uint8_t *)&grh)[30] ^= 0xff;
	assert_int_equal(ah_grh_parse(&grh, true, &route), 0);
	assert_memory_equal(&route.remote, &remote, sizeof(remote));
}

static void test_parse_ipv6(void **state)
{
	struct ibv_grh grh = ipv6_header(17);
	struct ah_route route;

	assert_int_equal(ah_grh_parse(&grh, true, &route), 0);
	assert_int_equal(route.type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(route.flow_label, 0xabcde);
	assert_int_equal(route.traffic_class, 0x28);
	assert_memory_equal(&route.local, &grh.dgid, 16);
	assert_memory_equal(&route.remote, &grh.sgid, 16);

	grh = ipv6_header(0x1b);
	assert_int_equal(ah_grh_parse(&grh, true, &route), 0);
	assert_int_equal(route.type, IBV_GID_TYPE_ROCE_V1);
	assert_int_equal(ah_grh_parse(&grh, false, &route), 0);
	assert_int_equal(route.type, IBV_GID_TYPE_IB);

	/* An IPv6 address whose bytes look like an IPv4 header: its checksum is wrong. */
	grh = ipv6_header(17);
	grh.sgid.raw[12] = 0x45;
	assert_int_equal(ah_grh_parse(&grh, true, &route), 0);
	assert_memory_equal(&route.remote, &grh.sgid, 16);
}

static void test_parse_nonsense(void **state)
{
	struct ibv_grh grh = {}, tcp = ipv6_header(6);
	struct ah_route route;

	assert_int_equal(ah_grh_parse(&grh, true, &route), -EPROTO);
	assert_int_equal(ah_grh_parse(&tcp, true, &route), -EPROTO);
	grh = ipv4_header(0x61);
	((uint8_t *)&grh)[30] ^= 1;
	assert_int_equal(ah_grh_parse(&grh, true, &route), -EPROTO);
}

/* ---- the way back ---- */

static void test_from_wc_ipv4(void **state)
{
	struct ibv_grh grh = ipv4_header(0);
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .sl = 3, .slid = 7, .dlid_path_bits = 1 };
	union ibv_gid remote = gid("::ffff:10.0.0.2");
	struct ibv_ah_attr attr;

	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &grh, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.port_num, PORT_ROCE);
	assert_int_equal(attr.sl, 3);
	assert_int_equal(attr.dlid, 7);
	assert_int_equal(attr.src_path_bits, 1);
	assert_int_equal(attr.grh.sgid_index, 3);
	assert_int_equal(attr.grh.hop_limit, 255);
	assert_int_equal(attr.grh.traffic_class, 0x28);
	assert_memory_equal(&attr.grh.dgid, &remote, 16);
}

static void test_from_wc_ipv6(void **state)
{
	struct ibv_grh v2 = ipv6_header(17), v1 = ipv6_header(0x1b);
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &v2, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 1);
	assert_int_equal(attr.grh.flow_label, 0xabcde);
	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &v1, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 0);
	ah = ibv_create_ah_from_wc(&pd, &wc, &v2, PORT_ROCE);
	assert_non_null(ah);
	assert_int_equal(seen.grh.sgid_index, 1);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void test_from_wc_local(void **state)
{
	struct ibv_wc wc = { .slid = 7 };
	struct ibv_ah_attr attr;

	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_IB, &wc, NULL, &attr), 0);
	assert_int_equal(attr.is_global, 0);
	assert_int_equal(attr.dlid, 7);
}

static void test_from_wc_fails(void **state)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = ipv6_header(17);
	struct ibv_ah_attr attr = { .dlid = 77 };

	grh.dgid = gid("fe80::99");
	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &grh, &attr), -1);
	assert_int_equal(errno, ENOENT);
	assert_said("fe80::99");
	grh.dgid = gid("ff12::1");
	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &grh, &attr), -1);
	assert_said("is a multicast group");
	grh = (struct ibv_grh){};
	assert_int_equal(ibv_init_ah_from_wc(ctx, PORT_ROCE, &wc, &grh, &attr), -1);
	assert_said("pass the start of the receive buffer");
	assert_int_equal(ibv_init_ah_from_wc(ctx, 9, &wc, &grh, &attr), -1);
	assert_said("port 9");
	assert_null(ibv_create_ah_from_wc(&pd, &wc, &grh, PORT_ROCE));
	assert_int_equal(attr.dlid, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_create, forget),
		cmocka_unit_test_setup(test_create_infiniband, forget),
		cmocka_unit_test_setup(test_refused, forget),
		cmocka_unit_test_setup(test_null, forget),
		cmocka_unit_test_setup(test_explained, forget),
		cmocka_unit_test(test_parse_ipv4),
		cmocka_unit_test(test_parse_ipv6),
		cmocka_unit_test(test_parse_nonsense),
		cmocka_unit_test_setup(test_from_wc_ipv4, forget),
		cmocka_unit_test_setup(test_from_wc_ipv6, forget),
		cmocka_unit_test_setup(test_from_wc_local, forget),
		cmocka_unit_test_setup(test_from_wc_fails, forget),
	};
	char path[] = "/tmp/test_ah.XXXXXX";
	int fd = mkstemp(path);

	log_lines = fd < 0 ? NULL : fdopen(fd, "r");
	if (!log_lines)
		return 1;
	setenv("VERBS_LOG_LEVEL", "1", 1);
	setenv("VERBS_LOG_FILE", path, 1);
	log_init();
	unlink(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
