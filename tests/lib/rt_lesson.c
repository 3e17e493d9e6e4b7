/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/lib/rt_lesson.h"

void rt_result_errno(char *result, int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ 0, "works" },	    { EINVAL, "EINVAL" },   { ENOMEM, "ENOMEM" },
		{ EBUSY, "EBUSY" }, { ENODATA, "ENODATA" }, { ENODEV, "ENODEV" },
		{ EIO, "EIO" },	    { EFAULT, "EFAULT" },
	};

	snprintf(result, RT_RESULT_SIZE, "error %d", error);
	for (int i = 0; i < RT_COUNT(names); i++)
		if (names[i].error == error)
			snprintf(result, RT_RESULT_SIZE, "%s", names[i].name);
}

void rt_result_status(char *result, struct rt_side *side, struct rt_side *peer)
{
	int own = rt_wait(side).status;

	if (peer)
		snprintf(result, RT_RESULT_SIZE, "%d, peer %d", own, rt_wait(peer).status);
	else
		snprintf(result, RT_RESULT_SIZE, "%d", own);
}

static bool is_strict(void)
{
	return getenv("UROCE_STRICT");
}

static void lesson_print(const struct rt_lesson *l, const char *result)
{
	printf("| %s | %s |\n%s", l->name, result, rt_log_text());
}

static void lesson_check(const struct rt_lesson *l, struct rt_dev *dev, const char *result)
{
	const char *expected = rt_is_rxe(dev) && l->rxe ? l->rxe : l->result;
	const char *text = rt_log_text();

	if (strcmp(result, expected))
		FAIL("%s, expected %s; the log says:\n%s", result, expected, text);
	if (!rt_is_kernel(dev) && (l->line ? !strstr(text, l->line) : *text != '\0'))
		FAIL("expected \"%s\" in the log:\n%s", l->line ? l->line : "", text);
}

static void strict_check(const struct rt_lesson *l)
{
	const char *line = l->strict ? l->strict : l->line;

	if (!strstr(rt_log_text(), line) || (l->strict && !strstr(rt_log_text(), "strict: ")))
		FAIL("expected \"%s\" in the log of strict mode:\n%s", line, rt_log_text());
}

static void lesson_run(const void *arg)
{
	const struct rt_lesson *l = arg;
	char result[RT_RESULT_SIZE] = "", level[4];
	struct rt_dev *dev;

	rt_log_capture();
	snprintf(level, sizeof(level), "%d", l->level ? l->level : 1);
	CHECK_OK(setenv("VERBS_LOG_LEVEL", level, 1));
	if (is_strict())
		CHECK_OK(unsetenv("VERBS_LOG_LEVEL"));
	dev = rt_open();
	rt_skip_iwarp(dev, "these are mistakes with RoCE");
	if (rt_is_kernel(dev) && (!rt_is_rxe(dev) || rt_kernel_since(6, 2)))
		rt_skip("the results are known on uroce and on soft-RoCE of Linux 6.1");
	l->make(dev, result);
	if (getenv("LESSONS"))
		lesson_print(l, result);
	else if (is_strict())
		strict_check(l);
	else
		lesson_check(l, dev, result);
	rt_log_discard();
	rt_close(dev);
}

int rt_lessons(const struct rt_lesson *lessons, int count)
{
	struct rt_case *cases = calloc(count, sizeof(*cases));
	int r;

	CHECK(cases);
	for (int i = 0; i < count; i++)
		cases[i] = (struct rt_case){
			.name = lessons[i].name,
			.run_with = lesson_run,
			.arg = &lessons[i],
		};
	r = rt_main(cases, count);
	free(cases);
	return r;
}
