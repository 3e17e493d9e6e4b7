/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Linked into every program, not into the libraries: output that could not be written is an error,
 * because a script that reads it would take a part for the whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void output_check(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	fprintf(stderr, "%s: the output could not be written\n", program_invocation_short_name);
	_exit(EXIT_FAILURE);
}

/*
 * Keep the numbers of closed standard streams occupied. Otherwise the next file that is opened gets
 * such a number, perhaps a device node, and the output goes there.
 */
static void streams_occupy(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

__attribute__((constructor)) static void output_guard(void)
{
	streams_occupy();
	atexit(output_check);
}
