/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-doctor/doctor.h"
#include "util/sysfs.h"

/* Results of one rung for the devices that reached it. */
struct tally {
	unsigned int reached, fell;
	const struct doctor_device *first_fallen;
	const struct doctor_device *first_standing;
	struct finding standing; /* most important finding of a device that passed */
};

static void device_check_one(struct doctor *d, const struct rung *rung, struct doctor_device *dev,
			     struct tally *tally)
{
	struct finding f = {};

	rung->check_device(d, dev, &f);
	log_take();
	tally->reached++;
	if (f.state == FINDING_FAILED) {
		dev->fell = rung;
		dev->finding = f;
		if (!tally->fell++)
			tally->first_fallen = dev;
		return;
	}
	if (!tally->first_standing || f.state > tally->standing.state) {
		tally->first_standing = dev;
		tally->standing = f;
	}
}

static void finding_copy(struct finding *f, enum finding_state state, const char *device,
			 const struct finding *from)
{
	finding_set(f, state, "%s: %s", device, from->what.chars);
	if (from->fix.length)
		finding_fix(f, "%s", from->fix.chars);
}

static void tally_conclude(const struct doctor *d, const struct tally *tally, struct finding *f)
{
	if (!tally->reached) {
		finding_unneeded(f, d->count ? "no device came this far" : "no kernel device");
		return;
	}
	if (tally->fell == tally->reached) {
		finding_copy(f, FINDING_FAILED, tally->first_fallen->name,
			     &tally->first_fallen->finding);
		if (tally->fell > 1)
			finding_fail(f, " (and %u more devices)", tally->fell - 1);
		return;
	}
	if (tally->fell) {
		finding_copy(f, FINDING_NOTE, tally->first_fallen->name,
			     &tally->first_fallen->finding);
		finding_note(f, " (%u of %u devices)", tally->fell, tally->reached);
		return;
	}
	finding_copy(f, tally->standing.state, tally->first_standing->name, &tally->standing);
	if (tally->reached > 1)
		finding_set(f, tally->standing.state, " (and %u more devices)", tally->reached - 1);
}

static void devices_check(struct doctor *d, const struct rung *rung, struct finding *f)
{
	struct tally tally = {};

	for (unsigned int i = 0; i < d->count; i++)
		if (!d->devices[i].fell)
			device_check_one(d, rung, &d->devices[i], &tally);
	tally_conclude(d, &tally, f);
}

/* Do not ask without the sysfs class, because asking could load a module. */
static void subsystem_ask(struct doctor *d)
{
	d->system = (struct rdma_system){ .error = -ENOSYS };
	if (d->live && (sysfs_has_class("class/infiniband") || !sysfs_exists("class")))
		system_ask(&d->system);
}

static unsigned int place;
unsigned int *ladder_place = &place;

/* The queries before the first rung are those of RDMA netlink. */
static void place_set_netlink(void)
{
	for (*ladder_place = 0; strcmp(rungs[*ladder_place].name, "netlink");)
		++*ladder_place;
}

void ladder_climb(struct doctor *d, struct finding *findings)
{
	place_set_netlink();
	subsystem_ask(d);
	devices_find(d);
	d->userspace_wanted = devices_wanted_is_userspace(d);
	for (unsigned int i = 0; i < rung_count; i++) {
		*ladder_place = i;
		findings[i] = (struct finding){};
		if (rungs[i].check)
			rungs[i].check(d, &findings[i]);
		else
			devices_check(d, &rungs[i], &findings[i]);
		if ((d->strict || rungs[i].speed) && findings[i].state == FINDING_NOTE)
			findings[i].state = FINDING_FAILED;
		log_take();
	}
	*ladder_place = rung_count;
}

int ladder_first_failure(const struct finding *findings)
{
	for (unsigned int i = 0; i < rung_count; i++)
		if (findings[i].state == FINDING_FAILED)
			return i;
	return -1;
}
