/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: uapi DEVICE rc|ud
 *
 * Print each command that the library and its provider send for some verbs, what the kernel's
 * driver answers, and what it answers to variations of the command. A driver of the kernel accepts
 * all commands of the library. Otherwise the program fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/verbs.h>

#include "tests/hosts/vm/uapi.h"

enum {
	DEVICE = 0, /* objects and methods of the interface */
	INVOKE_WRITE = 0,
	GET_CONTEXT = 0,
	DRIVER = 0x1000, /* from here on numbers belong to a driver */
	WRITE_CMD = 2,
	MOST_SEEN = 64,
	UNTOUCHED = 0xa5,
};

static const char *verb;
static bool varying, failed;

void uapi_step(const char *name)
{
	verb = name;
}

static int kernel_ioctl(int fd, unsigned long request, void *argument)
{
	static int (*real)(int, unsigned long, ...);

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "ioctl");
	return real(fd, request, argument);
}

int uapi_send(int fd, struct uapi_command *command)
{
	return kernel_ioctl(fd, RDMA_VERBS_IOCTL, command) ? errno : 0;
}

unsigned int uapi_legacy_command(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id != DEVICE || hdr->method_id != INVOKE_WRITE)
		return 0;
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == WRITE_CMD)
			return hdr->attrs[i].data;
	return 0;
}

/* Return whether the kernel has accepted no command of this method before. */
static bool is_new(const struct ib_uverbs_ioctl_hdr *hdr, bool accepted)
{
	static uint64_t seen[MOST_SEEN];
	uint64_t key = (uint64_t)(hdr->object_id + 1) << 48 | (uint64_t)hdr->method_id << 32 |
		       uapi_legacy_command(hdr);
	unsigned int i = 0;

	while (i < MOST_SEEN && seen[i] && seen[i] != key)
		i++;
	if (i == MOST_SEEN || seen[i])
		return false;
	if (accepted)
		seen[i] = key;
	return true;
}

const struct ib_uverbs_attr *uapi_driver_attr(const struct ib_uverbs_ioctl_hdr *hdr,
					      unsigned int id)
{
	if (hdr->object_id >= DRIVER || hdr->method_id >= DRIVER)
		return NULL;
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

/* Return how many bytes the driver wrote. The last bytes that are as before count as not written.
 */
static unsigned int written(const struct ib_uverbs_attr *out)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)out->data;
	unsigned int n = out->len;

	while (n && bytes[n - 1] == UNTOUCHED)
		n--;
	return n;
}

/* Print a command with the lengths of its attributes, and the answer. */
static void print_command(const struct ib_uverbs_ioctl_hdr *hdr, int error)
{
	const struct ib_uverbs_attr *out = uapi_driver_attr(hdr, UAPI_DRIVER_OUT);

	printf("%s, method %u.%u.%u: %s", verb, hdr->object_id, hdr->method_id,
	       uapi_legacy_command(hdr), uapi_answer_name(error));
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		printf(", 0x%x %u", hdr->attrs[i].attr_id, hdr->attrs[i].len);
	if (out && !error)
		printf(", written %u", written(out));
	printf("\n");
}

/* Return whether the verb ends an object. Its commands are not varied, because a variation that
 * the kernel accepts ends the object of the library. */
static bool ends_object(void)
{
	return strstr(verb, "destroy") || strstr(verb, "dereg");
}

/* The library's ioctl() is this function. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	const struct ib_uverbs_attr *out;
	struct uapi_command copy;
	va_list args;
	int r;

	va_start(args, request);
	hdr = va_arg(args, void *);
	va_end(args);
	if (request != RDMA_VERBS_IOCTL || !verb || varying || hdr->num_attrs > UAPI_MOST_ATTRS ||
	    !is_new(hdr, false))
		return kernel_ioctl(fd, request, hdr);
	out = uapi_driver_attr(hdr, UAPI_DRIVER_OUT);
	if (out)
		memset((void *)(uintptr_t)out->data, UNTOUCHED, out->len);
	r = kernel_ioctl(fd, request, hdr) ? errno : 0;
	print_command(hdr, r);
	if (!r)
		is_new(hdr, true);
	if (!r && !ends_object()) {
		memcpy(&copy, hdr, hdr->length);
		varying = true;
		failed |= uapi_vary(fd, &copy,
				    hdr->object_id == DEVICE && hdr->method_id == INVOKE_WRITE &&
					    uapi_legacy_command(hdr) == GET_CONTEXT);
		varying = false;
	}
	errno = r;
	return r ? -1 : 0;
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	uapi_step("ibv_open_device");
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

/* Report a verb that must not fail. */
static void check(bool good)
{
	if (good)
		return;
	printf("FAILED: %s: %m\n", verb);
	failed = true;
}

static void queries(struct ibv_context *context)
{
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	uint16_t pkey;

	uapi_step("ibv_query_device_ex");
	check(!ibv_query_device_ex(context, NULL, &device));
	uapi_step("ibv_query_port");
	check(!ibv_query_port(context, 1, &port));
	uapi_step("ibv_query_gid_ex");
	check(!ibv_query_gid_ex(context, 1, 0, &entry, 0));
	uapi_step("ibv_query_pkey");
	check(!ibv_query_pkey(context, 1, 0, &pkey));
}

static void queue_pair(struct ibv_pd *pd, struct ibv_cq *cq, bool rc)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = rc ? IBV_QPT_RC : IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	struct ibv_qp *qp;

	uapi_step("ibv_create_qp");
	qp = ibv_create_qp(pd, &init);
	check(qp);
	if (!qp)
		return;
	uapi_step("ibv_modify_qp");
	check(!ibv_modify_qp(qp, &attr, mask | (rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY)));
	uapi_step("ibv_query_qp");
	check(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	uapi_step("ibv_destroy_qp");
	check(!ibv_destroy_qp(qp));
}

static void address(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .dlid = 1 };
	struct ibv_ah *ah;

	uapi_step(NULL);
	check(!ibv_query_gid(context, 1, 0, &attr.grh.dgid));
	uapi_step("ibv_create_ah");
	ah = ibv_create_ah(pd, &attr);
	check(ah);
	uapi_step("ibv_destroy_ah");
	check(ah && !ibv_destroy_ah(ah));
}

static void shared_queue(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 5, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq;

	uapi_step("ibv_create_srq");
	srq = ibv_create_srq(pd, &init);
	check(srq);
	if (!srq)
		return;
	uapi_step("ibv_modify_srq");
	check(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	uapi_step("ibv_query_srq");
	check(!ibv_query_srq(srq, &attr));
	uapi_step("ibv_destroy_srq");
	check(!ibv_destroy_srq(srq));
}

static void objects(struct ibv_context *context, bool rc)
{
	static char memory[8192];
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	uapi_step("ibv_alloc_pd");
	pd = ibv_alloc_pd(context);
	check(pd);
	uapi_step("ibv_reg_mr");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	uapi_step("ibv_create_comp_channel");
	channel = ibv_create_comp_channel(context);
	check(channel);
	uapi_step("ibv_create_cq");
	cq = ibv_create_cq(context, 10, NULL, channel, 0);
	check(cq);
	if (!pd || !mr || !channel || !cq)
		return;
	queue_pair(pd, cq, rc);
	address(context, pd);
	if (rc)
		shared_queue(pd);
	uapi_step("ibv_dereg_mr");
	check(!ibv_dereg_mr(mr));
}

int main(int argc, char **argv)
{
	struct ibv_context *context;

	if (argc != 3) {
		fprintf(stderr, "usage: uapi DEVICE rc|ud\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	context = device_open(argv[1]);
	check(context);
	if (!context)
		return 1;
	queries(context);
	objects(context, !strcmp(argv[2], "rc"));
	/* The end of the process destroys the objects that variations made. */
	return failed;
}
