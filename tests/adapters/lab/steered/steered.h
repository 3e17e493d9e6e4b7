/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of software steering on a played device: write rules, let frames enter the tables, and
 * check where each frame ends. */
#ifndef DEVICES_STEERED_H
#define DEVICES_STEERED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include "tests/adapters/lab/scenario/lab.h"

enum {
	WORDS = 112, /* of a mask or a value */
	TIRS = 4,
	RULES = 1024,
	FRAME = 128,
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	TCP = 6,
	UDP = 17,
};

/* main.c */
void must(bool good, const char *what);
/* Write the steering entries to the record now. Without a call they are written when the case ends.
 * Call it before a table is destroyed, because release 44 writes a last time into such a table and
 * this library does not. */
void record(void);
/* The same, and text behind them. */
void record_text(const char *text);

struct test {
	const char *name;
	void (*run)(void);
	enum mlx5dv_dr_domain_type type;
};
extern const struct test rule_tests[], field_tests[], refusal_tests[], thread_tests[],
	action_tests[], change_tests[], switch_tests[], inner_tests[], object_tests[], dump_tests[],
	random_tests[];

/* ---- match.c: a field is a word of the parameters, and its bits */

struct field {
	unsigned word, high, low;
};
extern const struct field smac_high, smac_low, ethertype, dmac_high, dmac_low, vlan_id, protocol,
	cvlan, ip_version, tcp_flags, dscp, tcp_sport, tcp_dport, ttl, udp_sport, udp_dport, src_0,
	dst_0;

struct match {
	size_t size;
	uint32_t words[WORDS];
};

void set(struct match *m, struct field f, uint32_t value);
void set_all(struct match *m, struct field f);
void set_mac(struct match *m, struct field high, struct field low, uint64_t mac);
/* Set the four words of an address, whose last word is @last. */
void set_ipv6(struct match *m, struct field last, const uint32_t address[4]);

/* ---- frame.c */

struct frame {
	uint64_t dmac, smac;
	uint16_t vlan, ethertype; /* vlan 0: no tag */
	uint32_t src[4], dst[4];  /* the address of IPv4 is the last word */
	uint8_t protocol, ttl, dscp;
	uint16_t sport, dport, flags;
};
extern const struct frame plain;

/* Check where a frame ends that enters the first table. @tag: -1: none */
void ends_at(const struct frame *f, uint64_t at, int tag, const char *what);
void arrives(const struct frame *f, unsigned tir, int tag, const char *what);
void lost(const struct frame *f, const char *what);
/* Check the end of bytes of a frame, and the bytes that it then has. @expected: NULL: any */
void bytes_end_at(const uint8_t *frame, size_t length, const struct lab_origin *from,
		  const uint8_t *expected, size_t expected_length, uint64_t at, const char *what);
/* Write the bytes of a frame. Return their number. */
size_t frame_build(const struct frame *f, uint8_t bytes[FRAME]);
/* The result of the last frame that was checked. */
extern struct lab_steered last_end;
/* The same for a frame that meets the root table. */
void root_ends_at(const struct frame *f, uint64_t at, int tag, const char *what);
/* No rule of the root table matches. */
void root_passes(const struct frame *f, const char *what);
unsigned frames_checked(void);

/* ---- object.c: objects, which are destroyed at the end in the reverse order */

extern struct ibv_context *context;
extern struct mlx5dv_dr_domain *domain;
extern uint64_t tir_at[TIRS]; /* addresses of the TIRs */
extern struct mlx5dv_dr_action *to[TIRS], *drop;

enum kind {
	MADE_TABLE,
	MADE_MATCHER,
	MADE_RULE,
	MADE_ACTION,
	MADE_DEVX,
};

/* Keep an object until the end. Return it. */
void *keep(enum kind kind, void *object, const char *what);
/* Destroy an object now. Return what its function returns. */
int end(void *object);
void objects_open(enum mlx5dv_dr_domain_type type);
void objects_close(void);
struct mlx5dv_dr_table *table_make(uint32_t level);
struct mlx5dv_dr_matcher *matcher_make(struct mlx5dv_dr_table *table, uint16_t priority,
				       uint8_t criteria, struct match *mask);
struct mlx5dv_dr_action *tag_make(uint32_t tag);
struct mlx5dv_dr_action *counter_make(uint32_t offset);
/* Keep an action until the end. */
struct mlx5dv_dr_action *act(struct mlx5dv_dr_action *action);
/* Let a matcher of destination addresses have a rule for each of @lists, whose lengths are in
 * @lengths: the address of the first one is plain.dmac, and they count up. */
void rules_for(struct mlx5dv_dr_table *table, struct mlx5dv_dr_action *lists[][6],
	       const size_t lengths[], unsigned count);
struct mlx5dv_dr_rule *rule_make(struct mlx5dv_dr_matcher *matcher, struct match *value,
				 size_t count, struct mlx5dv_dr_action *actions[]);
void rule_end(struct mlx5dv_dr_rule *rule);
/* Wait until the device has all rules. */
void rules_sync(void);

#endif
