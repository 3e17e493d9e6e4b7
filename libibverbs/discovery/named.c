/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Providers that the user names in RDMAV_DRIVERS, or else in IBV_DRIVERS: names or absolute path
 * prefixes, separated by ':' or ';'. They have no match lines. Each is asked for its devices before
 * the driver files are read.
 */
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "util/env.h"
#include "util/once.h"

static struct disc_driver_list named = STAILQ_HEAD_INITIALIZER(named);

static bool name_is_good(const char *name)
{
	return name[0] == '/' || (name[0] != '.' && !strchr(name, '/'));
}

static void named_add(const char *variable, const char *name)
{
	struct disc_driver *driver;

	if (!*name)
		return;
	if (!name_is_good(name)) {
		log_notice("libibverbs: Warning: couldn't load driver '%s': %s has names, or paths "
			   "that begin with '/'\n",
			   name, variable);
		return;
	}
	driver = calloc(1, sizeof(*driver));
	if (!driver)
		return;
	STAILQ_INIT(&driver->matches);
	driver->named = true;
	driver->file = strdup(variable);
	driver->name = strdup(name);
	if (driver->file && driver->name)
		STAILQ_INSERT_TAIL(&named, driver, entry);
	else
		disc_driver_free(driver);
}

static void named_read(void)
{
	enum env_name variable =
		env_is_set(ENV_RDMAV_DRIVERS) ? ENV_RDMAV_DRIVERS : ENV_IBV_DRIVERS;
	const char *text = env_get(variable);
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	char *rest = copy, *name;

	while ((name = strsep(&rest, ":;")))
		named_add(env_variables[variable].name, name);
}

const struct disc_driver_list *disc_driver_named(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, named_read);
	return &named;
}
