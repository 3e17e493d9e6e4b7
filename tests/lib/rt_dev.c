/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device under test, and registered memory. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "tests/lib/rt.h"

static atomic_bool atomics, iwarp;

bool rt_has_atomics(void)
{
	return atomics;
}

bool rt_is_kernel(const struct rt_dev *dev)
{
	return !strncmp(dev->ctx->device->dev_name, "uverbs", 6);
}

bool rt_is_rxe(const struct rt_dev *dev)
{
	return rt_is_kernel(dev) && !strncmp(ibv_get_device_name(dev->ctx->device), "rxe", 3);
}

bool rt_kernel_since(unsigned int major, unsigned int minor)
{
	struct utsname name;
	unsigned int is_major, is_minor;

	CHECK_OK(uname(&name));
	CHECK_INT(sscanf(name.release, "%u.%u", &is_major, &is_minor), 2);
	return is_major > major || (is_major == major && is_minor >= minor);
}

struct ibv_device *rt_device_find(struct ibv_device **list)
{
	const char *name = getenv("RT_DEVICE");

	for (int i = 0; list && list[i]; i++)
		if (!name || !strcmp(name, ibv_get_device_name(list[i])))
			return list[i];
	if (name)
		FAIL("RT_DEVICE=%s: there is no such device (%m)", name);
	rt_skip("there is no RDMA device");
}

static bool gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* RoCE v2 before other types, routable before link-local. */
static int gid_rank(const struct ibv_gid_entry *entry)
{
	return 2 * (entry->gid_type == IBV_GID_TYPE_ROCE_V2) + !gid_is_link_local(&entry->gid);
}

static void choose_gid(struct rt_dev *dev)
{
	struct ibv_gid_entry *entries = calloc(dev->port.gid_tbl_len, sizeof(*entries));
	int best = -1;
	ssize_t n;

	n = ibv_query_gid_table(dev->ctx, entries, dev->port.gid_tbl_len, 0);
	CHECK(n > 0);
	for (ssize_t i = 0; i < n; i++)
		if (entries[i].port_num == dev->port_num &&
		    (best < 0 || gid_rank(&entries[i]) > gid_rank(&entries[best])))
			best = i;
	CHECK(best >= 0);
	dev->gid_index = entries[best].gid_index;
	dev->gid = entries[best].gid;
	free(entries);
}

static void choose_port(struct rt_dev *dev)
{
	for (int i = 1; i <= dev->attr.orig_attr.phys_port_cnt; i++) {
		CHECK_OK(ibv_query_port(dev->ctx, i, &dev->port));
		dev->port_num = i;
		if (dev->port.state == IBV_PORT_ACTIVE)
			return;
	}
	rt_skip("no port of the device is active");
}

struct rt_dev *rt_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct rt_dev *dev = calloc(1, sizeof(*dev));

	dev->ctx = ibv_open_device(rt_device_find(list));
	CHECK(dev->ctx);
	ibv_free_device_list(list);
	CHECK_OK(ibv_query_device_ex(dev->ctx, NULL, &dev->attr));
	atomics = dev->attr.orig_attr.atomic_cap != IBV_ATOMIC_NONE;
	iwarp = rt_is_iwarp(dev);
	choose_port(dev);
	choose_gid(dev);
	dev->pd = ibv_alloc_pd(dev->ctx);
	CHECK(dev->pd);
	return dev;
}

void rt_close(struct rt_dev *dev)
{
	CHECK_OK(ibv_dealloc_pd(dev->pd));
	CHECK_OK(ibv_close_device(dev->ctx));
	free(dev);
}

struct rt_buf rt_buf_alloc(struct rt_dev *dev, size_t size, int access)
{
	struct rt_buf buf = { .size = size };

	buf.p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(buf.p != MAP_FAILED);
	buf.mr = ibv_reg_mr(dev->pd, buf.p, size, access);
	CHECK(buf.mr);
	return buf;
}

void rt_buf_free(struct rt_buf *buf)
{
	CHECK_OK(ibv_dereg_mr(buf->mr));
	munmap(buf->p, buf->size);
}

static uint8_t pattern(size_t i, uint32_t seed)
{
	uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u;

	return x >> 24 ^ x >> 13;
}

void rt_fill(void *p, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)p)[i] = pattern(i, seed);
}

/* Wait for the byte. On iWARP data may arrive after the sender's completion. */
static bool arrives_late(const uint8_t *byte, uint8_t expected)
{
	for (int ms = 0; ms < 10000; ms++) {
		if (*(const volatile uint8_t *)byte == expected)
			return true;
		if (!iwarp)
			return false;
		usleep(1000);
	}
	return false;
}

void rt_verify(const char *file, int line, const void *p, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++)
		if (!arrives_late((const uint8_t *)p + i, pattern(i, seed)))
			rt_fail(file, line, "byte %zu of %zu is 0x%02x, expected 0x%02x", i, size,
				((const uint8_t *)p)[i], pattern(i, seed));
}
