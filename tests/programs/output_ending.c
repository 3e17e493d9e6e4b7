/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program with a handler of exit() and, built with LIBRARY, a library with a destructor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void library_use(void);

#ifdef LIBRARY
void library_use(void)
{
}

__attribute__((destructor)) static void library_end(void)
{
	fputs("destructor\n", stderr);
}
#else
static void handler(void)
{
	fputs("handler\n", stderr);
}

/* Print, and end as the argument demands: "return", or "exit" with another code. */
int main(int argc, char **argv)
{
	library_use();
	atexit(handler);
	puts("output");
	if (argc > 1 && !strcmp(argv[1], "exit"))
		exit(7);
	return 0;
}
#endif
