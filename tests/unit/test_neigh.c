/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ethernet addresses of GIDs. The arithmetic needs no network. The kernel's tables are tested in
 * a network namespace of the test, with a neighbour in a second one at the other end of a veth
 * pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "libibverbs/library.h"
#include "libibverbs/neigh.h"

static const uint8_t own_mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };
static const uint8_t peer_mac[6] = { 0x02, 0, 0, 0, 0, 0x02 };

static union ibv_gid gid(const char *text)
{
	char mapped[INET6_ADDRSTRLEN];
	union ibv_gid g;

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') ? "" : "::ffff:", text);
	assert_int_equal(inet_pton(AF_INET6, mapped, &g), 1);
	return g;
}

static int resolve(const char *from, const char *to, const char *interface, uint8_t ret_mac[6],
		   uint16_t *ret_vlan)
{
	const struct neigh_query query = {
		.device = "test0",
		.sgid = gid(from),
		.dgid = gid(to),
		.ifindex = interface ? if_nametoindex(interface) : 0,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
	};

	return neigh_resolve(&query, ret_mac, ret_vlan);
}

static void assert_resolves(const char *from, const char *to, const char *interface,
			    const uint8_t expected[6], uint16_t vlan)
{
	uint8_t mac[6] = {};
	uint16_t vid = 1;

	assert_int_equal(resolve(from, to, interface, mac, &vid), 0);
	assert_memory_equal(mac, expected, 6);
	assert_int_equal(vid, vlan);
}

static void assert_fails(const char *from, const char *to, const char *interface, int error)
{
	uint8_t mac[6];
	uint16_t vid = 77;

	assert_int_equal(resolve(from, to, interface, mac, &vid), error);
	assert_int_equal(vid, 77);
}

/* ---- arithmetic ---- */

static void test_kinds(void **state)
{
	union ibv_gid v4 = gid("10.0.0.1"), v6 = gid("2001:db8::1"), local = gid("fe80::1");
	union ibv_gid group4 = gid("224.1.2.3"), group6 = gid("ff12::1"), above = gid("240.0.0.1");

	assert_true(neigh_gid_is_v4(&v4) && neigh_gid_is_v4(&group4));
	assert_false(neigh_gid_is_v4(&v6) || neigh_gid_is_v4(&local));
	assert_true(neigh_gid_is_multicast(&group4) && neigh_gid_is_multicast(&group6));
	assert_false(neigh_gid_is_multicast(&v4) || neigh_gid_is_multicast(&v6) ||
		     neigh_gid_is_multicast(&above));
	assert_true(neigh_gid_is_link_local(&local));
	assert_false(neigh_gid_is_link_local(&v6) || neigh_gid_is_link_local(&v4));
}

static void test_multicast_mac(void **state)
{
	const uint8_t v4[6] = { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 };
	const uint8_t v6[6] = { 0x33, 0x33, 0xaa, 0xbb, 0xcc, 0xdd };
	const uint8_t v1[6] = { 0x33, 0x33, 0xe0, 0x81, 0x02, 0x03 };
	union ibv_gid group4 = gid("224.129.2.3"), group6 = gid("ff1e::1:aabb:ccdd");
	uint8_t mac[6];

	/* The MAC address contains 23 of the 28 bits of an IPv4 group. */
	neigh_multicast_mac(&group4, IBV_GID_TYPE_ROCE_V2, mac);
	assert_memory_equal(mac, v4, 6);
	neigh_multicast_mac(&group6, IBV_GID_TYPE_ROCE_V2, mac);
	assert_memory_equal(mac, v6, 6);
	neigh_multicast_mac(&group4, IBV_GID_TYPE_ROCE_V1, mac);
	assert_memory_equal(mac, v1, 6);
}

static void test_eui64(void **state)
{
	const uint8_t expected[6] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55 };
	union ibv_gid made = gid("fe80::211:22ff:fe33:4455"),
		      random = gid("fe80::1234:5678:9abc:def0");
	union ibv_gid global = gid("2001:db8::211:22ff:fe33:4455");
	uint8_t mac[6] = {};

	assert_true(neigh_eui64_mac(&made, mac));
	assert_memory_equal(mac, expected, 6);
	assert_false(neigh_eui64_mac(&random, mac));
	assert_false(neigh_eui64_mac(&global, mac));
}

/* ---- the kernel's tables ---- */

static void test_neighbour_v4(void **state)
{
	assert_resolves("10.0.0.1", "10.0.0.2", "veth0", peer_mac, NEIGH_VLAN_NONE);
	/* Now from the cache. */
	assert_resolves("10.0.0.1", "10.0.0.2", "veth0", peer_mac, NEIGH_VLAN_NONE);
}

static void test_neighbour_v6(void **state)
{
	assert_resolves("2001:db8::1", "2001:db8::2", "veth0", peer_mac, NEIGH_VLAN_NONE);
}

static void test_neighbour_link_local(void **state)
{
	assert_resolves("fe80::1", "fe80::2", "veth0", peer_mac, NEIGH_VLAN_NONE);
}

static void test_interface_by_address(void **state)
{
	assert_resolves("10.0.0.1", "10.0.0.2", NULL, peer_mac, NEIGH_VLAN_NONE);
	assert_resolves("2001:db8::1", "2001:db8::2", NULL, peer_mac, NEIGH_VLAN_NONE);
	assert_fails("10.77.0.1", "10.0.0.2", NULL, -ENODEV);
}

static void test_gateway(void **state)
{
	assert_resolves("10.0.0.1", "192.0.2.1", "veth0", peer_mac, NEIGH_VLAN_NONE);
	assert_resolves("10.0.0.1", "192.0.3.1", "veth0", peer_mac, NEIGH_VLAN_NONE);
}

static void test_permanent(void **state)
{
	const uint8_t mac[6] = { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };

	assert_resolves("10.0.0.1", "10.0.0.50", "veth0", mac, NEIGH_VLAN_NONE);
}

static void test_vlan(void **state)
{
	if (!if_nametoindex("vlan0")) {
		print_message("not tried: this kernel has no VLAN interfaces\n");
		skip();
	}
	assert_resolves("10.1.0.1", "10.1.0.2", "vlan0", peer_mac, 100);
	assert_resolves("10.1.0.1", "ff12::5", "vlan0", (const uint8_t[]){ 0x33, 0x33, 0, 0, 0, 5 },
			100);
}

static void test_own_addresses(void **state)
{
	assert_resolves("10.0.0.1", "10.0.0.1", "veth0", own_mac, NEIGH_VLAN_NONE);
	assert_resolves("10.0.0.1", "10.0.0.9", "veth0", own_mac, NEIGH_VLAN_NONE);
	assert_resolves("2001:db8::1", "2001:db8::9", "veth0", own_mac, NEIGH_VLAN_NONE);
}

static void test_no_arp(void **state)
{
	const uint8_t mac[6] = { 0x02, 0, 0, 0, 0, 0x03 };

	assert_resolves("10.2.0.1", "10.2.0.2", "veth2", mac, NEIGH_VLAN_NONE);
}

static void test_no_answer(void **state)
{
	assert_fails("10.0.0.1", "10.0.0.99", "veth0", -EHOSTUNREACH);
	/* A second time, while the table still has FAILED. */
	assert_fails("10.0.0.1", "10.0.0.99", "veth0", -EHOSTUNREACH);
	assert_fails("2001:db8::1", "2001:db8::99", "veth0", -EHOSTUNREACH);
}

static void test_no_route(void **state)
{
	assert_fails("10.0.0.1", "198.51.100.1", "veth0", -EHOSTUNREACH);
	assert_fails("2001:db8::1", "2001:db9::1", "veth0", -ENETUNREACH);
}

static void test_no_interface(void **state)
{
	const struct neigh_query query = {
		.device = "test0",
		.sgid = gid("10.0.0.1"),
		.dgid = gid("10.0.0.2"),
		.ifindex = 12345,
	};
	uint8_t mac[6];
	uint16_t vlan;

	assert_int_equal(neigh_resolve(&query, mac, &vlan), -ENODEV);
}

/* ---- the two namespaces ---- */

static const char own_side[] =
	"ip link set lo up && ip link set veth0 address 02:00:00:00:00:01 && "
	"ip addr add 10.0.0.1/24 dev veth0 && ip addr add 10.0.0.9/24 dev veth0 && "
	"ip addr add 2001:db8::1/64 dev veth0 nodad && ip addr add 2001:db8::9/64 dev veth0 nodad && "
	"ip addr add fe80::1/64 dev veth0 nodad && ip link set veth0 up && "
	"ip link add veth2 type veth peer name veth3 && "
	"ip link set veth2 address 02:00:00:00:00:03 arp off && "
	"ip addr add 10.2.0.1/24 dev veth2 && ip link set veth2 up && ip link set veth3 up && "
	"ip neigh add 10.0.0.50 lladdr 02:aa:bb:cc:dd:ee dev veth0 nud permanent && "
	"ip route add 192.0.2.0/24 via 10.0.0.2 && "
	"ip route add 192.0.3.0/24 via inet6 fe80::2 dev veth0 && "
	"for v in 4 6; do echo 50 >/proc/sys/net/ipv$v/neigh/veth0/retrans_time_ms; done";

static const char peer_side[] =
	"ip link set veth1 address 02:00:00:00:00:02 && ip addr add 10.0.0.2/24 dev veth1 && "
	"ip addr add 2001:db8::2/64 dev veth1 nodad && ip addr add fe80::2/64 dev veth1 nodad && "
	"ip link set veth1 up";

/* %d: the side */
static const char vlan_side[] = "ip link add link veth%d name vlan%d type vlan id 100 && "
				"ip addr add 10.1.0.%d/24 dev vlan%d && ip link set vlan%d up";

static pid_t peer;

/* A kernel without VLAN interfaces is no failure of the test. */
static void vlan_set_up(int side)
{
	char command[512];

	snprintf(command, sizeof(command), vlan_side, side, side, side + 1, side, side);
	if (system(command))
		print_message("no VLAN interface\n");
}

/* Enter a namespace, configure it as soon as veth1 has arrived, and end with the test. */
static void peer_run(int told, int tell)
{
	char byte;

	if (unshare(CLONE_NEWNET))
		_exit(1);
	if (write(tell, "", 1) != 1 || read(told, &byte, 1) != 1 || system(peer_side))
		_exit(1);
	vlan_set_up(1);
	if (write(tell, "", 1) != 1)
		_exit(1);
	(void)!read(told, &byte, 1);
	_exit(0);
}

static void write_file(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* Root creates the namespace directly; other users first become root of a user namespace. */
static int own_namespace(void)
{
	char map[64];
	uid_t uid = getuid();

	if (!unshare(CLONE_NEWNET))
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -errno;
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	return 0;
}

static int set_up(void **state)
{
	int to_peer[2], from_peer[2];
	char command[256], byte;

	if (pipe(to_peer) || pipe(from_peer))
		return -1;
	peer = fork();
	if (!peer) {
		close(to_peer[1]);
		peer_run(to_peer[0], from_peer[1]);
	}
	close(from_peer[1]);
	snprintf(command, sizeof(command),
		 "ip link add veth0 type veth peer name veth1 && ip link set veth1 netns %d", peer);
	if (read(from_peer[0], &byte, 1) != 1 || system(command) || write(to_peer[1], "", 1) != 1)
		return -1;
	if (read(from_peer[0], &byte, 1) != 1 || system(own_side))
		return -1;
	vlan_set_up(0);
	return 0;
}

static int tear_down(void **state)
{
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest arithmetic[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_multicast_mac),
		cmocka_unit_test(test_eui64),
	};
	const struct CMUnitTest tables[] = {
		cmocka_unit_test(test_neighbour_v4),
		cmocka_unit_test(test_neighbour_v6),
		cmocka_unit_test(test_neighbour_link_local),
		cmocka_unit_test(test_interface_by_address),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_permanent),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_own_addresses),
		cmocka_unit_test(test_no_arp),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_no_route),
		cmocka_unit_test(test_no_interface),
	};
	int failed = cmocka_run_group_tests(arithmetic, NULL, NULL), r;

	if (failed)
		return failed;
	if (system("ip -V >/dev/null 2>&1")) {
		printf("skipped the kernel's tables: no program ip (package iproute2)\n");
		return 77;
	}
	r = own_namespace();
	if (r < 0) {
		printf("skipped the kernel's tables: no network namespace of our own: %s\n",
		       strerror(-r));
		return 77;
	}
	return cmocka_run_group_tests(tables, set_up, tear_down);
}
