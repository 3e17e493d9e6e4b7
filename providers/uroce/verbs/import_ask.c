/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to the owner of imported objects, see host/import.h. */
#include <poll.h>
#include <sys/socket.h>

#include "providers/uroce/verbs/import_ask.h"

/* ns to wait for an answer, because a process may be stopped or wait for a processor */
#define ANSWER_NS 10000000000ull

static int wait_for(int fd, short events, uint64_t until)
{
	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = events };
		uint64_t now = uroce_now();
		int n = now < until ? poll(&poll_fd, 1, (until - now) / 1000000 + 1) : 0;

		if (n > 0)
			return 0;
		if (!n)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int ask_send(int fd, const struct import_ask *ask, int attached, uint64_t until)
{
	for (;;) {
		int r = uroce_import_send(fd, ask, sizeof(*ask), attached);

		if (r == -EAGAIN)
			r = wait_for(fd, POLLOUT, until);
		else
			return r;
		if (r < 0)
			return r;
	}
}

static int answer_receive(int fd, struct import_answer *ret, int *ret_fd, uint64_t until)
{
	int r = wait_for(fd, POLLIN, until);

	if (!r)
		r = uroce_import_receive(fd, ret, sizeof(*ret), ret_fd);
	if (!r && (ret->magic != IMPORT_MAGIC || ret->result > 0 || ret->result < -4095)) {
		if (*ret_fd >= 0)
			close(*ret_fd);
		*ret_fd = -1;
		r = -EPROTO;
	}
	return r;
}

static int owner_lost(struct ibv_context *ctx, struct uroce_owner *owner, int r)
{
	verbs_err(ctx, "import: the process that has the context %s: %s",
		  r == -ENODEV ? "has closed it" : "does not answer as expected", strerror(-r));
	close(owner->fd);
	owner->fd = -1;
	return r;
}

int uroce_import_ask(struct ibv_context *ctx, struct uroce_owner *owner,
		     struct import_ask *question, struct import_answer *ret, int *ret_fd)
{
	uint64_t until = uroce_now() + ANSWER_NS;
	int r = owner->fd < 0 ? -ENODEV : 0;

	*ret_fd = -1;
	if (r < 0)
		return r;
	question->magic = IMPORT_MAGIC;
	r = ask_send(owner->fd, question, -1, until);
	if (!r)
		r = answer_receive(owner->fd, ret, ret_fd, until);
	if (r < 0)
		return owner_lost(ctx, owner, r);
	return ret->result;
}

void uroce_import_give_back(struct ibv_context *ctx, struct uroce_owner *owner,
			    enum import_what what, uint32_t handle)
{
	struct import_ask question = { .what = what, .give_back = 1, .handle = handle };
	struct import_answer answer;
	_cleanup_close_ int fd = -1;

	uroce_import_ask(ctx, owner, &question, &answer, &fd);
}

int uroce_import_visit(int sock, int *ret_fd)
{
	const struct import_ask question = { .magic = IMPORT_MAGIC, .what = IMPORT_VISIT };
	uint64_t until = uroce_now() + ANSWER_NS;
	_cleanup_close_ int mine = -1, theirs = -1;
	struct import_answer answer;
	int ends[2], fd = -1, r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	mine = ends[0];
	theirs = ends[1];
	r = ask_send(sock, &question, theirs, until);
	close(take_fd(&theirs)); /* a copy in this process would hide the end of the visit */
	if (!r)
		r = answer_receive(mine, &answer, &fd, until);
	if (fd >= 0)
		close(fd);
	if (!r)
		r = answer.result;
	if (!r)
		*ret_fd = take_fd(&mine);
	return r;
}
