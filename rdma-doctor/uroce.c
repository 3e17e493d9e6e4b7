/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RoCE device in user space: whether it is enabled, and whether it works. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/ending.h"
#include "rdma-doctor/verbs.h"
#include "util/env.h"

/* Return the installed provider of user-space devices, or NULL. */
static const struct disc_driver *userspace_driver(void)
{
	const struct disc_driver *driver;
	const struct disc_match *match;

	STAILQ_FOREACH(driver, disc_driver_files(), entry) {
		STAILQ_FOREACH(match, &driver->matches, entry) {
			if (match->kind == DISC_MATCH_USERSPACE)
				return driver;
		}
	}
	return NULL;
}

bool uroce_serves(const struct doctor *d)
{
	const struct disc_driver *driver = userspace_driver();

	return driver && disc_load_exists(driver) && disc_userspace_enabled(d->list.count);
}

/* Return whether the user asks for the device, although it may not be installed. The variable of
 * this process does not apply to a copy of another machine. */
static bool uroce_is_wished(const struct doctor *d)
{
	return d->live && env_get_filled(ENV_UROCE) && disc_userspace_enabled(d->list.count);
}

void uroce_instead(const struct doctor *d, struct finding *f)
{
	if (uroce_serves(d))
		finding_unneeded(f, "; uroce, the device in user space, serves without it");
	else if (uroce_is_wished(d))
		finding_unneeded(f, "; UROCE asks for uroce, the device in user space");
}

static const char *policy_source(void)
{
	return env_get_filled(ENV_UROCE) ? "the variable UROCE" : "uroce.conf, or the default";
}

/* Report a provider that is installed but not enabled, and how to enable it. */
static void uroce_off(struct doctor *d, enum finding_state state, struct finding *f)
{
	bool only_hope = !d->list.count && !d->userspace_wanted;

	finding_set(f, only_hope ? FINDING_NOTE : state, "not offered%s (by %s)",
		    d->list.count ? " beside the kernel's devices" : "", policy_source());
	if (d->userspace_wanted || only_hope)
		finding_fix(f, "UROCE=on in the environment, or 'policy %s' in %s/uroce.conf",
			    d->list.count ? "on" : "auto", disc_paths()->config);
}

static void uroce_not_installed(const struct doctor *d, struct finding *f)
{
	const struct disc_paths *paths = disc_paths();
	enum finding_state state = FINDING_UNNEEDED;

	if (d->userspace_wanted || (uroce_is_wished(d) && !d->list.count))
		state = FINDING_FAILED;
	else if (uroce_is_wished(d))
		state = FINDING_NOTE;
	finding_set(f, state, "%snot installed: no driver file in %s%s%s has 'match userspace'",
		    uroce_is_wished(d) ? "UROCE asks for it, but it is " : "", paths->config,
		    paths->vendor ? " or " : "", paths->vendor ?: "");
	if (state != FINDING_UNNEEDED)
		finding_fix(f, "install ibverbs-provider-uroce (Debian, Ubuntu, Arch, Alpine) or "
			       "libibverbs-provider-uroce (Fedora, RHEL, SUSE)");
}

/* Return the folder of the file: a file of the administrator hides that of the package. */
static const char *driver_folder(const struct disc_driver *driver)
{
	const struct disc_paths *paths = disc_paths();
	char path[PATH_MAX];

	if (!paths->vendor)
		return paths->config;
	snprintf(path, sizeof(path), "%s/%s", paths->config, driver->file);
	return access(path, F_OK) ? paths->vendor : paths->config;
}

/* Report why the device is missing: the policy, or a missing provider. */
static void uroce_absent(struct doctor *d, const struct disc_driver *driver, struct finding *f)
{
	if (!driver) {
		uroce_not_installed(d, f);
	} else if (!disc_userspace_enabled(d->list.count)) {
		uroce_off(d, d->userspace_wanted ? FINDING_FAILED : FINDING_UNNEEDED, f);
	} else {
		finding_fail(f, "the provider that %s/%s names is not installed",
			     driver_folder(driver), driver->file);
		finding_fix(f, "install it, or remove the file");
	}
}

/* Find a variable of uroce that is set and that a message of the library names. */
static bool variable_is_blamed(const char *said, char *name, size_t size)
{
	const char *start = strstr(said, "UROCE");
	size_t length = start ? strspn(start, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;

	if (!length || length >= size)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	for (int i = 0; i < ENV_COUNT; i++) {
		if (!strcmp(env_variables[i].name, name))
			return env_is_set(i);
	}
	return false;
}

static void uroce_fix(const struct trial *trial, struct finding *f)
{
	char variable[32];

	if (ending_fix(trial->signal, f) || trial_fix(trial, f))
		return;
	if (variable_is_blamed(trial->said, variable, sizeof(variable)))
		finding_fix(f, "mend or unset the variable %s: man uroce", variable);
	else if (strstr(trial->said, "/dev/shm"))
		finding_fix(f, "/dev/shm must be a tmpfs that this user may write to");
	else if (trial->error == -EPERM || trial->error == -EACCES)
		finding_fix(f, "permit sockets and memfd_create(); VERBS_LOG_LEVEL=4 says more");
	else
		finding_fix(f, "run the program with VERBS_LOG_LEVEL=4, which says more");
}

static void uroce_failed(const char *name, const struct trial *trial, struct finding *f)
{
	finding_fail(f, "%s: ", name);
	trial_say(trial, f);
	uroce_fix(trial, f);
}

const struct trial *userspace_try(struct doctor *d, const char *name)
{
	static struct trial no_memory = { .error = -ENOMEM, .verb = "malloc" };
	struct doctor_userspace *dev;

	if (!d->userspace)
		d->userspace = calloc(TRIAL_DEVICES + 1, sizeof(*d->userspace));
	if (!d->userspace)
		return &no_memory;
	for (dev = d->userspace; dev->name[0]; dev++)
		if (!strcmp(dev->name, name))
			return &dev->trial;
	if (dev == d->userspace + TRIAL_DEVICES || strlen(name) >= sizeof(dev->name))
		return &no_memory;
	strcpy(dev->name, name);
	system_try(name, &dev->trial);
	return &dev->trial;
}

/* Check whether a device that can be opened can reach other hosts. */
static void uroce_judge_netdev(const struct trial *trial, bool only, struct finding *f)
{
	if (!trial->netdev[0])
		return;
	if (!(trial->netdev_flags & IFF_UP)) {
		finding_fail(f, "; its interface %s is down", trial->netdev);
		finding_fix(f, "ip link set dev %s up", finding_word(trial->netdev));
	} else if (only && trial->netdev_flags & IFF_LOOPBACK) {
		finding_note(f, "; %s is its only interface: no other host can be reached",
			     trial->netdev);
		finding_fix(f, "give this network namespace an interface (ip link), or name one: "
			       "UROCE=on:INTERFACE");
	}
}

static void uroce_try(struct doctor *d, const char *name, unsigned int count, struct finding *f)
{
	const struct trial *trial = userspace_try(d, name);

	if (trial->error) {
		uroce_failed(name, trial, f);
		return;
	}
	finding_ok(f, "%s works: PD, CQ, MR and QP made; GID %s; %u device%s in all", name,
		   trial->gid[0] ? trial->gid : "none", count, count > 1 ? "s" : "");
	if (!trial->gids) {
		finding_fail(f, "; its interface has no address");
		finding_fix(f, "ip address add ADDRESS/LENGTH dev INTERFACE");
		return;
	}
	uroce_judge_netdev(trial, count == 1 && !d->userspace_wanted, f);
	if (trial->said[0]) {
		finding_set(f, max_of(f->state, FINDING_NOTE), "; it says: %s",
			    log_content(trial->said));
		if (!f->fix.length)
			finding_fix(f, "VERBS_LOG_LEVEL=4 says more");
	}
}

/* Choose the wanted device, or else the first user-space device. */
static const char *uroce_choose(const struct doctor *d, const struct trial_device *devices, int n,
				unsigned int *ret_count)
{
	const char *chosen = NULL;

	*ret_count = 0;
	for (int i = 0; i < n; i++) {
		if (!devices[i].userspace)
			continue;
		(*ret_count)++;
		if (d->userspace_wanted ? !strcmp(devices[i].name, d->wanted) : !chosen)
			chosen = devices[i].name;
	}
	return chosen;
}

static void uroce_check_live(struct doctor *d, struct finding *f)
{
	static struct trial_device devices[TRIAL_DEVICES]; /* too large for a small stack */
	struct trial trial;
	unsigned int count;
	const char *chosen;
	int n = system_list(devices, &trial), files;

	chosen = uroce_choose(d, devices, n, &count);
	if (chosen) {
		uroce_try(d, chosen, count, f);
		return;
	}
	finding_fail(f, "the library lists %s%s", d->userspace_wanted ? "no " : "no device of it",
		     d->userspace_wanted ? d->wanted : "");
	files = trial_files_check();
	if (files < 0) {
		trial.error = files;
		finding_fail(f, ": %s", strerror(-files));
	} else if (trial.said[0]) {
		finding_fail(f, ": %s", log_content(trial.said));
	}
	if (trial_fix(&trial, f))
		return;
	if (strstr(trial.said, "couldn't load driver"))
		finding_fix(f, "reinstall the package of the provider: ibverbs-provider-uroce or "
			       "libibverbs-provider-uroce");
	else if (!ending_fix(trial.signal, f))
		finding_fix(f,
			    "the interfaces in UROCE must exist: UROCE=on:INTERFACE; ibv_devices "
			    "lists the devices");
}

void uroce_check(struct doctor *d, struct finding *f)
{
	const struct disc_driver *driver = userspace_driver();
	bool serves = uroce_serves(d);
	const char *said = log_take();

	if (!serves)
		uroce_absent(d, driver, f);
	else if (d->live)
		uroce_check_live(d, f);
	else
		finding_unseen(f, "it takes part; a copy of a machine's files cannot be tried");
	if (*said && !strstr(f->what.chars, said)) {
		finding_set(f, max_of(f->state, FINDING_NOTE), "; %s", said);
		if (!f->fix.length)
			finding_fix(f, "mend what it names: uroce.conf or the variable UROCE");
	}
}
