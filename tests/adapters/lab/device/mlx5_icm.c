/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of steering entries and of changes of headers. Only requests of queue pairs reach it. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdio.h>
#include <sys/mman.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include "tests/adapters/lab/shim/attribute.h"

enum {
	AREAS = 64,
	TYPES = 4,
};

/* Distance between the addresses of two areas of one type. */
static const uint64_t distance = 1ull << 28;

static struct area {
	uint64_t at;
	size_t length;
	uint8_t *memory; /* NULL: freed */
	unsigned type;
} areas[AREAS];
static unsigned area_count;

int mlx5_icm_alloc(struct object *dm, unsigned type, struct ib_uverbs_ioctl_hdr *call)
{
	static const uint64_t bases[TYPES] = { 0, 0x1000000000, 0x4000000000, 0x5000000000 };
	static unsigned counts[TYPES];
	struct area *area = &areas[area_count];

	if (mlx5_steering_format() < 0 || type >= TYPES || !dm->length || dm->length > distance)
		return EOPNOTSUPP;
	if (area_count == AREAS)
		return ENOMEM;
	area->memory = mmap(NULL, dm->length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area->memory == MAP_FAILED)
		return ENOMEM;
	area->at = bases[type] + counts[type]++ * distance;
	area->length = dm->length;
	area->type = type;
	area_count++;
	dm->rq.base = area->memory;
	output(call, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &area->at, sizeof(area->at));
	return 0;
}

void mlx5_icm_free(struct object *dm)
{
	for (unsigned i = 0; i < area_count; i++) {
		if (!areas[i].memory || areas[i].memory != dm->rq.base)
			continue;
		munmap(areas[i].memory, areas[i].length);
		areas[i].memory = NULL;
	}
}

const uint8_t *mlx5_icm_find(uint64_t address, size_t length)
{
	for (unsigned i = 0; i < area_count; i++) {
		const struct area *area = &areas[i];

		if (area->memory && address >= area->at && length <= area->length &&
		    address - area->at <= area->length - length)
			return area->memory + (address - area->at);
	}
	return NULL;
}

static void print_entry(FILE *out, uint64_t at, const uint8_t *entry)
{
	static const uint8_t zero[STE_SIZE];

	if (!memcmp(entry, zero, STE_SIZE))
		return;
	fprintf(out, "%010llx ", (unsigned long long)at);
	for (int i = 0; i < STE_SIZE; i++)
		fprintf(out, "%02x", entry[i]);
	fprintf(out, "\n");
}

__attribute__((visibility("default"))) int lab_icm(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return errno;
	pthread_mutex_lock(&device_lock);
	for (unsigned i = 0; i < area_count; i++) {
		const struct area *area = &areas[i];

		if (!area->memory)
			continue;
		fprintf(out, "# type %u at 0x%llx length 0x%zx\n", area->type,
			(unsigned long long)area->at, area->length);
		for (size_t at = 0; at < area->length; at += STE_SIZE)
			print_entry(out, area->at + at, area->memory + at);
	}
	mlx5_definers_print(out);
	pthread_mutex_unlock(&device_lock);
	return fclose(out) ? errno : 0;
}
