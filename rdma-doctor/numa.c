/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The NUMA node of an adapter, and the processors of the caller and of interrupts. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/cpulist.h"
#include "rdma-doctor/slot.h"
#include "util/sysfs.h"

/* Read the processors that the process may use. */
static bool caller_read(const struct doctor *d, cpu_set_t *ret_cpus)
{
	static const char name[] = "\nCpus_allowed_list:";
	char path[64], text[8192], *line;

	snprintf(path, sizeof(path), "/proc/%s/status", d->pid);
	if (host_read(d, path, text, sizeof(text)) <= 0)
		return false;
	line = strstr(text, name);
	if (!line)
		return false;
	line += strlen(name);
	return cpulist_parse(line + strspn(line, " \t"), ret_cpus);
}

void numa_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	cpu_set_t near, caller;
	int node;

	if (!slot_wanted(d, dev, f))
		return;
	node = slot_node(dev, &near);
	if (node < 0) {
		finding_unneeded(f, "the machine does not tell a NUMA node of it");
	} else if (!caller_read(d, &caller)) {
		finding_unseen(f, "the processors of process %s are not known", d->pid);
	} else if (cpulist_overlap(&near, &caller)) {
		finding_ok(f, "it is at NUMA node %d, on which process %s may run", node, d->pid);
	} else {
		finding_note(f,
			     "it is at NUMA node %d, and process %s may run only on processors of "
			     "other nodes: all data crosses between them",
			     node, d->pid);
		finding_fix(f, "numactl --cpunodebind=%d --membind=%d PROGRAM", node, node);
	}
}

/* Interrupts of a device. */
struct interrupts {
	unsigned int count, far; /* all, and those of processors of other nodes */
	cpu_set_t cpus;		 /* of all that go to one processor */
	bool fixed;		 /* each goes to one processor */
};

static void interrupt_add(const struct doctor *d, const char *number, const cpu_set_t *near,
			  struct interrupts *all)
{
	char path[64], text[4096];
	cpu_set_t cpus;

	if (strlen(number) > 9 || strspn(number, "0123456789") != strlen(number))
		return;
	snprintf(path, sizeof(path), "/proc/irq/%s/effective_affinity_list", number);
	if (host_read(d, path, text, sizeof(text)) <= 0) {
		snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", number);
		if (host_read(d, path, text, sizeof(text)) <= 0)
			return;
	}
	if (!cpulist_parse(text, &cpus) || !CPU_COUNT(&cpus))
		return;
	all->count++;
	all->far += near && !cpulist_overlap(&cpus, near);
	all->fixed &= CPU_COUNT(&cpus) == 1;
	CPU_OR(&all->cpus, &all->cpus, &cpus);
}

static void interrupts_read(const struct doctor *d, const struct doctor_device *dev,
			    const cpu_set_t *near, struct interrupts *ret_all)
{
	struct interrupts all = { .fixed = true };
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/msi_irqs", sysfs_root(),
		 dev->name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		interrupt_add(d, entry->d_name, near, &all);
	if (dir)
		closedir(dir);
	*ret_all = all;
}

void irq_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct interrupts all;
	cpu_set_t near;
	int node;

	if (!slot_wanted(d, dev, f))
		return;
	node = slot_node(dev, &near);
	interrupts_read(d, dev, node < 0 ? NULL : &near, &all);
	if (!all.count) {
		finding_unseen(f, "its interrupts are not known (msi_irqs, /proc/irq)");
	} else if (all.count > 2 && all.fixed && CPU_COUNT(&all.cpus) == 1) {
		finding_note(f, "all its %u interrupts go to one processor", all.count);
		finding_fix(f, "start irqbalance, or spread them: /proc/irq/N/smp_affinity_list");
	} else if (all.far == all.count) {
		finding_note(f,
			     "all its %u interrupts go to processors of other NUMA nodes than %d",
			     all.count, node);
		finding_fix(f,
			    "start irqbalance, or write processors of node %d to "
			    "/proc/irq/N/smp_affinity_list",
			    node);
	} else {
		finding_ok(f, "its %u interrupts go to %d processors", all.count,
			   CPU_COUNT(&all.cpus));
	}
}
