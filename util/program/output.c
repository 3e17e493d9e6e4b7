/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Linked into every program, not into the libraries: output that could not be written is an error,
 * because a script would treat incomplete output as complete.
 *
 * The linker replaces main() and exit() by the functions below (--wrap in rdma_program()). A
 * handler of atexit() could not change the exit code without skipping the handlers and the
 * destructors of libraries that follow it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/program/columns.h"

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);

/* Return @status, or EXIT_FAILURE if standard output could not be written. In a static program the
 * C library also calls the function below when main() returns. */
static int output_check(int status)
{
	static bool reported;

	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (!reported)
		fprintf(stderr, "%s: the output could not be written\n",
			program_invocation_short_name);
	reported = true;
	return EXIT_FAILURE;
}

/*
 * Keep the numbers of closed standard streams occupied. Otherwise the next opened file, perhaps a
 * device node, gets such a number and receives the output.
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

int __wrap_main(int argc, char **argv)
{
	streams_occupy();
	columns_begin();
	return output_check(__real_main(argc, argv));
}

_Noreturn void __wrap_exit(int status)
{
	__real_exit(output_check(status));
}
