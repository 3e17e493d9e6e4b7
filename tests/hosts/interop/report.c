/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include <infiniband/uroce.h>

#include "tests/hosts/interop/report.h"

enum {
	LOOK_MS = 500,
	/* more checks than a side needs to see the end of the peer that it waits for */
	GONE_LOOKS = 4,
	COUNTERS_MAX = 64,
	PATH_LENGTH = 512,
};

/* Under lock. */
static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	int socket;
	bool ended;
	const char *name; /* of the case; NULL: none yet */
	const char *what;
	unsigned int n;
	bool waits;
	unsigned int limit; /* checks that a step may take */
	unsigned int looks; /* remaining checks */
	unsigned int gone;  /* checks since the other side ended */
	const struct rt_side *side;
} report = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- what is told --- */

static const char *state_name(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < RT_COUNT(names) ? names[state] : "?";
}

static void tell_qp(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int r = ibv_query_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN | IBV_QP_DEST_QPN |
				     IBV_QP_TIMEOUT | IBV_QP_PATH_MTU,
			     &init);

	if (r)
		printf("  queue pair 0x%x: it cannot be asked: %s\n", qp->qp_num, strerror(r));
	else
		printf("  queue pair 0x%x to 0x%x: %s, next PSN to send 0x%x, to receive 0x%x, timeout %u, %u-byte packets\n",
		       qp->qp_num, attr.dest_qp_num, state_name(attr.qp_state), attr.sq_psn,
		       attr.rq_psn, attr.timeout, 128u << attr.path_mtu);
}

/* Print the kernel's counters, which are files, except those that are 0. */
static void tell_file(const char *folder, const char *name)
{
	char path[PATH_LENGTH];
	unsigned long long value;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%llu", &value) == 1 && value)
		printf(" %s %llu", name, value);
	fclose(f);
}

static void tell_kernel_counters(struct ibv_context *ctx, unsigned int port)
{
	char folder[PATH_LENGTH / 2];
	struct dirent *entry;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/ports/%u/hw_counters",
		 ibv_get_device_name(ctx->device), port);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			tell_file(folder, entry->d_name);
	if (dir)
		closedir(dir);
}

static void tell_counters(const struct rt_side *side)
{
	struct uroce_counter counters[COUNTERS_MAX];
	int n = uroce_query_counters(side->dev->ctx, side->qp, counters, COUNTERS_MAX);

	printf("  counters that are not 0:");
	for (int i = 0; i < n && i < COUNTERS_MAX; i++)
		if (counters[i].value)
			printf(" %s %llu", counters[i].name, (unsigned long long)counters[i].value);
	if (n < 0)
		tell_kernel_counters(side->dev->ctx, side->dev->port_num);
	printf("\n");
}

static void tell(const char *why)
{
	printf("  %s: %s, at %s %u, waiting for %s\n", report.name, why, report.what, report.n,
	       report.waits ? "the other side's word" : "a completion, if for anything");
	fflush(stdout);
	if (report.side) {
		tell_qp(report.side->qp);
		tell_counters(report.side);
	}
	fflush(stdout);
}

/* Called in the program's thread, which then ends the process. */
static void tell_failure(void)
{
	pthread_mutex_lock(&report.lock);
	if (report.name)
		tell("a check failed");
}

/* --- the watch --- */

static bool other_is_gone(void)
{
	struct pollfd p = { .fd = report.socket, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static void look(void)
{
	if (!report.name)
		return;
	report.gone = other_is_gone() ? report.gone + 1 : 0;
	if (report.looks && report.gone < GONE_LOOKS) {
		report.looks--;
		return;
	}
	tell(report.looks ? "the other side is gone" : "no end");
	_exit(1);
}

static void *watch(void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000l };
	bool ended = false;

	while (!ended) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&report.lock);
		ended = report.ended;
		if (!ended)
			look();
		pthread_mutex_unlock(&report.lock);
	}
	return NULL;
}

void report_begin(int socket)
{
	report.socket = socket;
	rt_failing = tell_failure;
	CHECK_OK(pthread_create(&report.thread, NULL, watch, NULL));
}

void report_end(void)
{
	pthread_mutex_lock(&report.lock);
	report.name = NULL;
	pthread_mutex_unlock(&report.lock);
}

void report_close(void)
{
	pthread_mutex_lock(&report.lock);
	report.ended = true;
	pthread_mutex_unlock(&report.lock);
	CHECK_OK(pthread_join(report.thread, NULL));
}

/* --- the case --- */

void report_case(const char *name, unsigned int seconds)
{
	pthread_mutex_lock(&report.lock);
	report.name = name;
	report.what = "its beginning";
	report.n = 0;
	report.looks = report.limit = seconds * 1000 / LOOK_MS;
	pthread_mutex_unlock(&report.lock);
}

void report_side(const struct rt_side *side)
{
	pthread_mutex_lock(&report.lock);
	report.side = side;
	pthread_mutex_unlock(&report.lock);
}

void report_step(const char *what, unsigned int n)
{
	pthread_mutex_lock(&report.lock);
	report.what = what;
	report.n = n;
	report.looks = report.limit;
	pthread_mutex_unlock(&report.lock);
}

void report_waits(bool waits)
{
	pthread_mutex_lock(&report.lock);
	report.waits = waits;
	pthread_mutex_unlock(&report.lock);
}
