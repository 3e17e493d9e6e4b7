/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "util/file.h"

#define SUFFIX	      ".driver"
#define FILE_SIZE_MAX 16384 /* bytes; longer files are not driver files */

static struct {
	pthread_mutex_t lock; /* protects the list while it grows; entries are never removed */
	struct disc_driver_list drivers;
	bool complete;
	/* -errno if memory or descriptors were missing, so that the files are read again; or 0 */
	int lacking;
} files = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.drivers = STAILQ_HEAD_INITIALIZER(files.drivers),
};

bool disc_is_lack(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EINTR;
}

void disc_driver_free(struct disc_driver *driver)
{
	struct disc_match *match;

	if (!driver)
		return;
	while ((match = STAILQ_FIRST(&driver->matches))) {
		STAILQ_REMOVE_HEAD(&driver->matches, entry);
		free(match->pattern);
		free(match);
	}
	free(driver->file);
	free(driver->name);
	free(driver);
}

static int match_add(struct disc_driver *driver, enum disc_match_kind kind, uint32_t driver_id,
		     const char *pattern)
{
	struct disc_match *match = calloc(1, sizeof(*match));

	if (!match)
		return -ENOMEM;
	match->kind = kind;
	match->driver_id = driver_id;
	match->pattern = pattern ? strdup(pattern) : NULL;
	if (pattern && !match->pattern) {
		free(match);
		return -ENOMEM;
	}
	STAILQ_INSERT_TAIL(&driver->matches, match, entry);
	return 0;
}

static int match_driver_id(struct disc_driver *driver, const char *text)
{
	char *end;
	unsigned long id;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	id = strtoul(text, &end, 10);
	if (*end || errno || !id || id > UINT32_MAX)
		return -EINVAL;
	return match_add(driver, DISC_MATCH_DRIVER_ID, id, NULL);
}

static int parse_match(struct disc_driver *driver, char **words)
{
	const char *kind = strsep(words, " "), *value = strsep(words, " ");

	if (!kind || *words)
		return -EINVAL;
	if (!strcmp(kind, "userspace"))
		return value ? -EINVAL : match_add(driver, DISC_MATCH_USERSPACE, 0, NULL);
	if (!value)
		return -EINVAL;
	if (!strcmp(kind, "driver_id"))
		return match_driver_id(driver, value);
	if (!strcmp(kind, "modalias"))
		return match_add(driver, DISC_MATCH_MODALIAS, 0, value);
	if (!strcmp(kind, "name"))
		return match_add(driver, DISC_MATCH_NAME, 0, value);
	return -EINVAL;
}

/* Check the name, because it becomes part of a file name. Only an absolute path may contain
 * slashes. */
static int parse_driver(struct disc_driver *driver, char **words)
{
	const char *name = strsep(words, " ");

	if (!name || *words || driver->name)
		return -EINVAL;
	if (name[0] != '/' && (name[0] == '.' || strchr(name, '/')))
		return -EINVAL;
	driver->name = strdup(name);
	return driver->name ? 0 : -ENOMEM;
}

/* Remove the comment and superfluous spaces from a line. */
static void line_normalise(char *line)
{
	char *out = line;

	for (char *in = line; *in && *in != '#'; in++) {
		bool space = *in == ' ' || *in == '\t' || *in == '\r';

		if (!space)
			*out++ = *in;
		else if (out > line && out[-1] != ' ')
			*out++ = ' ';
	}
	if (out > line && out[-1] == ' ')
		out--;
	*out = '\0';
}

static int parse_line(struct disc_driver *driver, char *line)
{
	char *words = line;
	const char *key = strsep(&words, " ");

	if (!*key)
		return 0;
	if (!strcmp(key, "driver"))
		return parse_driver(driver, &words);
	if (!strcmp(key, "match"))
		return parse_match(driver, &words);
	return -EINVAL;
}

static int parse_lines(struct disc_driver *driver, const char *file, char *text)
{
	unsigned int number = 0;
	char *line;
	int r;

	while ((line = strsep(&text, "\n"))) {
		_cleanup_free_ char *shown = NULL;

		number++;
		line_normalise(line);
		shown = strdup(line);
		r = parse_line(driver, line);
		if (r == -EINVAL)
			log_notice("libibverbs: Warning: ignoring bad config directive '%s' in "
				   "file '%s' line %u; known are 'driver NAME', 'match driver_id "
				   "NUMBER', 'match modalias PATTERN', 'match name PATTERN' and "
				   "'match userspace'\n",
				   shown ? shown : "", file, number);
		else if (r < 0)
			return r;
	}
	return 0;
}

int disc_driver_parse(const char *file, const char *text, struct disc_driver **ret_driver)
{
	struct disc_driver *driver = calloc(1, sizeof(*driver));
	_cleanup_free_ char *copy = strdup(text);
	int r = -ENOMEM;

	if (!driver || !copy) {
		free(driver);
		return -ENOMEM;
	}
	STAILQ_INIT(&driver->matches);
	driver->file = strdup(file);
	if (driver->file)
		r = parse_lines(driver, file, copy);
	if (!r && !driver->name) {
		log_notice("libibverbs: Warning: ignoring config file '%s': it has no line "
			   "'driver NAME'\n",
			   file);
		r = -EINVAL;
	}
	if (r < 0) {
		disc_driver_free(driver);
		return r;
	}
	*ret_driver = driver;
	return 0;
}

static struct disc_driver *file_known(const char *file)
{
	struct disc_driver *driver;

	STAILQ_FOREACH(driver, &files.drivers, entry) {
		if (!strcmp(driver->file, file))
			return driver;
	}
	return NULL;
}

/* Parse the file of a provider in the program itself. */
static int linked_parse(const char *file, struct disc_driver **ret_driver)
{
	const char *text = disc_linked_text(file);

	return text ? disc_driver_parse(file, text, ret_driver) : -ENOENT;
}

static void file_complain(const char *folder, const char *file, int error)
{
	log_notice("libibverbs: Warning: couldn't read config file %s/%s: %s\n", folder, file,
		   strerror(-error));
}

/* Return the length of the text; -ENOENT: the folder has no such file; or an error of
 * disc_is_lack(). Other errors are logged here. */
static int file_read(const char *folder, const char *file, char *text)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%s", folder, file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = file_read_text(AT_FDCWD, path, text, FILE_SIZE_MAX + 1);
	if (r == FILE_SIZE_MAX)
		r = -EFBIG;
	if (r >= 0 || r == -ENOENT || disc_is_lack(r))
		return r;
	file_complain(folder, file, r);
	return -EINVAL;
}

/* Parse the file of the administrator, or else the file of that name of a package. */
static int file_parse(const char *file, bool must_exist, struct disc_driver **ret_driver)
{
	const struct disc_paths *paths = disc_paths();
	_cleanup_free_ char *text = NULL; /* allocated, because the stack may be small */
	int r;

	if (disc_linked_only())
		return linked_parse(file, ret_driver);
	text = malloc(FILE_SIZE_MAX + 1);
	if (!text)
		return -ENOMEM;
	r = file_read(paths->config, file, text);
	if (r == -ENOENT && paths->vendor)
		r = file_read(paths->vendor, file, text);
	if (r == -ENOENT && must_exist) {
		file_complain(paths->config, file, r);
		return -EINVAL;
	}
	return r < 0 ? r : disc_driver_parse(file, text, ret_driver);
}

/* Remember a refused file by its name, so that it is logged only once. */
static struct disc_driver *driver_refused(const char *file)
{
	struct disc_driver *driver = calloc(1, sizeof(*driver));

	if (!driver)
		return NULL;
	STAILQ_INIT(&driver->matches);
	driver->load_error = -EINVAL;
	driver->file = strdup(file);
	if (driver->file)
		return driver;
	free(driver);
	return NULL;
}

/* Add a file. Return: its driver, or NULL. The caller holds the lock. */
static struct disc_driver *file_add(const char *file, bool must_exist)
{
	struct disc_driver *driver = file_known(file);
	int r;

	if (driver)
		return driver;
	r = file_parse(file, must_exist, &driver);
	if (r == -ENOENT)
		return NULL;
	if (r < 0)
		driver = disc_is_lack(r) ? NULL : driver_refused(file);
	if (!driver)
		files.lacking = disc_is_lack(r) ? r : -ENOMEM;
	else
		STAILQ_INSERT_TAIL(&files.drivers, driver, entry);
	return driver;
}

static int is_driver_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
	       !strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX);
}

/* Read a folder. Return: 0, or -errno if it cannot be read. */
static int folder_read(const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_driver_file, alphasort);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		file_add(entries[i]->d_name, true);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static void files_read(void)
{
	const struct disc_paths *paths = disc_paths();
	int r = folder_read(paths->config);
	int v = paths->vendor ? folder_read(paths->vendor) : -ENOENT;

	if (disc_is_lack(r) || disc_is_lack(v))
		files.lacking = disc_is_lack(r) ? r : v;
	if (r < 0 && v < 0 && !files.lacking)
		log_notice("libibverbs: Warning: couldn't open config directory '%s': %s; it says "
			   "which provider serves which device: install the providers' package\n",
			   paths->config, strerror(-r));
}

/* Read files in the program itself, which may have named more providers since the last call. */
static void linked_read(void)
{
	const char *file;

	for (unsigned int i = 0; (file = disc_linked_file(i)); i++)
		file_add(file, true);
}

const struct disc_driver_list *disc_driver_files(void)
{
	pthread_mutex_lock(&files.lock);
	if (!files.complete) {
		files.lacking = 0;
		if (disc_linked_only())
			linked_read();
		else
			files_read();
		files.complete = !disc_linked_only() && !files.lacking;
		if (files.lacking)
			log_notice("libibverbs: Warning: couldn't read the config files in '%s' "
				   "now: %s: some devices have no provider; the next list of "
				   "devices reads the files again\n",
				   disc_paths()->config, strerror(-files.lacking));
	}
	pthread_mutex_unlock(&files.lock);
	return &files.drivers;
}

struct disc_driver *disc_driver_file(const char *name)
{
	struct disc_driver *driver;
	char file[64];

	snprintf(file, sizeof(file), "%s" SUFFIX, name);
	pthread_mutex_lock(&files.lock);
	driver = files.complete ? file_known(file) : file_add(file, false);
	pthread_mutex_unlock(&files.lock);
	return driver;
}
