/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions of steering entries on a packet. */
#include "tests/adapters/lab/device/mlx5_steering.h"

enum {
	FORMAT_MATCH = 4,
	CONTROL = 32,
	ACTIONS_AT = 0x18,
	MATCH_ACTIONS_AT = 0x14,
	FORMAT_SHIFTED = 3,
	CHANGES_MOST = 128,
	CHANGE = 8, /* bytes */
};

enum code {
	NOP,
	COPY = 0x05,
	SET = 0x06,
	ADD = 0x07,
	REMOVE_BY_SIZE = 0x08,
	REMOVE_HEADERS = 0x09,
	INSERT_INLINE = 0x0a,
	INSERT_POINTER = 0x0b,
	FLOW_TAG = 0x0c,
	ACCELERATED_LIST = 0x0e,
	MODIFY_LIST = 0x0f,
	ASO = 0x12,
};

enum kind_0 {
	SEND = 1,
	RECEIVE = 2,
	MODIFY = 6,
};

enum anchor {
	START = 0,
	FIRST_VLAN = 0x02,
	OUTER_IP = 0x07,
	INNER_MAC = 0x13,
	INNER_IP = 0x19,
};

struct run {
	struct mlx5_packet *p;
	struct lab_steered *ret;
	int format;
};

static int done(struct run *run, bool good)
{
	return good && mlx5_packet_read(run->p) ? 0 : EINVAL;
}

static void counter_run(struct run *run, uint32_t counter)
{
	run->ret->counter = counter;
	mlx5_counter_hit(counter, run->p->length);
}

static bool anchor_find(const struct mlx5_packet *p, unsigned anchor, size_t *ret)
{
	switch (anchor) {
	case START:
		*ret = 0;
		return true;
	case FIRST_VLAN:
		*ret = p->headers[0].vlan_at;
		return *ret;
	case OUTER_IP:
		*ret = p->headers[0].ip_at;
		return *ret;
	case INNER_MAC:
		*ret = p->headers[1].mac_at;
		return *ret;
	case INNER_IP:
		*ret = p->headers[1].ip_at;
		return *ret;
	default:
		return false;
	}
}

static int remove_headers(struct run *run, uint32_t word)
{
	unsigned anchor = run->format >= FORMAT_SHIFTED ? word >> 10 & 0x7f : word >> 8 & 0x3f;
	size_t end;

	return done(run, anchor_find(run->p, anchor, &end) && mlx5_packet_remove(run->p, 0, end));
}

static int remove_by_size(struct run *run, uint32_t word)
{
	bool shifted = run->format >= FORMAT_SHIFTED;
	unsigned anchor = shifted ? word >> 17 & 0x7f : word >> 16 & 0x3f;
	unsigned offset = shifted ? word >> 9 & 0xff : word >> 7 & 0x7f;
	size_t at;

	return done(run,
		    anchor_find(run->p, anchor, &at) &&
			    mlx5_packet_remove(run->p, at + 2 * (size_t)offset, 2 * (word & 0x3f)));
}

static int insert_inline(struct run *run, uint32_t word, const uint8_t *bytes)
{
	bool shifted = run->format >= FORMAT_SHIFTED;
	unsigned anchor = shifted ? word >> 17 & 0x7f : word >> 16 & 0x3f;
	unsigned offset = shifted ? word >> 9 & 0xff : word >> 9 & 0x7f;
	size_t at;

	return done(run, anchor_find(run->p, anchor, &at) &&
				 mlx5_packet_insert(run->p, at + 2 * (size_t)offset, bytes, 4));
}

static int insert_header(struct run *run, uint32_t id, size_t length)
{
	size_t have;
	const uint8_t *bytes = mlx5_reformat_find(id, &have);

	return done(run, bytes && have == length && mlx5_packet_insert(run->p, 0, bytes, length));
}

/* Execute a change of a list, which has 8 bytes. */
static int list_change(struct run *run, const uint8_t *change)
{
	switch (run->format ? change[0] : NOP) {
	case REMOVE_HEADERS:
		return remove_headers(run, get32(change));
	case REMOVE_BY_SIZE:
		return remove_by_size(run, get32(change));
	case INSERT_INLINE:
		return insert_inline(run, get32(change), change + 4);
	default:
		return mlx5_change(run->p, change, run->format);
	}
}

static int list_run(struct run *run, const uint8_t *list, unsigned count)
{
	int r = list && count <= CHANGES_MOST ? 0 : EINVAL;

	/* Parse the headers again only after the last change, because removals and insertions
	 * belong together. */
	for (unsigned i = 0; !r && i < count; i++)
		r = list_change(run, list + (size_t)i * CHANGE);
	return r;
}

static int list_find(struct run *run, uint64_t base, uint32_t index, unsigned count)
{
	return list_run(run,
			mlx5_icm_find(base + (uint64_t)index * STE_SIZE, (size_t)count * CHANGE),
			count);
}

/* The device adds the data of the argument to the pattern. */
static int pattern_run(struct run *run, uint32_t pattern, uint32_t argument, unsigned count)
{
	const uint8_t *from = mlx5_icm_find(MLX5_PATTERNS_AT + (uint64_t)pattern * STE_SIZE,
					    (size_t)count * CHANGE);
	uint8_t list[CHANGES_MOST * CHANGE];

	if (!from || count > CHANGES_MOST)
		return EINVAL;
	memcpy(list, from, (size_t)count * CHANGE);
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *data = mlx5_argument_find(argument + i / CHANGE);

		if (!data)
			return EINVAL;
		for (int byte = 4; byte < CHANGE; byte++)
			list[i * CHANGE + byte] |= data[i % CHANGE * CHANGE + byte];
	}
	return list_run(run, list, count);
}

/* ---- format 1 and later: actions follow each other */

/* Execute an action. *ret_size: its bytes */
static int action_run(struct run *run, const uint8_t *at, size_t room, size_t *ret_size)
{
	uint32_t word = get32(at), data = room >= 8 ? get32(at + 4) : 0;

	*ret_size = 8;
	switch (*at) {
	case NOP:
		*ret_size = 4;
		return 0;
	case FLOW_TAG:
		*ret_size = 4;
		run->ret->has_tag = true;
		run->ret->tag = word & 0xffffff;
		return 0;
	case REMOVE_HEADERS:
		*ret_size = 4;
		return remove_headers(run, word);
	case REMOVE_BY_SIZE:
		*ret_size = 4;
		return remove_by_size(run, word);
	case MODIFY_LIST:
		*ret_size = 4;
		return list_find(run, MLX5_CHANGES_AT, word & 0xffff, word >> 16 & 0xff);
	case ACCELERATED_LIST:
		return pattern_run(run, word & 0xffffff, data & 0xffffff, data >> 24);
	case INSERT_INLINE:
		return insert_inline(run, word, at + 4);
	case INSERT_POINTER:
		return insert_header(run, data, 2 * (word >> 3 & 0x3f));
	case SET:
	case ADD:
	case COPY:
		return mlx5_change(run->p, at, run->format);
	case ASO:
		run->ret->context = word & 0xffffff;
		return 0;
	default:
		return EOPNOTSUPP;
	}
}

static int act_1(struct run *run, const uint8_t *entry)
{
	const uint8_t *end = entry + CONTROL;
	const uint8_t *at = entry + (entry[0] == FORMAT_MATCH ? MATCH_ACTIONS_AT : ACTIONS_AT);
	uint32_t counter = get32(entry) & 0xffffff;
	int r = 0;

	if (counter)
		counter_run(run, counter);
	while (!r && at < end) {
		size_t size;

		r = action_run(run, at, end - at, &size);
		at += size;
	}
	return r;
}

/* ---- format 0: the kind of the entry has its action */

static int pop_0(struct run *run)
{
	size_t at;

	return done(run, anchor_find(run->p, FIRST_VLAN, &at) && mlx5_packet_remove(run->p, at, 4));
}

/* Replace the tunnel's headers by an Ethernet header. The list of changes then sets its fields. */
static int decap_l3_0(struct run *run, bool has_vlan)
{
	static const uint8_t tagged[18] = { [12] = 0x81, [16] = 0x08 },
			     untagged[14] = { [12] = 0x08 };
	size_t end;

	if (!anchor_find(run->p, INNER_IP, &end) || !mlx5_packet_remove(run->p, 0, end))
		return EINVAL;
	return done(run, has_vlan ? mlx5_packet_insert(run->p, 0, tagged, sizeof(tagged))
				  : mlx5_packet_insert(run->p, 0, untagged, sizeof(untagged)));
}

static int tunnel_0(struct run *run, const uint8_t *entry)
{
	uint32_t word = get32(entry + 0x14);
	size_t end;

	switch (word >> 28 & 7) {
	case 0:
		return 0;
	case 2:
		return done(run, anchor_find(run->p, INNER_MAC, &end) &&
					 mlx5_packet_remove(run->p, 0, end));
	case 3:
		return decap_l3_0(run, word >> 24 & 1);
	case 4:
		return pop_0(run);
	default:
		return EOPNOTSUPP;
	}
}

static int send_0(struct run *run, const uint8_t *entry)
{
	uint32_t word = get32(entry + 0x0c), pointer = get32(entry + 0x10);
	size_t length = 2 * (word >> 16 & 0x3f);

	switch (word >> 23 & 7) {
	case 0:
		return 0;
	case 1:
		return done(run, mlx5_packet_insert(run->p, 12, entry + 0x10, 4));
	case 3:
		return mlx5_packet_remove(run->p, 0, run->p->headers[0].ip_at)
			       ? insert_header(run, pointer, length)
			       : EINVAL;
	case 4:
		return insert_header(run, pointer, length);
	default:
		return EOPNOTSUPP;
	}
}

static int act_0(struct run *run, const uint8_t *entry)
{
	uint32_t counter = (uint32_t)entry[0x1a] << 16 | get16(entry + 0x16);
	uint32_t pointer = get32(entry + 0x10);
	int r;

	if (counter)
		counter_run(run, counter);
	switch (entry[0] >> 4) {
	case SEND:
		return send_0(run, entry);
	case RECEIVE:
		if (pointer >> 31) {
			run->ret->has_tag = true;
			run->ret->tag = pointer & 0xffffff;
		}
		return tunnel_0(run, entry);
	case MODIFY:
		r = tunnel_0(run, entry);
		return r ? r : list_find(run, MLX5_CHANGES_AT, pointer, get16(entry + 0x0c));
	default:
		return EOPNOTSUPP;
	}
}

int mlx5_act(struct mlx5_packet *p, const uint8_t *entry, int format, struct lab_steered *ret)
{
	struct run run = { .p = p, .ret = ret, .format = format };

	return format ? act_1(&run, entry) : act_0(&run, entry);
}
