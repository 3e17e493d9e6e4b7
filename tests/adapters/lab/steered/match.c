/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Masks and values in the format of the firmware. */
#include <arpa/inet.h>

#include "tests/adapters/lab/steered/steered.h"

const struct field smac_high = { 0, 31, 0 }, smac_low = { 1, 31, 16 }, ethertype = { 1, 15, 0 },
		   dmac_high = { 2, 31, 0 }, dmac_low = { 3, 31, 16 }, vlan_id = { 3, 11, 0 },
		   protocol = { 4, 31, 24 }, cvlan = { 4, 15, 15 }, ip_version = { 4, 12, 9 },
		   tcp_flags = { 4, 8, 0 }, dscp = { 4, 23, 18 }, tcp_sport = { 5, 31, 16 },
		   tcp_dport = { 5, 15, 0 }, ttl = { 6, 7, 0 }, udp_sport = { 7, 31, 16 },
		   udp_dport = { 7, 15, 0 }, src_0 = { 11, 31, 0 }, dst_0 = { 15, 31, 0 };

void set(struct match *m, struct field f, uint32_t value)
{
	uint32_t bits = f.high - f.low == 31 ? ~0u : (1u << (f.high - f.low + 1)) - 1;

	m->size = sizeof(m->words);
	m->words[f.word] =
		htonl((ntohl(m->words[f.word]) & ~(bits << f.low)) | (value & bits) << f.low);
}

void set_all(struct match *m, struct field f)
{
	set(m, f, ~0u);
}

void set_mac(struct match *m, struct field high, struct field low, uint64_t mac)
{
	set(m, high, mac >> 16);
	set(m, low, mac & 0xffff);
}

void set_ipv6(struct match *m, struct field last, const uint32_t address[4])
{
	for (unsigned i = 0; i < 4; i++)
		set(m, (struct field){ last.word - 3 + i, 31, 0 }, address[i]);
}
