/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What all contexts of one device share in this process: QP and key tables, paths, timers, the progress
 * thread. The engine sees of it only the lists and the wheel.
 */
#ifndef UROCE_DEV_H
#define UROCE_DEV_H

#include "providers/uroce/uroce.h"

enum {
	UROCE_GID_MAX = 64, /* slots of the GID table */
};

struct uroce_host;

struct uroce_dev {
	char name[IBV_SYSFS_NAME_MAX];
	struct uroce_lock progress_lock;
	/* QPs that owe an acknowledgement: only touched under progress_lock. */
	struct uroce_qp_list acks;
	/* QPs a path refused a packet of. */
	struct uroce_lock blocked_lock;
	struct uroce_qp_list blocked;
	struct uroce_wheel wheel;
	struct uroce_env *env; /* everything the engine does not see: env.h */
};

static inline void uroce_dev_init(struct uroce_dev *dev, uint64_t now)
{
	TAILQ_INIT(&dev->acks);
	TAILQ_INIT(&dev->blocked);
	uroce_wheel_init(&dev->wheel, now);
}

/* The QP owes an acknowledgement; it leaves at the end of the progress pass, or along with a packet. */
static inline void uroce_ack_later(struct uroce_qp *qp)
{
	if (qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&qp->dev->acks, qp, ack_entry);
}

/* The path is full: progress runs the QP again. */
static inline void uroce_blocked(struct uroce_qp *qp)
{
	struct uroce_dev *dev = qp->dev;

	uroce_lock(&dev->blocked_lock);
	if (!qp->on_blocked) {
		qp->on_blocked = true;
		TAILQ_INSERT_TAIL(&dev->blocked, qp, blocked_entry);
	}
	uroce_unlock(&dev->blocked_lock);
}

#endif
