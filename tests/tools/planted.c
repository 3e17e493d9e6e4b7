/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stands for somebody else's code in the place of a provider: says when it runs. */
#include <unistd.h>

__attribute__((constructor)) static void planted_run(void)
{
	(void)!write(STDOUT_FILENO, "PLANTED\n", 8);
}
