/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of commands. A line in the FIFO orders one, for the next COUNT commands of that opcode (0:
 * of any):
 *
 *     error OPCODE COUNT STATUS
 *     late OPCODE COUNT MILLISECONDS
 *     never OPCODE COUNT
 *     random PERCENT SEED          answer that share of all commands with an error, until the next
 * line none
 */
#include "tests/vm/pci/efa.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/vm/pci/play.h"

static int orders = -1;
static struct {
	enum efa_fault fault;
	unsigned int opcode, count, value;
} order;
static unsigned int percent, seed;

void efa_fault_open(const char *path)
{
	if (mkfifo(path, 0600) && errno != EEXIST)
		play_die("%s", path);
	orders = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (orders < 0)
		play_die("%s", path);
}

static void take(const char *line)
{
	char word[16] = "";
	unsigned int a = 0, b = 0, c = 0;

	sscanf(line, "%15s %u %u %u", word, &a, &b, &c);
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
		order.fault = EFA_FAULT_ERROR;
	else if (!strcmp(word, "late"))
		order.fault = EFA_FAULT_LATE;
	else if (!strcmp(word, "never"))
		order.fault = EFA_FAULT_NEVER;
	else if (strcmp(word, "none"))
		fprintf(stderr, "unknown fault: %s", line);
}

void efa_fault_read(void)
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

static bool gives_back(uint8_t opcode)
{
	enum {
		DESTROY_QP = 4,
		DESTROY_AH = 6,
		DEREG_MR = 8,
		DESTROY_CQ = 10,
		DEALLOC_PD = 15,
		DEALLOC_UAR = 17,
		DESTROY_EQ = 19
	};

	return opcode == DESTROY_QP || opcode == DESTROY_AH || opcode == DEREG_MR ||
	       opcode == DESTROY_CQ || opcode == DEALLOC_PD || opcode == DEALLOC_UAR ||
	       opcode == DESTROY_EQ;
}

enum efa_fault efa_fault_of(uint8_t opcode, uint32_t *ret_value)
{
	if (percent && !gives_back(opcode) && rand_r(&seed) % 100 < percent) {
		*ret_value = EFA_NO_RESOURCES + rand_r(&seed) % EFA_ILLEGAL;
		return EFA_FAULT_ERROR;
	}
	if (!order.count || (order.opcode && order.opcode != opcode))
		return EFA_FAULT_NONE;
	order.count--;
	*ret_value = order.value;
	return order.fault;
}
