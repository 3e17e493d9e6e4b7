/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libibverbs/discovery/discovery.h"

#define ABI_TEXT_(n) #n
#define ABI_TEXT(n)  ABI_TEXT_(n)
#define SUFFIX	     "-rdmav" ABI_TEXT(RDMA_PROVIDER_ABI) ".so"

static char *library_path(const struct disc_driver *driver)
{
	char *path;
	int r;

	if (driver->name[0] == '/')
		r = asprintf(&path, "%s" SUFFIX, driver->name);
	else
		r = asprintf(&path, "%s/lib%s" SUFFIX, disc_paths()->providers, driver->name);
	if (r < 0)
		return NULL;
	/* Let the dynamic linker search, including the user's LD_LIBRARY_PATH. */
	if (driver->named && driver->name[0] != '/' && access(path, F_OK))
		memmove(path, strrchr(path, '/') + 1, strlen(strrchr(path, '/')));
	return path;
}

/* Return the file name of the same provider of another release in the same folder, or NULL. */
static char *other_release(const char *path)
{
	const char *file = strrchr(path, '/') + 1;
	int stem = strlen(file) - strlen(SUFFIX);
	_cleanup_free_ char *folder = strndup(path, file - path);
	char pattern[128], *found = NULL;
	struct dirent *entry;
	DIR *dir;

	snprintf(pattern, sizeof(pattern), "%.*s-rdmav*.so", stem, file);
	dir = folder ? opendir(folder) : NULL;
	if (!dir)
		return NULL;
	while (!found && (entry = readdir(dir)))
		if (strcmp(entry->d_name, file) != 0 && !fnmatch(pattern, entry->d_name, 0))
			found = strdup(entry->d_name);
	closedir(dir);
	return found;
}

static void explain_missing(const char *path)
{
	_cleanup_free_ char *other = other_release(path);
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n >= 0)
		log_notice(
			"libibverbs: Warning: couldn't load driver '%s': it is a link to '%.*s', "
			"which is not there: reinstall the providers' package\n",
			path, (int)n, target);
	else if (other)
		log_notice("libibverbs: Warning: couldn't load driver '%s': it is not there, but "
			   "%s is: that provider belongs to another release, this libibverbs "
			   "needs provider interface %d: install libibverbs and its providers "
			   "from the same release\n",
			   path, other, RDMA_PROVIDER_ABI);
	else
		log_notice("libibverbs: Warning: couldn't load driver '%s': it is not installed: "
			   "install the providers' package\n",
			   path);
}

static int entry_check(const struct verbs_provider_entry *entry, const char *path)
{
	const struct verbs_provider *provider;

	if (entry->abi != RDMA_PROVIDER_ABI) {
		log_notice("libibverbs: Warning: couldn't load driver '%s': it was built for "
			   "provider interface %u, this libibverbs needs %d: install libibverbs "
			   "and its providers from the same release\n",
			   path, entry->abi, RDMA_PROVIDER_ABI);
		return -EPROTO;
	}
	provider = entry->provider;
	if (!provider || provider->size != sizeof(*provider) || !provider->name || !provider->ops) {
		log_notice("libibverbs: Warning: couldn't load driver '%s': its description is "
			   "not the one of provider interface %d: rebuild it with this "
			   "libibverbs\n",
			   path, RDMA_PROVIDER_ABI);
		return -EPROTO;
	}
	return 0;
}

/* Only the text of dlerror() names the cause. */
static int open_refused(const char *path, const char *text)
{
	static const int lacks[] = { ENOMEM, EMFILE, ENFILE };

	for (unsigned int i = 0; i < ARRAY_SIZE(lacks); i++) {
		if (!strstr(text, strerror(lacks[i])))
			continue;
		log_notice("libibverbs: Warning: couldn't load driver '%s' now: %s: the next call "
			   "tries again\n",
			   path, text);
		return -lacks[i];
	}
	log_notice("libibverbs: Warning: couldn't load driver '%s': %s: reinstall the "
		   "providers' package\n",
		   path, text);
	return -ELIBBAD;
}

/* Keep the text of dlerror(): if a program intercepts access() by dlsym(), it is gone afterwards.
 */
static int library_refused(const char *path)
{
	const char *text = dlerror();
	_cleanup_free_ char *kept = text ? strdup(text) : NULL;

	if (strchr(path, '/') && access(path, F_OK)) {
		explain_missing(path);
		return -ENOENT;
	}
	return open_refused(path, kept ? kept : "the dynamic linker gives no reason");
}

static int library_open(const char *path, const struct verbs_provider **ret_provider)
{
	const struct verbs_provider_entry *entry;
	void *handle;
	int r;

	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return library_refused(path);
	entry = dlsym(handle, "verbs_provider_entry");
	if (!entry) {
		log_notice("libibverbs: Warning: couldn't load driver '%s': it is no provider of "
			   "this libibverbs (no verbs_provider_entry in it)\n",
			   path);
		r = -ELIBBAD;
	} else {
		r = entry_check(entry, path);
	}
	if (r < 0) {
		dlclose(handle);
		return r;
	}
	*ret_provider = entry->provider;
	return 0;
}

bool disc_load_exists(const struct disc_driver *driver)
{
	_cleanup_free_ char *path = library_path(driver);

	return path && !access(path, F_OK);
}

bool disc_load_can_wait(const struct disc_driver *driver)
{
	_cleanup_free_ char *path = library_path(driver);
	struct stat st;

	return path && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size;
}

int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider)
{
	_cleanup_free_ char *path = NULL;
	int r = driver->load_error;

	if (!driver->provider && !r) {
		path = library_path(driver);
		r = path ? library_open(path, &driver->provider) : -ENOMEM;
		driver->load_error = disc_is_lack(r) ? 0 : r;
	}
	if (driver->provider)
		*ret_provider = driver->provider;
	return r;
}
