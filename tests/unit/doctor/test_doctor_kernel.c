/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rungs of the host: kernel, netlink, namespace, device, rdma_cm, fork, uroce; and none
 * failing. */
#include <signal.h>

#include "tests/unit/doctor/world.h"

static void test_healthy(void **state)
{
	world_look();
	for (unsigned int i = 0; i < rung_count; i++) {
		const struct finding *f = world_finding(rungs[i].name);

		/* The rungs from "rc" on are those of --transfer. */
		if (!strcmp(rungs[i].name, "rc"))
			break;
		if (f->state != FINDING_OK && strcmp(rungs[i].name, "uroce") &&
		    strcmp(rungs[i].name, "require"))
			fail_msg("%s: %s", rungs[i].name, f->what.chars);
	}
	expect_state("uroce", FINDING_UNNEEDED, "not offered");
	expect_state("device", FINDING_OK, "mlx0");
}

/* Names and exit codes are for scripts: each is unique, above the codes without a rung, and the
 * codes have no gap. */
static void test_table(void **state)
{
	for (unsigned int i = 0; i < rung_count; i++) {
		assert_in_range(rungs[i].exit_code, 10, 10 + rung_count - 1);
		assert_true(!rungs[i].check != !rungs[i].check_device);
		for (unsigned int j = 0; j < i; j++) {
			assert_string_not_equal(rungs[i].name, rungs[j].name);
			assert_int_not_equal(rungs[i].exit_code, rungs[j].exit_code);
		}
	}
}

static void no_kernel_class(void)
{
	world_remove("sys/class/infiniband");
	world_remove("sys/class/infiniband_verbs");
}

static void test_kernel_no_core(void **state)
{
	no_kernel_class();
	expect_failure("kernel", 10, "ib_core is not loaded", "modprobe ib_core");
}

static void test_kernel_no_uverbs(void **state)
{
	world_remove("sys/class/infiniband_verbs");
	expect_failure("kernel", 10, "ib_uverbs is not loaded", "modprobe ib_uverbs");
}

static void test_kernel_container(void **state)
{
	no_kernel_class();
	world_write(".dockerenv", "");
	expect_failure("kernel", 10, "ib_core is not loaded", "on the host: modprobe ib_core");
}

static void test_kernel_no_modules(void **state)
{
	no_kernel_class();
	world_write("lib/modules/6.99.1/modules.dep",
		    "kernel/drivers/net/veth.ko.xz:\nkernel/x.ko: kernel/y/ib_core.ko\n");
	expect_failure("kernel", 10, "ib_core is not loaded", "linux-modules-extra-6.99.1");
	world_write("lib/modules/6.99.1/modules.dep", "kernel/infiniband/ib_core.ko.xz:\n");
	expect_failure("kernel", 10, "ib_core is not loaded", "modprobe ib_core");
}

static void test_kernel_unbound_function(void **state)
{
	world_write("sys/bus/auxiliary/devices/mlx5_core.eth.0/x", "");
	expect_state("kernel", FINDING_OK, "6.99.1");
	world_write("sys/bus/auxiliary/devices/mlx5_core.rdma.0/x", "");
	expect_state("kernel", FINDING_NOTE, "mlx5_core.rdma.0 has no driver");
	assert_contains(world_finding("kernel")->fix.chars, "modprobe mlx5_ib");
	world_write("sys/bus/auxiliary/devices/mlx5_core.rdma.0/driver/x", "");
	expect_state("kernel", FINDING_OK, "6.99.1");
}

/* Hardware without its driver is a fault even if the user-space device works. */
static void test_kernel_unbound_counts(void **state)
{
	no_kernel_class();
	setenv("UROCE", "auto", 1);
	world_write("sys/bus/auxiliary/devices/ice.roce.1/x", "");
	expect_failure("kernel", 10, "ice.roce.1 has no driver",
		       "modprobe -a ib_core auxiliary:ice.roce");
}

static void test_kernel_no_sysfs(void **state)
{
	world_remove("sys");
	world.devices[0].name = NULL;
	expect_failure("kernel", 10, "sysfs is not mounted", "mount -t sysfs");
}

static void test_netlink(void **state)
{
	world.system = (struct rdma_system){ .error = -EPROTONOSUPPORT };
	expect_failure("netlink", 11, "Protocol not supported", "RestrictAddressFamilies");
	world.system.error = -EPERM;
	expect_failure("netlink", 11, "Operation not permitted", "seccomp");
	world.system.error = -EIO;
	expect_failure("netlink", 11, "Input/output error", "dmesg");
}

static void no_device(void)
{
	world.devices[0].name = NULL;
	world_remove("sys/class/infiniband/mlx0");
}

static void test_namespace(void **state)
{
	world.system.exclusive = true;
	expect_state("namespace", FINDING_OK, "exclusive");
	world.devices[0].name = NULL;
	expect_failure("namespace", 12, "which sysfs shows, is in another network namespace",
		       "rdma dev set mlx0 netns");
	no_device();
	expect_failure("namespace", 12, "this network namespace has no RDMA device",
		       "rdma dev set DEVICE netns");
	world.doctor.wanted = "mlx7";
	expect_failure("namespace", 12, "mlx7 is not in this network namespace",
		       "rdma dev set mlx7 netns");
	world.system.mode_known = false;
	world.system.exclusive = false;
	world.doctor.wanted = NULL;
	expect_failure("device", 13, "no RDMA device", "");
	assert_int_equal(world_finding("namespace")->state, FINDING_UNSEEN);
}

static void test_device_none(void **state)
{
	no_device();
	expect_failure("device", 13, "the kernel has no RDMA device", "rdma link add rxe0");
	world_write("sys/module/ib_uverbs/holders/mlx5_ib/x", "");
	expect_failure("device", 13, "drivers are loaded (mlx5_ib)", "rdma link add rxe0");
	world_write("run/.containerenv", "");
	expect_failure("device", 13, "no RDMA device", "on the host");
}

static void test_device_wanted(void **state)
{
	world.doctor.wanted = "mlx1";
	expect_failure("device", 13, "mlx1 is not one of the kernel's devices: mlx0", "mlx1");
	world.doctor.wanted = "mlx0";
	expect_state("device", FINDING_OK, "mlx0");
	no_device();
	expect_failure("device", 13, "mlx0 is not there", "load the driver");
}

/* Other names of a device. */
static void test_device_names(void **state)
{
	char target[PATH_MAX + 64], path[PATH_MAX + 64];

	world_write("sys/devices/0000:3b:00.0/net/eth0/x", "");
	snprintf(target, sizeof(target), "%s/sys/devices/0000:3b:00.0", world.root);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx0/device", world.root);
	assert_int_equal(symlink(target, path), 0);
	static const char *const names[] = { "mlx0", "uverbs0", "eth0", "0000:3b:00.0" };
	for (int i = 0; i < ARRAY_SIZE(names); i++) {
		world.doctor.wanted = names[i];
		expect_state("device", FINDING_OK, "mlx0");
	}
	world.doctor.wanted = "eth1";
	expect_failure("device", 13, "eth1 is not one of", "");
	world_write("sys/class/net/eth1/x", "");
	expect_failure("device", 13, "it is a network interface without an RDMA device",
		       "rdma link add rxe_eth1 type rxe netdev eth1");
	world_write("sys/class/infiniband/mlx0/parent", "eth1\n");
	expect_state("device", FINDING_OK, "mlx0");
}

static void test_rdma_cm(void **state)
{
	world_write("sys/class/misc/rdma_cm/abi_version", "5\n");
	expect_failure("rdma_cm", 22, "has ABI 5, the library knows 4", "librdmacm");
	world_write("sys/class/misc/rdma_cm/abi_version", "4\n");
	world_write("sys/class/misc/rdma_cm/dev", "10:77\n");
	expect_failure("rdma_cm", 22, "is character device 1:5, but the kernel's is 10:77",
		       "mknod -m 0666");
	world_remove("dev/infiniband/rdma_cm");
	expect_failure("rdma_cm", 22, "dev/infiniband/rdma_cm does not exist", "c 10 77");
	world_remove("sys/class/misc/rdma_cm");
	expect_failure("rdma_cm", 22, "rdma_ucm is not loaded", "modprobe rdma_ucm");
}

static void test_fork(void **state)
{
	world.system.copies_on_fork = false;
	expect_state("fork", FINDING_NOTE, "older than 5.12");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	expect_state("fork", FINDING_OK, "RDMAV_FORK_SAFE");
	world.fork_error = -ENOSYS;
	expect_failure("fork", 21, "cannot be kept from children", "5.12");
	unsetenv("RDMAV_FORK_SAFE");
}

static void only_uroce(void)
{
	no_kernel_class();
	setenv("UROCE", "auto", 1);
	world.devices[0].name = NULL;
	world.listed[0] = (struct trial_device){ .name = "uroce_lo", .userspace = true };
}

static void test_uroce_serves(void **state)
{
	only_uroce();
	expect_state("uroce", FINDING_OK, "uroce_lo works");
	expect_state("kernel", FINDING_UNNEEDED, "ib_core is not loaded");
	expect_state("device", FINDING_UNNEEDED, "no RDMA device");
	expect_state("memlock", FINDING_UNNEEDED, "pins no memory");
	world.doctor.wanted = "uroce_lo";
	expect_state("uroce", FINDING_OK, "uroce_lo works");
	expect_state("kernel", FINDING_UNNEEDED, "user space");
	world.doctor.wanted = "uroce_eth7";
	expect_failure("uroce", 23, "no uroce_eth7", "UROCE=on:INTERFACE");
}

static void test_uroce_faults(void **state)
{
	only_uroce();
	snprintf(world.trial.said, sizeof(world.trial.said), "uroce_lo: another user has the port");
	expect_state("uroce", FINDING_NOTE, "another user has the port");
	world.trial = (struct trial){ .error = -EACCES,
				      .verb = "ibv_open_device",
				      .said = "uroce: /dev/shm: Permission denied" };
	expect_failure("uroce", 23, "uroce_lo: ibv_open_device: Permission denied: uroce: /dev/shm",
		       "/dev/shm");
	world.trial = (struct trial){};
	expect_failure("uroce", 23, "has no address", "ip address add");
	world.trial = (struct trial){ .error = -EINVAL,
				      .verb = "ibv_open_device",
				      .said = "uroce: Error: UROCE_FAULTS: 'x' is no fault" };
	setenv("UROCE_FAULTS", "x", 1);
	expect_failure("uroce", 23, "'x' is no fault", "the variable UROCE_FAULTS");
	unsetenv("UROCE_FAULTS");
	world.trial = (struct trial){ .gids = 1, .netdev = "lo", .netdev_flags = IFF_LOOPBACK };
	expect_failure("uroce", 23, "lo is down", "ip link set dev lo up");
	world.trial.netdev_flags |= IFF_UP;
	expect_state("uroce", FINDING_NOTE, "no other host");
	world.listed[0].name[0] = '\0';
	expect_failure("uroce", 23, "lists no device of it", "UROCE=on:INTERFACE");
	world_remove(RDMA_PROVIDER_DIR "/libuser-rdmav101.so");
	expect_failure("uroce", 23, "is not installed", "install it");
	assert_int_equal(world_finding("kernel")->state, FINDING_UNNEEDED);
	assert_contains(world_finding("kernel")->what.chars, "UROCE asks for uroce");
}

/* Limits end a trial: each has its remedy, and no fact is reported twice. */
static void test_uroce_limits(void **state)
{
	only_uroce();
	world.trial = (struct trial){ .error = -EMFILE, .verb = "ibv_open_device" };
	expect_failure("uroce", 23, "Too many open files", "ulimit -n");
	strcpy(world.trial.said, "uroce_lo ibv_open_device: Too many open files");
	expect_failure("uroce", 23, "uroce_lo: ibv_open_device: Too many open files", "ulimit -n");
	world.trial = (struct trial){ .error = -EFAULT,
				      .signal = SIGXFSZ,
				      .verb = "a process that tries the library",
				      .said = "the limit of the size of files ended it" };
	expect_failure("uroce", 23, "the limit of the size of files", "ulimit -f");
	world.trial = (struct trial){ .error = -EPERM,
				      .verb = "ibv_open_device",
				      .said = "lo: ibv_open_device: Operation not permitted" };
	expect_failure("uroce", 23, "uroce_lo: lo: ibv_open_device: Operation not permitted",
		       "permit sockets");
}

/* The fault is that there is no device; one line explains how to get one in user space. */
static void expect_off(const char *why)
{
	expect_failure("kernel", 10, "ib_core", "");
	assert_int_equal(world_finding("uroce")->state, FINDING_NOTE);
	assert_contains(world_finding("uroce")->what.chars, why);
	assert_contains(world_finding("uroce")->fix.chars,
			"UROCE=on in the environment, or 'policy auto' in ");
}

static void test_uroce_policy(void **state)
{
	setenv("UROCE", "auto", 1);
	expect_state("uroce", FINDING_UNNEEDED, "beside the kernel's devices");
	world.doctor.wanted = "uroce_lo";
	expect_failure("uroce", 23, "not offered beside the kernel's devices", "UROCE=on");
	setenv("UROCE", "maybe", 1);
	world.doctor.wanted = NULL;
	only_uroce();
	setenv("UROCE", "maybe", 1);
	expect_off("policy 'maybe' is not off, auto or on");
}

/* An installed user-space device is off unless it was switched on. */
static void test_uroce_off(void **state)
{
	only_uroce();
	unsetenv("UROCE");
	expect_off("not offered (by uroce.conf, or the default)");
	world_write(RDMA_VENDOR_DIR "/uroce.conf", "policy auto\n");
	expect_state("uroce", FINDING_OK, "uroce_lo works");
	world_write(RDMA_CONFIG_DIR "/uroce.conf", "policy off\n");
	expect_off("not offered");
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_healthy),
		WORLD_TEST(test_table),
		WORLD_TEST(test_kernel_no_core),
		WORLD_TEST(test_kernel_no_uverbs),
		WORLD_TEST(test_kernel_container),
		WORLD_TEST(test_kernel_no_modules),
		WORLD_TEST(test_kernel_unbound_function),
		WORLD_TEST(test_kernel_unbound_counts),
		WORLD_TEST(test_kernel_no_sysfs),
		WORLD_TEST(test_netlink),
		WORLD_TEST(test_namespace),
		WORLD_TEST(test_device_none),
		WORLD_TEST(test_device_wanted),
		WORLD_TEST(test_device_names),
		WORLD_TEST(test_rdma_cm),
		WORLD_TEST(test_fork),
		WORLD_TEST(test_uroce_serves),
		WORLD_TEST(test_uroce_faults),
		WORLD_TEST(test_uroce_limits),
		WORLD_TEST(test_uroce_policy),
		WORLD_TEST(test_uroce_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
