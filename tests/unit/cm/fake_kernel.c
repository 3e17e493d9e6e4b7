/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/cm/fake_kernel.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>

#include "librdmacm/ucma/node.h"

struct fake_kernel kernel;
struct cm_device fake_cm_device;
static struct fake_device device, bad_device;

int ucma_node_open(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

uint32_t kernel_random(void)
{
	kernel.seed = kernel.seed * 6364136223846793005ull + 1442695040888963407ull;
	return kernel.seed >> 33;
}

static void answer(const void *command, const void *data, size_t size)
{
	uint64_t response;
	uint16_t out;

	memcpy(&out, (const uint8_t *)command + 6, sizeof(out));
	memcpy(&response, (const uint8_t *)command + 8, sizeof(response));
	memcpy((void *)(uintptr_t)response, data, size < out ? size : out);
}

/* The commands that begin with a uid have the address of the answer in another place. */
static void answer_second(const void *command, const void *data, size_t size)
{
	uint64_t response;

	memcpy(&response, (const uint8_t *)command + 16, sizeof(response));
	memcpy((void *)(uintptr_t)response, data, size);
}

static int event_take(const void *command)
{
	if (!kernel.event_count)
		return -EAGAIN;
	answer(command, &kernel.events[0], sizeof(kernel.events[0]));
	kernel.event_count--;
	memmove(&kernel.events[0], &kernel.events[1],
		kernel.event_count * sizeof(kernel.events[0]));
	return 0;
}

static void answer_services(const void *command)
{
	struct ucma_abi_query_ib_service_resp *head;
	struct ucma_user_service_rec *records;
	uint16_t out;
	uint32_t room;

	memcpy(&out, (const uint8_t *)command + 6, sizeof(out));
	room = (out - sizeof(*head)) / sizeof(*records);
	head = calloc(1, out);
	assert_non_null(head);
	head->num_service_recs = kernel.services;
	records = head->recs;
	for (uint32_t i = 0; i < min_of(room, kernel.services); i++) {
		records[i].id = htobe64(i + 1);
		records[i].pkey = htobe16(0x8001);
		records[i].gid[15] = i + 1;
	}
	answer(command, head, out);
	free(head);
}

static int execute(uint32_t number, const void *command)
{
	const struct ucma_abi_init_qp_attr *init = command;

	switch (number) {
	case UCMA_CMD_CREATE_ID:
		kernel.next_handle++;
		answer_second(command, &kernel.next_handle, 4);
		break;
	case UCMA_CMD_JOIN_MCAST:
		kernel.next_handle++;
		answer(command, &kernel.next_handle, 4);
		break;
	case UCMA_CMD_DESTROY_ID:
	case UCMA_CMD_LEAVE_MCAST:
	case UCMA_CMD_MIGRATE_ID:
		answer(command, &kernel.events_reported, 4);
		break;
	case UCMA_CMD_BIND:
		kernel.binds++;
		if (kernel.ports[(kernel.binds - 1) % ARRAY_SIZE(kernel.ports)])
			kernel.route.src_addr.sin6_port =
				htons(kernel.ports[(kernel.binds - 1) % ARRAY_SIZE(kernel.ports)]);
		break;
	case UCMA_CMD_QUERY:
		if (((const struct ucma_abi_query *)command)->option == UCMA_QUERY_IB_SERVICE)
			answer_services(command);
		break;
	case UCMA_CMD_QUERY_ROUTE:
		answer(command, &kernel.route, sizeof(kernel.route));
		break;
	case UCMA_CMD_INIT_QP_ATTR:
		answer(command, &kernel.qp_attr[init->qp_state & 7], sizeof(kernel.qp_attr[0]));
		break;
	case UCMA_CMD_GET_EVENT:
		return event_take(command);
	}
	return 0;
}

static bool has_answer(uint32_t number)
{
	return number == UCMA_CMD_QUERY || number == UCMA_CMD_QUERY_ROUTE ||
	       number == UCMA_CMD_INIT_QP_ATTR;
}

/* Answer at random, except for values that the kernel only repeats: our own addresses, and the
 * number of its events. */
static int execute_random(uint32_t number, const void *command)
{
	uint8_t noise[1024];
	uint16_t out;

	if (!has_answer(number))
		return execute(number, command);
	memcpy(&out, (const uint8_t *)command + 6, sizeof(out));
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = kernel_random();
	answer(command, noise, min_of((size_t)out, sizeof(noise)));
	return kernel_random() % 8 ? 0 : -(int)(1 + kernel_random() % 120);
}

static ssize_t command_take(const void *command, size_t size)
{
	const struct ucma_abi_cmd_hdr *hdr = command;
	int r;

	assert_true(hdr->cmd < KERNEL_COMMANDS);
	assert_int_equal(hdr->in, size - sizeof(*hdr));
	if (kernel.log_length < KERNEL_LOG)
		kernel.log[kernel.log_length++] = hdr->cmd;
	memcpy(kernel.last[hdr->cmd], command, min_of(size, sizeof(kernel.last[0])));
	if (kernel.result[hdr->cmd])
		return kernel.result[hdr->cmd];
	r = kernel.random ? execute_random(hdr->cmd, command) : execute(hdr->cmd, command);
	if (r < 0)
		return r;
	return kernel.short_write ? size - 1 : size;
}

ssize_t ucma_node_write(int fd, const struct iovec *commands, int count)
{
	ssize_t total = 0;

	kernel.calls++;
	for (int i = 0; i < count; i++) {
		ssize_t length = command_take(commands[i].iov_base, commands[i].iov_len);

		if (length < 0)
			return total ? total : length;
		total += length;
		if (length < commands[i].iov_len)
			break;
	}
	return total;
}

int __wrap_cm_device_find(__be64 guid, int index, struct cm_device **ret_dev);
int __wrap_cm_device_find(__be64 guid, int index, struct cm_device **ret_dev)
{
	if (kernel.no_device)
		return -ENODEV;
	*ret_dev = &fake_cm_device;
	return 0;
}

/* A device with which ibcm has channels, although no hardware is behind it. */
int __real_cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg);
int __wrap_cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg);
int __wrap_cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg)
{
	struct cm_device user = fake_cm_device;

	user.user = true;
	return kernel.user_device ? fn(&user, arg) : __real_cm_devices_each(fn, arg);
}

/* Return a good device behind one that does not open; usually an empty list. */
struct ibv_device **__wrap_ibv_get_device_list(int *num_devices);
struct ibv_device **__wrap_ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(3, sizeof(*list));

	assert_non_null(list);
	if (kernel.device_list) {
		list[0] = &bad_device.device.device;
		list[1] = &device.device.device;
	}
	return list;
}

void __wrap_ibv_free_device_list(struct ibv_device **list);
void __wrap_ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ucma_abi_event_resp *kernel_event(void *owner, enum rdma_cm_event_type type, int status)
{
	struct ucma_abi_event_resp *event = &kernel.events[kernel.event_count++];

	assert_true(kernel.event_count <= KERNEL_EVENTS);
	*event = (struct ucma_abi_event_resp){
		.uid = (uintptr_t)owner,
		.event = type,
		.status = status,
	};
	return event;
}

void kernel_assert_log(const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count && i < kernel.log_length; i++)
		if (kernel.log[i] != numbers[i])
			fail_msg("command %zu is %u instead of %u", i, kernel.log[i], numbers[i]);
	assert_int_equal(kernel.log_length, count);
	kernel.log_length = 0;
}

static void route_init(void)
{
	kernel.route = (struct ucma_abi_query_route_resp){
		.port_num = 1,
		.num_paths = 1,
	};
	struct sockaddr_in *src = (struct sockaddr_in *)&kernel.route.src_addr;
	struct sockaddr_in *dst = (struct sockaddr_in *)&kernel.route.dst_addr;

	src->sin_family = dst->sin_family = AF_INET;
	inet_pton(AF_INET, "192.0.2.1", &src->sin_addr);
	inet_pton(AF_INET, "192.0.2.2", &dst->sin_addr);
	src->sin_port = htons(1234);
	dst->sin_port = htons(7471);
}

int kernel_setup(void **state)
{
	struct ibv_context *ctx;

	setenv("UROCE", "off", 1);
	kernel = (struct fake_kernel){};
	route_init();
	kernel.qp_attr[IBV_QPS_RTR] = (struct ib_uverbs_qp_attr){
		.qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};
	kernel.qp_attr[IBV_QPS_RTS] = (struct ib_uverbs_qp_attr){
		.qp_attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		.qp_state = IBV_QPS_RTS,
	};
	fake_device_init(&device);
	fake_device_init(&bad_device);
	bad_device.result[FAKE_QUERY_DEVICE] = -EIO;
	strcpy(bad_device.device.device.name, "bad0");
	cm_devices_refresh(); /* forget the devices of the test before */
	ctx = fake_open(&device);
	fake_cm_device = (struct cm_device){
		.device = ctx->device,
		.verbs = ctx,
		.pd = fake_pd(ctx),
		.max_initiator_depth = 16,
		.max_responder_resources = 16,
	};
	fake_log_take();
	return 0;
}

int kernel_teardown(void **state)
{
	ibv_dealloc_pd(fake_cm_device.pd);
	fake_close(fake_cm_device.verbs);
	return 0;
}
