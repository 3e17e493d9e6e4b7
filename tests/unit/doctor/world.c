/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/sysmacros.h>

#include "tests/unit/doctor/world.h"

#define ETH0 "sys/class/net/eth0/"
#define MLX0 "sys/class/infiniband/mlx0/"

struct world world;
static struct finding findings[64];

/* ---- what the program asks of the running system ---- */

void system_ask(struct rdma_system *ret_system)
{
	*ret_system = world.system;
}

bool system_netdev_exists(const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s", world.root, name);
	return !world.netdev_elsewhere && (!strcmp(name, "eth0") || !access(path, F_OK));
}

int system_node_open(const char *path)
{
	return world.open_error;
}

int system_fork_init(void)
{
	return world.fork_error;
}

bool system_library_is_ours(const char **ret_path)
{
	*ret_path = "/usr/lib/libibverbs.so.1";
	return !world.other_library;
}

int trial_files_check(void)
{
	return 0;
}

int system_list(struct trial_device devices[TRIAL_DEVICES], struct trial *ret_trial)
{
	int n = 0;

	*ret_trial = world.trial;
	for (; n < ARRAY_SIZE(world.listed) && world.listed[n].name[0]; n++)
		devices[n] = world.listed[n];
	return n;
}

void system_try(const char *name, struct trial *ret_trial)
{
	*ret_trial = world.trial;
}

void system_transfer(const char *name, struct transfer *ret_transfer)
{
	*ret_transfer = world.transfer;
	snprintf(ret_transfer->device, sizeof(ret_transfer->device), "%s", name);
}

void system_dcb(const char *netdev, struct dcb *ret_dcb)
{
	*ret_dcb = world.dcb;
}

void system_peer(const struct doctor *d, const char *host, struct peer *ret_peer)
{
	*ret_peer = world.peer;
}

int disc_nldev_list(struct verbs_device_list *list)
{
	for (int i = 0; i < ARRAY_SIZE(world.devices) && world.devices[i].name; i++) {
		struct verbs_device *device = disc_device_new(list, sizeof(*device));

		assert_non_null(device);
		assert_int_equal(disc_device_name(device, world.devices[i].name), 0);
		assert_int_equal(disc_device_cdev_name(device, world.devices[i].node), 0);
		device->driver_id = world.devices[i].driver_id;
		device->abi_version = world.devices[i].abi;
		device->cdev = makedev(1, 3); /* its node is a link to /dev/null */
	}
	return 0;
}

/* ---- the machine ---- */

void world_write(const char *path, const char *text)
{
	file_write(world.root, path, text);
}

void world_remove(const char *path)
{
	char full[PATH_MAX + 256];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", world.root, path);
	assert_int_equal(lstat(full, &st), 0);
	folder_remove(full);
}

void world_link(const char *path, const char *target)
{
	char full[PATH_MAX + 256];

	world_write(path, "");
	world_remove(path);
	snprintf(full, sizeof(full), "%s/%s", world.root, path);
	assert_int_equal(symlink(target, full), 0);
}

static void world_write_device(const char *name)
{
	static const char *const files[][2] = {
		{ "node_type", "1: CA\n" },
		{ "ports/1/state", "4: ACTIVE\n" },
		{ "ports/1/phys_state", "5: LinkUp\n" },
		{ "ports/1/link_layer", "Ethernet\n" },
		{ "ports/1/gids/0", "fe80:0000:0000:0000:0000:00ff:fe00:0001\n" },
		{ "ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:c000:0201\n" },
		{ "ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n" },
		{ "ports/1/gid_attrs/types/0", "RoCE v2\n" },
		{ "ports/1/gid_attrs/types/1", "RoCE v2\n" },
		{ "ports/1/gid_attrs/ndevs/0", "eth0\n" },
		{ "ports/1/gid_attrs/ndevs/1", "eth0\n" },
	};
	char path[256];

	for (int i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "sys/class/infiniband/%s/%s", name, files[i][0]);
		world_write(path, files[i][1]);
	}
}

static void world_write_drivers(void)
{
	static const char *const names[] = {
		[WORLD_GOOD] = "good",
		[WORLD_WRONG_ABI] = "wrongabi",
		[WORLD_NO_LIBRARY] = "text",
		[WORLD_MISSING] = "missing",
		[WORLD_OTHER_RELEASE] = "otherrelease",
	};
	char path[256], text[256];

	for (int id = WORLD_GOOD; id < ARRAY_SIZE(names); id++) {
		snprintf(path, sizeof(path), RDMA_CONFIG_DIR "/%s.driver", names[id]);
		snprintf(text, sizeof(text), "driver " FOLDER "/lib%s\nmatch driver_id %d\n",
			 names[id], id);
		world_write(path, text);
	}
	world_write(RDMA_CONFIG_DIR "/user.driver", "driver user\nmatch userspace\n");
	world_write(RDMA_PROVIDER_DIR "/libuser-rdmav101.so", "");
}

static void world_write_host(void)
{
	world_write("sys/class/infiniband_verbs/abi_version", "6\n");
	world_write("sys/class/misc/rdma_cm/abi_version", "4\n");
	world_write("sys/class/misc/rdma_cm/dev", "1:5\n");
	world_write(ETH0 "flags", "0x1003\n");
	world_write(ETH0 "carrier", "1\n");
	world_link("dev/infiniband/uverbs0", "/dev/null");
	world_link("dev/infiniband/rdma_cm", "/dev/zero");
	world_write("proc/sys/kernel/osrelease", "6.99.1\n");
	world_write("proc/self/status",
		    "Name:\tx\nVmLck:\t0 kB\nVmPin:\t0 kB\nCapEff:\t0000000000000000\n");
	world_write("proc/self/limits", "Limit   Soft Limit  Hard Limit  Units\n"
					"Max locked memory  unlimited  unlimited  bytes\n");
	world_write("proc/self/uid_map", "         0          0 4294967295\n");
	world_write("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-1.scope\n");
}

/* The root is the same for all tests of a program, because the library reads some of it only
 * once. */
int world_setup(void **state)
{
	char root[PATH_MAX], sysfs[PATH_MAX + 4];

	snprintf(root, sizeof(root), "%s", world.root);
	world = (struct world){
		.devices[0] = { "mlx0", "uverbs0", WORLD_GOOD, 0 },
		.listed[0] = { .name = "mlx0" },
		.system = { .mode_known = true, .copies_on_fork = true },
		.trial = { .gid = "::ffff:192.0.2.1", .gids = 1 },
		.dcb = { .pfc_known = true,
			 .pfc = 1 << 3,
			 .dscps = UINT64_C(1) << 26,
			 .priority[26] = 3,
			 .pause_known = true },
	};
	if (!root[0]) {
		folder_make(root);
		snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
		setenv("SYSFS_PATH", sysfs, 1);
	}
	snprintf(world.root, sizeof(world.root), "%s", root);
	mkdir(world.root, 0755);
	paths_set_root(world.root);
	world.doctor = (struct doctor){ .root = world.root, .live = true, .pid = "self" };
	world_write_host();
	world_write_drivers();
	world_write_device("mlx0");
	setenv("UROCE", "off", 1);
	return 0;
}

int world_teardown(void **state)
{
	devices_drop(&world.doctor);
	folder_remove(world.root);
	return 0;
}

void world_add(const char *name, const char *node)
{
	char path[256];

	world.devices[1] = (struct world_device){ name, node, WORLD_GOOD, 0 };
	world_write_device(name);
	snprintf(path, sizeof(path), "dev/infiniband/%s", node);
	world_link(path, "/dev/null");
}

/* ---- what it says ---- */

void world_look(void)
{
	assert_true(rung_count <= ARRAY_SIZE(findings));
	devices_drop(&world.doctor);
	ladder_climb(&world.doctor, findings);
}

const struct finding *world_finding(const char *rung)
{
	for (unsigned int i = 0; i < rung_count; i++)
		if (!strcmp(rungs[i].name, rung))
			return &findings[i];
	fail_msg("there is no rung %s", rung);
	return NULL;
}

void expect_failure(const char *rung, int code, const char *cause, const char *fix)
{
	int first;

	world_look();
	first = ladder_first_failure(findings);
	if (first < 0)
		fail_msg("nothing failed, %s should have", rung);
	if (strcmp(rungs[first].name, rung))
		fail_msg("%s failed (%s), %s should have", rungs[first].name,
			 findings[first].what.chars, rung);
	assert_int_equal(rungs[first].exit_code, code);
	assert_contains(findings[first].what.chars, cause);
	assert_contains(findings[first].fix.chars, fix);
}

void expect_state(const char *rung, enum finding_state state, const char *words)
{
	int first;

	world_look();
	first = ladder_first_failure(findings);
	if (first >= 0)
		fail_msg("%s failed: %s", rungs[first].name, findings[first].what.chars);
	assert_int_equal(world_finding(rung)->state, state);
	assert_contains(world_finding(rung)->what.chars, words);
}
