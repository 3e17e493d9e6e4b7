/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults of the machine: nodes, permissions, the kernel's interface. */
#include <dlfcn.h>
#include <glob.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "tests/lib/rt_mistake.h"

/* Enter a private view of the file system, which a case may damage. */
static void own_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		rt_skip("only root can change what is mounted (%m)");
}

static void hide(const char *folder)
{
	CHECK_OK(mount("none", folder, "tmpfs", 0, NULL));
}

static void list_free(struct ibv_device ***list)
{
	if (*list)
		ibv_free_device_list(*list);
}
#define _cleanup_list_ __attribute__((cleanup(list_free)))

static int node_missing(struct rt_dev *dev)
{
	_cleanup_list_ struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *device = rt_device_find(list);

	own_mounts();
	hide("/dev/infiniband");
	return RT_ERRNO_OF(ibv_open_device(device));
}

/* The node belongs to another device: it is not opened, whatever its name. */
static int node_wrong(struct rt_dev *dev)
{
	_cleanup_list_ struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *device = rt_device_find(list);
	char path[300];

	own_mounts();
	hide("/dev/infiniband");
	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	CHECK_OK(mknod(path, S_IFCHR | 0666, makedev(1, 3)));
	return RT_ERRNO_OF(ibv_open_device(device));
}

static int node_forbidden(struct rt_dev *dev)
{
	_cleanup_list_ struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *device = rt_device_find(list);
	struct stat st;
	char path[300];

	own_mounts();
	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	CHECK_OK(stat(path, &st));
	hide("/dev/infiniband");
	CHECK_OK(mknod(path, S_IFCHR | 0600, st.st_rdev));
	chmod(path, 0600);
	if (setuid(RT_NOBODY))
		rt_skip("only root can become an ordinary user (%m)");
	return RT_ERRNO_OF(ibv_open_device(device));
}

/* The device opens for an ordinary user, whose limit allows hardly any registration. */
static int memlock_low(struct rt_dev *dev)
{
	static const struct rlimit low = { 32768, 32768 };
	_cleanup_list_ struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *device = rt_device_find(list);
	struct ibv_context *ctx;

	CHECK_OK(setrlimit(RLIMIT_MEMLOCK, &low));
	if (setuid(RT_NOBODY))
		rt_skip("only root can become an ordinary user (%m)");
	ctx = ibv_open_device(device);
	return ctx ? ibv_close_device(ctx) : errno;
}

static int device_list(void)
{
	_cleanup_list_ struct ibv_device **list = ibv_get_device_list(NULL);

	return RT_ERRNO_OF(list);
}

/* The low half of socket()'s first argument. */
#define SOCKET_FAMILY \
	(offsetof(struct seccomp_data, args[0]) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) * 4)

/* Deny netlink, as some sandboxes do. The devices are then found in sysfs. */
static void no_netlink(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SOCKET_FAMILY),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = RT_COUNT(filter), .filter = filter };

	CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Show @text where the kernel says the number of its interface. */
static int device_list_with_abi(const char *text)
{
	char path[] = "/tmp/abi_version.XXXXXX";
	int fd;

	own_mounts();
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	CHECK_OK(mount(path, "/sys/class/infiniband_verbs/abi_version", NULL, MS_BIND, NULL));
	unlink(path);
	no_netlink();
	return device_list();
}

static int abi_missing(struct rt_dev *dev)
{
	return device_list_with_abi("");
}

static int abi_other(struct rt_dev *dev)
{
	return device_list_with_abi("77\n");
}

/* Return the folder of the library; in the build tree its providers and driver files are beside
 * it. */
static void library_folder(char folder[300])
{
	Dl_info info;
	char *slash;

	CHECK(dladdr((void *)ibv_get_device_list, &info));
	snprintf(folder, 300, "%s", info.dli_fname);
	slash = strrchr(folder, '/');
	CHECK(slash);
	*slash = '\0';
}

static int config_missing(struct rt_dev *dev)
{
	char folder[300], path[320];

	own_mounts();
	library_folder(folder);
	snprintf(path, sizeof(path), "%s/libibverbs.d", folder);
	hide(access(path, F_OK) ? "/etc/libibverbs.d" : path);
	return device_list();
}

static int provider_broken(struct rt_dev *dev)
{
	char folder[300], pattern[2][330];
	glob_t found;

	own_mounts();
	library_folder(folder);
	snprintf(pattern[0], sizeof(pattern[0]), "%s/lib*-rdmav*.so", folder);
	snprintf(pattern[1], sizeof(pattern[1]), "%s/libibverbs/lib*-rdmav*.so", folder);
	glob(pattern[0], 0, NULL, &found);
	glob(pattern[1], GLOB_APPEND, NULL, &found);
	CHECK(found.gl_pathc > 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		CHECK_OK(mount("/dev/null", found.gl_pathv[i], NULL, MS_BIND, NULL));
	globfree(&found);
	return device_list();
}

static const struct rt_mistake mistakes[] = {
	{ "config_missing", config_missing, 0, "no userspace device-specific driver found", true,
	  true },
	{ "provider_broken", provider_broken, 0, "couldn't load driver", true, true },
	{ "node_missing", node_missing, ENOENT, "the node is missing", true, true },
	{ "node_wrong", node_wrong, ENXIO, "ibv_open_device", true, true },
	{ "node_forbidden", node_forbidden, EACCES, "this user may not", true, true },
	{ "memlock_low", memlock_low, 0,
	  "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes. This will severely limit memory "
	  "registrations",
	  true, true },
	{ "abi_missing", abi_missing, ENOSYS, "libibverbs: Fatal: couldn't read uverbs abi version",
	  true, true },
	{ "abi_other", abi_other, ENOSYS, "kernel ABI version 77 doesn't match", true, true },
};
RT_MISTAKES(mistakes)
