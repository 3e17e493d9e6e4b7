/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/ibcm/mad.h"
#include "util/enum.h"
#include "util/util.h"

/* The header of all MADs (chapter 13). */
enum {
	MAD_BASE_VERSION = 1,
	MAD_CLASS_CM = 7,
	MAD_CLASS_VERSION = 2,
	MAD_METHOD_SEND = 3,
	MAD_TID = 8,
	MAD_ATTR_ID = 16,
	MAD_ATTR_MOD = 20,
	MAD_BODY = 24,
};

/*
 * The place of a number. @bit counts from the message's first byte, its most significant bit first,
 * as the tables of the specification do. @offset and @size are the place in struct ibcm_mad.
 */
struct field {
	uint16_t bit;
	uint16_t width; /* bits; more than 64: GIDs and other plain bytes */
	uint16_t offset;
	uint16_t size;
};

#define SIZE_OF(member) sizeof(((struct ibcm_mad *)0)->member)
#define FIELD(byte, from, bits, member)                                                         \
	{                                                                                       \
		(byte) * 8 + (from), (bits), offsetof(struct ibcm_mad, member), SIZE_OF(member) \
	}

#define LOCAL_ID  FIELD(0, 0, 32, local_id)
#define REMOTE_ID FIELD(4, 0, 32, remote_id)

#define PATH(byte, path)                                                                         \
	FIELD((byte), 0, 16, path.local_lid), FIELD((byte) + 2, 0, 16, path.remote_lid),         \
		FIELD((byte) + 4, 0, 128, path.local_gid),                                       \
		FIELD((byte) + 20, 0, 128, path.remote_gid),                                     \
		FIELD((byte) + 36, 0, 20, path.flow_label), FIELD((byte) + 39, 2, 6, path.rate), \
		FIELD((byte) + 40, 0, 8, path.traffic_class),                                    \
		FIELD((byte) + 41, 0, 8, path.hop_limit), FIELD((byte) + 42, 0, 4, path.sl),     \
		FIELD((byte) + 42, 4, 1, path.subnet_local),                                     \
		FIELD((byte) + 43, 0, 5, path.ack_timeout)

static const struct field req_fields[] = {
	LOCAL_ID,
	FIELD(5, 0, 24, req.vendor_id),
	FIELD(8, 0, 64, req.service_id),
	FIELD(16, 0, 64, req.ca_guid),
	FIELD(28, 0, 32, req.qkey),
	FIELD(32, 0, 24, req.qpn),
	FIELD(35, 0, 8, req.responder_resources),
	FIELD(39, 0, 8, req.initiator_depth),
	FIELD(43, 0, 5, req.remote_response_timeout),
	FIELD(43, 5, 2, req.transport),
	FIELD(43, 7, 1, req.flow_control),
	FIELD(44, 0, 24, req.starting_psn),
	FIELD(47, 0, 5, req.local_response_timeout),
	FIELD(47, 5, 3, req.retry_count),
	FIELD(48, 0, 16, req.pkey),
	FIELD(50, 0, 4, req.mtu),
	FIELD(50, 4, 1, req.rdc_exists),
	FIELD(50, 5, 3, req.rnr_retry_count),
	FIELD(51, 0, 4, req.max_cm_retries),
	FIELD(51, 4, 1, req.srq),
	FIELD(51, 5, 3, req.extended_transport),
	PATH(52, req.primary),
	PATH(96, req.alternate),
};

static const struct field mra_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(8, 0, 2, mra.answered),
	FIELD(9, 0, 5, mra.service_timeout),
};

static const struct field rej_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(8, 0, 2, rej.rejected),
	FIELD(9, 0, 7, rej.info_length),
	FIELD(10, 0, 16, rej.reason),
	FIELD(12, 0, IBCM_INFO_LEN * 8, rej.info),
};

static const struct field rep_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(8, 0, 32, rep.qkey),
	FIELD(12, 0, 24, rep.qpn),
	FIELD(20, 0, 24, rep.starting_psn),
	FIELD(24, 0, 8, rep.responder_resources),
	FIELD(25, 0, 8, rep.initiator_depth),
	FIELD(26, 0, 5, rep.target_ack_delay),
	FIELD(26, 5, 2, rep.failover_accepted),
	FIELD(26, 7, 1, rep.flow_control),
	FIELD(27, 0, 3, rep.rnr_retry_count),
	FIELD(27, 3, 1, rep.srq),
	FIELD(28, 0, 64, rep.ca_guid),
};

static const struct field lap_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(12, 0, 24, lap.remote_qpn),
};

/* RTU, DREP: the ids, and possibly private data. */
static const struct field plain_fields[] = { LOCAL_ID, REMOTE_ID };

static const struct field dreq_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(8, 0, 24, dreq.remote_qpn),
};

static const struct field apr_fields[] = {
	LOCAL_ID,
	REMOTE_ID,
	FIELD(9, 0, 8, apr.status),
};

static const struct field sidr_req_fields[] = {
	LOCAL_ID,
	FIELD(4, 0, 16, sidr_req.pkey),
	FIELD(8, 0, 64, sidr_req.service_id),
};

static const struct field sidr_rep_fields[] = {
	FIELD(0, 0, 32, remote_id),
	FIELD(4, 0, 8, sidr_rep.status),
	FIELD(5, 0, 8, sidr_rep.info_length),
	FIELD(8, 0, 24, sidr_rep.qpn),
	FIELD(12, 0, 64, sidr_rep.service_id),
	FIELD(20, 0, 32, sidr_rep.qkey),
	FIELD(24, 0, IBCM_INFO_LEN * 8, sidr_rep.info),
};

struct layout {
	const char *name;
	const struct field *fields;
	uint16_t count;
	uint16_t private_byte; /* first byte of the private data */
	uint16_t private_size;
};

#define LAYOUT(text, table, byte, bytes)                    \
	{                                                   \
		text, table, ARRAY_SIZE(table), byte, bytes \
	}

static const struct layout layouts[] = {
	[IBCM_REQ] = LAYOUT("REQ", req_fields, 140, 92),
	[IBCM_MRA] = LAYOUT("MRA", mra_fields, 10, 222),
	[IBCM_REJ] = LAYOUT("REJ", rej_fields, 84, 148),
	[IBCM_REP] = LAYOUT("REP", rep_fields, 36, 196),
	[IBCM_RTU] = LAYOUT("RTU", plain_fields, 8, 224),
	[IBCM_DREQ] = LAYOUT("DREQ", dreq_fields, 12, 220),
	[IBCM_DREP] = LAYOUT("DREP", plain_fields, 8, 224),
	[IBCM_SIDR_REQ] = LAYOUT("SIDR_REQ", sidr_req_fields, 16, 216),
	[IBCM_SIDR_REP] = LAYOUT("SIDR_REP", sidr_rep_fields, 96, 136),
	[IBCM_LAP] = LAYOUT("LAP", lap_fields, 64, 168),
	[IBCM_APR] = LAYOUT("APR", apr_fields, 84, 148),
};

static const struct layout *layout_of(unsigned int type)
{
	return type < ARRAY_SIZE(layouts) && layouts[type].name ? &layouts[type] : NULL;
}

uint32_t ibcm_private_size(enum ibcm_message type)
{
	const struct layout *layout = layout_of(type);

	return layout ? layout->private_size : 0;
}

const char *ibcm_message_name(enum ibcm_message type)
{
	const struct layout *layout = layout_of(type);

	return layout ? layout->name : "unknown";
}

/* --- numbers and bits --- */

static uint64_t bits_get(const uint8_t *body, unsigned int bit, unsigned int width)
{
	uint64_t value = 0;

	for (unsigned int i = bit; i < bit + width;) {
		unsigned int n = min_of(8 - i % 8, bit + width - i);
		unsigned int shift = 8 - i % 8 - n;

		value = value << n | ((body[i / 8] >> shift) & ((1u << n) - 1));
		i += n;
	}
	return value;
}

static void bits_put(uint8_t *body, unsigned int bit, unsigned int width, uint64_t value)
{
	for (unsigned int end = bit + width; end > bit;) {
		unsigned int n = min_of((end - 1) % 8 + 1, end - bit);
		unsigned int shift = 7 - (end - 1) % 8, mask = ((1u << n) - 1) << shift;
		uint8_t *byte = &body[(end - 1) / 8];

		*byte = (*byte & ~mask) | ((uint32_t)value << shift & mask);
		value >>= n;
		end -= n;
	}
}

static void field_pack(const struct field *f, const struct ibcm_mad *mad, uint8_t *body)
{
	const uint8_t *from = (const uint8_t *)mad + f->offset;
	uint64_t wide;
	uint32_t word;

	if (f->width > 64) {
		memcpy(body + f->bit / 8, from, f->size);
	} else if (f->size == sizeof(wide)) {
		memcpy(&wide, from, sizeof(wide));
		bits_put(body, f->bit, f->width, wide);
	} else {
		memcpy(&word, from, sizeof(word));
		bits_put(body, f->bit, f->width, word);
	}
}

static void field_unpack(const struct field *f, const uint8_t *body, struct ibcm_mad *mad)
{
	uint8_t *to = (uint8_t *)mad + f->offset;
	uint64_t wide;
	uint32_t word;

	if (f->width > 64) {
		memcpy(to, body + f->bit / 8, f->size);
	} else if (f->size == sizeof(wide)) {
		wide = bits_get(body, f->bit, f->width);
		memcpy(to, &wide, sizeof(wide));
	} else {
		word = bits_get(body, f->bit, f->width);
		memcpy(to, &word, sizeof(word));
	}
}

/* The vendor id of a REP is in three bytes that other versions left unused. */
static const uint8_t rep_vendor_bytes[] = { 15, 19, 23 };

static void rep_vendor_pack(uint32_t vendor, uint8_t *body)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(rep_vendor_bytes); i++)
		body[rep_vendor_bytes[i]] = vendor >> (16 - 8 * i);
}

static uint32_t rep_vendor_unpack(const uint8_t *body)
{
	uint32_t vendor = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(rep_vendor_bytes); i++)
		vendor = vendor << 8 | body[rep_vendor_bytes[i]];
	return vendor;
}

/* --- messages --- */

int ibcm_mad_pack(const struct ibcm_mad *mad, uint8_t ret_data[IBCM_MAD_LEN])
{
	const struct layout *layout = layout_of(mad->type);
	uint8_t data[IBCM_MAD_LEN] = { MAD_BASE_VERSION, MAD_CLASS_CM, MAD_CLASS_VERSION,
				       MAD_METHOD_SEND };
	uint8_t *body = data + MAD_BODY;

	if (!layout || mad->private_len > layout->private_size)
		return -EINVAL;
	bits_put(data, MAD_TID * 8, 64, mad->tid);
	bits_put(data, MAD_ATTR_ID * 8, 16, mad->type);
	bits_put(data, MAD_ATTR_MOD * 8, 32, mad->attr_mod);
	for (unsigned int i = 0; i < layout->count; i++)
		field_pack(&layout->fields[i], mad, body);
	if (mad->type == IBCM_REP)
		rep_vendor_pack(mad->rep.vendor_id, body);
	memcpy(body + layout->private_byte, mad->private_data, mad->private_len);
	memcpy(ret_data, data, sizeof(data));
	return 0;
}

static bool lengths_ok(const struct ibcm_mad *mad)
{
	if (mad->type == IBCM_REJ)
		return mad->rej.info_length <= IBCM_INFO_LEN;
	if (mad->type == IBCM_SIDR_REP)
		return mad->sidr_rep.info_length <= IBCM_INFO_LEN;
	return true;
}

int ibcm_mad_unpack(const uint8_t data[IBCM_MAD_LEN], struct ibcm_mad *ret_mad)
{
	const uint8_t *body = data + MAD_BODY;
	struct ibcm_mad mad = { .tid = bits_get(data, MAD_TID * 8, 64) };
	const struct layout *layout;

	if (data[0] != MAD_BASE_VERSION || data[1] != MAD_CLASS_CM ||
	    data[2] != MAD_CLASS_VERSION || data[3] != MAD_METHOD_SEND)
		return -EPROTONOSUPPORT;
	mad.type = bits_get(data, MAD_ATTR_ID * 8, 16);
	mad.attr_mod = bits_get(data, MAD_ATTR_MOD * 8, 32);
	layout = layout_of(mad.type);
	if (!layout)
		return -EOPNOTSUPP;
	for (unsigned int i = 0; i < layout->count; i++)
		field_unpack(&layout->fields[i], body, &mad);
	if (mad.type == IBCM_REP)
		mad.rep.vendor_id = rep_vendor_unpack(body);
	if (!lengths_ok(&mad))
		return -EPROTO;
	mad.private_len = layout->private_size;
	memcpy(mad.private_data, body + layout->private_byte, mad.private_len);
	*ret_mad = mad;
	return 0;
}

/* --- the header of a connection by IP address --- */

enum {
	IP_VERSION = 0, /* version of the header itself */
	IP_PORT = 2,
	IP_SRC = 4,
	IP_DST = 20,
	IPV4_AT = 12, /* in either address */
};

void ibcm_ip_pack(const struct ibcm_ip *ip, uint8_t ret_data[IBCM_IP_LEN])
{
	uint8_t data[IBCM_IP_LEN] = { IP_VERSION, ip->family == AF_INET ? 4 << 4 : 6 << 4,
				      ip->port >> 8, ip->port & 0xff };
	unsigned int skip = ip->family == AF_INET ? IPV4_AT : 0;

	memcpy(data + IP_SRC + skip, ip->src.s6_addr + skip, sizeof(ip->src) - skip);
	memcpy(data + IP_DST + skip, ip->dst.s6_addr + skip, sizeof(ip->dst) - skip);
	memcpy(ret_data, data, sizeof(data));
}

int ibcm_ip_unpack(const uint8_t *data, size_t length, struct ibcm_ip *ret_ip)
{
	struct ibcm_ip ip = {};
	unsigned int skip;

	if (length < IBCM_IP_LEN)
		return -EPROTO;
	if (data[0] != IP_VERSION)
		return -EPROTONOSUPPORT;
	if (data[1] >> 4 != 4 && data[1] >> 4 != 6)
		return -EPROTO;
	ip.family = data[1] >> 4 == 4 ? AF_INET : AF_INET6;
	ip.port = data[IP_PORT] << 8 | data[IP_PORT + 1];
	skip = ip.family == AF_INET ? IPV4_AT : 0;
	memcpy(ip.src.s6_addr + skip, data + IP_SRC + skip, sizeof(ip.src) - skip);
	memcpy(ip.dst.s6_addr + skip, data + IP_DST + skip, sizeof(ip.dst) - skip);
	*ret_ip = ip;
	return 0;
}

/* --- names and reasons --- */

const char *ibcm_reject_reason_str(uint32_t reason)
{
	static const char *const text[] = {
		[1] = "the peer has no QP left",
		[2] = "the peer has no end-to-end context left",
		[3] = "the peer is out of resources",
		[4] = "the peer gave up waiting for an answer",
		[5] = "the peer does not support the request",
		[6] = "the peer does not know the communication id",
		[7] = "the communication ids do not belong together",
		[8] = "nobody listens on that port there",
		[9] = "the listener has another port space or QP type",
		[10] = "stale connection: the peer still has one with this QP",
		[11] = "the reliable datagram channel does not exist",
		[12] = "the peer refuses the GID",
		[13] = "the peer refuses the LID",
		[14] = "the peer refuses the service level",
		[15] = "the peer refuses the traffic class",
		[16] = "the peer refuses the hop limit",
		[17] = "the peer refuses the packet rate",
		[18] = "the peer refuses the GID of the alternate path",
		[19] = "the peer refuses the LID of the alternate path",
		[20] = "the peer refuses the service level of the alternate path",
		[21] = "the peer refuses the traffic class of the alternate path",
		[22] = "the peer refuses the hop limit of the alternate path",
		[23] = "the peer refuses the packet rate of the alternate path",
		[24] = "the peer wants its messages at another port",
		[25] = "the peer wants the connection at another port",
		[26] = "the peer refuses the path MTU",
		[27] = "the peer has too few responder resources",
		[28] = "the peer's application rejected the connection",
		[29] = "the peer refuses the RNR retry count",
		[30] = "the peer has that communication id already",
		[31] = "the peer speaks another version of the protocol",
		[32] = "the peer refuses the flow label",
		[33] = "the peer refuses the flow label of the alternate path",
		[35] = "the peer does not support the enhanced connection options",
	};

	return enum_name(text, ARRAY_SIZE(text), reason, "an unknown reason");
}

const char *ibcm_sidr_status_str(uint32_t status)
{
	static const char *const text[] = {
		[IBCM_SIDR_SUCCESS] = "success",
		[IBCM_SIDR_UNSUPPORTED] = "nobody listens on that port there",
		[IBCM_SIDR_REJECT] = "the peer's application rejected the request",
		[IBCM_SIDR_NO_QP] = "the peer has no QP",
		[4] = "the peer wants the request at another port",
		[5] = "the peer speaks another version of the protocol",
	};

	return enum_name(text, ARRAY_SIZE(text), status, "an unknown status");
}
