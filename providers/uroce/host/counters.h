/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of packets of QPs and devices. */
#ifndef UROCE_HOST_COUNTERS_H
#define UROCE_HOST_COUNTERS_H

#include "providers/uroce/host/objects.h"

/* Counter name of received datagrams with a wrong ICRC. Only devices have this counter. */
#define UROCE_COUNTER_WRONG_ICRC "rcvd_icrc_err"

/* Add the counters of a QP that is being destroyed to its device. Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp);
/* Read the counters of one QP, or the sum of all QPs that the device ever had. */
void uroce_counters_of_qp(struct uroce_qp *qp, struct uroce_qp_counters *ret);
void uroce_counters_of_dev(struct uroce_dev *dev, struct uroce_qp_counters *ret);
/* Number, names and values of the fields of struct uroce_qp_counters. */
unsigned int uroce_counters_count(void);
const char *uroce_counters_name(unsigned int i);
uint64_t uroce_counters_value(const struct uroce_qp_counters *counters, unsigned int i);
/* Return how many datagrams with a wrong ICRC the device's sockets received. */
uint64_t uroce_counters_wrong_icrc(const struct uroce_dev *dev);
/* Log the counters of a device that is being closed, in one line at level info. */
void uroce_counters_log(struct uroce_dev *dev);

#endif
