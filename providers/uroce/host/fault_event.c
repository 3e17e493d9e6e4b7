/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that a fault rule raises. */
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/qpn.h"

static void qp_fatal(struct uroce_qp *qp)
{
	uroce_lock(&qp->lock);
	if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_ERR) {
		uroce_qp_error(qp);
		uroce_event_qp(qp, IBV_EVENT_QP_FATAL);
	}
	uroce_unlock(&qp->lock);
}

/* @number: the QP's number as fault rules count it; 0: all QPs. */
static void qps_fatal(struct uroce_host *host, uint32_t number)
{
	struct uroce_qp *qp;

	uroce_lock(&host->paths.progress_lock);
	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++)
		if (!number || qp->fault->number == number)
			qp_fatal(qp);
	uroce_unlock(&host->paths.progress_lock);
}

static void port_event(struct uroce_host *host, enum ibv_event_type type)
{
	struct uroce_dev *dev;

	if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
		atomic_store(&host->faults->port_down, type == IBV_EVENT_PORT_ERR);
	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_event_port(dev, type);
	pthread_mutex_unlock(&host->lock);
}

/*
 * Raise the event of a rule. @qp: the QP that posted; NULL: the time of the rule has come. No lock
 * held.
 */
static void event_fire(struct uroce_host *host, const struct fault_rule *rule, struct uroce_qp *qp)
{
	log_debug("uroce: fault %s", rule->text);
	switch (rule->event) {
	case IBV_EVENT_QP_FATAL:
		if (qp)
			qp_fatal(qp);
		else
			qps_fatal(host, rule->qp);
		return;
	case IBV_EVENT_DEVICE_FATAL:
		atomic_store(&host->faults->dead, true);
		port_event(host, rule->event);
		qps_fatal(host, 0);
		return;
	default:
		port_event(host, rule->event);
	}
}

void uroce_fault_fire(const struct fault_rule *rule, struct uroce_qp *qp)
{
	event_fire(qp_host(qp), rule, qp);
}

void uroce_fault_events(struct uroce_host *host)
{
	struct uroce_faults *faults = host->faults;
	uint64_t now;

	if (!atomic_load_explicit(&faults->events_left, memory_order_relaxed))
		return;
	now = uroce_now();
	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];

		if (!rule->time || faults->fired[i] || now - faults->start < rule->time)
			continue;
		faults->fired[i] = true;
		atomic_fetch_sub(&faults->events_left, 1);
		event_fire(host, rule, NULL);
	}
}
