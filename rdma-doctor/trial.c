/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The library is used as a program uses it. Its objects live only during the trial. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/capture.h"
#include "rdma-doctor/verbs.h"

#define TRIAL_BYTES 4096 /* registered: a page */
#define TRIAL_GIDS  64

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

/* The first failure ends it. Return: 0; -1. */
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

/* A GID that is not link-local comes first, if there is one. */
static void gids_read(struct ibv_context *ctx, struct trial *trial)
{
	struct ibv_gid_entry gids[TRIAL_GIDS];
	ssize_t n = ibv_query_gid_table(ctx, gids, TRIAL_GIDS, 0);
	const struct ibv_gid_entry *best = gids;

	if (n <= 0)
		return;
	trial->gids = n;
	for (ssize_t i = n - 1; i >= 0; i--)
		if (gids[i].gid.raw[0] != 0xfe)
			best = &gids[i];
	inet_ntop(AF_INET6, &best->gid, trial->gid, sizeof(trial->gid));
}

static void device_try(struct ibv_device *device, struct trial *trial)
{
	struct trial_objects objects = {};

	if (!objects_make(&objects, device, trial))
		gids_read(objects.ctx, trial);
	objects_drop(&objects);
}

static struct ibv_device *device_named(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

void system_try(const char *name, struct trial *ret_trial)
{
	struct trial trial = {};
	struct ibv_device **list, *device;
	struct capture capture;

	capture_begin(&capture);
	list = ibv_get_device_list(NULL);
	device = list ? device_named(list, name) : NULL;
	errno = list ? ENODEV : errno;
	if (device)
		device_try(device, &trial);
	else
		trial_failed(&trial, "ibv_get_device_list");
	if (list)
		ibv_free_device_list(list);
	capture_end(&capture, trial.said, sizeof(trial.said));
	*ret_trial = trial;
}

int system_list(struct trial_device *devices, unsigned int max, struct trial *ret_trial)
{
	struct trial trial = {};
	struct ibv_device **list;
	struct capture capture;
	unsigned int n = 0;

	capture_begin(&capture);
	list = ibv_get_device_list(NULL);
	if (!list)
		trial_failed(&trial, "ibv_get_device_list");
	for (; list && list[n] && n < max; n++) {
		snprintf(devices[n].name, sizeof(devices[n].name), "%s", list[n]->name);
		devices[n].userspace = !list[n]->dev_path[0];
	}
	if (list)
		ibv_free_device_list(list);
	capture_end(&capture, trial.said, sizeof(trial.said));
	*ret_trial = trial;
	return trial.error ? trial.error : (int)n;
}
