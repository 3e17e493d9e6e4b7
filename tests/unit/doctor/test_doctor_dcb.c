/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PFC, pause, ECN and priorities: the kernel's answer, and the rungs "dcb" and "pfc". And rungs of
 * --peer that are hard to break between two hosts. */
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "tests/unit/doctor/world.h"

/* --- the kernel's answer --- */

struct answer {
	struct nl_msg *msg;
	struct nlattr *ieee;
};

static void answer_begin(struct answer *a)
{
	const struct dcbmsg header = { .cmd = DCB_CMD_IEEE_GET };

	a->msg = nlmsg_alloc_simple(RTM_GETDCB, 0);
	assert_non_null(a->msg);
	assert_int_equal(nlmsg_append(a->msg, (void *)&header, sizeof(header), NLMSG_ALIGNTO), 0);
	assert_int_equal(nla_put_string(a->msg, DCB_ATTR_IFNAME, "eth0"), 0);
	a->ieee = nla_nest_start(a->msg, DCB_ATTR_IEEE);
	assert_non_null(a->ieee);
}

static void answer_put_app(struct answer *a, uint8_t selector, uint8_t priority, uint16_t protocol)
{
	const struct dcb_app app = { selector, priority, protocol };

	assert_int_equal(nla_put(a->msg, DCB_ATTR_IEEE_APP, sizeof(app), &app), 0);
}

static struct dcb answer_end(struct answer *a)
{
	struct dcb dcb = {};

	nla_nest_end(a->msg, a->ieee);
	assert_int_equal(dcb_answer(nlmsg_hdr(a->msg), &dcb), 0);
	nlmsg_free(a->msg);
	return dcb;
}

static void test_answer(void **state)
{
	const struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 0x18 };
	struct nlattr *table;
	struct answer a;
	struct dcb dcb;

	answer_begin(&a);
	assert_int_equal(nla_put(a.msg, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc), 0);
	table = nla_nest_start(a.msg, DCB_ATTR_IEEE_APP_TABLE);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 3, 26);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 4, 26);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 1, 26);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 0, 63);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_ETHERTYPE, 5, 46);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 3, 64);
	answer_put_app(&a, IEEE_8021QAZ_APP_SEL_DSCP, 8, 10);
	nla_nest_end(a.msg, table);
	dcb = answer_end(&a);
	assert_true(dcb.pfc_known);
	assert_int_equal(dcb.pfc, 0x18);
	assert_true(dcb.dscps == (UINT64_C(1) << 26 | UINT64_C(1) << 63));
	assert_int_equal(dcb.priority[26], 4);
	assert_int_equal(dcb.priority[63], 0);
}

/* Attributes that are too short, or missing. */
static void test_answer_short(void **state)
{
	const uint8_t byte = 0xff;
	struct nlattr *table;
	struct answer a;
	struct dcb dcb;

	answer_begin(&a);
	assert_int_equal(nla_put(a.msg, DCB_ATTR_IEEE_PFC, 1, &byte), 0);
	table = nla_nest_start(a.msg, DCB_ATTR_IEEE_APP_TABLE);
	assert_int_equal(nla_put(a.msg, DCB_ATTR_IEEE_APP, 1, &byte), 0);
	nla_nest_end(a.msg, table);
	dcb = answer_end(&a);
	assert_false(dcb.pfc_known);
	assert_true(!dcb.dscps);

	answer_begin(&a);
	a.ieee->nla_type = DCB_ATTR_PFC_CFG;
	dcb = answer_end(&a);
	assert_false(dcb.pfc_known);
}

/* --- the rung of --speed --- */

static void expect_dcb(const char *cause, const char *fix)
{
	world.doctor.speed_wanted = true;
	expect_failure("dcb", 52, cause, fix);
}

static void test_dcb_well(void **state)
{
	expect_state("dcb", FINDING_UNNEEDED, "--speed");
	world.doctor.speed_wanted = true;
	expect_state("dcb", FINDING_OK,
		     "mlx0: eth0: priorities with PFC: 3; DSCP 26 has priority 3; pause is off; "
		     "whether the adapter answers marks (ECN) is in no file here");
	world.dcb = (struct dcb){ .pfc_known = true, .pause_known = true, .pause_send = true };
	expect_state("dcb", FINDING_OK, "priorities with PFC: none; pause is on");
	world.dcb = (struct dcb){ .pfc_known = true, .pfc = 0xc0 };
	expect_state("dcb", FINDING_OK, "priorities with PFC: 6, 7; pause is not reported");
}

static void test_dcb_unseen(void **state)
{
	world.doctor.speed_wanted = true;
	world.dcb = (struct dcb){ .error = -EOPNOTSUPP };
	expect_state("dcb", FINDING_UNSEEN,
		     "eth0: PFC is not known: its driver or the kernel has no DCB; pause is not");
	world.dcb = (struct dcb){ .error = -EMFILE };
	expect_state("dcb", FINDING_UNSEEN, "PFC is not known: Too many open files");
	world.dcb = (struct dcb){ .pause_known = true };
	expect_state("dcb", FINDING_UNSEEN, "its driver does not report PFC; pause is off");
	world_write("sys/class/infiniband/mlx0/ports/1/link_layer", "InfiniBand\n");
	expect_state("dcb", FINDING_UNNEEDED, "it has no Ethernet port");
}

static void test_dcb_wrong(void **state)
{
	world.dcb.pause_receive = true;
	expect_dcb("pause is on for all priorities, too", "ethtool -A eth0 rx off tx off");
	world.dcb.pause_receive = false;
	world.dcb.priority[26] = 5;
	expect_dcb("no DSCP has one of these priorities", "dcb app add dev eth0 dscp-prio 26:3");
	/* The other priority of RoCE has PFC. */
	world.dcb.dscps |= UINT64_C(1) << 24;
	world.dcb.priority[24] = 3;
	expect_state("dcb", FINDING_OK, "DSCP 26 has priority 5");
}

#define ECN "sys/class/net/eth0/ecn/"

static void test_dcb_ecn(void **state)
{
	world.doctor.speed_wanted = true;
	world_write(ECN "roce_np/enable/3", "1\n");
	world_write(ECN "roce_rp/enable/3", "1\n");
	world_write(ECN "roce_rp/enable/5", "0\n");
	expect_state("dcb", FINDING_OK, "pause is off");
	assert_null(strstr(world_finding("dcb")->what.chars, "ECN"));
	world_write(ECN "roce_rp/enable/3", "0\n");
	expect_dcb("does not answer marks (ECN) of priority 3: roce_rp is off",
		   "echo 1 > /sys/class/net/eth0/ecn/roce_rp/enable/3");
	/* The priority of the usual DSCP, with or without PFC. */
	world_write(ECN "roce_rp/enable/3", "1\n");
	world.dcb =
		(struct dcb){ .pfc_known = true, .dscps = UINT64_C(1) << 26, .priority[26] = 5 };
	expect_dcb("of priority 5: roce_rp", "enable/5");
	world.dcb = (struct dcb){ .pfc_known = true, .pfc = 1 << 5 };
	expect_dcb("of priority 5: roce_rp", "enable/5");
}

/* --- the rung of --peer --- */

static void peer_begin(void)
{
	const struct peer_hello hello = { .mtu = IBV_MTU_1024,
					  .link_layer = IBV_LINK_LAYER_ETHERNET,
					  .roce = IBV_GID_TYPE_ROCE_V2 };

	world.doctor.peer_host = "node7";
	world.peer = (struct peer){
		.step = PEER_DONE,
		.here = hello,
		.there = hello,
		.paced = { { 9, 9 }, { 9, 9 } },
		.loaded = true,
		.load_here = { .pfc = PEER_PFC_KNOWN | 8, .priority = 4 },
		.load_there = { .pfc = PEER_PFC_KNOWN | 8, .priority = 4 },
	};
}

static void test_pfc(void **state)
{
	expect_state("pfc", FINDING_UNNEEDED, "--peer asks for it");
	peer_begin();
	expect_state("pfc", FINDING_OK, "priorities with PFC: 3 on this host, 3 on node7");
	world.peer.load_there.priority = 0;
	expect_state("pfc", FINDING_OK, "3 on node7");
	world.peer.load_there.pfc = PEER_PFC_KNOWN;
	/* Dropped packets are a result of the different settings. */
	world.peer.load_here.losses = 900;
	expect_failure("pfc", 51, "PFC: 3 on this host, none on node7: they differ", "dcb pfc set");
	peer_begin();
	world.peer.load_here.priority = 1;
	expect_failure("pfc", 51, "DSCP 26 has priority 0 on this host and 3 on node7",
		       "dcb app replace");
}

static void test_pfc_unseen(void **state)
{
	peer_begin();
	world.peer.load_here.pfc = 0;
	strcpy(world.peer.pfc_here, "eth0: no DCB");
	expect_state("pfc", FINDING_UNSEEN, "PFC is not known; on this host: eth0: no DCB");
	world.peer.load_there.pfc = 0;
	expect_state("pfc", FINDING_UNSEEN, "no DCB; on node7: it does not report it");
	strcpy(world.peer.pfc_there, "eth1: Too many open files");
	expect_state("pfc", FINDING_UNSEEN, "; on node7: eth1: Too many");
	world.peer.here.link_layer = world.peer.there.link_layer = IBV_LINK_LAYER_INFINIBAND;
	expect_state("pfc", FINDING_UNNEEDED, "credits");
	world.peer.loaded = false;
	expect_state("pfc", FINDING_UNNEEDED, "did not come this far");
}

/* --- other rungs of --peer --- */

static void test_peer_ended(void **state)
{
	peer_begin();
	world.peer = (struct peer){ .step = PEER_GREET, .error = -ETIMEDOUT, .text = "too slow" };
	expect_failure("peer", 36, "node7: too slow", "of both hosts");
	assert_int_equal(world_finding("pair")->state, FINDING_UNNEEDED);
	assert_int_equal(world_finding("ecn")->state, FINDING_UNNEEDED);
	world.peer.error = -ECONNREFUSED;
	expect_failure("peer", 36, "too slow", "as the user of --serve");
}

static void test_pair(void **state)
{
	peer_begin();
	world.peer.there.roce = IBV_GID_TYPE_ROCE_V1;
	expect_failure("pair", 37, "they cannot be connected", "GIDs of one type");
	world.peer.there.roce = IBV_GID_TYPE_ROCE_V2;
	world.peer.there.mtu = IBV_MTU_4096;
	expect_state("pair", FINDING_NOTE, "MTU 4096): the smaller MTU is used");
	world.doctor.strict = true;
	expect_failure("pair", 37, "the smaller MTU is used", "mtu 4200");
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer), cmocka_unit_test(test_answer_short),
		WORLD_TEST(test_dcb_well),     WORLD_TEST(test_dcb_unseen),
		WORLD_TEST(test_dcb_wrong),    WORLD_TEST(test_dcb_ecn),
		WORLD_TEST(test_pfc),	       WORLD_TEST(test_pfc_unseen),
		WORLD_TEST(test_peer_ended),   WORLD_TEST(test_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
