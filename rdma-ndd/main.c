/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma-ndd(8): keep the node descriptions of RDMA devices equal to the format with the names of
 * host and device.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "rdma-ndd/device.h"
#include "rdma-ndd/hostname.h"
#include "rdma-ndd/report.h"
#include "rdma-ndd/settings.h"
#include "rdma-ndd/watch.h"
#include "util/sysfs.h"
#include "util/version.h"

#define HOSTNAME_PATH "/proc/sys/kernel/hostname"

/* Milliseconds. */
#define RETRY_AFTER 5000  /* ms until a device that refused is tried again */
#define LOOK_ANYWAY 10000 /* without device events */

struct options {
	bool foreground;
	bool debug;
	bool systemd;
	bool oneshot;
	bool dry_run;
};

struct ndd {
	struct options options;
	struct settings settings;
	struct devices devices;
	struct devices_state state;
	int hostname_fd;
	char hostname[HOSTNAME_SIZE];
};

static void usage(FILE *out)
{
	fputs("usage: rdma-ndd [options]\n"
	      "\n"
	      "Sets the node description of each RDMA device, and again whenever a device or the\n"
	      "host name changes. RDMA_NDD_ND_FORMAT says what it is made of: rdma-ndd(8).\n"
	      "\n"
	      "  -f, --foreground  stay in the foreground, messages go to standard error\n"
	      "  -d, --debug       say more\n"
	      "      --systemd     run as a service of systemd: in the foreground, with notifications\n"
	      "      --oneshot     set the descriptions once and exit\n"
	      "      --dry-run     print what would be set and exit\n"
	      "  -h, --help        this text\n"
	      "      --version     the version\n",
	      out);
}

/* Parse the options. Return: 0; or the exit code plus one. */
static int options_parse(int argc, char **argv, struct options *options)
{
	enum {
		SYSTEMD = 256,
		ONESHOT,
		DRY_RUN,
		VERSION
	};
	static const struct option known[] = {
		{ "foreground", no_argument, NULL, 'f' },
		{ "debug", no_argument, NULL, 'd' },
		{ "systemd", no_argument, NULL, SYSTEMD },
		{ "oneshot", no_argument, NULL, ONESHOT },
		{ "dry-run", no_argument, NULL, DRY_RUN },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, VERSION },
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "fdh", known, NULL)) >= 0) {
		switch (c) {
		case 'f':
			options->foreground = true;
			break;
		case 'd':
			options->debug = true;
			break;
		case SYSTEMD:
			options->systemd = true;
			break;
		case ONESHOT:
			options->oneshot = true;
			break;
		case DRY_RUN:
			options->dry_run = true;
			break;
		case 'h':
			usage(stdout);
			return 1;
		case VERSION:
			version_print();
			return 1;
		default:
			usage(stderr);
			return 3;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "rdma-ndd: '%s' is not an option\n", argv[optind]);
	usage(stderr);
	return 3;
}

static void notify(const struct ndd *ndd, const char *state)
{
	const char *failed = ndd->state.failed ? "; failed: " : "";

	if (!ndd->options.systemd)
		return;
	sd_notifyf(0, "%sSTATUS=%d device%s, format '%s', host name '%s'%s%s", state,
		   ndd->state.count, ndd->state.count == 1 ? "" : "s", ndd->settings.format,
		   ndd->hostname, failed, ndd->state.failure);
}

static void notify_reloading(const struct ndd *ndd)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (ndd->options.systemd)
		sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
			   now.tv_sec * 1000000LL + now.tv_nsec / 1000);
}

/* Read the host name. If this fails, keep the former name. */
static void ndd_read_hostname(struct ndd *ndd)
{
	int r = ndd->hostname_fd < 0 ? ndd->hostname_fd
				     : hostname_read(ndd->hostname_fd, ndd->hostname);

	if (r < 0)
		report(LOG_WARNING, "%s cannot be read: %s", HOSTNAME_PATH, strerror(-r));
}

static void ndd_load_settings(struct ndd *ndd)
{
	settings_load(NULL, &ndd->settings);
	report(LOG_DEBUG, "format '%s'", ndd->settings.format);
}

static int ndd_update(struct ndd *ndd)
{
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs_root());
	r = devices_update(&ndd->devices, path, ndd->settings.format, ndd->hostname, &ndd->state);
	if (r < 0) {
		report(LOG_WARNING, "%s cannot be read: %s", path, strerror(-r));
		ndd->state.retry = true;
	}
	return r;
}

static int ndd_run_once(struct ndd *ndd)
{
	int r = ndd_update(ndd);

	if (!r && !ndd->state.count)
		report(LOG_INFO, "there is no RDMA device: %s/class/infiniband has none",
		       sysfs_root());
	return r < 0 || ndd->state.failed;
}

static int ndd_timeout(const struct ndd *ndd, const struct watch *watch)
{
	if (ndd->state.retry)
		return RETRY_AFTER;
	return watch->monitor ? -1 : LOOK_ANYWAY;
}

static void ndd_handle(struct ndd *ndd, int events)
{
	if (events & WATCH_RELOAD) {
		notify_reloading(ndd);
		ndd_load_settings(ndd);
	}
	if (events & WATCH_HOSTNAME)
		ndd_read_hostname(ndd);
	ndd_update(ndd);
	notify(ndd, events & WATCH_RELOAD ? "READY=1\n" : "");
}

/* Subscribe to events before the first check of the devices, so that no new device is missed. */
static int ndd_run(struct ndd *ndd)
{
	struct watch watch;
	int events = watch_open(&watch, ndd->hostname_fd);

	if (events < 0) {
		report(LOG_ERR, "signals cannot be received: %s", strerror(-events));
		return 1;
	}
	if (!watch.monitor)
		report(LOG_WARNING, "no device events: udev is not there; looking every %d seconds",
		       LOOK_ANYWAY / 1000);
	ndd_update(ndd);
	notify(ndd, "READY=1\n");
	for (;;) {
		events = watch_wait(&watch, ndd_timeout(ndd, &watch));
		if (events < 0 || events & WATCH_STOP)
			break;
		ndd_handle(ndd, events);
	}
	if (events < 0)
		report(LOG_ERR, "cannot wait: %s", strerror(-events));
	if (ndd->options.systemd)
		sd_notify(0, "STOPPING=1");
	watch_close(&watch);
	return events < 0;
}

int main(int argc, char **argv)
{
	struct ndd ndd = {};
	const struct options *options = &ndd.options;
	int r = options_parse(argc, argv, &ndd.options);
	bool once;

	if (r)
		return r - 1;
	once = options->oneshot || options->dry_run;
	if (!once && !options->foreground && !options->systemd) {
		report_open(REPORT_SYSLOG, options->debug);
		if (daemon(0, 0)) {
			perror("rdma-ndd: cannot become a daemon");
			return 1;
		}
	} else {
		report_open(options->systemd ? REPORT_JOURNAL : REPORT_STDERR, options->debug);
	}
	devices_init(&ndd.devices);
	ndd.devices.dry_run = options->dry_run;
	ndd.hostname_fd = hostname_open(HOSTNAME_PATH);
	ndd_read_hostname(&ndd);
	ndd_load_settings(&ndd);
	r = once ? ndd_run_once(&ndd) : ndd_run(&ndd);
	devices_free(&ndd.devices);
	cleanup_close(&ndd.hostname_fd);
	return r;
}
