/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rungs of devices, memlock, and how several devices become one finding. */
#include <signal.h>

#include "tests/unit/doctor/world.h"

#include "rdma-doctor/node.h"

#define PORT "sys/class/infiniband/mlx0/ports/1/"

static void test_node(void **state)
{
	world_remove("dev/infiniband/uverbs0");
	expect_failure("node", 14, "uverbs0 does not exist", "mknod -m 0666");
	world_write("var/run/secrets/kubernetes.io/x", "");
	expect_failure("node", 14, "uverbs0 does not exist", "--device=");
	world_write("dev/infiniband/uverbs0", "");
	expect_failure("node", 14, "is not a character device", "c 1 3");
	world_remove("dev/infiniband/uverbs0");
	world_write("dev/infiniband/uverbs0", "");
	world.devices[0].node = "rdma_cm";
	expect_failure("node", 14, "is character device 1:5, but the kernel's is 1:3", "rm ");
	world.devices[0].name = NULL;
	expect_failure("node", 14, "no uverbs character device", "modprobe ib_uverbs");
}

static void test_permission_cgroup(void **state)
{
	world.open_error = -EPERM;
	expect_failure("permission", 15, "the device cgroup does not permit", "device cgroup");
	world_write("proc/self/cgroup", "0::/system.slice/train.service\n");
	expect_failure("permission", 15, "EPERM", "systemctl edit train.service: DeviceAllow=");
	world_write(".dockerenv", "");
	expect_failure("permission", 15, "EPERM", "--device=");
	world_write("var/run/secrets/kubernetes.io/x", "");
	expect_failure("permission", 15, "EPERM", "device plugin");
}

static void test_permission_others(void **state)
{
	world.open_error = -EMFILE;
	expect_failure("permission", 15, "Too many open files", "ulimit -n");
	world.open_error = -ENXIO;
	expect_failure("permission", 15, "nothing is behind the node", "udev");
	world.open_error = -EIO;
	expect_failure("permission", 15, "Input/output error", "dmesg");
	world.open_error = -EACCES; /* although /dev/null is for everyone */
	expect_failure("permission", 15, "a security module", "SELinux");
}

static void permission_look(mode_t mode, struct finding *f)
{
	char path[PATH_MAX + 64];
	int r;

	world_write("node", "");
	snprintf(path, sizeof(path), "%s/node", world.root);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(chmod(world.root, 0755), 0);
	world.open_error = -EACCES;
	*f = (struct finding){};
	/* Root has every permission: check as another user. */
	r = geteuid() ? 0 : seteuid(65534);
	assert_int_equal(r, 0);
	permission_check_file(&world.doctor, path, "SUBSYSTEM==\"infiniband_verbs\"", f);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(f->state, FINDING_FAILED);
}

static void test_permission_granted(void **state)
{
	expect_state("permission", FINDING_OK, "uverbs0 opens (mode 0666, owner root, group ");
}

static void test_permission_mode(void **state)
{
	struct finding f;

	permission_look(0, &f);
	assert_contains(f.what.chars, "mode 0000, owner ");
	assert_contains(f.fix.chars, "SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"");
	permission_look(0666, &f);
	assert_contains(f.what.chars, "a security module");
}

static void test_permission_group(void **state)
{
	struct finding f;
	char path[PATH_MAX + 64];

	if (getuid()) {
		puts("only root can give the file to a group it is not in");
		skip();
	}
	world_write("node", "");
	snprintf(path, sizeof(path), "%s/node", world.root);
	assert_int_equal(chown(path, 0, 4), 0); /* adm, on every Debian */
	permission_look(0660, &f);
	assert_contains(f.what.chars, "mode 0660, owner root, group ");
	assert_contains(f.fix.chars, "usermod -aG ");
}

static void test_provider(void **state)
{
	world.devices[0].driver_id = WORLD_UNKNOWN;
	expect_failure("provider", 16, "no driver file", "ibverbs-providers");
	world.devices[0].driver_id = WORLD_MISSING;
	expect_failure("provider", 16, "it is not installed", "ibverbs-providers");
	world.devices[0].driver_id = WORLD_WRONG_ABI;
	expect_failure("provider", 16, "interface 100, this libibverbs needs 101",
		       "from one release");
	world.devices[0].driver_id = WORLD_NO_LIBRARY;
	expect_failure("provider", 16, "couldn't load driver", "reinstall the package");
	world.devices[0].driver_id = WORLD_OTHER_RELEASE;
	expect_failure("provider", 16, "libotherrelease-rdmav34.so", "ibverbs-providers");
	world.devices[0].driver_id = WORLD_GOOD;
	expect_state("provider", FINDING_OK, "fixture");
	world.other_library = true;
	expect_failure("provider", 16, "libibverbs.so.1, the libibverbs that is loaded, belongs to",
		       "LD_LIBRARY_PATH");
}

/* The library reads the driver files once, therefore this is the first test. */
static void test_provider_warned(void **state)
{
	world_write(RDMA_CONFIG_DIR "/odd.driver", "driver odd\nmacth driver_id 5\n");
	expect_state("provider", FINDING_NOTE,
		     "loads; ignoring bad config directive 'macth driver_id 5'");
	assert_contains(world_finding("provider")->fix.chars, "mend the file");
	expect_state("provider", FINDING_OK, "fixture");
}

static void test_abi(void **state)
{
	world.devices[0].abi = 9;
	expect_failure("abi", 17, "the kernel's driver has ABI 9, provider fixture knows 0 to 0",
		       "fits the kernel");
	world_write("sys/class/infiniband_verbs/abi_version", "77\n");
	expect_failure("abi", 17, "uverbs ABI 77, this library knows 6", "made for this kernel");
	world_remove("sys/class/infiniband_verbs/abi_version");
	expect_failure("abi", 17, "abi_version cannot be read: No such file", "mount sysfs");
	world_write("sys/class/infiniband_verbs/abi_version", "\377\001six\n");
	expect_failure("abi", 17, "Invalid argument", "mount sysfs");
}

static void test_port_ethernet(void **state)
{
	world_write(PORT "state", "1: DOWN\n");
	expect_failure("port", 18, "port 1 is DOWN: its interface is eth0",
		       "ip link show dev eth0");
	world_write("sys/class/net/eth0/carrier", "0\n");
	expect_failure("port", 18, "eth0 has no carrier", "ethtool eth0");
	world_write("sys/class/net/eth0/flags", "0x1002\n");
	expect_failure("port", 18, "eth0 is down", "ip link set dev eth0 up");
	world.netdev_elsewhere = true;
	expect_failure("port", 18, "eth0 is not in this network namespace", "eth0 up, in its own");
	world_remove(PORT "gid_attrs/ndevs/0");
	expect_failure("port", 18, "port 1 is DOWN", "ip link set dev INTERFACE up");
}

/* The administrator pastes the fix into a shell. */
static void test_port_hostile_name(void **state)
{
	world_write(PORT "state", "1: DOWN\n");
	world_write(PORT "gid_attrs/ndevs/0", "$(id);x'y\n");
	expect_failure("port", 18, "its interface $(id);x'y is not in this",
		       "ip link set dev '$(id);x'\\''y' up, in");
	world_write(PORT "state", "4: ACTIVE\n");
	world_write("proc/self/limits", "\nMax locked memory 0 0 bytes\n");
	world_write("proc/self/cgroup", "0::/system.slice/a;id.service\n");
	expect_failure("memlock", 20, "RLIMIT_MEMLOCK", "systemctl edit 'a;id.service': ");
}

static void test_port_infiniband(void **state)
{
	world_write(PORT "link_layer", "InfiniBand\n");
	world_write(PORT "state", "2: INIT\n");
	expect_failure("port", 18, "port 1 is INIT: no subnet manager", "opensm");
	world_write(PORT "state", "1: DOWN\n");
	expect_failure("port", 18, "port 1 is DOWN", "dmesg");
	world_write(PORT "phys_state", "2: Polling\n");
	expect_failure("port", 18, "no other end answers", "cable");
	world_write(PORT "phys_state", "3: Disabled\n");
	expect_failure("port", 18, "it is disabled", "ibportstate");
}

/* One active port is enough; a device without any port is not judged. */
static void test_port_several(void **state)
{
	world_write(PORT "state", "1: DOWN\n");
	world_write("sys/class/infiniband/mlx0/ports/2/state", "4: ACTIVE\n");
	world_write("sys/class/infiniband/mlx0/ports/2/link_layer", "InfiniBand\n");
	world_write("sys/class/infiniband/mlx0/ports/2/gids/0",
		    "fe80:0000:0000:0000:0000:00ff:fe00:0001\n");
	expect_state("port", FINDING_OK, "port 2 is ACTIVE, InfiniBand");
	expect_state("gid", FINDING_OK, "port 2: 1 GIDs");
	world_remove("sys/class/infiniband/mlx0/ports");
	expect_state("port", FINDING_UNSEEN, "no port");
}

static void test_port_no_carrier(void **state)
{
	world_write("sys/class/net/eth0/carrier", "0\n");
	expect_state("port", FINDING_NOTE,
		     "port 1 is ACTIVE, Ethernet on eth0, which has no carrier");
}

static void test_gid(void **state)
{
	world_write(PORT "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	expect_failure("gid", 19, "only link-local GIDs: eth0 has no address of its own",
		       "ip address add ADDRESS/LENGTH dev eth0");
	world_write(PORT "gids/0", "garbage\n");
	expect_failure("gid", 19, "the GID table of port 1 is empty", "ip address add");
	world_write(PORT "link_layer", "InfiniBand\n");
	expect_failure("gid", 19, "the GID table of port 1 is empty", "subnet manager");
}

static void test_gid_foreign(void **state)
{
	world_write(PORT "gid_attrs/ndevs/0", "eth9\n");
	expect_state("gid", FINDING_OK, "::ffff:192.0.2.1 (RoCE v2), 2 in all");
	world_write(PORT "gid_attrs/ndevs/1", "eth9\n");
	expect_failure("gid", 19, "interface eth9 of another network namespace",
		       "ip link set dev eth9 netns");
}

/* Sysfs was mounted in the namespace of the interface, and is kept in another one. */
static void test_gid_foreign_in_sysfs(void **state)
{
	world.netdev_elsewhere = true;
	expect_failure("gid", 19, "interface eth0 of another network namespace",
		       "ip link set dev eth0 netns");
}

static void test_gid_version_1(void **state)
{
	world_write(PORT "gid_attrs/types/1", "IB/RoCE v1\n");
	expect_state("gid", FINDING_NOTE, "RoCE v1 GIDs only");
}

static void limits_write(const char *soft, const char *hard)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "Limit   Soft Limit  Hard Limit  Units\n"
		 "Max processes     100    100    processes\n"
		 "Max locked memory         %s       %s      bytes\n",
		 soft, hard);
	world_write("proc/self/limits", text);
}

static void test_memlock(void **state)
{
	limits_write("0", "0");
	expect_failure("memlock", 20, "RLIMIT_MEMLOCK is 0 bytes", "/etc/security/limits.d");
	limits_write("65536", "unlimited");
	expect_failure("memlock", 20, "65536 bytes", "ulimit -l unlimited");
	limits_write("8388608", "8388608");
	expect_state("memlock", FINDING_NOTE, "8388608 bytes, of which 0 are pinned");
	world_write("proc/self/status", "Name:\tx\nVmPin:\t 8000 kB\nCapEff:\t0000000000000000\n");
	expect_failure("memlock", 20, "of which 8192000 are pinned", "limits.d");
}

static void test_memlock_place(void **state)
{
	limits_write("0", "0");
	world_write("proc/self/cgroup", "0::/system.slice/train.service\n");
	expect_failure("memlock", 20, "0 bytes", "systemctl edit train.service");
	world_write("proc/self/cgroup", "0::/user.slice/user@1000.service/app.slice\n");
	expect_failure("memlock", 20, "0 bytes", "limits.d");
	world_write(".dockerenv", "");
	expect_failure("memlock", 20, "0 bytes", "--ulimit memlock=-1:-1");
	world_write("var/run/secrets/kubernetes.io/x", "");
	expect_failure("memlock", 20, "0 bytes", "containerd.service");
}

static void test_memlock_capability(void **state)
{
	limits_write("0", "0");
	world_write("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
	expect_state("memlock", FINDING_OK, "CAP_IPC_LOCK lifts the limit of 0 bytes");
	world_write("proc/self/uid_map", "         0       1000          1\n");
	expect_failure("memlock", 20, "CAP_IPC_LOCK of a user namespace does not count", "");
}

static void test_memlock_unseen(void **state)
{
	world_write("proc/self/limits", "Max open files 1 1 files\n");
	expect_state("memlock", FINDING_UNSEEN, "process self");
	world.doctor.pid = "4242";
	expect_state("memlock", FINDING_UNSEEN, "process 4242 in /proc: No such file");
}

static void test_verbs(void **state)
{
	world.trial = (struct trial){ .error = -ENOMEM, .verb = "ibv_reg_mr", .said = "mlx0: so" };
	expect_failure("verbs", 24, "mlx0: ibv_reg_mr: Cannot allocate memory: mlx0: so",
		       "VERBS_LOG_LEVEL");
	world.trial = (struct trial){ .error = -ENODEV, .verb = "ibv_get_device_list" };
	expect_failure("verbs", 24, "No such device", "rungs above");
	world.trial = (struct trial){ .error = -EFAULT, .verb = "a trial", .signal = SIGSYS };
	expect_failure("verbs", 24, "mlx0: a trial", "SystemCallFilter");
}

/* The kernel's errno for a limit of the cgroup does not mention cgroups. */
static void test_verbs_limit(void **state)
{
	world.trial = (struct trial){ .error = -EAGAIN, .verb = "ibv_open_device" };
	expect_failure("verbs", 24, "Resource temporarily unavailable", "rdma.max");
	world_write("sys/fs/cgroup/user.slice/rdma.max", "mlx0 hca_handle=1 hca_object=max\n");
	world_write("sys/fs/cgroup/user.slice/rdma.current", "mlx0 hca_handle=1 hca_object=7\n");
	expect_failure("verbs", 24, "hca_handle=1, of which 1 are used",
		       "echo 'mlx0 hca_handle=max' > /sys/fs/cgroup/user.slice/rdma.max");
	world.trial = (struct trial){};
	expect_state("verbs", FINDING_OK, "makes a PD");
}

/* One device fails and the other works. If both fail, the device that fails at the later rung
 * decides. */
static void test_two_devices(void **state)
{
	world_add("mlx1", "uverbs1");
	expect_state("node", FINDING_OK, "(and 1 more devices)");
	world_remove("dev/infiniband/uverbs1");
	expect_state("node", FINDING_NOTE, "mlx1: ");
	assert_contains(world_finding("node")->what.chars, "(1 of 2 devices)");
	assert_string_equal(world.doctor.devices[1].fell->name, "node");
	assert_null(world.doctor.devices[0].fell);
	world.devices[0].abi = 9;
	expect_failure("abi", 17, "mlx0: the kernel's driver has ABI 9", "");
	world.doctor.wanted = "mlx1";
	expect_failure("node", 14, "mlx1: ", "mknod");
	world.doctor.wanted = NULL;
	world_remove("dev/infiniband/uverbs0");
	expect_failure("node", 14, "(and 1 more devices)", "mknod");
}

/* Names from outside that are invalid. */
static void test_strange_names(void **state)
{
	world_write("sys/class/infiniband/a b/node_type", "");
	world_write("sys/class/infiniband/\033[31m/node_type", "");
	world_write(PORT "gid_attrs/ndevs/0", "../../../etc\n");
	world_write("sys/class/infiniband/mlx0/parent", "a name much too long for an interface\n");
	expect_state("device", FINDING_OK, "mlx0");
	assert_int_equal(world.doctor.count, 1);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

static void transfer_well(void)
{
	world.doctor.transfer_wanted = true;
	world.transfer = (struct transfer){
		.rc.done = true,
		.ud.done = true,
		.latency.done = true,
		.rate.done = true,
		.rc_bytes = 4096,
		.ud_sent = 32,
		.ud_arrived = 32,
		.latency_count = 3,
		.median_ns = 2345,
		.slowest_ns = 67890,
		.mbps = 12345,
		.port_mbps = 100000,
	};
}

static void test_transfer(void **state)
{
	expect_state("rc", FINDING_UNNEEDED, "--transfer");
	transfer_well();
	expect_state("rc", FINDING_OK, "mlx0: a SEND, an RDMA write and an RDMA read of 4096");
	expect_state("ud", FINDING_OK, "32 of 32 datagrams");
	expect_state("latency", FINDING_OK, "2.3 us (median of 3; slowest 67 us)");
	expect_state("rate", FINDING_OK, "12.3 Gbit/s; the port's speed is 100.0 Gbit/s");
}

static void test_transfer_part(void **state)
{
	transfer_well();
	world.transfer.rc.verb = "the RDMA read";
	world.transfer.rc.wrong = 77;
	expect_failure("rc", 26, "byte 77 is not the one that was sent", "do not use the device");
	world.transfer.rc.status = IBV_WC_RETRY_EXC_ERR;
	expect_failure("rc", 26, "the RDMA read: transport retry", "rdma statistic");
	world.transfer.rc.status = TRANSFER_SILENT;
	expect_failure("rc", 26, "no completion came", "rdma statistic");
	world.transfer.rc.error = -ENOMEM;
	expect_failure("rc", 26, "Cannot allocate memory", "VERBS_LOG_LEVEL");
	transfer_well();
	world.transfer.trial = (struct trial){ .verb = "ibv_reg_mr", .error = -EFAULT };
	expect_failure("rc", 26, "ibv_reg_mr: Bad address", "");
}

static void test_transfer_datagrams(void **state)
{
	transfer_well();
	world.transfer.ud_arrived = 30;
	expect_failure("ud", 27, "30 of 32 datagrams arrived: 2 lost", "rdma statistic");
	world.transfer.ud_damaged = 2;
	expect_failure("ud", 27, "2 damaged", "do not use the device");
	transfer_well();
	world.transfer.ud_twice = 1;
	expect_state("ud", FINDING_NOTE, "1 of them twice");
}

/* Only adapters are measured by their port. */
static void test_transfer_rate(void **state)
{
	transfer_well();
	world.transfer.mbps = 9999;
	expect_state("rate", FINDING_OK, "9.9 Gbit/s");
	world_link("sys/class/infiniband/mlx0/device/driver", "../../bus/pci/drivers/mlx5_core");
	expect_state("rate", FINDING_NOTE, "more than ten times as much");
	world.transfer.mbps = 10000;
	expect_state("rate", FINDING_OK, "10.0 Gbit/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_provider_warned),
		WORLD_TEST(test_node),
		WORLD_TEST(test_permission_cgroup),
		WORLD_TEST(test_permission_others),
		WORLD_TEST(test_permission_granted),
		WORLD_TEST(test_permission_mode),
		WORLD_TEST(test_permission_group),
		WORLD_TEST(test_provider),
		WORLD_TEST(test_abi),
		WORLD_TEST(test_port_ethernet),
		WORLD_TEST(test_port_hostile_name),
		WORLD_TEST(test_port_infiniband),
		WORLD_TEST(test_port_several),
		WORLD_TEST(test_port_no_carrier),
		WORLD_TEST(test_gid),
		WORLD_TEST(test_gid_foreign),
		WORLD_TEST(test_gid_foreign_in_sysfs),
		WORLD_TEST(test_gid_version_1),
		WORLD_TEST(test_transfer),
		WORLD_TEST(test_transfer_part),
		WORLD_TEST(test_transfer_datagrams),
		WORLD_TEST(test_transfer_rate),
		WORLD_TEST(test_memlock),
		WORLD_TEST(test_memlock_place),
		WORLD_TEST(test_memlock_capability),
		WORLD_TEST(test_memlock_unseen),
		WORLD_TEST(test_verbs),
		WORLD_TEST(test_verbs_limit),
		WORLD_TEST(test_two_devices),
		WORLD_TEST(test_strange_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
