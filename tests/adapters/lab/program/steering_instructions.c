/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Create rules of software steering under callgrind, which counts the instructions of a rule.
 * Earlier writes are complete before each rule, so that no rule waits for the device.
 *
 * usage: mlx5_steering_instructions RULES [memory]
 *
 * memory: print the bytes of memory that a rule needs, including its part of the domain and of the
 * tables.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <valgrind/callgrind.h>

enum {
	WORDS = 112,
	CREATE_TIR = 0x900,
	COMMAND_WORDS = 68,
	VERSION_4 = 4 << 9,
	PROTOCOL = 4, /* words of the match parameters */
	UDP_PORTS = 7,
	DST_IP = 15,
};

struct match {
	size_t size;
	uint32_t words[WORDS];
};

static void must(const void *object, const char *what)
{
	if (object)
		return;
	perror(what);
	exit(1);
}

static void *tir_make(struct ibv_context *context)
{
	uint32_t in[COMMAND_WORDS] = { htonl(CREATE_TIR << 16) }, out[4] = { 0 };

	return mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
}

/* Return the bytes of the process that are in memory. */
static size_t memory_used(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	must(file, "statm");
	if (fscanf(file, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? atoi(argv[1]) : 100;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct match mask = { .size = sizeof(mask.words) }, value = mask;
	struct mlx5dv_dr_action *actions[2];
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_domain *domain;
	struct ibv_context *context;
	bool is_memory = argc > 2;
	size_t before;

	must(list && list[0] ? list : NULL, "device");
	context = mlx5dv_open_device(list[0], &attr);
	must(context, "context");
	before = memory_used();
	domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	must(domain, "domain");
	mask.words[PROTOCOL] = htonl(0xff000000 | VERSION_4);
	mask.words[UDP_PORTS] = htonl(0xffff);
	mask.words[DST_IP] = ~0u;
	matcher = mlx5dv_dr_matcher_create(mlx5dv_dr_table_create(domain, 1), 0, 1, (void *)&mask);
	must(matcher, "matcher");
	actions[0] = mlx5dv_dr_action_create_tag(7);
	actions[1] = mlx5dv_dr_action_create_dest_devx_tir(tir_make(context));
	for (unsigned i = 0; i < count; i++) {
		struct mlx5dv_dr_rule *rule;

		value.words[PROTOCOL] = htonl(17u << 24 | VERSION_4);
		value.words[UDP_PORTS] = htonl(4791);
		value.words[DST_IP] = htonl(0x0a000000 + i);
		if (!is_memory)
			mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW);
		CALLGRIND_TOGGLE_COLLECT;
		rule = mlx5dv_dr_rule_create(matcher, (void *)&value, 2, actions);
		CALLGRIND_TOGGLE_COLLECT;
		CALLGRIND_DUMP_STATS_AT("rule");
		must(rule, "rule");
	}
	if (is_memory)
		printf("%zu\n", (memory_used() - before) / count);
	/* The process ends with its objects, which are not measured. */
	return 0;
}
