/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layouts. A layout maps fields of the match parameters to places in the key of a lookup type.
 * Masks and values use the same layout.
 *
 * Only files of this folder include this header. The functions take no lock.
 */
#ifndef MLX5_STEERING_LAYOUT_H
#define MLX5_STEERING_LAYOUT_H

#include "providers/mlx5/steering/format.h"

/* Words of the match parameters: seven parts of 16 words. */
enum {
	DR_MATCH_WORDS = 112,
	DR_PART_WORDS = 16,
	/* Words of the outer headers. Add DR_INNER for the inner headers. */
	DR_SMAC = 0,
	DR_SMAC_TYPE = 1, /* low half of the address, then the Ethernet type */
	DR_DMAC = 2,
	DR_DMAC_VLAN = 3, /* low half of the address, then priority, CFI and id of the VLAN */
	DR_L3_L4 = 4,	  /* protocol, DSCP, ECN, kinds of tags, fragment, version, flags of TCP */
	DR_TCP_PORTS = 5,
	DR_TTL = 6, /* also the length of the header, and the results of the adapter's checks */
	DR_UDP_PORTS = 7,
	DR_SRC_IP = 8, /* four words; an IPv4 address is in the last one */
	DR_DST_IP = 12,
	DR_MISC = 16, /* flags of GRE, number of the send queue */
	DR_SOURCE_PORT = DR_MISC + 1,
	DR_SECOND_VLAN = DR_MISC + 2,
	DR_SECOND_KIND = DR_MISC + 3, /* also the protocol of GRE */
	DR_GRE_KEY = DR_MISC + 4,
	DR_VXLAN = DR_MISC + 5,	 /* also the opcode of a BTH */
	DR_GENEVE = DR_MISC + 6, /* VNI, whether the option exists, OAM */
	DR_OUTER_LABEL = DR_MISC + 7,
	DR_INNER_LABEL = DR_MISC + 8,
	DR_GENEVE_HEAD = DR_MISC + 9, /* length of options, protocol */
	DR_BTH_QP = DR_MISC + 10,
	DR_INNER = 32,
	DR_MISC2 = 48,
	DR_OUTER_MPLS = DR_MISC2,
	DR_INNER_MPLS = DR_MISC2 + 1,
	DR_MPLS_GRE = DR_MISC2 + 2,
	DR_MPLS_UDP = DR_MISC2 + 3,
	DR_REG_C7 = DR_MISC2 + 4, /* the others follow in descending order */
	DR_REG_C0 = DR_MISC2 + 11,
	DR_REG_A = DR_MISC2 + 12,
	DR_MISC3 = 64,
	DR_INNER_SEQ = DR_MISC3,
	DR_OUTER_SEQ = DR_MISC3 + 1,
	DR_INNER_ACK = DR_MISC3 + 2,
	DR_OUTER_ACK = DR_MISC3 + 3,
	DR_GPE_VNI = DR_MISC3 + 4,
	DR_GPE = DR_MISC3 + 5, /* next protocol, flags */
	DR_ICMP_DATA = DR_MISC3 + 6,
	DR_ICMPV6_DATA = DR_MISC3 + 7,
	DR_ICMP = DR_MISC3 + 8, /* type and code of ICMP, then those of ICMPv6 */
	DR_GENEVE_OPTION = DR_MISC3 + 9,
	DR_GTPU_TEID = DR_MISC3 + 10,
	DR_GTPU = DR_MISC3 + 11, /* type and flags */
	DR_GTPU_DW_2 = DR_MISC3 + 12,
	DR_GTPU_EXTENSION = DR_MISC3 + 13,
	DR_GTPU_DW_0 = DR_MISC3 + 14,
	DR_SAMPLES = 80, /* eight pairs: value, number of the parser */
	DR_TUNNEL_HEADER = 100,
};

/* Bits of these words. */
#define DR_ALL		0xffffffffu
#define DR_HIGH		0xffff0000u
#define DR_LOW		0x0000ffffu
#define DR_PROTOCOL	0xff000000u
#define DR_DSCP		0x00fc0000u
#define DR_ECN		0x00030000u
#define DR_VLAN_KIND	0x0000c000u
#define DR_FRAGMENT	0x00002000u
#define DR_VERSION	0x00001e00u
#define DR_FLAGS	0x000001ffu
#define DR_HOPS		0x000000ffu
#define DR_LENGTH	0x0000f000u
#define DR_PRIORITY	0x0000f000u /* of a VLAN, with its CFI */
#define DR_VLAN		0x00000fffu
#define DR_OUTER_SECOND 0xa0000000u
#define DR_INNER_SECOND 0x50000000u
#define DR_LABEL	0x000fffffu
#define DR_NUMBER	0x00ffffffu
#define DR_VNI		0xffffff00u
#define DR_OPTION	0x00000002u

enum {
	DR_VERSION_SHIFT = 9,
	DR_BUILDER_MOVES = 32, /* most moves of a layout */
	DR_BUILDER_CODES = 6,
};

/* Move @bits of a word to a word of the key. @shift: bits to the left; negative: to the right */
struct dr_move {
	uint8_t word, key;
	int8_t shift;
	uint32_t bits;
};

/* A field of the packet that the key contains as a code of two or four bits. */
struct dr_code {
	enum dr_code_kind {
		DR_CODE_NONE,
		DR_CODE_VERSION,	  /* 1: IPv4, 2: IPv6 */
		DR_CODE_VLAN,		  /* 1: service tag, 2: customer tag */
		DR_CODE_VERSION_OF_VALUE, /* DR_CODE_VERSION whose mask is encoded like a value */
		DR_CODE_VERSION_NUMBER,	  /* 4 or 6 */
		DR_CODE_L4,		  /* 1: TCP, 2: UDP */
	} kind;
	uint8_t key, shift, word;
	uint32_t bits;
};

struct dr_layout {
	uint16_t lookup[DR_HALVES];
	const struct dr_move *moves; /* a move without bits ends the list; NULL: none */
	struct dr_code codes[DR_BUILDER_CODES];
};

/* Layouts of a format. Element [0] of an array serves the outer headers, and [1] the inner headers.
 */
struct dr_layouts {
	struct dr_layout ethernet_dst[2], ethernet_src[2], ethernet_both[2];
	struct dr_layout ipv4_misc[2], ipv4_ports[2];
	struct dr_layout ipv6_dst[2], ipv6_src[2], ipv6_ports[2];
	struct dr_layout l4_misc[2], mpls[2];
	struct dr_layout ethernet_tunnel, gre, vxlan_gpe, geneve, gtpu;
	struct dr_layout tunnel_header, tunnel_header_full;
	struct dr_layout reg_a, regs_0, regs_1;
	struct dr_layout bth;		  /* lookup 0: the format has none */
	struct dr_layout icmp[2];	  /* [1]: ICMPv6; lookup 0: by parsers */
	uint16_t source;		  /* lookup types without a table */
	uint16_t parsers[2];		  /* parsers 0 to 3, and 4 to 7 */
	uint16_t parser_ok;		  /* 0: the format has none */
	uint8_t source_key, source_shift; /* place of the bit of packets from the wire */
};

extern const struct dr_layouts dr_layouts_0, dr_layouts_1;

/* Words of a mask or a value, in the byte order of the processor. */
struct dr_match {
	uint32_t words[DR_MATCH_WORDS];
};

/* Return the IP version that the headers have; 0: any. @part: 0 or DR_INNER. */
static inline unsigned int dr_match_version(const struct dr_match *match, unsigned int part)
{
	return (match->words[part + DR_L3_L4] & DR_VERSION) >> DR_VERSION_SHIFT;
}

struct dr_builder {
	uint16_t lookup;
	uint16_t byte_mask;  /* bytes of the key that the hash covers; bit 15 is the first byte */
	bool is_source;	     /* the key contains the function of the source port */
	uint8_t source_word; /* word of the key with this function */
	uint8_t source_key, source_shift;
	uint8_t move_count, code_count;
	struct dr_move moves[DR_BUILDER_MOVES]; /* only bits of the mask */
	struct dr_code codes[DR_BUILDER_CODES];
	uint8_t mask[DR_WIDE_KEY_SIZE];
};

/* layout.c. Add bits to a big-endian word. */
void dr_key_or(uint8_t *key, unsigned int word, uint32_t bits);
/* Add the fields of the moves to the builder, and remove them from @mask. */
void dr_moves_add(struct dr_builder *builder, const struct dr_move *moves, struct dr_match *mask);
void dr_layout_add(struct dr_builder *builder, const struct dr_layout *layout,
		   struct dr_match *mask);
/* Compute byte_mask. Call this after the last addition. */
void dr_builder_finish(struct dr_builder *builder);
/* Return the code of taken bits, or -EINVAL. */
int dr_code_of(const struct dr_code *code, uint32_t bits);
bool dr_match_has(const struct dr_match *match, unsigned int word, uint32_t bits);
/* Return whether the mask has a field that the layout moves. */
bool dr_match_has_any(const struct dr_match *match, const struct dr_layout *layout);
bool dr_match_is_empty(const struct dr_match *match, unsigned int from, unsigned int to);

#endif
