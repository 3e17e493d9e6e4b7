/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of values, and rates as numbers. */
#ifndef INFINIBAND_VERBS_STRINGS_H
#define INFINIBAND_VERBS_STRINGS_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/ah.h>
#include <infiniband/verbs/device.h>
#include <infiniband/verbs/event.h>
#include <infiniband/verbs/port.h>
#include <infiniband/verbs/wc.h>
#include <infiniband/verbs/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ibv_wc_status_str(), ... - a value as text for people
 *
 * Return: a constant string, never NULL; the one for a value not in the enum says so.
 */
const char *ibv_wc_status_str(enum ibv_wc_status status);
const char *ibv_node_type_str(enum ibv_node_type node_type);
const char *ibv_port_state_str(enum ibv_port_state port_state);
const char *ibv_event_type_str(enum ibv_event_type event);
const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode);

/**
 * ibv_rate_to_mult(), mult_to_ibv_rate() - rates as multiples of 2.5 Gbit/s
 *
 * Return: the multiple, -1 for IBV_RATE_MAX and values not in the enum; the rate, IBV_RATE_MAX for
 * multiples that are none.
 */
int __attribute__((const)) ibv_rate_to_mult(enum ibv_rate rate);
enum ibv_rate __attribute__((const)) mult_to_ibv_rate(int mult);

/**
 * ibv_rate_to_mbps(), mbps_to_ibv_rate() - rates in Mbit/s
 *
 * Return: Mbit/s, -1 for IBV_RATE_MAX and values not in the enum; the rate, IBV_RATE_MAX for
 * numbers that are none.
 */
int __attribute__((const)) ibv_rate_to_mbps(enum ibv_rate rate);
enum ibv_rate __attribute__((const)) mbps_to_ibv_rate(int mbps);

#ifdef __cplusplus
}
#endif

#endif
