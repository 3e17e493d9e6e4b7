/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the name of every environment variable that the project reads. */
#include <stdio.h>

#include "util/env.h"

int main(void)
{
	for (int i = 0; i < ENV_COUNT; i++)
		puts(env_variables[i].name);
	return 0;
}
