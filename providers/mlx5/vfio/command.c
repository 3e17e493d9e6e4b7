/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to the firmware: one at a time, and its end by polling or by an event. */
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>

#include "providers/mlx5/vfio/function.h"

enum {
	CMDIF_REVISION = 5,
	SLOT_COMMANDS = 0,
	SLOT_PAGES = 31,
	LOG_STRIDE = 6,
	TIMEOUT_MS = 60000,
	LOOK_MS = 1000, /* interval of looking at the entry itself, if an event is lost */
};

uint64_t vfio_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void vfio_refused(struct vfio_context *v, const void *in, const void *out, int r)
{
	if (r == -EREMOTEIO)
		verbs_err(&v->vctx.context,
			  "command 0x%x: the firmware says status 0x%x, syndrome 0x%x",
			  fw_get(in, 0) >> 16, fw_get(out, 0) >> 24, fw_get(out, 4));
	else
		verbs_err(&v->vctx.context, "command 0x%x: %s", fw_get(in, 0) >> 16, strerror(-r));
}

/* A command that never ends keeps its mailboxes. Therefore no other command can follow it. */
static int timed_out(struct vfio_context *v, const struct vfio_slot *slot)
{
	verbs_err(&v->vctx.context, "the firmware does not answer to a command for %d s",
		  TIMEOUT_MS / 1000);
	atomic_store(&v->dead, true);
	return vfio_slot_is_done(slot) ? 0 : -ETIMEDOUT;
}

int vfio_slot_wait(struct vfio_context *v, struct vfio_slot *slot)
{
	uint64_t end = vfio_now_ms() + TIMEOUT_MS;

	while (!vfio_slot_is_done(slot)) {
		if (vfio_now_ms() > end)
			return timed_out(v, slot);
		sched_yield();
	}
	return 0;
}

/* Wait until the entry is done. Whichever thread reads the event of its end writes to done_fd. */
static int event_wait(struct vfio_context *v, struct vfio_slot *slot)
{
	struct pollfd fds[] = { { v->vectors[0], POLLIN, 0 }, { v->done_fd, POLLIN, 0 } };
	uint64_t end = vfio_now_ms() + TIMEOUT_MS;
	eventfd_t count;

	while (!vfio_slot_is_done(slot)) {
		if (vfio_now_ms() > end)
			return timed_out(v, slot);
		if (poll(fds, ARRAY_SIZE(fds), LOOK_MS) <= 0)
			continue;
		if (fds[1].revents)
			eventfd_read(v->done_fd, &count);
		if (fds[0].revents)
			vfio_events_drain(v);
	}
	return 0;
}

static int command_run(struct vfio_context *v, const void *in, size_t inlen, void *out,
		       size_t outlen)
{
	struct vfio_slot *slot = &v->commands;
	int r;

	if (atomic_load(&v->dead))
		return -EIO;
	r = vfio_slot_post(v, slot, in, inlen, outlen);
	if (!r)
		r = v->eq.on ? event_wait(v, slot) : vfio_slot_wait(v, slot);
	return r < 0 ? r : vfio_slot_read(v, slot, out);
}

static int command(struct vfio_context *v, const void *in, size_t inlen, void *out, size_t outlen)
{
	int r;

	pthread_mutex_lock(&v->command_lock);
	r = command_run(v, in, inlen, out, outlen);
	pthread_mutex_unlock(&v->command_lock);
	return r;
}

int mlx5_vfio_command(struct ibv_context *ctx, const void *in, size_t inlen, void *out,
		      size_t outlen)
{
	return command(to_vfio(ctx), in, inlen, out, outlen);
}

int vfio_command(struct vfio_context *v, const void *in, size_t inlen, void *out, size_t outlen)
{
	int r = command(v, in, inlen, out, outlen);

	if (r < 0)
		vfio_refused(v, in, out, r);
	return mlx5_fw_errno(r, out);
}

int vfio_command_word(struct vfio_context *v, enum vfio_opcode opcode, uint32_t word,
		      uint32_t *ret_word)
{
	uint32_t in[FW_HEAD / 4] = {}, out[FW_HEAD / 4] = {};
	int r;

	fw_set(in, 0, (uint32_t)opcode << 16);
	fw_set(in, 8, word);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	if (!r && ret_word)
		*ret_word = fw_get(out, 8);
	return r;
}

/* Check what the registers say of the queue. */
static int queue_check(struct vfio_context *v, uint32_t low)
{
	uint32_t revision = vfio_reg_read(v, VFIO_REG_CMDIF) >> 16;
	unsigned int log_size = low >> 4 & 0xf, log_stride = low & 0xf;

	if (revision != CMDIF_REVISION) {
		verbs_err(&v->vctx.context, "the command interface has revision %u, not %d",
			  revision, CMDIF_REVISION);
		return -EINVAL;
	}
	/* The slots of this library are the first and the last one. */
	if (1u << log_size != SLOT_PAGES + 1 || log_stride != LOG_STRIDE) {
		verbs_err(&v->vctx.context,
			  "the command queue has %u entries of %u bytes, not %d of %d",
			  1u << log_size, 1u << log_stride, SLOT_PAGES + 1, 1 << LOG_STRIDE);
		return -EINVAL;
	}
	return 0;
}

int vfio_commands_open(struct vfio_context *v)
{
	int r = queue_check(v, vfio_reg_read(v, VFIO_REG_QUEUE_LOW));

	if (r < 0)
		return r;
	v->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->done_fd < 0)
		return -errno;
	r = vfio_buffer_make(v, VFIO_PAGE, VFIO_PAGE, &v->queue);
	if (r < 0)
		return r;
	vfio_reg_write(v, VFIO_REG_QUEUE_HIGH, v->queue.iova >> 32);
	vfio_reg_write(v, VFIO_REG_QUEUE_LOW, v->queue.iova);
	r = vfio_slot_open(v, &v->commands, SLOT_COMMANDS);
	return r < 0 ? r : vfio_slot_open(v, &v->pages, SLOT_PAGES);
}

void vfio_commands_close(struct vfio_context *v)
{
	vfio_slot_close(v, &v->commands);
	vfio_slot_close(v, &v->pages);
	vfio_buffer_free(v, &v->queue);
	cleanup_close(&v->done_fd);
}
