/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

static int namespaces[NET_HOSTS] = { -1, -1 };

bool net_is_udp(void)
{
	return namespaces[NET_HERE] >= 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* An ordinary user becomes root of a user namespace of its own. */
static void become_root(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	char map[64];

	if (!uid)
		return;
	if (unshare(CLONE_NEWUSER))
		rt_skip("no user namespaces here: %m");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

static int namespace_new(void)
{
	int fd;

	if (unshare(CLONE_NEWNET))
		rt_skip("no network namespaces here: %m");
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static void run(const char *command)
{
	if (system(command))
		rt_skip("cannot do: %s", command);
}

void net_make(const char *path)
{
	char command[256];

	become_root();
	if (!path || strcmp(path, "udp")) {
		close(namespace_new());
		run("ip link set lo up");
		return;
	}
	namespaces[NET_THERE] = namespace_new();
	namespaces[NET_HERE] = namespace_new();
	snprintf(command, sizeof(command),
		 "ip link add here0 type veth peer name there0 netns /proc/%d/fd/%d", getpid(),
		 namespaces[NET_THERE]);
	run(command);
	run("ip link set lo up; ip addr add 192.0.2.1/24 dev here0 && ip link set here0 addrgenmode none up");
	CHECK_OK(setns(namespaces[NET_THERE], CLONE_NEWNET));
	run("ip link set lo up; ip addr add 192.0.2.2/24 dev there0 && ip link set there0 addrgenmode none up");
	run("until ip link show there0 | grep -q 'state UP'; do sleep 0.05; done");
	CHECK_OK(setns(namespaces[NET_HERE], CLONE_NEWNET));
	run("until ip link show here0 | grep -q 'state UP'; do sleep 0.05; done");
}

void net_enter(int host)
{
	if (net_is_udp())
		CHECK_OK(setns(namespaces[host], CLONE_NEWNET));
	setenv("UROCE", !net_is_udp() ? "on:lo" : host == NET_HERE ? "on:here0" : "on:there0", 1);
	setenv("RT_DEVICE",
	       !net_is_udp()	  ? "uroce_lo"
	       : host == NET_HERE ? "uroce_here0"
				  : "uroce_there0",
	       1);
}

static bool file_has(const char *path, const char *text)
{
	char line[512];
	FILE *file = fopen(path, "r");
	bool found = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, text))
			continue;
		printf("left in %s: %s", path, line);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

bool net_left_over(int host)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		bool found;

		if (net_is_udp())
			CHECK_OK(setns(namespaces[host], CLONE_NEWNET));
		found = file_has("/proc/self/net/unix", "@uroce-");
		found |= file_has("/proc/self/net/udp", ":12B7 ");
		found |= file_has("/proc/self/net/udp6", ":12B7 ");
		fflush(stdout);
		_exit(found);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return status;
}
