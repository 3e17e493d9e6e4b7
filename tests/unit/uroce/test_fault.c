/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults on demand: the grammar, the effect of each rule on packets, and that a seed repeats. */
#include "tests/unit/uroce/fixture.h"

#include "providers/uroce/fault/fault.h"

enum {
	WIRE_MAX = 4096,
	TEXT_MAX = 1 << 16,
};

/* --- in place of the UDP path and the engine --- */

static struct {
	unsigned int count;
	uint32_t psn[WIRE_MAX];
	uint32_t damage[WIRE_MAX];
	int result;
} wire, rx;

static int wire_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	if (wire.result < 0)
		return wire.result;
	assert_true(wire.count < WIRE_MAX);
	wire.damage[wire.count] = tx->damage;
	wire.psn[wire.count++] = tx->hdr->psn;
	for (int i = 0; i < tx->iovcnt; i++)
		assert_memory_equal(tx->iov[i].iov_base, fx.buf, tx->iov[i].iov_len);
	return 0;
}

static void received(struct path_host *host, struct uroce_packet *pkt, const union ibv_gid *sgid,
		     uint64_t now)
{
	assert_true(pkt->fault_seen);
	assert_memory_equal(pkt->payload.data, fx.buf, pkt->payload.length);
	rx.psn[rx.count++] = pkt->hdr.psn;
}

static struct uroce_path inner;
static struct uroce_path *path;
static struct uroce_cq *cq;
static struct uroce_qp *qps[2];

static struct uroce_faults *faults_of(const char *text)
{
	struct uroce_faults *faults = calloc(1, sizeof(*faults));
	char message[FAULT_TEXT] = "";
	int r = uroce_faults_parse(text, faults, message);

	if (r < 0)
		fail_msg("%s: %s", text, message);
	TAILQ_INIT(&faults->held);
	faults->others = calloc(1, sizeof(*faults->others));
	faults->start = uroce_now();
	return faults;
}

static void begin(const char *text)
{
	static const struct uroce_path_ops ops = { .send = wire_send };
	static const struct path_events events = { .packet = received };

	memset(&wire, 0, sizeof(wire));
	memset(&rx, 0, sizeof(rx));
	inner = (struct uroce_path){ .ops = &ops, .host = &fx.host.paths };
	fx.host.faults = faults_of(text);
	fx.host.faults->host = &fx.host.paths;
	fx.host.faults->engine = &fx.host.engine;
	fx.host.paths.events = &events;
	assert_int_equal(uroce_fault_path_new(fx.host.faults, &inner, &path), 0);
	cq = fixture_cq(64, NULL, 0);
	for (int i = 0; i < 2; i++) {
		qps[i] = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
		qps[i]->sq_psn = 1000; /* rules count from the QP's first PSN */
	}
}

static void end(void)
{
	uroce_fault_path_free(path);
	for (int i = 0; i < 2; i++)
		fixture_qp_free(qps[i]);
	fixture_cq_free(cq);
	uroce_faults_free(fx.host.faults);
	fx.host.faults = NULL;
}

static int send_packet(int qp, uint8_t opcode, uint32_t psn)
{
	const struct uroce_hdr hdr = { .opcode = UROCE_RC | opcode, .psn = psn };
	const struct iovec iov = { fx.buf, 100 };
	const struct uroce_tx tx = {
		.hdr = &hdr, .iov = &iov, .iovcnt = 1, .length = 100, .qp = qps[qp]
	};

	return path->ops->send(path, &fx.ah.av, &tx);
}

/* PSNs 1000, 1001, ... of the first QP. */
static void send_many(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(send_packet(0, UROCE_SEND_ONLY, 1000 + i), 0);
}

static void receive_packet(uint32_t psn)
{
	struct uroce_packet pkt = { .hdr = { .opcode = UROCE_RC | UROCE_SEND_ONLY, .psn = psn },
				    .payload = { .data = fx.buf, .length = 100 } };

	uroce_fault_receive(fx.host.faults, qps[0], &pkt, NULL, uroce_now());
}

#define ASSERT_PSNS(seen, ...)                                                 \
	do {                                                                   \
		const uint32_t expected_[] = { __VA_ARGS__ };                  \
		assert_int_equal((seen).count, ARRAY_SIZE(expected_));         \
		assert_memory_equal((seen).psn, expected_, sizeof(expected_)); \
	} while (0)

/* --- the grammar --- */

static void refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "dorp=2%", "'dorp' is no fault: seed, drop, duplicate" },
		{ "drop", "'' in 'drop': how often is N" },
		{ "drop=", "'' in 'drop=': how often is N" },
		{ "drop=0", "'0' in 'drop=0'" },
		{ "drop=0%", "'0%' in 'drop=0%'" },
		{ "drop=101%", "'101%'" },
		{ "drop=2x", "'2x'" },
		{ "drop=-1", "'-1'" },
		{ "drop=nan%", "'nan%'" },
		{ "drop=10ms", "'10ms' in 'drop=10ms'" }, /* only events take a time */
		{ "drop=2%:sned", "'sned' in 'drop=2%:sned' is no condition: in, out" },
		{ "drop=2%:0xff", "'0xff'" }, /* no such opcode */
		{ "drop=2%:psn=9-3", "'psn=9-3'" },
		{ "drop=2%:by=2", "'by=2'" }, /* reorder's */
		{ "delay=2%:time=5", "'time=5'" },
		{ "drop=2%:times=0", "'times=0'" },
		{ "drop=2%,in", "'2%,in'" },
		{ "corrupt=2%:in", "a packet is damaged by who sends it" },
		{ "reg_mr=3", "after the colon comes the error" },
		{ "reg_mr=3:ENOSUCH", "'ENOSUCH' in 'reg_mr=3:ENOSUCH'" },
		{ "reg_mr=3:12", "'12'" },
		{ "port_err=5 ", NULL },
		{ "port_err=5:qp=1", "qp=N of qp_fatal is the only one" },
		{ "qp_fatal=5:qp=0", "'qp=0'" },
		{ "seed", "the seed is a number" },
		{ "seed=1x", "the seed is a number" },
		{ "drop=1%; seed=7;corrupt=1%", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct uroce_faults faults = {};
		char message[FAULT_TEXT] = "";
		int r = uroce_faults_parse(cases[i].text, &faults, message);

		assert_int_equal(r, cases[i].says ? -EINVAL : 0);
		if (cases[i].says && !strstr(message, cases[i].says))
			fail_msg("%s: %s", cases[i].text, message);
	}
}

static void too_many(void **state)
{
	struct uroce_faults faults = {};
	char text[FAULT_RULES * 8 + 16] = "", message[FAULT_TEXT];

	for (int i = 0; i < FAULT_RULES; i++)
		strcat(text, "drop=1;");
	assert_int_equal(uroce_faults_parse(text, &faults, message), 0);
	strcat(text, "drop=1");
	faults = (struct uroce_faults){};
	assert_int_equal(uroce_faults_parse(text, &faults, message), -EINVAL);
	assert_non_null(strstr(message, "one rule too many: 32"));
}

static void understood(void **state)
{
	struct uroce_faults *f =
		faults_of("seed=0x10 delay=0.5%:send,in,psn=3-9,qp=2,times=4,time=5ms; "
			  "reg_mr=3+:ENOMEM;device_fatal=2s");
	const struct fault_rule *r = f->rules;

	assert_int_equal(f->seed, 16);
	assert_int_equal(f->count, 3);
	assert_true(f->packets);
	assert_int_equal(r[0].kind, FAULT_DELAY);
	assert_int_equal(r[0].chance, (uint64_t)(0.005 * 4294967296.0));
	assert_true(r[0].incoming && r[0].psn_first == 3 && r[0].psn_last == 9 && r[0].qp == 2);
	assert_true(r[0].times == 4 && r[0].delay == 5000000);
	assert_true(r[0].opcodes[0] >> UROCE_SEND_MIDDLE & 1);
	assert_false(r[0].opcodes[0] >> UROCE_WRITE_ONLY & 1);
	assert_true(r[1].verb == FAULT_VERB_reg_mr && r[1].nth == 3 && r[1].onward);
	assert_int_equal(r[1].error, ENOMEM);
	assert_true(r[2].event == IBV_EVENT_DEVICE_FATAL && r[2].time == 2000000000);
	uroce_faults_free(f);
}

/* --- packets that leave --- */

static void drop_number(void **state)
{
	begin("drop=3;drop=6+:times=2");
	send_many(9);
	ASSERT_PSNS(wire, 1000, 1001, 1003, 1004, 1007, 1008);
	end();
}

static void drop_selected(void **state)
{
	begin("drop=100%:ack;drop=100%:psn=2,times=1;drop=100%:psn=3-4,qp=2");
	send_many(5);
	send_packet(0, UROCE_ACK, 7);
	send_packet(0, UROCE_SEND_ONLY, 1002); /* sent again */
	for (int i = 0; i < 6; i++)
		send_packet(1, UROCE_SEND_ONLY, 1000 + i);
	ASSERT_PSNS(wire, 1000, 1001, 1003, 1004, 1002, 1000, 1001, 1005);
	end();
}

static void duplicate(void **state)
{
	begin("duplicate=2");
	send_many(3);
	ASSERT_PSNS(wire, 1000, 1001, 1001, 1002);
	end();
}

static void reorder(void **state)
{
	begin("reorder=2:by=2");
	send_many(5);
	ASSERT_PSNS(wire, 1000, 1002, 1003, 1001, 1004);
	end();
}

/* No packet follows: the time limit ends the wait. */
static void reorder_last(void **state)
{
	begin("reorder=2:time=10ms");
	send_many(2);
	ASSERT_PSNS(wire, 1000);
	assert_true(uroce_fault_waiting(fx.host.faults));
	uroce_fault_run(fx.host.faults, uroce_now());
	ASSERT_PSNS(wire, 1000);
	uroce_fault_run(fx.host.faults, uroce_now() + 11000000);
	ASSERT_PSNS(wire, 1000, 1001);
	assert_false(uroce_fault_waiting(fx.host.faults));
	end();
}

static void delayed(void **state)
{
	begin("delay=1:time=1s");
	send_many(8);
	assert_int_equal(wire.count, 7);
	wire.result = -EAGAIN; /* no room: it stays */
	uroce_fault_run(fx.host.faults, uroce_now() + 2000000000);
	assert_true(uroce_fault_waiting(fx.host.faults));
	wire.result = 0;
	uroce_fault_run(fx.host.faults, uroce_now() + 2000000000);
	assert_int_equal(wire.count, 8);
	assert_int_equal(wire.psn[7], 1000);
	end();
}

static void corrupt(void **state)
{
	begin("corrupt=2");
	send_many(3);
	ASSERT_PSNS(wire, 1000, 1001, 1002);
	assert_true(!wire.damage[0] && wire.damage[1] && !wire.damage[2]);
	end();
}

/* Rules do not count a packet for which the path had no room. */
static void no_room(void **state)
{
	begin("drop=2");
	wire.result = -EAGAIN;
	assert_int_equal(send_packet(0, UROCE_SEND_ONLY, 1000), -EAGAIN);
	assert_int_equal(send_packet(0, UROCE_SEND_ONLY, 1000), -EAGAIN);
	wire.result = 0;
	send_many(3);
	ASSERT_PSNS(wire, 1000, 1002);
	end();
}

/* --- packets that arrive --- */

static void incoming(void **state)
{
	begin("drop=1:in;duplicate=2:in;reorder=3:in,by=1;delay=5:in,time=1s");
	send_many(2);
	assert_int_equal(wire.count, 2);
	for (uint32_t psn = 0; psn < 6; psn++)
		receive_packet(psn);
	ASSERT_PSNS(rx, 1, 1, 3, 2, 5);
	uroce_fault_run(fx.host.faults, uroce_now() + 2000000000);
	ASSERT_PSNS(rx, 1, 1, 3, 2, 5, 4);
	end();
}

/* --- the seed --- */

/* Two QPs send; @swapped: in another order, as threads would. Return: the trace, per QP. */
static void traffic(const char *rules, bool swapped, char text[2][TEXT_MAX])
{
	begin(rules);
	for (int turn = 0; turn < 2; turn++) {
		int qp = turn ^ swapped;

		wire.count = 0;
		for (uint32_t i = 0; i < 1000; i++)
			send_packet(qp, i % 3 ? UROCE_SEND_MIDDLE : UROCE_WRITE_ONLY, 1000 + i);
		text[qp][0] = 0;
		for (unsigned int i = 0; i < wire.count; i++)
			sprintf(text[qp] + strlen(text[qp]), "%u%s ", wire.psn[i],
				wire.damage[i] ? "!" : "");
	}
	end();
}

static void same_seed(void **state)
{
	static const char rules[] = "seed=%d;drop=5%%;duplicate=5%%;reorder=5%%;corrupt=5%%";
	static char first[2][TEXT_MAX], second[2][TEXT_MAX], other[2][TEXT_MAX];
	char one[80], two[80];

	snprintf(one, sizeof(one), rules, 1);
	snprintf(two, sizeof(two), rules, 2);
	traffic(one, false, first);
	traffic(one, true, second);
	traffic(two, false, other);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(first[i], second[i]);
		assert_string_not_equal(first[i], other[i]);
	}
	assert_string_not_equal(first[0], first[1]);
}

/* Check that a rule matches the given percentage of packets. */
static void frequency(void **state)
{
	begin("seed=5;drop=10%");
	for (uint32_t i = 0; i < 4000; i++)
		send_packet(0, UROCE_SEND_ONLY, 1000 + i);
	assert_in_range(4000 - wire.count, 320, 480);
	end();
}

/* --- verbs and events --- */

static void verb_calls(void **state)
{
	begin("reg_mr=3:ENOMEM;create_qp=2+:EMFILE");
	struct uroce_faults *f = fx.host.faults;

	assert_int_equal(uroce_fault_call(f, FAULT_VERB_reg_mr), 0);
	assert_int_equal(uroce_fault_call(f, FAULT_VERB_reg_mr), 0);
	assert_int_equal(uroce_fault_call(f, FAULT_VERB_alloc_pd), 0);
	assert_int_equal(uroce_fault_call(f, FAULT_VERB_reg_mr), -ENOMEM);
	assert_int_equal(uroce_fault_call(f, FAULT_VERB_reg_mr), 0);
	assert_int_equal(uroce_fault_call(f, FAULT_VERB_create_qp), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(uroce_fault_call(f, FAULT_VERB_create_qp), -EMFILE);
	end();
}

static void timed_events(void **state)
{
	struct ibv_port_attr port;

	begin("gid_change=1ms;port_err=1000s");
	LIST_INSERT_HEAD(&fx.host.devices, &fx.dev, entry);
	LIST_INSERT_HEAD(&fx.dev.contexts, &fx.ctx, entry);
	fx.dev.link_up = true;
	assert_int_equal(atomic_load(&fx.host.faults->events_left), 2);
	fx.host.faults->start -= 2000000;
	uroce_fault_events(&fx.host);
	assert_int_equal(fixture_event(), IBV_EVENT_GID_CHANGE);
	assert_int_equal(fixture_event(), -1);
	uroce_query_port(&fx.ctx.vctx.context, 1, &port);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	send_many(1);
	fx.host.faults->start -= 1000000000000;
	uroce_fault_events(&fx.host);
	assert_int_equal(fixture_event(), IBV_EVENT_PORT_ERR);
	assert_int_equal(atomic_load(&fx.host.faults->events_left), 0);
	uroce_query_port(&fx.ctx.vctx.context, 1, &port);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	send_many(1);
	assert_int_equal(wire.count, 1); /* nothing leaves a port that is down */
	LIST_REMOVE(&fx.ctx, entry);
	LIST_REMOVE(&fx.dev, entry);
	end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refused),	     TEST(too_many),  TEST(understood), TEST(drop_number),
		TEST(drop_selected), TEST(duplicate), TEST(reorder),	TEST(reorder_last),
		TEST(delayed),	     TEST(corrupt),   TEST(no_room),	TEST(incoming),
		TEST(same_seed),     TEST(frequency), TEST(verb_calls), TEST(timed_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
