/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run a case of software steering.
 *
 * usage: mlx5_steering CASE FILE   FILE: where the steering entries are written
 *        mlx5_steering             print the names of the cases
 */
#include "tests/adapters/lab/steered/steered.h"

static const struct test *const tests[] = {
	rule_tests,   field_tests, refusal_tests, thread_tests, action_tests, change_tests,
	switch_tests, inner_tests, object_tests,  dump_tests,	random_tests,
};
static const char *file;
static bool recorded;

void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

void record(void)
{
	must(!lab_icm(file), "file of the entries");
	recorded = true;
}

void record_text(const char *text)
{
	FILE *out;

	record();
	out = fopen(file, "a");
	must(out && fputs(text, out) >= 0 && !fclose(out), "file of the entries");
}

/* Return the case of this name. NULL: print all names. */
static const struct test *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		for (const struct test *t = tests[i]; t->name; t++) {
			if (!name)
				puts(t->name);
			else if (!strcmp(t->name, name))
				return t;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct test *test = find(argc == 3 ? argv[1] : NULL);

	if (argc != 3)
		return 0;
	must(test, "there is no such case");
	must(lab_steer && lab_icm, "the program runs without the played device");
	file = argv[2];
	objects_open(test->type);
	test->run();
	rules_sync();
	if (!recorded)
		record();
	objects_close();
	printf("%s: %u frames\n", test->name, frames_checked());
	return 0;
}
