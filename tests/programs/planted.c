/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Foreign code in the place of a provider: prints a line if it runs. */
#include <unistd.h>

__attribute__((constructor)) static void planted_run(void)
{
	(void)!write(STDOUT_FILENO, "PLANTED\n", 8);
}
