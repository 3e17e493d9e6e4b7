/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of commands. A line in the FIFO orders one, for the next COUNT commands of that opcode (0:
 * of any):
 *
 *     error OPCODE COUNT STATUS
 *     late OPCODE COUNT MILLISECONDS
 *     never OPCODE COUNT
 *     random PERCENT SEED
 *     none
 *
 * An opcode is decimal, or hexadecimal behind 0x. "random" answers that share of all commands with
 * errors until the next line. A device may have other orders.
 */
#include "tests/hosts/vm/pci/play.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int orders = -1;
static const struct play_device *device;
static struct {
	enum play_fault fault;
	unsigned int opcode, count, value;
} order;
static unsigned int percent, seed;

void play_fault_open(const char *path, const struct play_device *played)
{
	device = played;
	if (mkfifo(path, 0600) && errno != EEXIST)
		play_die("%s", path);
	orders = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (orders < 0)
		play_die("%s", path);
}

static void take(const char *line)
{
	char word[16] = "";
	unsigned int b = 0, c = 0;
	int a = 0;

	sscanf(line, "%15s %i %u %u", word, &a, &b, &c);
	memset(&order, 0, sizeof(order));
	percent = 0;
	if (!strcmp(word, "random")) {
		percent = a;
		seed = b;
		return;
	}
	order.opcode = a;
	order.count = b;
	order.value = c;
	if (!strcmp(word, "error"))
		order.fault = PLAY_FAULT_ERROR;
	else if (!strcmp(word, "late"))
		order.fault = PLAY_FAULT_LATE;
	else if (!strcmp(word, "never"))
		order.fault = PLAY_FAULT_NEVER;
	else if (strcmp(word, "none") && !(device->order && device->order(word)))
		fprintf(stderr, "unknown fault: %s", line);
}

void play_fault_read(void)
{
	char line[128];
	ssize_t n;

	if (orders < 0)
		return;
	n = read(orders, line, sizeof(line) - 1);
	if (n <= 0)
		return;
	line[n] = '\0';
	take(line);
	printf("fault: %s", line);
}

enum play_fault play_fault_of(uint32_t opcode, uint32_t *ret_value)
{
	if (percent && (uint32_t)rand_r(&seed) % 100 < percent) {
		*ret_value = device->random_status(opcode, rand_r(&seed));
		return *ret_value ? PLAY_FAULT_ERROR : PLAY_FAULT_NONE;
	}
	if (!order.count || (order.opcode && order.opcode != opcode))
		return PLAY_FAULT_NONE;
	order.count--;
	*ret_value = order.value;
	return order.fault;
}
