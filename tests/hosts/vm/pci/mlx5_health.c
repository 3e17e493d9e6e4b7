/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The health of the adapter. A counter moves, and an order reports a fatal error. The driver then
 * asks for a reset. A register has the times that the driver waits. */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	INITIALIZING = 0x1fc,
	SEVERITY = 0x238,
	SYNDROME = 0x23c, /* in its second byte */
	COMMAND_TIMEOUT = 0xff8,
	START_TIMEOUT = 0xffc,
	COUNTER = 0x1010,
};
enum {
	RESET_SUPPORTED = 1 << 30,
	WANTS_RESET = 1u << 31,
	FIRMWARE_ERROR = 1 << 16,
	COUNTER_MS = 100,
	/* The driver's own value is a minute. */
	TIMEOUT_MS = 10000,
};
/* States of the interface, in the command register. */
enum {
	INTERFACE_SHIFT = 8,
	INTERFACE = 7,
	DISABLED = 1,
	RESET = 7,
};

static bool is_hasty;

void hca_health_registers(void)
{
	hca_set_reg(INITIALIZING, RESET_SUPPORTED);
	hca_set_reg(COMMAND_TIMEOUT, is_hasty ? TIMEOUT_MS : 0);
	hca_set_reg(START_TIMEOUT, is_hasty ? TIMEOUT_MS : 0);
}

void hca_health_timeouts(uint8_t *data)
{
	static const struct {
		uint32_t at, ms;
	} times[] = {
		{ 0x4, 2000 },	/* of the bus after a reset */
		{ 0x14, 500 },	/* between two looks at the counter */
		{ 0x18, 2000 }, /* timeout of a dump */
		{ 0x1c, 5000 }, /* timeout of a reset */
		{ 0x20, 500 },	/* of commands after an error */
		{ 0x24, 1000 }, { 0x28, 1000 }, { 0x2c, 1000 }, { 0x30, 5000 }, { 0x34, 5000 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		put32(data + times[i].at, times[i].ms);
}

bool hca_health_order(const char *word)
{
	if (!strcmp(word, "fatal")) {
		hca_set_reg(SEVERITY, WANTS_RESET);
		hca_set_reg(SYNDROME, FIRMWARE_ERROR);
		return true;
	}
	if (strcmp(word, "hasty"))
		return false;
	is_hasty = true;
	hca_health_registers();
	return true;
}

bool hca_health(void)
{
	static uint64_t next;
	static uint32_t beats;
	uint32_t low = hca_reg(HCA_COMMANDS_LOW);

	if (play_now() >= next) {
		next = play_now() + COUNTER_MS;
		hca_set_reg(COUNTER, ++beats);
	}
	if ((low >> INTERFACE_SHIFT & INTERFACE) != RESET)
		return false;
	hca_forget_all();
	hca_set_reg(SEVERITY, 0);
	hca_set_reg(SYNDROME, 0);
	hca_set_reg(HCA_COMMANDS_HIGH, 0);
	hca_set_reg(HCA_COMMANDS_LOW, DISABLED << INTERFACE_SHIFT);
	return true;
}
