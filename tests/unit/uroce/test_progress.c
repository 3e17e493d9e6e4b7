/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The strands that a poller reads, and the effect of its passes on others. */
#include "tests/unit/uroce/fixture.h"

enum {
	POLLS = 200,
	NEVER = PATH_STRANDS,
};

static unsigned int looks[PATH_STRANDS];
static unsigned int busy; /* the strand on which packets always arrive */

unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now);
unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now)
{
	looks[strand]++;
	return strand == busy;
}

/* Create a CQ whose first queue pair is of @strand; the program has other queue pairs too. */
static struct uroce_cq *cq_of(unsigned int strand, struct uroce_qp **ret_qp)
{
	for (;;) {
		struct uroce_cq *cq = fixture_cq(16, NULL, 0);

		*ret_qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
		if ((*ret_qp)->strand == strand)
			return cq;
		fixture_qp_free(*ret_qp);
		fixture_cq_free(cq);
	}
}

static void polls(struct uroce_cq *cq)
{
	memset(looks, 0, sizeof(looks));
	uroce_unlock(&fx.host.paths.progress_lock);
	for (int i = 0; i < POLLS; i++)
		uroce_progress(&fx.host, cq);
	uroce_lock(&fx.host.paths.progress_lock);
}

static void all_looked_at(void)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		assert_true(looks[i] > 0);
}

/* A poller without packets also runs deserted strands, even if another strand is always busy. */
static void test_poller(void **state)
{
	struct uroce_qp *other;
	struct uroce_cq *other_cq = cq_of(1, &other);

	for (unsigned int own = 0; own < PATH_STRANDS; own++) {
		struct uroce_qp *qp;
		struct uroce_cq *cq = cq_of(own, &qp);

		for (busy = 0; busy <= NEVER; busy++) {
			polls(cq);
			assert_int_equal(looks[own], POLLS);
			all_looked_at();
		}
		fixture_qp_free(qp);
		fixture_cq_free(cq);
	}
	fixture_qp_free(other);
	fixture_cq_free(other_cq);
}

/* So does a poller of a queue without queue pairs. */
static void test_unused(void **state)
{
	struct uroce_qp *qp;
	struct uroce_cq *cq = cq_of(1, &qp), *unused = fixture_cq(16, NULL, 0);

	busy = NEVER;
	polls(unused);
	all_looked_at();
	fixture_cq_free(unused);
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* Packets of sockets arrive on the first strand. A poller that waits for them reads it in each
 * pass, and does not wait until the strand is deserted. */
static void test_network(void **state)
{
	struct uroce_qp *qp;
	struct uroce_cq *cq = cq_of(2, &qp);

	busy = 2;
	uroce_qp_network_join(qp);
	polls(cq);
	assert_int_equal(looks[0], POLLS);
	assert_int_equal(looks[2], POLLS);
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* A message from a network arrives a second time: its acknowledgement is due. */
static void packet_come(const struct uroce_qp *qp)
{
	struct uroce_packet pkt = {
		.hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY,
			 .pkey = UROCE_PKEY_DEFAULT,
			 .dest_qpn = qp->vqp.qp.qp_num,
			 .psn = psn_add(qp->resp.psn, PSN_MASK),
			 .ack_req = true },
	};

	fx.host.paths.events->packet(&fx.host.paths, &pkt, NULL, 1);
}

/* A poller that reads the sockets once and then stops owes no acknowledgement, for a queue pair of
 * any strand. */
static void test_acknowledged(void **state)
{
	fx.path.lossless = false;
	busy = NEVER;
	for (unsigned int strand = 0; strand < PATH_STRANDS; strand++) {
		struct uroce_qp *qp;
		struct uroce_cq *cq = cq_of(strand, &qp);

		fx.sent = 0;
		packet_come(qp);
		uroce_progress_pass(&fx.host, true, false);
		assert_int_equal(fx.sent, 1);
		assert_int_equal(fx.hdr.opcode, UROCE_RC | UROCE_ACK);
		fixture_qp_free(qp);
		fixture_cq_free(cq);
	}
	fx.path.lossless = true;
}

/* Packets of others keep the poller busy in each pass. */
static void test_acknowledged_between(void **state)
{
	enum {
		PASSES_MOST = 64,
	};

	for (int lossless = 0; lossless < 2; lossless++) {
		struct uroce_qp *qp;
		struct uroce_cq *cq = cq_of(0, &qp);
		int passes = 0;

		fx.path.lossless = lossless;
		fx.sent = 0;
		packet_come(qp);
		for (; !fx.sent && passes < PASSES_MOST; passes++)
			uroce_strand_run(&fx.host.engine, 0, 1, true, false, 0);
		assert_in_range(passes, 1, PASSES_MOST - 1);
		assert_int_equal(fx.hdr.opcode, UROCE_RC | UROCE_ACK);
		fixture_qp_free(qp);
		fixture_cq_free(cq);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_poller),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_acknowledged),
		cmocka_unit_test(test_acknowledged_between),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
