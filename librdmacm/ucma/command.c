/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/uio.h>

#include "librdmacm/cm.h"
#include "librdmacm/id.h"
#include "librdmacm/ucma/command.h"
#include "librdmacm/ucma/node.h"
#include "util/cancel.h"
#include "util/util.h"

static struct iovec command_prepare(uint32_t number, void *command, size_t size, size_t out)
{
	struct ucma_abi_cmd_hdr *hdr = command;

	*hdr = (struct ucma_abi_cmd_hdr){
		.cmd = number,
		.in = size - sizeof(*hdr),
		.out = out,
	};
	return (struct iovec){ .iov_base = command, .iov_len = size };
}

int ucma_command(int fd, uint32_t number, void *command, size_t size, size_t out)
{
	struct iovec vec = command_prepare(number, command, size, out);
	ssize_t length = ucma_node_write(fd, &vec, 1);

	if (length < 0)
		return length;
	return length == size ? 0 : -EIO;
}

/*
 * Write commands. Return: the number of executed commands; the kernel takes a command completely or
 * not at all.
 */
static int requests_write(int fd, const struct ucma_request *requests, int count)
{
	struct iovec vec[UCMA_REQUESTS_MAX + 1] = {};
	ssize_t length;
	int done = 0;

	for (int i = 0; i < count; i++)
		vec[i] = command_prepare(requests[i].number, requests[i].command, requests[i].size,
					 requests[i].out);
	length = ucma_node_write(fd, vec, count);
	if (length < 0)
		return length;
	while (done < count && length >= requests[done].size)
		length -= requests[done++].size;
	return length || !done ? -EIO : done;
}

/*
 * Create the identifier together with its first command. The kernel writes the new number to the
 * memory from which it then reads the number of the command.
 */
static int id_make(struct cm_id *id, const struct ucma_request *first)
{
	struct ucma_abi_create_id create = {
		.uid = ucma_answer_at(id),
		.response = ucma_answer_at(first->id_at),
		.ps = id->id.ps,
		.qp_type = id->id.qp_type,
	};
	const struct ucma_request both[] = {
		{
			.number = UCMA_CMD_CREATE_ID,
			.command = &create,
			.size = sizeof(create),
			.out = sizeof(struct ucma_abi_create_id_resp),
		},
		*first,
	};
	int r = requests_write(cm_id_channel(id)->ucma_fd, both, ARRAY_SIZE(both));

	if (r < 0) {
		cm_err(id, "the kernel makes no identifier for port space 0x%x: %s", id->id.ps,
		       strerror(-r));
		return r;
	}
	id->handle = *first->id_at;
	atomic_store_explicit(&id->in_kernel, true, memory_order_release);
	return r - 1;
}

/*
 * Create the identifier if needed. Return: the number of commands that this executed, 0 or 1;
 * -errno.
 */
static int id_need(struct cm_id *id, const struct ucma_request *first)
{
	int r = 0;

	if (likely(atomic_load_explicit(&id->in_kernel, memory_order_acquire)))
		return 0;
	/*
	 * Take the lock, because the first event can be read before the call that creates the
	 * identifier returns.
	 */
	pthread_mutex_lock(&id->lock);
	if (!atomic_load_explicit(&id->in_kernel, memory_order_relaxed))
		r = id_make(id, first);
	pthread_mutex_unlock(&id->lock);
	return r;
}

int ucma_requests(struct cm_id *id, const struct ucma_request *requests, int count)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int done = id_need(id, &requests[0]), r;

	if (done < 0 || done == count)
		return done;
	for (int i = done; i < count; i++)
		*requests[i].id_at = id->handle;
	r = requests_write(cm_id_channel(id)->ucma_fd, requests + done, count - done);
	if (r < 0)
		return done ? done : r;
	return done + r;
}

int ucma_request_one(struct cm_id *id, struct ucma_request request)
{
	int r = ucma_requests(id, &request, 1);

	return r < 0 ? r : 0;
}
