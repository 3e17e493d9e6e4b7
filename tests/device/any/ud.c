/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: address handles, the GRH in front of each message, Q_Keys, multicast. */
#include <endian.h>

#include "tests/lib/rt.h"

#define GRH 40 /* bytes in front of every received datagram */

static const struct rt_options ud = { .type = IBV_QPT_UD };

static struct ibv_ah *create_ah(struct rt_dev *dev, const struct rt_side *to)
{
	struct rt_address address = rt_side_address(to);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &address);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);

	CHECK(ah);
	return ah;
}

static struct ibv_send_wr ud_wr(struct ibv_sge *sge, struct ibv_ah *ah, const struct rt_side *to)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, sge);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = RT_QKEY;
	return wr;
}

static void sizes(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ud);
	uint32_t mtu = 128 << dev->port.active_mtu;
	const uint32_t lengths[] = { 0, 1, 100, mtu - 1, mtu };
	struct ibv_ah *ah = create_ah(dev, &pair.b);

	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, lengths[i]);
		struct ibv_send_wr wr = ud_wr(&sge, ah, &pair.b);
		struct ibv_wc wc;

		wr.opcode = i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		wr.imm_data = htobe32(i);
		rt_fill(pair.a.buf.p, lengths[i], i);
		rt_recv(&pair.b, 2, 0, GRH + mtu);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, 1, IBV_WC_SEND);
		wc = EXPECT(&pair.b, 2, IBV_WC_RECV);
		CHECK_INT(wc.byte_len, GRH + lengths[i]);
		CHECK_INT(wc.src_qp, pair.a.qp->qp_num);
		if (dev->port.link_layer == IBV_LINK_LAYER_ETHERNET)
			CHECK(wc.wc_flags & IBV_WC_GRH);
		if (i % 2)
			CHECK_INT(be32toh(wc.imm_data), i);
		VERIFY(pair.b.buf.p + GRH, lengths[i], i);
	}
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Answer the sender of a message, by its completion and GRH only. */
static void reply(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ud);
	struct ibv_ah *ah = create_ah(dev, &pair.b), *back;
	struct ibv_sge question = rt_sge(&pair.a, 0, 100), answer = rt_sge(&pair.b, GRH, 100);
	struct ibv_send_wr wr = ud_wr(&question, ah, &pair.b);
	struct ibv_wc wc;

	rt_fill(pair.a.buf.p, 100, 3);
	rt_recv(&pair.b, 2, 0, 1000);
	rt_recv(&pair.a, 3, 1000, 1000);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	wc = EXPECT(&pair.b, 2, IBV_WC_RECV);
	back = ibv_create_ah_from_wc(dev->pd, &wc, (struct ibv_grh *)pair.b.buf.p, dev->port_num);
	CHECK(back);
	wr = ud_wr(&answer, back, &pair.a);
	wr.wr.ud.remote_qpn = wc.src_qp;
	POST(&pair.b, &wr);
	EXPECT(&pair.b, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 3, IBV_WC_RECV);
	VERIFY(pair.a.buf.p + 1000 + GRH, 100, 3);
	CHECK_OK(ibv_destroy_ah(back));
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* One QP sends to several. */
static void fan_out(void)
{
	enum {
		PEERS = 4
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pairs[PEERS];
	struct ibv_ah *ah;

	for (int i = 0; i < PEERS; i++)
		pairs[i] = rt_pair_open(dev, &ud);
	ah = create_ah(dev, &pairs[0].b);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < PEERS; i++) {
			struct ibv_sge sge = rt_sge(&pairs[0].a, 100 * i, 100);
			struct ibv_send_wr wr = ud_wr(&sge, ah, &pairs[i].b);

			rt_fill(pairs[0].a.buf.p + 100 * i, 100, round + i);
			rt_recv(&pairs[i].b, 2, 0, 200);
			POST(&pairs[0].a, &wr);
		}
		for (int i = 0; i < PEERS; i++) {
			EXPECT(&pairs[0].a, 1, IBV_WC_SEND);
			EXPECT(&pairs[i].b, 2, IBV_WC_RECV);
			VERIFY(pairs[i].b.buf.p + GRH, 100, round + i);
		}
	}
	CHECK_OK(ibv_destroy_ah(ah));
	for (int i = 0; i < PEERS; i++)
		rt_pair_close(&pairs[i]);
	rt_close(dev);
}

/* A message with another Q_Key is dropped; the one after it arrives. */
static void wrong_qkey(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ud);
	struct ibv_ah *ah = create_ah(dev, &pair.b);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
	struct ibv_send_wr wrong = ud_wr(&sge, ah, &pair.b), right = wrong;

	wrong.wr.ud.remote_qkey = RT_QKEY + 1;
	wrong.next = &right;
	right.opcode = IBV_WR_SEND_WITH_IMM;
	right.imm_data = htobe32(77);
	rt_recv(&pair.b, 2, 0, 100);
	rt_recv(&pair.b, 3, 100, 100);
	POST(&pair.a, &wrong);
	CHECK_INT(be32toh(EXPECT(&pair.b, 2, IBV_WC_RECV).imm_data), 77);
	EXPECT_NONE(&pair.b);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

static bool arrives(struct rt_side *side)
{
	for (int i = 0; i < 200; i++) {
		struct ibv_wc wc;

		if (ibv_poll_cq(side->cq, 1, &wc) == 1)
			return true;
		usleep(1000);
	}
	return false;
}

/* A message to a group reaches every attached QP, and none after it was detached. Some devices
 * never return their own group messages; with those only attaching is tested. */
static void multicast(void)
{
	static const union ibv_gid group = { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2,
						      3 } };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ud), other = rt_pair_open(dev, &ud);
	bool is_ib = dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	uint16_t lid = is_ib ? 0xc001 : 0; /* a group has one in a subnet */
	struct rt_address address = { .gid = group, .lid = lid };
	struct ibv_ah_attr attr = rt_ah_attr(dev, &address);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr;
	struct ibv_ah *ah;

	if (!dev->attr.orig_attr.max_mcast_grp)
		rt_skip("the device has no multicast groups");
	attr.is_global = 1;
	ah = ibv_create_ah(dev->pd, &attr);
	CHECK(ah);
	CHECK_OK(ibv_attach_mcast(pair.b.qp, &group, lid));
	CHECK_OK(ibv_attach_mcast(other.b.qp, &group, lid));
	wr = ud_wr(&sge, ah, &pair.b);
	wr.wr.ud.remote_qpn = 0xffffff;
	rt_fill(pair.a.buf.p, 100, 5);
	rt_recv(&pair.b, 2, 0, 1000);
	rt_recv(&other.b, 3, 0, 1000);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	if (arrives(&pair.b)) {
		EXPECT(&other.b, 3, IBV_WC_RECV);
		VERIFY(pair.b.buf.p + GRH, 100, 5);
		VERIFY(other.b.buf.p + GRH, 100, 5);
		CHECK_OK(ibv_detach_mcast(other.b.qp, &group, lid));
		rt_recv(&pair.b, 4, 0, 1000);
		rt_recv(&other.b, 5, 0, 1000);
		POST(&pair.a, &wr);
		EXPECT(&pair.b, 4, IBV_WC_RECV);
		EXPECT_NONE(&other.b);
	} else {
		CHECK_OK(ibv_detach_mcast(other.b.qp, &group, lid));
	}
	CHECK_OK(ibv_detach_mcast(pair.b.qp, &group, lid));
	CHECK(ibv_detach_mcast(pair.b.qp, &group, lid) != 0);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&other);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sizes", sizes },	      { "reply", reply },	  { "fan_out", fan_out },
	{ "wrong_qkey", wrong_qkey }, { "multicast", multicast },
};
RT_MAIN(cases)
