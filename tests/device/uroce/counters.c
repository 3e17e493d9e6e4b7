/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters, and the first error of a queue pair. */
#include <time.h>

#include <infiniband/uroce.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	COUNTERS_MAX = 64,
};

static struct rt_dev *open_with(const char *faults)
{
	net_own();
	setenv("UROCE_FAULTS", faults, 1);
	setenv("UROCE_PATH", "udp", 1);
	rt_log_capture();
	return rt_open();
}

static uint64_t counter(struct rt_dev *dev, struct ibv_qp *qp, const char *name)
{
	struct uroce_counter counters[COUNTERS_MAX];
	int n = uroce_query_counters(dev->ctx, qp, counters, COUNTERS_MAX);

	CHECK(n > 0 && n <= COUNTERS_MAX);
	for (int i = 0; i < n; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	FAIL("there is no counter %s", name);
}

#define COUNTER(side, name, value) CHECK_INT(counter((side)->dev, (side)->qp, name), value)

static void write_to(struct rt_pair *pair, uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, wr_id, &sge);

	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
}

/* --- counters --- */

static void packets(void)
{
	struct rt_dev *dev = open_with("seed=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint32_t mtu = 128u << dev->port.active_mtu;

	for (int i = 0; i < 10; i++) {
		write_to(&pair, i, 3 * mtu);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	}
	COUNTER(&pair.a, "sent_pkts", 30 + counter(dev, pair.a.qp, "resent_pkts"));
	COUNTER(&pair.b, "sent_bytes", 0);
	CHECK(counter(dev, pair.b.qp, "rcvd_pkts") >= 30);
	CHECK(counter(dev, pair.b.qp, "rcvd_bytes") >= 30ull * mtu);
	CHECK(counter(dev, pair.a.qp, "rcvd_pkts") >= 10);
	COUNTER(&pair.a, "retry_exceeded_err", 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void duplicates(void)
{
	struct rt_dev *dev = open_with("duplicate=3:only,qp=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 5; i++) {
		write_to(&pair, i, 8);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	}
	CHECK(counter(dev, pair.b.qp, "duplicate_request") >= 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void gaps(void)
{
	struct rt_dev *dev = open_with("drop=2:qp=1,middle");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	write_to(&pair, 1, pair.a.buf.size);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK(counter(dev, pair.b.qp, "out_of_seq_request") >= 1);
	CHECK(counter(dev, pair.b.qp, "send_seq_err") >= 1);
	CHECK(counter(dev, pair.a.qp, "rcvd_seq_err") >= 1);
	CHECK(counter(dev, pair.a.qp, "completer_retry_err") >= 1);
	CHECK(counter(dev, pair.a.qp, "resent_pkts") >= 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void damaged(void)
{
	struct rt_dev *dev = open_with("corrupt=1:qp=1,times=1");
	struct ibv_gid_entry entry;
	struct rt_pair pair;

	/* IPv6: all 32 bits of the ICRC are checked. */
	for (uint32_t i = 0; !ibv_query_gid_ex(dev->ctx, 1, i, &entry, 0); i++) {
		dev->gid_index = i;
		dev->gid = entry.gid;
	}
	pair = rt_pair_open(dev, NULL);
	write_to(&pair, 1, 1000);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_INT(counter(dev, NULL, "rcvd_icrc_err"), 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void receiver_not_ready(void)
{
	struct rt_dev *dev = open_with("seed=1");
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .rnr_retry = 1 });
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK(counter(dev, pair.b.qp, "send_rnr_err") >= 2);
	CHECK(counter(dev, pair.a.qp, "rcvd_rnr_err") >= 2);
	COUNTER(&pair.a, "retry_rnr_exceeded_err", 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The counters of a QP stay with the device, and are a line of the log at the end. */
static void device(void)
{
	struct rt_dev *dev = open_with("seed=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint64_t sent;

	write_to(&pair, 1, 8);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	sent = counter(dev, NULL, "sent_pkts");
	CHECK(sent >= 2);
	rt_pair_close(&pair);
	CHECK(counter(dev, NULL, "sent_pkts") >= sent);
	CHECK(!strstr(rt_log_text(), "counters at close"));
	rt_close(dev);
	if (!strstr(rt_log_text(), "counters at close: sent_pkts "))
		FAIL("the log does not have the counters: %s", rt_log_text());
}

static void no_room(void)
{
	struct uroce_counter counters[2] = { { NULL, 0 }, { NULL, 77 } };
	struct rt_dev *dev = open_with("seed=1"), *other;
	struct rt_pair pair = rt_pair_open(dev, NULL);

	CHECK(uroce_query_counters(dev->ctx, pair.a.qp, NULL, 0) > 2);
	CHECK(uroce_query_counters(dev->ctx, pair.a.qp, counters, 1) > 2);
	CHECK(!strcmp(counters[0].name, "sent_pkts") && counters[1].value == 77);
	other = rt_open();
	errno = 0;
	CHECK_INT(uroce_query_counters(other->ctx, pair.a.qp, counters, 1), -1);
	CHECK_INT(errno, EINVAL);
	rt_close(other);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- the first error --- */

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void expect_error(struct rt_side *side, const struct rt_side *peer,
			 enum ibv_wc_status status, enum ibv_wc_opcode opcode, uint64_t wr_id)
{
	struct uroce_qp_error e;

	CHECK_OK(uroce_query_first_error(side->qp, &e));
	CHECK_INT(e.status, status);
	CHECK_INT(e.opcode, opcode);
	CHECK_INT(e.wr_id, wr_id);
	CHECK_INT(e.remote_qpn, peer->qp->qp_num);
	CHECK(!memcmp(&e.remote_gid, &side->dev->gid, sizeof(e.remote_gid)));
	CHECK(e.time && e.time <= nanoseconds());
}

/* All completions that follow are flushed with right opcodes, and the record is that of the
 * first error. */
static void access_error(void)
{
	static const struct {
		enum ibv_wr_opcode wr;
		enum ibv_wc_opcode wc;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE }, /* the request that fails */
		{ IBV_WR_SEND, IBV_WC_SEND },
		{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP },
	};
	struct rt_dev *dev = open_with("seed=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct uroce_qp_error e = { .wr_id = 99 };
	struct ibv_wc wc;

	CHECK_INT(uroce_query_first_error(pair.a.qp, &e), ENOENT);
	CHECK_INT(e.wr_id, 99);
	rt_recv(&pair.a, 50, 0, 8);
	for (int i = 0; i < RT_COUNT(ops); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
		struct ibv_send_wr wr = rt_wr(ops[i].wr, i, &sge);

		rt_wr_remote(&wr, &pair.b, 0);
		if (!i)
			wr.wr.rdma.rkey ^= 0x5500;
		POST(&pair.a, &wr);
	}
	for (int i = 0; i <= RT_COUNT(ops); i++) {
		wc = rt_wait(&pair.a);
		CHECK_INT(wc.status, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_REM_ACCESS_ERR);
		CHECK_INT(wc.opcode, wc.wr_id == 50 ? IBV_WC_RECV : ops[wc.wr_id].wc);
	}
	expect_error(&pair.a, &pair.b, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE, 0);
	CHECK_OK(uroce_query_first_error(pair.a.qp, &e));
	CHECK_INT(e.syndrome, 0x62); /* NAK, remote access error */
	rt_qp_state(pair.a.qp, IBV_QPS_RESET);
	CHECK_INT(uroce_query_first_error(pair.a.qp, &e), ENOENT);
	rt_pair_close(&pair);
	rt_close(dev);
}

static int log_count(const char *text)
{
	int n = 0;

	for (const char *p = rt_log_text(); (p = strstr(p, text)); p++)
		n++;
	return n;
}

static void retries_exhausted(void)
{
	struct rt_dev *dev = open_with("drop=100%:only,qp=1");
	struct rt_pair pair =
		rt_pair_open(dev, &(struct rt_options){ .timeout = 8, .retry_cnt = 3 });
	struct uroce_qp_error e;

	write_to(&pair, 8, 8);
	write_to(&pair, 9, 8);
	EXPECT_STATUS(&pair.a, 8, IBV_WC_RETRY_EXC_ERR);
	EXPECT_STATUS(&pair.a, 9, IBV_WC_WR_FLUSH_ERR);
	expect_error(&pair.a, &pair.b, IBV_WC_RETRY_EXC_ERR, IBV_WC_RDMA_WRITE, 8);
	CHECK_OK(uroce_query_first_error(pair.a.qp, &e));
	CHECK_INT(e.retries, 3);
	CHECK_INT(e.psn, pair.a.psn);
	COUNTER(&pair.a, "retry_exceeded_err", 1);
	CHECK_INT(log_count("first error: transport retry counter exceeded of send work request 8 "
			    "(RDMA_WRITE)"),
		  1);
	CHECK_INT(log_count("first error"), 1); /* flushed requests are not logged */
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The receiver's side has a record as well. */
static void receive_too_short(void)
{
	struct rt_dev *dev = open_with("seed=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 5, 0, 50);
	POST(&pair.a, &wr);
	CHECK_INT(EXPECT_STATUS(&pair.b, 5, IBV_WC_LOC_LEN_ERR).opcode, IBV_WC_RECV);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_error(&pair.b, &pair.a, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 5);
	expect_error(&pair.a, &pair.b, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SEND, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "packets", packets },
	{ "duplicates", duplicates },
	{ "gaps", gaps },
	{ "damaged", damaged },
	{ "receiver_not_ready", receiver_not_ready },
	{ "device", device },
	{ "no_room", no_room },
	{ "access_error", access_error },
	{ "retries_exhausted", retries_exhausted },
	{ "receive_too_short", receive_too_short },
};

RT_MAIN(cases)
