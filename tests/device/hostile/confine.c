/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: confine [seccomp] [again] [memlock] [uid=NUMBER] [call=NAME] [refused=NAME] -- COMMAND...
 *
 * Run a command with restrictions: without the system calls that container runtimes deny by
 * default, without a second mapping of shared memory (mremap() of no bytes), without memory that
 * may be locked, as an ordinary user without any capability, or without one system call: "call="
 * answers as a kernel that does not know it, "refused=" with EPERM.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* The low half of mremap()'s second argument. */
#define LENGTH_OLD \
	(offsetof(struct seccomp_data, args[1]) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) * 4)

/* The system calls that Docker's default profile denies to a process without capabilities, now
 * and on older kernels, as far as they could matter here. */
static const unsigned int denied[] = {
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_ptrace,
	SYS_kcmp,
	SYS_userfaultfd,
	SYS_perf_event_open,
	SYS_bpf,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_unshare,
	SYS_setns,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_kexec_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_move_pages,
	SYS_mbind,
	SYS_set_mempolicy,
	SYS_get_mempolicy,
	SYS_migrate_pages,
	SYS_quotactl,
	SYS_reboot,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_personality,
	SYS_syslog,
	SYS_pidfd_getfd,
};

static void die(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void filter_set(const struct sock_filter *filter, unsigned short length)
{
	const struct sock_fprog program = { .len = length, .filter = (struct sock_filter *)filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
}

static void deny_calls(void)
{
	struct sock_filter filter[2 * ARRAY_SIZE(denied) + 2];
	unsigned int n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (unsigned int i = 0; i < ARRAY_SIZE(denied); i++) {
		filter[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], 0, 1);
		filter[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter_set(filter, n);
}

/* As QEMU's user mode does. Only these 32 bits of the old mapping's length matter here. */
static void deny_again(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LENGTH_OLD),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	filter_set(filter, ARRAY_SIZE(filter));
}

/* Have one system call answered with @error. */
static void deny_call(const char *name, int error)
{
	static const struct {
		const char *name;
		unsigned int number;
	} calls[] = {
		{ "memfd_create", SYS_memfd_create },
		{ "eventfd", SYS_eventfd2 },
		{ "epoll_create1", SYS_epoll_create1 },
		{ "epoll_ctl", SYS_epoll_ctl },
		{ "getrandom", SYS_getrandom },
		{ "socketpair", SYS_socketpair },
		{ "socket", SYS_socket },
		{ "bind", SYS_bind },
		{ "listen", SYS_listen },
		{ "getsockopt", SYS_getsockopt },
		{ "setsockopt", SYS_setsockopt },
		{ "getsockname", SYS_getsockname },
		{ "fcntl", SYS_fcntl },
		{ "fallocate", SYS_fallocate },
		{ "ftruncate", SYS_ftruncate },
		{ "connect", SYS_connect },
		{ "sendmsg", SYS_sendmsg },
		{ "recvmsg", SYS_recvmsg },
		{ "timerfd_create", SYS_timerfd_create },
		{ "madvise", SYS_madvise },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};

		if (strcmp(calls[i].name, name) == 0) {
			filter_set(filter, ARRAY_SIZE(filter));
			return;
		}
	}
	errno = EINVAL;
	die(name);
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		die("cannot become an ordinary user");
}

static void lock_nothing(void)
{
	const struct rlimit none = {};

	if (setrlimit(RLIMIT_MEMLOCK, &none))
		die("RLIMIT_MEMLOCK");
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "memlock"))
			lock_nothing();
		else if (!strncmp(argv[i], "uid=", 4))
			become(atoi(argv[i] + 4));
		else if (!strcmp(argv[i], "again"))
			deny_again();
		else if (!strcmp(argv[i], "seccomp"))
			deny_calls();
		else if (!strncmp(argv[i], "call=", 5))
			deny_call(argv[i] + 5, ENOSYS);
		else if (!strncmp(argv[i], "refused=", 8))
			deny_call(argv[i] + 8, EPERM);
		else
			return 2;
	}
	if (i + 1 >= argc)
		return 2;
	execvp(argv[i + 1], &argv[i + 1]);
	die(argv[i + 1]);
}
