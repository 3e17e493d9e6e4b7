/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process that may not write large files gets no device, and the log has the reason: the
 * kernel would end the process. */
#include <sys/resource.h>

#include "tests/lib/rt.h"

static void small_files(void)
{
	const struct rlimit small = { 65536, 65536 };
	struct ibv_device **list;

	rt_log_capture();
	CHECK_OK(setrlimit(RLIMIT_FSIZE, &small));
	list = ibv_get_device_list(NULL);
	CHECK(list);
	CHECK(!ibv_open_device(rt_device_find(list)));
	CHECK_INT(errno, EFBIG);
	CHECK(strstr(rt_log_text(), "RLIMIT_FSIZE allows 65536"));
	ibv_free_device_list(list);
}

static const struct rt_case cases[] = {
	{ "small_files", small_files },
};

RT_MAIN(cases)
