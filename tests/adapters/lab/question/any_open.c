/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usage: any_open [ERRNO]: the device opens and has domains, or is refused with ERRNO. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A successful import owns the descriptor. If the import fails, the descriptor stays open. */
static void import(int cmd_fd)
{
	int fd = dup(cmd_fd);
	struct ibv_context *ctx = ibv_import_device(fd);

	if (!ctx) {
		must(!close(fd), "descriptor of a refused import");
		return;
	}
	must(ctx->cmd_fd == fd && !ibv_close_device(ctx), "close of an import");
	must(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "descriptor of an import");
}

int main(int argc, char **argv)
{
	int expected = argc > 1 ? atoi(argv[1]) : 0;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	must(list && list[0], "device");
	errno = 0;
	ctx = ibv_open_device(list[0]);
	if (expected) {
		must(!ctx && errno == expected, "the errno of a refused open");
		ibv_free_device_list(list);
		return 0;
	}
	must(ctx, "open");
	pd = ibv_alloc_pd(ctx);
	must(pd && !ibv_dealloc_pd(pd), "use");
	import(ctx->cmd_fd);
	must(!ibv_close_device(ctx), "close");
	ibv_free_device_list(list);
	return 0;
}
