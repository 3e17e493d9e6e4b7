/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The values of all counters at one moment. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/counter.h"
#include "rdma-doctor/port.h"
#include "rdma-doctor/verbs.h"
#include "util/sysfs.h"

/* 256 devices with 256 counters each. */
#define COUNTERS_MAX 65536

void sample_add(struct sample *sample, const struct counter *counter)
{
	if (sample->count == sample->room) {
		unsigned int room = max_of(2 * sample->room, 256U);
		struct counter *more;

		if (room > COUNTERS_MAX)
			return;
		more = reallocarray(sample->counters, room, sizeof(*more));
		if (!more)
			return;
		sample->counters = more;
		sample->room = room;
	}
	sample->counters[sample->count] = *counter;
	text_make_printable(sample->counters[sample->count++].name);
}

static bool counters_equal(const struct counter *a, const struct counter *b)
{
	return a->source == b->source && a->port == b->port && !strcmp(a->name, b->name) &&
	       !strcmp(a->owner, b->owner);
}

const struct counter *sample_find(const struct sample *sample, const struct counter *counter,
				  unsigned int place)
{
	if (place < sample->count && counters_equal(&sample->counters[place], counter))
		return &sample->counters[place];
	for (unsigned int i = 0; i < sample->count; i++)
		if (counters_equal(&sample->counters[i], counter))
			return &sample->counters[i];
	return NULL;
}

void sample_drop(struct sample *sample)
{
	free(sample->counters);
	*sample = (struct sample){};
}

/* Return whether the file is a counter. "lifespan" is the age at which others are read again. */
static bool file_counts(const char *name)
{
	return name[0] != '.' && strlen(name) < COUNTER_NAME && strcmp(name, "lifespan");
}

/* Add each file of a folder of sysfs that holds a number. */
static void folder_read(struct sample *sample, const struct counter *like, const char *folder)
{
	struct counter counter = *like;
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", sysfs_root(), folder);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!file_counts(entry->d_name) ||
		    sysfs_read_u64(dirfd(dir), entry->d_name, 10, &counter.value) < 0)
			continue;
		strcpy(counter.name, entry->d_name);
		sample_add(sample, &counter);
	}
	closedir(dir);
}

static void device_sample(struct sample *sample, const char *name, unsigned int port,
			  enum counter_source source)
{
	struct counter like = { .port = port, .source = source };
	char folder[128];

	snprintf(like.owner, sizeof(like.owner), "%s", name);
	if (port)
		snprintf(folder, sizeof(folder), "class/infiniband/%s/ports/%u/%s", name, port,
			 counter_source_name(source));
	else
		snprintf(folder, sizeof(folder), "class/infiniband/%s/%s", name,
			 counter_source_name(source));
	folder_read(sample, &like, folder);
}

static bool netdev_is_sampled(const struct sample *sample, const char *netdev)
{
	for (unsigned int i = 0; i < sample->count; i++)
		if (sample->counters[i].source == SOURCE_STATISTICS &&
		    !strcmp(sample->counters[i].owner, netdev))
			return true;
	return false;
}

static void netdev_sample(const struct doctor *d, struct sample *sample, const char *netdev)
{
	struct counter like = { .source = SOURCE_STATISTICS, .name = "carrier_changes" };
	char path[PATH_MAX];

	if (!netdev[0] || netdev_is_sampled(sample, netdev))
		return;
	if (d->live) {
		system_netdev_sample(netdev, sample);
		return;
	}
	snprintf(like.owner, sizeof(like.owner), "%s", netdev);
	snprintf(path, sizeof(path), "class/net/%s/statistics", netdev);
	folder_read(sample, &like, path);
	snprintf(path, sizeof(path), "%s/class/net/%s/carrier_changes", sysfs_root(), netdev);
	if (!sysfs_read_u64(AT_FDCWD, path, 10, &like.value))
		sample_add(sample, &like);
}

/* Split a line of /proc/net/snmp at blanks. */
static char *word_next(char **line)
{
	char *word;

	do
		word = strsep(line, " \n");
	while (word && !*word);
	return word;
}

/* Two lines of /proc/net/snmp begin with "Udp:": the names, and their values. */
static void udp_sample(const struct doctor *d, struct sample *sample)
{
	struct counter counter = { .source = SOURCE_UDP };
	char text[8192], *names, *values, *name, *value;

	if (host_read(d, "/proc/net/snmp", text, sizeof(text)) < 0)
		return;
	names = strstr(text, "\nUdp: ");
	values = names ? strstr(names + 1, "\nUdp: ") : NULL;
	if (!values)
		return;
	*values = '\0';
	names += strlen("\nUdp: ");
	values += strlen("\nUdp: ");
	values[strcspn(values, "\n")] = '\0';
	while ((name = word_next(&names)) && (value = word_next(&values))) {
		if (!file_counts(name))
			continue;
		strcpy(counter.name, name);
		counter.value = strtoull(value, NULL, 10);
		sample_add(sample, &counter);
	}
}

void sample_port(const struct doctor *d, const char *device, unsigned int port,
		 struct sample *ret_sample)
{
	struct sample sample = {};

	device_sample(&sample, device, port, SOURCE_HW_COUNTERS);
	device_sample(&sample, device, port, SOURCE_COUNTERS);
	udp_sample(d, &sample);
	*ret_sample = sample;
}

static void ports_sample(const struct doctor *d, const struct doctor_device *dev,
			 struct sample *sample)
{
	struct port port;

	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		if (!port_read(dev, i, &port))
			continue;
		device_sample(sample, dev->name, i, SOURCE_HW_COUNTERS);
		device_sample(sample, dev->name, i, SOURCE_COUNTERS);
		if (port_netdev_here(d, &port))
			netdev_sample(d, sample, port.netdev);
	}
}

void sample_take(const struct doctor *d, struct sample *ret_sample)
{
	struct sample sample = {};

	for (unsigned int i = 0; i < d->count; i++) {
		device_sample(&sample, d->devices[i].name, 0, SOURCE_HW_COUNTERS);
		ports_sample(d, &d->devices[i], &sample);
	}
	for (unsigned int i = 0; d->userspace && d->userspace[i].name[0]; i++)
		netdev_sample(d, &sample, d->userspace[i].trial.netdev);
	udp_sample(d, &sample);
	*ret_sample = sample;
}
