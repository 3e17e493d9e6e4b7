/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings of the host that cost speed: power saving, the IOMMU, and the size of pages. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/slot.h"
#include "util/sysfs.h"

#define CPUS_MAX 4096
#define CPUS_GAP 64 /* consecutive unused numbers after which no processor is expected */

static int system_read(const char *path, char *text, size_t size)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", sysfs_root(), path);
	return sysfs_read(AT_FDCWD, full, text, size);
}

static int cpufreq_read(unsigned int cpu, const char *name, char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/cpufreq/%s", cpu, name);
	return system_read(path, text, size);
}

/* Return whether the governor lets the frequency sink. Drivers with a preference of their own also
 * call it "powersave". */
static bool cpu_saves(unsigned int cpu, char *ret_governor, size_t size)
{
	char preference[64];

	if (cpufreq_read(cpu, "scaling_governor", ret_governor, size) <= 0 ||
	    !strcmp(ret_governor, "performance"))
		return false;
	return cpufreq_read(cpu, "energy_performance_preference", preference, sizeof(preference)) <=
		       0 ||
	       strcmp(preference, "performance");
}

/* Return whether the policy of PCIe links saves power: "default performance [powersave]". */
static bool links_save(void)
{
	char text[128];

	return system_read("module/pcie_aspm/parameters/policy", text, sizeof(text)) > 0 &&
	       strstr(text, "[power");
}

void power_check(struct doctor *d, struct finding *f)
{
	char governor[64] = "", text[64] = "";
	unsigned int saving = 0, counted = 0, gap = 0;

	if (!d->speed_wanted) {
		finding_unneeded(f, "--speed asks for it");
		return;
	}
	for (unsigned int cpu = 0; cpu < CPUS_MAX && gap < CPUS_GAP; cpu++, gap++) {
		if (cpufreq_read(cpu, "scaling_governor", text, sizeof(text)) <= 0)
			continue;
		counted++;
		gap = 0;
		if (cpu_saves(cpu, text, sizeof(text)) && !saving++)
			strcpy(governor, text);
	}
	if (saving) {
		finding_note(f, "%u of %u processors save power (governor %s)", saving, counted,
			     governor);
		finding_fix(f, "cpupower frequency-set -g performance, or tuned-adm profile "
			       "network-latency");
	} else if (links_save()) {
		finding_note(f, "PCIe links save power (ASPM)");
		finding_fix(f,
			    "echo performance >/sys/module/pcie_aspm/parameters/policy, for good: "
			    "pcie_aspm.policy=performance on the kernel's command line");
	} else if (counted) {
		finding_ok(f, "%u processors have the governor performance", counted);
	} else {
		finding_unseen(f, "the kernel does not control frequencies here");
	}
}

void iommu_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	char path[128], type[64];

	if (!slot_wanted(d, dev, f))
		return;
	snprintf(path, sizeof(path), "class/infiniband/%s/device/iommu_group", dev->name);
	if (device_read(dev, "device/iommu_group/type", type, sizeof(type)) <= 0) {
		if (sysfs_exists(path))
			finding_unseen(f, "the type of its IOMMU group cannot be read");
		else
			finding_ok(f, "no IOMMU translates its accesses");
		return;
	}
	text_make_printable(type);
	finding_ok(f, "its IOMMU group has the type %s", type);
	if (strcmp(type, "DMA"))
		return;
	finding_note(f, ": its accesses are translated, and each unmapping waits for the IOMMU");
	finding_fix(f, "iommu=pt on the kernel's command line; or iommu.strict=0 where the devices "
		       "may not be trusted");
}

/* "HugePages_Total:       0" */
static uint64_t meminfo_number(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

void hugepages_check(struct doctor *d, struct finding *f)
{
	char meminfo[8192], transparent[128];
	uint64_t total, unused;

	if (!d->speed_wanted) {
		finding_unneeded(f, "--speed asks for it");
		return;
	}
	if (host_read(d, "/proc/meminfo", meminfo, sizeof(meminfo)) <= 0) {
		finding_unseen(f, "/proc/meminfo cannot be read");
		return;
	}
	total = meminfo_number(meminfo, "\nHugePages_Total:");
	unused = meminfo_number(meminfo, "\nHugePages_Free:");
	finding_ok(f, "%" PRIu64 " of %" PRIu64 " huge pages are free", unused, total);
	if (system_read("kernel/mm/transparent_hugepage/enabled", transparent,
			sizeof(transparent)) <= 0) {
		if (!sysfs_exists("kernel/mm")) {
			finding_unseen(f, "; whether there are transparent ones cannot be read");
			return;
		}
		strcpy(transparent, "[never]"); /* the kernel has none */
	}
	if (!strstr(transparent, "[never]"))
		return;
	if (!total) {
		finding_note(f, ", and transparent ones are off: large regions need many "
				"translations in the adapter");
		finding_fix(f, "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled, or "
			       "vm.nr_hugepages");
	}
}
