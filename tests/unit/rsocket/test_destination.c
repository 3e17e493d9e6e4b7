/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which destinations a datagram socket remembers, and for how long. The network is replaced. */
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"
#include "librdmacm/sockaddr.h"
#include "tests/unit/unit.h"

#define USED   4096 /* destinations that are remembered */
#define UNUSED 512

/* ---- in place of the rest of rsocket and of the network ---- */

static struct ds_endpoint endpoint;
static unsigned int ways_given_back;

int ds_own_name(struct rs_socket *s, union ds_name *ret_name)
{
	*ret_name = endpoint.local;
	return 0;
}

int ds_endpoint_find(struct rs_socket *s, const union ds_name *local,
		     struct ds_endpoint **ret_endpoint)
{
	*ret_endpoint = &endpoint;
	return 0;
}

uint64_t rs_now_ns(void)
{
	return 1;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	ways_given_back++;
	return 0;
}

#define NEVER(declaration) \
	declaration        \
	{                  \
		abort();   \
	}

NEVER(int rs_channel_create(struct rs_socket *s))
NEVER(const char *cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT]))
NEVER(const char *ibv_get_device_name(struct ibv_device *device))
NEVER(struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr))
NEVER(int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			 enum rdma_port_space ps))
NEVER(int rdma_destroy_id(struct rdma_cm_id *id))
NEVER(int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t size))
NEVER(int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
			    int timeout_ms))
NEVER(int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms))
NEVER(int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event))
NEVER(int rdma_ack_cm_event(struct rdma_cm_event *event))
NEVER(const char *rdma_event_str(enum rdma_cm_event_type event))
#undef ibv_query_port
NEVER(int ibv_query_port(struct ibv_context *context, uint8_t port,
			 struct _compat_ibv_port_attr *attr))
NEVER(int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			    struct ibv_gid_entry *entry, uint32_t flags, size_t size))

/* ---- */

static union ds_name name_of(uint32_t number)
{
	return (union ds_name){ .v4 = { .sin_family = AF_INET,
					.sin_port = htons(7),
					.sin_addr.s_addr = htonl(0x0a000000 + number) } };
}

static int socket_new(void **state)
{
	struct rs_socket *s = calloc(1, sizeof(*s));

	s->ds = calloc(1, sizeof(*s->ds));
	TAILQ_INIT(&s->ds->used);
	TAILQ_INIT(&s->ds->unused);
	endpoint = (struct ds_endpoint){ .local = name_of(0) };
	ways_given_back = 0;
	*state = s;
	return 0;
}

static int socket_free(void **state)
{
	struct rs_socket *s = *state;

	ds_destination_end_all(s);
	free(s->ds);
	free(s);
	return 0;
}

static struct ds_destination *find(struct rs_socket *s, uint32_t number)
{
	union ds_name name = name_of(number);
	struct ds_destination *d;

	assert_int_equal(ds_destination_find(s, &name, &d), 0);
	/* and the destination is still known */
	assert_ptr_equal(ds_destination_known(s, &name), d);
	return d;
}

static bool is_known(struct rs_socket *s, uint32_t number)
{
	union ds_name name = name_of(number);

	return ds_destination_known(s, &name);
}

static void oldest_goes(void **state)
{
	struct rs_socket *s = *state;

	for (uint32_t i = 1; i <= USED; i++)
		find(s, i);
	find(s, 1); /* used again */
	find(s, USED + 1);
	assert_true(is_known(s, 1));
	assert_false(is_known(s, 2));
	assert_true(is_known(s, USED + 1));
	assert_int_equal(s->ds->used_count, USED);
}

/* All destinations have sends under way. Therefore no destination may be forgotten, especially not
 * the newest. */
static void all_at_work(void **state)
{
	struct rs_socket *s = *state;

	for (uint32_t i = 1; i <= USED + 20; i++)
		find(s, i)->sends = 1;
	for (uint32_t i = 1; i <= USED + 20; i++)
		assert_true(is_known(s, i));
}

/* The same when the newest destination becomes a remembered one. */
static void unused_beside_used(void **state)
{
	struct rs_socket *s = *state;
	union ds_name name = name_of(USED + 1);

	assert_non_null(ds_destination_met(s, &name, &endpoint));
	for (uint32_t i = 1; i <= USED; i++)
		find(s, i)->sends = 1;
	find(s, USED + 1);
	assert_true(is_known(s, USED + 1));
}

static void unused_displace_unused(void **state)
{
	struct rs_socket *s = *state;

	find(s, 1);
	for (uint32_t i = 2; i <= UNUSED + 2; i++) {
		union ds_name name = name_of(i);

		assert_non_null(ds_destination_met(s, &name, &endpoint));
	}
	assert_true(is_known(s, 1));
	assert_false(is_known(s, 2));
	assert_int_equal(s->ds->unused_count, UNUSED);
}

/* A changed queue pair may belong to another host: the route is resolved again. */
static void another_queue_pair(void **state)
{
	struct rs_socket *s = *state;
	struct ds_destination *d = find(s, 1);
	struct ibv_ah ways[2];

	ds_destination_set_qpn(d, 7);
	ds_destination_renew(d);
	assert_int_equal(ways_given_back, 0);
	d->ah = &ways[0];
	ds_destination_set_qpn(d, 7);
	ds_destination_renew(d);
	assert_ptr_equal(d->ah, &ways[0]);
	d->sends = 1;
	ds_destination_set_qpn(d, 8);
	assert_true(d->is_moved);
	ds_destination_renew(d);
	assert_null(d->ah);
	assert_false(d->is_moved);
	assert_int_equal(ways_given_back, 0); /* a send is under way on it */
	d->ah = &ways[1];
	ds_destination_set_qpn(d, 9);
	ds_destination_renew(d);
	assert_true(d->is_moved);
	d->sends = 0;
	ds_destination_renew(d);
	assert_null(d->ah);
	assert_int_equal(ways_given_back, 1);
	ds_destination_renew(d);
	assert_int_equal(ways_given_back, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(oldest_goes, socket_new, socket_free),
		cmocka_unit_test_setup_teardown(all_at_work, socket_new, socket_free),
		cmocka_unit_test_setup_teardown(unused_beside_used, socket_new, socket_free),
		cmocka_unit_test_setup_teardown(unused_displace_unused, socket_new, socket_free),
		cmocka_unit_test_setup_teardown(another_queue_pair, socket_new, socket_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
