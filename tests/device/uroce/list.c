/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of devices of a host with many interfaces, many addresses, and labels; and long lists
 * of interfaces in the environment. */
#include <stdarg.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	PAIRS = 40, /* more interfaces than one word of bits has */
	NAMES = 300,
	ADDRESSES = 300,
	GIDS = 255, /* indices have 8 bits */
};

static void run(const char *command)
{
	CHECK_OK(system(command));
}

static void alone(void)
{
	net_own();
	if (system("ip link add probe0 type veth peer name probe1 && ip link del probe0"))
		rt_skip("no interfaces can be made here");
}

/* Return how many devices have this name; NULL: how many there are. */
static int devices(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int count = 0;

	CHECK(list);
	for (int i = 0; list[i]; i++)
		count += !name || !strcmp(ibv_get_device_name(list[i]), name);
	ibv_free_device_list(list);
	return count;
}

__attribute__((format(printf, 2, 3))) static void batch_add(FILE *batch, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	CHECK(vfprintf(batch, fmt, args) > 0);
	va_end(args);
}

static FILE *batch_begin(void)
{
	FILE *batch = popen("ip -batch -", "w");

	CHECK(batch);
	return batch;
}

static void many_interfaces(void)
{
	FILE *batch;

	alone();
	setenv("UROCE", "on", 1);
	batch = batch_begin();
	for (int i = 0; i < PAIRS; i++) {
		batch_add(batch, "link add a%d type veth peer name b%d\n", i, i);
		batch_add(batch, "addr add 10.1.%d.1/32 dev a%d\n", i, i);
		batch_add(batch, "addr add 10.2.%d.1/32 dev b%d\n", i, i);
		batch_add(batch, "link set a%d up\nlink set b%d up\n", i, i);
	}
	batch_add(batch, "link add last0 type veth peer name last1\n");
	batch_add(batch, "link set last1 up\nlink set last0 up\n");
	batch_add(batch, "addr add 2001:db8::5/64 dev last0 nodad\n");
	CHECK_OK(pclose(batch));
	CHECK(devices(NULL) > 2 * PAIRS);
	CHECK_INT(devices("uroce_lo"), 1);
	CHECK_INT(devices("uroce_last0"), 1);
	CHECK_INT(devices("uroce_a0"), 1);
	CHECK_INT(devices("uroce_b39"), 1);
}

/* Names of interfaces that do not exist take no room, and the text may be long. */
static void many_names(void)
{
	char text[NAMES * 12 + 16] = "on:";

	alone();
	rt_log_capture();
	for (int i = 0; i < NAMES; i++)
		snprintf(text + strlen(text), 12, "none%d,", i);
	strcat(text, "uroce_lo,lo");
	setenv("UROCE", text, 1);
	CHECK_INT(devices(NULL), 1);
	CHECK_INT(devices("uroce_lo"), 1);
	CHECK(strstr(rt_log_text(), "no interface 'none0'"));
	rt_log_discard();
}

static void labels(void)
{
	alone();
	setenv("UROCE", "on", 1);
	run("ip link add it type veth peer name that && ip link set that up &&"
	    " ip link set it up && ip addr add 192.0.2.1/24 dev it label it:1 &&"
	    " ip addr add 192.0.2.2/24 dev it label it:two && ip addr add 192.0.2.3/24 dev it &&"
	    " ip addr add 127.0.0.2/8 dev lo label lo:x");
	CHECK_INT(devices("uroce_it"), 1);
	CHECK_INT(devices("uroce_lo"), 1);
	CHECK_INT(devices("uroce_it=3a1"), 0);
	CHECK_INT(devices("uroce_it=3atwo"), 0);
	CHECK_INT(devices("uroce_lo=3ax"), 0);
	setenv("UROCE", "on:it:1,it,it:two", 1);
	CHECK_INT(devices(NULL), 1);
	CHECK_INT(devices("uroce_it"), 1);
	setenv("RT_DEVICE", "uroce_it", 1);
	rt_close(rt_open());
}

static void many_addresses(void)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, NULL);
	struct rt_pair pair;
	struct rt_dev *dev;
	FILE *batch;

	alone();
	rt_log_capture();
	batch = batch_begin();
	for (int i = 0; i < ADDRESSES; i++)
		batch_add(batch, "addr add 10.3.%d.%d/32 dev lo\n", i / 200, i % 200 + 1);
	CHECK_OK(pclose(batch));
	dev = rt_open();
	CHECK_INT(dev->port.gid_tbl_len, GIDS);
	CHECK(strstr(rt_log_text(), "are no GIDs, because the table has 255 entries"));
	dev->gid_index = GIDS - 1;
	CHECK_OK(ibv_query_gid(dev->ctx, 1, dev->gid_index, &dev->gid));
	pair = rt_pair_open(dev, &(struct rt_options){});
	rt_recv(&pair.b, 1, 0, 64);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 1, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
	rt_log_discard();
}

static const struct rt_case cases[] = {
	{ "many interfaces", many_interfaces },
	{ "many names", many_names },
	{ "labels", labels },
	{ "many addresses", many_addresses },
};
RT_MAIN(cases)
