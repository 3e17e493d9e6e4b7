/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Test the program with answers of a kernel that reports how a device got its name, because no
 * kernel here does. */
#include "tests/unit/unit.h"

#define main rdma_rename_main
int rdma_rename_main(int argc, char **argv);
#include "udev/rdma_rename.c"
#undef main

static struct fake {
	const char *protocol; /* NULL: this kind of device has none */
	int assigned;	      /* how the name was assigned; -1: the kernel does not report it */
	uint64_t contexts;
	char renamed[64];
	char journal[256]; /* the last line */
} fake;
static char folder[PATH_MAX];

int __wrap_netlink_open(int protocol, struct nl_sock **ret_sock);
int __wrap_netlink_open(int protocol, struct nl_sock **ret_sock)
{
	assert_int_equal(protocol, NETLINK_RDMA);
	*ret_sock = nl_socket_alloc();
	return *ret_sock ? 0 : -ENOMEM;
}

/* The program also writes errors to the journal. */
void __wrap_syslog(int priority, const char *format, ...);
void __wrap_syslog(int priority, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fake.journal, sizeof(fake.journal), format, arguments);
	va_end(arguments);
}

static void put_device(struct nl_msg *msg, uint32_t index, const char *name)
{
	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nla_put_u64(msg, RDMA_NLDEV_ATTR_NODE_GUID, 5);
	if (fake.protocol)
		nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_PROTOCOL, fake.protocol);
	if (fake.assigned >= 0)
		nla_put_u8(msg, RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE, fake.assigned);
}

static void put_usage(struct nl_msg *msg)
{
	struct nlattr *all = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_SUMMARY);
	struct nlattr *one = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	nla_put_string(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, "ctx");
	nla_put_u64(msg, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, fake.contexts);
	nla_nest_end(msg, one);
	nla_nest_end(msg, all);
}

/* Answer for two devices, of which x0 is ours. */
int __wrap_netlink_ask(struct nl_sock *sock, struct nl_msg *msg, netlink_answer_fn answer,
		       void *arg);
int __wrap_netlink_ask(struct nl_sock *sock, struct nl_msg *msg, netlink_answer_fn answer,
		       void *arg)
{
	struct nlmsghdr *request = nlmsg_hdr(msg);
	struct nlattr *name = nlmsg_find_attr(request, 0, RDMA_NLDEV_ATTR_DEV_NAME);
	int r = 0;

	if (request->nlmsg_type == NLDEV_TYPE(RDMA_NLDEV_CMD_SET)) {
		assert_non_null(name);
		strcpy(fake.renamed, nla_get_string(name));
		return 0;
	}
	for (uint32_t i = 0; r == 0 && i < 2; i++) {
		struct nl_msg *reply = nlmsg_alloc();

		nlmsg_put(reply, 0, 0, request->nlmsg_type, 0, 0);
		if (request->nlmsg_type == NLDEV_TYPE(RDMA_NLDEV_CMD_RES_GET))
			put_usage(reply);
		else
			put_device(reply, 7 + i, i ? "x0" : "another");
		r = answer(nlmsg_hdr(reply), arg);
		nlmsg_free(reply);
	}
	return r;
}

/* Return the exit code of "rdma_rename x0 @how @fixed". */
static int rename_x0(char *how, char *fixed)
{
	char program[] = "rdma_rename", device[] = "x0";
	char *argv[] = { program, device, how, fixed, NULL };

	optind = 1;
	fake.renamed[0] = '\0';
	return rdma_rename_main(fixed ? 4 : 3, argv);
}

static int begin(void **state)
{
	fake = (struct fake){ .protocol = "roce", .assigned = -1 };
	return 0;
}

/* Use one sysfs for all tests, because its path is looked up only once. */
static int begin_all(void **state)
{
	char to[PATH_MAX + 64], from[PATH_MAX + 64];

	folder_make(folder);
	file_write(folder, "class/infiniband/x0/node_type", "1: CA\n");
	file_write(folder, "devices/0000:73:00.0/config", "");
	snprintf(to, sizeof(to), "%s/devices/0000:73:00.0", folder);
	snprintf(from, sizeof(from), "%s/class/infiniband/x0/device", folder);
	assert_int_equal(symlink(to, from), 0);
	snprintf(from, sizeof(from), "%s/devices/0000:73:00.0/subsystem", folder);
	assert_int_equal(symlink("/bus/pci", from), 0);
	setenv("SYSFS_PATH", folder, 1);
	return 0;
}

static int end_all(void **state)
{
	folder_remove(folder);
	return 0;
}

/* A name given by the kernel, and kernels that do not report the assignment. */
static void test_renamed(void **state)
{
	for (fake.assigned = -1; fake.assigned <= RDMA_NAME_ASSIGN_TYPE_UNKNOWN; fake.assigned++) {
		assert_int_equal(rename_x0((char[]){ "fallback" }, NULL), 0);
		assert_string_equal(fake.renamed, "rocep115s0");
	}
}

static void test_no_protocol(void **state)
{
	fake.protocol = NULL;
	assert_int_equal(rename_x0((char[]){ "NAME_PCI" }, NULL), 0);
	assert_string_equal(fake.renamed, "rdmap115s0");
	assert_int_equal(rename_x0((char[]){ "guid" }, NULL), 0);
	assert_string_equal(fake.renamed, "rdmax0000000000000005");
}

static void test_user_named(void **state)
{
	fake.assigned = RDMA_NAME_ASSIGN_TYPE_USER;
	assert_int_equal(rename_x0((char[]){ "fallback" }, NULL), 0);
	assert_string_equal(fake.renamed, "");
	assert_int_equal(rename_x0((char[]){ "guid" }, NULL), 0);
	assert_string_equal(fake.renamed, "");
	assert_int_equal(rename_x0((char[]){ "fixed" }, (char[]){ "other" }), 0);
	assert_string_equal(fake.renamed, "other");
}

static void test_unknown_policy(void **state)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	assert_int_equal(rename_x0((char[]){ "bogus" }, NULL), 2);
	said = capture_end(&c);
	assert_contains(said, "x0: bogus: no such policy");
	assert_contains(fake.journal, "x0: bogus: no such policy");
	assert_string_equal(fake.renamed, "");
	free(said);
}

/* The journal has each reason, because udev discards standard error. */
static void test_words_too_many_or_few(void **state)
{
	struct capture c;

	capture_begin(&c);
	assert_int_equal(rename_x0((char[]){ "fixed" }, NULL), 2);
	assert_contains(fake.journal, "x0: fixed: this policy needs one name behind it");
	assert_int_equal(rename_x0((char[]){ "guid" }, (char[]){ "extra" }), 2);
	assert_contains(fake.journal, "x0: guid: this policy takes no name");
	assert_string_equal(fake.renamed, "");
	free(capture_end(&c));
}

static void test_open(void **state)
{
	struct capture c;
	char *said;

	fake.contexts = 1;
	capture_begin(&c);
	assert_int_equal(rename_x0((char[]){ "fallback" }, NULL), 1);
	said = capture_end(&c);
	assert_contains(said, "x0: programs have it open");
	assert_contains(fake.journal, "x0: programs have it open");
	assert_string_equal(fake.renamed, "");
	free(said);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(test_renamed),	   TEST(test_no_protocol),	     TEST(test_user_named),
		TEST(test_unknown_policy), TEST(test_words_too_many_or_few), TEST(test_open),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
