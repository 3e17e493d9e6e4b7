/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trial of the library in a separate process, by the calls of a usual program. The objects exist
 * only during the trial.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "rdma-doctor/capture.h"
#include "rdma-doctor/child.h"
#include "rdma-doctor/ending.h"
#include "rdma-doctor/gid_table.h"
#include "rdma-doctor/verbs.h"

#define TRIAL_BYTES 4096 /* bytes to register: a page */
#define TRIAL_FILES 16	 /* descriptors: more than a device needs */

struct trial_objects {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char *memory;
};

static int trial_failed(struct trial *trial, const char *verb)
{
	trial->verb = verb;
	trial->error = errno ? -errno : -EIO;
	return -1;
}

/* Create the objects until one fails. Return: 0 or -1. */
static int objects_make(struct trial_objects *o, struct ibv_device *device, struct trial *trial)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	o->ctx = ibv_open_device(device);
	if (!o->ctx)
		return trial_failed(trial, "ibv_open_device");
	o->pd = ibv_alloc_pd(o->ctx);
	if (!o->pd)
		return trial_failed(trial, "ibv_alloc_pd");
	o->cq = ibv_create_cq(o->ctx, 2, NULL, NULL, 0);
	if (!o->cq)
		return trial_failed(trial, "ibv_create_cq");
	o->memory = aligned_alloc(TRIAL_BYTES, TRIAL_BYTES);
	if (!o->memory)
		return trial_failed(trial, "malloc");
	o->mr = ibv_reg_mr(o->pd, o->memory, TRIAL_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!o->mr)
		return trial_failed(trial, "ibv_reg_mr");
	attr.send_cq = attr.recv_cq = o->cq;
	o->qp = ibv_create_qp(o->pd, &attr);
	return o->qp ? 0 : trial_failed(trial, "ibv_create_qp");
}

static void objects_drop(struct trial_objects *o)
{
	if (o->qp)
		ibv_destroy_qp(o->qp);
	if (o->mr)
		ibv_dereg_mr(o->mr);
	free(o->memory);
	if (o->cq)
		ibv_destroy_cq(o->cq);
	if (o->pd)
		ibv_dealloc_pd(o->pd);
	if (o->ctx)
		ibv_close_device(o->ctx);
}

static unsigned int netdev_flags(const char *name)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {};

	strcpy(request.ifr_name, name);
	return fd >= 0 && !ioctl(fd, SIOCGIFFLAGS, &request) ? (unsigned short)request.ifr_flags
							     : 0;
}

/* Read the GIDs, and prefer one that is not link-local. */
static void gids_read(struct ibv_context *ctx, struct trial *trial)
{
	_cleanup_free_ struct ibv_gid_entry *gids = NULL;
	ssize_t n = gid_table_read(ctx, &gids);
	const struct ibv_gid_entry *best = gids;

	if (n <= 0)
		return;
	trial->gids = n;
	for (ssize_t i = n - 1; i >= 0; i--)
		if (gids[i].gid.raw[0] != 0xfe)
			best = &gids[i];
	inet_ntop(AF_INET6, &best->gid, trial->gid, sizeof(trial->gid));
	trial->port = best->port_num;
	trial->gid_index = best->gid_index;
	if (best->ndev_ifindex && if_indextoname(best->ndev_ifindex, trial->netdev))
		trial->netdev_flags = netdev_flags(trial->netdev);
}

static void device_try(struct ibv_device *device, struct trial *trial)
{
	struct trial_objects objects = {};

	if (!objects_make(&objects, device, trial))
		gids_read(objects.ctx, trial);
	objects_drop(&objects);
}

struct ibv_device *device_named(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	errno = ENODEV;
	return NULL;
}

static void trial_job(const void *name, void *result)
{
	struct ibv_device **list, *device;
	struct trial *trial = result;
	struct capture capture;

	capture_begin(&capture);
	list = ibv_get_device_list(NULL);
	device = list ? device_named(list, name) : NULL;
	if (device)
		device_try(device, trial);
	else
		trial_failed(trial, "ibv_get_device_list");
	if (list)
		ibv_free_device_list(list);
	capture_end(&capture, trial->said, sizeof(trial->said));
}

void trial_check_child(struct trial *trial, int r, int signal)
{
	struct text said = {};

	if (!r)
		return;
	trial->error = r;
	trial->signal = signal;
	trial->verb = TRIAL_PROCESS;
	if (r == -EFAULT)
		ending_say(signal, &said);
	else
		text_add(&said, r == -ETIMEDOUT ? "it hangs: see the kernel log"
						: "no process can be made");
	snprintf(trial->said, sizeof(trial->said), "%.*s", (int)sizeof(trial->said) - 1,
		 said.chars);
}

void system_try(const char *name, struct trial *ret_trial)
{
	struct trial trial = {};
	int signal, r = child_run(trial_job, name, &trial, sizeof(trial), &signal);

	trial_check_child(&trial, r, signal);
	*ret_trial = trial;
}

int trial_files_check(void)
{
	int files[TRIAL_FILES], n = 0, error = 0;

	while (n < TRIAL_FILES && !error) {
		files[n] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
		if (files[n] < 0)
			error = errno;
		else
			n++;
	}
	while (n)
		close(files[--n]);
	return -error;
}

struct trial_list {
	struct trial trial;
	unsigned int count;
	struct trial_device devices[TRIAL_DEVICES];
};

static void list_job(const void *arg, void *result)
{
	struct trial_list *found = result;
	struct ibv_device **list;
	struct capture capture;

	capture_begin(&capture);
	list = ibv_get_device_list(NULL);
	if (!list)
		trial_failed(&found->trial, "ibv_get_device_list");
	for (; list && list[found->count] && found->count < TRIAL_DEVICES; found->count++) {
		struct trial_device *device = &found->devices[found->count];

		snprintf(device->name, sizeof(device->name), "%s", list[found->count]->name);
		device->userspace = !list[found->count]->dev_path[0];
	}
	if (list)
		ibv_free_device_list(list);
	capture_end(&capture, found->trial.said, sizeof(found->trial.said));
}

int system_list(struct trial_device devices[TRIAL_DEVICES], struct trial *ret_trial)
{
	static struct trial_list found; /* too large for a small stack */
	int signal, r;

	found = (struct trial_list){};
	r = child_run(list_job, NULL, &found, sizeof(found), &signal);

	trial_check_child(&found.trial, r, signal);
	*ret_trial = found.trial;
	memcpy(devices, found.devices, sizeof(found.devices));
	return found.trial.error ? found.trial.error : (int)found.count;
}
