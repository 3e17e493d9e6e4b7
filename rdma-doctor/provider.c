/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The provider of the device: known, installed, loadable. */
#include <dirent.h>
#include <string.h>

#include "rdma-doctor/doctor.h"

/* Check only the driver files of a copied root, because its providers are foreign code. */
static void provider_check_copy(struct finding *f)
{
	DIR *dir = opendir(disc_paths()->config);

	if (!dir) {
		finding_fail(f, "%s: %s: no provider is known", disc_paths()->config,
			     strerror(errno));
		finding_fix(f, "install the providers: ibverbs-providers (Debian, Ubuntu), "
			       "libibverbs (Fedora, RHEL, SUSE)");
		return;
	}
	closedir(dir);
	finding_unseen(f, "providers of a copy are not loaded");
}

static void provider_unknown(const struct doctor_device *dev, const char *said, struct finding *f)
{
	if (*said)
		finding_fail(f, "%s", said);
	if (strstr(said, "couldn't read config file")) {
		finding_fix(f, "make the file readable for everyone (chmod 0644)");
		return;
	}
	if (*said)
		finding_fail(f, "; no other driver file matches the device");
	else
		finding_fail(f, "no driver file in %s matches it (kernel driver id %u)",
			     disc_paths()->config, dev->verbs->driver_id);
	finding_fix(f,
		    "install its provider: ibverbs-providers (Debian, Ubuntu), libibverbs (Fedora, "
		    "RHEL, SUSE), or the vendor's package; in a container: in the image");
}

static void provider_refused(const char *said, struct finding *f)
{
	finding_fail(f, "%s", *said ? said : "its provider cannot be loaded");
	/* A symbol is missing in a library of another release. Any other file is no library. */
	if (strstr(said, "reinstall") && !strstr(said, "undefined symbol")) {
		finding_fix(f, "reinstall the package of the provider");
		return;
	}
	finding_fix(f,
		    "install libibverbs and its providers from one release; do not mix the host's "
		    "with those of an image");
}

/* Report what the library warns of, although the provider loads: a line of a driver file. */
static void provider_warn(const char *said, struct finding *f)
{
	if (!*said)
		return;
	finding_note(f, "; %s", said);
	finding_fix(f, "mend the file that it names");
}

void provider_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	const struct verbs_provider *provider;
	struct disc_driver *driver;
	const char *library;
	int r;

	if (!d->live) {
		provider_check_copy(f);
		return;
	}
	if (!system_library_is_ours(&library)) {
		finding_fail(f,
			     "%s, the libibverbs that is loaded, belongs to another release than "
			     "this program (provider interface %d)",
			     library, RDMA_PROVIDER_ABI);
		finding_fix(f,
			    "install all of it from one release, and see what LD_LIBRARY_PATH and "
			    "ldconfig -p give");
		return;
	}
	driver = disc_match_device(dev->verbs);
	r = driver ? disc_load(driver, &provider) : -ENOENT;
	if (!r) {
		dev->provider = provider;
		finding_ok(f, "provider %s loads", provider->name);
		provider_warn(log_take(), f);
	} else if (r == -ENOENT) {
		provider_unknown(dev, log_take(), f);
	} else {
		provider_refused(log_take(), f);
	}
}
