/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of devices in a sysfs of the test. The expected names are those of Debian 12's helper. */
#include "tests/unit/unit.h"

#include "udev/name.h"
#include "util/util.h"

static char folder[PATH_MAX];

static int begin(void **state)
{
	folder_make(folder);
	file_write(folder, "class/x0/node_type", "1: CA\n");
	return 0;
}

static int end(void **state)
{
	folder_remove(folder);
	return 0;
}

static void link_make(const char *target, const char *name)
{
	char from[PATH_MAX + 256], to[PATH_MAX + 256];

	snprintf(to, sizeof(to), "%s/%s", folder, target);
	snprintf(from, sizeof(from), "%s/%s", folder, name);
	assert_int_equal(symlink(to, from), 0);
}

static void attribute(const char *address, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "devices/%s/%s", address, name);
	file_write(folder, path, text);
}

static void pci_device(const char *address, bool many_functions, bool ari)
{
	char path[PATH_MAX + 64], header[64] = {};
	FILE *f;

	attribute(address, "ari_enabled", ari ? "1\n" : "0\n");
	snprintf(path, sizeof(path), "devices/%s/subsystem", address);
	link_make("bus/pci", path);
	header[0x0e] = many_functions ? (char)0x80 : 0;
	snprintf(path, sizeof(path), "%s/devices/%s/config", folder, address);
	f = fopen(path, "w");
	assert_int_equal(fwrite(header, sizeof(header), 1, f), 1);
	fclose(f);
}

static void use(const char *address)
{
	char path[128];

	snprintf(path, sizeof(path), "devices/%s", address);
	link_make(path, "class/x0/device");
}

static int make(enum name_policy policy, const char *prefix, uint64_t guid, const char *fixed,
		char name[NAME_SIZE])
{
	struct name_device device = {
		.name = "x0",
		.prefix = prefix,
		.node_guid = guid,
		.fixed = fixed,
	};
	char path[PATH_MAX + 16];
	int r;

	snprintf(path, sizeof(path), "%s/class/x0", folder);
	device.folder = open(path, O_PATH | O_DIRECTORY);
	assert_true(device.folder >= 0);
	r = name_make(policy, &device, name);
	close(device.folder);
	return r;
}

static void check(enum name_policy policy, const char *expected)
{
	char name[NAME_SIZE] = "";

	assert_int_equal(make(policy, "roce", 0x525400c0fe123455, NULL, name), 0);
	assert_string_equal(name, expected);
}

static void check_pci(const char *address, bool many_functions, bool ari, const char *expected)
{
	begin(NULL);
	pci_device(address, many_functions, ari);
	use(address);
	check(NAME_PCI, expected);
	check(NAME_FALLBACK, expected);
	end(NULL);
}

static void test_pci(void **state)
{
	check_pci("0000:03:00.0", false, false, "rocep3s0");
	check_pci("0000:83:0a.0", true, false, "rocep131s10f0");
	check_pci("0000:83:0a.3", true, false, "rocep131s10f3");
	check_pci("0000:83:0a.3", false, false, "rocep131s10f3");
	check_pci("0005:02:00.0", false, false, "roceP5p2s0");
	check_pci("10010:02:00.0", false, false, "roceP65552p2s0");
	check_pci("0000:83:02.3", true, true, "rocep131s2f19");
	check_pci("0000:83:02.0", false, true, "rocep131s2f16");
}

static void vf_make(void)
{
	pci_device("0000:83:00.0", true, false);
	pci_device("0000:83:00.5", false, false);
	link_make("devices/0000:83:00.0", "devices/0000:83:00.5/physfn");
	link_make("devices/0000:83:00.4", "devices/0000:83:00.0/virtfn0");
	link_make("devices/0000:83:00.5", "devices/0000:83:00.0/virtfn1");
}

static void test_virtual_function(void **state)
{
	vf_make();
	use("0000:83:00.5");
	check(NAME_PCI, "rocep131s0f0v1");
	/* The firmware's index belongs to the physical function. */
	attribute("0000:83:00.0", "acpi_index", "5\n");
	check(NAME_FALLBACK, "rocep131s0f0v1");
}

/* A virtual function that its physical function does not list. */
static void test_virtual_function_lost(void **state)
{
	char path[PATH_MAX + 64], name[NAME_SIZE];

	vf_make();
	use("0000:83:00.5");
	snprintf(path, sizeof(path), "%s/devices/0000:83:00.0/virtfn1", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(make(NAME_PCI, "ib", 0, NULL, name), -ENOENT);
	check(NAME_FALLBACK, "x0");
}

static void test_onboard(void **state)
{
	char name[NAME_SIZE];

	pci_device("0000:83:00.0", false, false);
	use("0000:83:00.0");
	assert_int_equal(make(NAME_ONBOARD, "ib", 0, NULL, name), -EOPNOTSUPP);
	attribute("0000:83:00.0", "index", "0\n");
	check(NAME_ONBOARD, "roceo0");
	attribute("0000:83:00.0", "index", "16777216\n");
	check(NAME_FALLBACK, "rocep131s0");
	attribute("0000:83:00.0", "index", "6\n");
	attribute("0000:83:00.0", "acpi_index", "3\n");
	check(NAME_FALLBACK, "roceo3");
	attribute("0000:83:00.0", "acpi_index", "none\n");
	check(NAME_FALLBACK, "roceo6");
}

static void test_virtual_device(void **state)
{
	char name[NAME_SIZE];

	assert_int_equal(make(NAME_PCI, "roce", 0, NULL, name), -EOPNOTSUPP);
	assert_int_equal(make(NAME_ONBOARD, "roce", 0, NULL, name), -EOPNOTSUPP);
	check(NAME_FALLBACK, "x0");
	check(NAME_KERNEL, "x0");
	/* On another bus, the address may have any form. */
	attribute("0000:83:00.0", "config", "");
	link_make("bus/auxiliary", "devices/0000:83:00.0/subsystem");
	use("0000:83:00.0");
	assert_int_equal(make(NAME_PCI, "roce", 0, NULL, name), -EOPNOTSUPP);
	check(NAME_FALLBACK, "x0");
}

static void sub_function_make(const char *parent, const char *number)
{
	char path[96];

	snprintf(path, sizeof(path), "devices/%s/mlx5_core.sf.4/sfnum", parent);
	file_write(folder, path, number);
	snprintf(path, sizeof(path), "devices/%s/mlx5_core.sf.4/subsystem", parent);
	link_make("bus/auxiliary", path);
	snprintf(path, sizeof(path), "%s/mlx5_core.sf.4", parent);
	use(path);
}

static void test_sub_function(void **state)
{
	pci_device("0000:c1:00.0", true, false);
	sub_function_make("0000:c1:00.0", "88\n");
	check(NAME_PCI, "rocep193s0f0S88");
	check(NAME_FALLBACK, "rocep193s0f0S88");
}

static void test_sub_function_of_virtual(void **state)
{
	vf_make();
	sub_function_make("0000:83:00.5", "99\n");
	check(NAME_PCI, "rocep131s0f0v1S99");
}

/* Invalid numbers and places. */
static void test_sub_function_strange(void **state)
{
	char name[NAME_SIZE];

	pci_device("0000:c1:00.0", true, false);
	sub_function_make("0000:c1:00.0", "eighty\n");
	assert_int_equal(make(NAME_PCI, "roce", 0, NULL, name), -EOPNOTSUPP);
	attribute("0000:c1:00.0/mlx5_core.sf.4", "sfnum", "99999999999\n");
	assert_int_equal(make(NAME_PCI, "roce", 0, NULL, name), -EOPNOTSUPP);
	check(NAME_FALLBACK, "x0");
}

/* Amazon's EFA has no protocol: neither InfiniBand nor RoCE nor iWARP. */
static void test_no_protocol(void **state)
{
	char name[NAME_SIZE];

	pci_device("0000:73:00.0", false, false);
	use("0000:73:00.0");
	assert_int_equal(make(NAME_FALLBACK, "", 1, NULL, name), 0);
	assert_string_equal(name, "rdmap115s0");
	assert_int_equal(make(NAME_GUID, "", 1, NULL, name), 0);
	assert_string_equal(name, "rdmax0000000000000001");
	attribute("0000:73:00.0", "index", "2\n");
	assert_int_equal(make(NAME_ONBOARD, "", 1, NULL, name), 0);
	assert_string_equal(name, "rdmao2");
}

/* A device keeps the name that its creator chose, unless the rule gives a fixed name. */
static void test_user_named(void **state)
{
	struct name_device device = {
		.name = "mine", .prefix = "roce", .node_guid = 5, .user_named = true
	};
	char name[NAME_SIZE], path[PATH_MAX + 16];

	pci_device("0000:73:00.0", false, false);
	use("0000:73:00.0");
	snprintf(path, sizeof(path), "%s/class/x0", folder);
	device.folder = open(path, O_PATH | O_DIRECTORY);
	for (enum name_policy policy = 0; policy < NAME_POLICIES; policy++) {
		device.fixed = policy == NAME_FIXED ? "other" : NULL;
		assert_int_equal(name_make(policy, &device, name), 0);
		assert_string_equal(name, policy == NAME_FIXED ? "other" : "mine");
	}
	close(device.folder);
}

static void test_bad_address(void **state)
{
	char name[NAME_SIZE];

	pci_device("0000:83:00", false, false);
	use("0000:83:00");
	assert_int_equal(make(NAME_PCI, "roce", 0, NULL, name), -EINVAL);
	check(NAME_FALLBACK, "x0");
}

static void test_guid(void **state)
{
	char name[NAME_SIZE];

	check(NAME_GUID, "rocex525400c0fe123455");
	assert_int_equal(make(NAME_GUID, "ib", 1, NULL, name), 0);
	assert_string_equal(name, "ibx0000000000000001");
	assert_int_equal(make(NAME_GUID, "ib", 0, NULL, name), -EOPNOTSUPP);
}

static void test_fixed(void **state)
{
	static const char *const bad[] = { "", "a/b", "..", ".hidden" };
	char name[NAME_SIZE] = "before", long_name[NAME_SIZE + 1];

	assert_int_equal(make(NAME_FIXED, "ib", 0, "storage0", name), 0);
	assert_string_equal(name, "storage0");
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(make(NAME_FIXED, "ib", 0, bad[i], name), -EINVAL);
	assert_int_equal(make(NAME_FIXED, "ib", 0, NULL, name), -EINVAL);
	memset(long_name, 'x', NAME_SIZE);
	long_name[NAME_SIZE] = '\0';
	assert_int_equal(make(NAME_FIXED, "ib", 0, long_name, name), -ENAMETOOLONG);
	assert_string_equal(name, "storage0");
	assert_int_equal(make(NAME_FIXED, "ib", 0, long_name + 1, name), 0);
}

static void test_policies(void **state)
{
	assert_int_equal(name_policy_parse("NAME_PCI"), NAME_PCI);
	assert_int_equal(name_policy_parse("pci"), NAME_PCI);
	assert_int_equal(name_policy_parse("NAME_FALLBACK"), NAME_FALLBACK);
	assert_int_equal(name_policy_parse("kernel"), NAME_KERNEL);
	assert_int_equal(name_policy_parse("onboard"), NAME_ONBOARD);
	assert_int_equal(name_policy_parse("guid"), NAME_GUID);
	assert_int_equal(name_policy_parse("fixed"), NAME_FIXED);
	assert_int_equal(name_policy_parse(""), -EINVAL);
	assert_int_equal(name_policy_parse("NAME_"), -EINVAL);
	assert_int_equal(name_policy_parse("pcix"), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci),
		TEST(test_virtual_function),
		TEST(test_virtual_function_lost),
		TEST(test_onboard),
		TEST(test_virtual_device),
		TEST(test_sub_function),
		TEST(test_sub_function_of_virtual),
		TEST(test_sub_function_strange),
		TEST(test_no_protocol),
		TEST(test_user_named),
		TEST(test_bad_address),
		TEST(test_guid),
		TEST(test_fixed),
		cmocka_unit_test(test_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
