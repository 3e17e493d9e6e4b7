/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hardware reads a ring of receives if a message has arrived and needs a receive. The backend
 * must have the receives earlier: a message without acknowledgement would be lost although the
 * process has posted a receive in time. Therefore a thread that has a packet reads the rings of
 * the process before it looks up the queue pair. The linker's --wrap calls these functions.
 *
 * The rings are read under device_lock. The model's thread and commands take it before the locks
 * of uroce. So the thread of uroce takes it before a pass, too. If it cannot, the packets stay
 * where they are, and the thread tries again. */
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/progress.h"
#include "tests/adapters/lab/model/model.h"

unsigned int __real_uroce_gsi_pass(struct uroce_host *host);
unsigned int __wrap_uroce_gsi_pass(struct uroce_host *host);
/* Make a pass of the thread of uroce, which holds the locks of all strands and releases them. The
 * holder of device_lock may be waiting for these locks, or for a peer that this thread has to
 * answer. Therefore wait without these locks, and only for a short time. Return 1 if packets may be
 * left. */
unsigned int __wrap_uroce_gsi_pass(struct uroce_host *host)
{
	unsigned int n;

	if (!model_loses_messages())
		return __real_uroce_gsi_pass(host);
	path_host_go(&host->paths);
	if (!model_lock_soon(MODEL_PACKET_NS))
		return 1;
	path_host_stop(&host->paths);
	n = __real_uroce_gsi_pass(host);
	model_command_end();
	return n;
}

void __real_uroce_progress_visit(struct uroce_host *host, unsigned int strand);
void __wrap_uroce_progress_visit(struct uroce_host *host, unsigned int strand);
/* The thread of uroce visits a strand that is not polled. It comes again. */
void __wrap_uroce_progress_visit(struct uroce_host *host, unsigned int strand)
{
	bool locked = model_loses_messages();

	if (locked && !model_lock_soon(MODEL_PACKET_NS))
		return;
	__real_uroce_progress_visit(host, strand);
	if (locked)
		model_command_end();
}

static void look_for(uint32_t number)
{
	struct object *qp;

	if (!model_lock_soon(MODEL_PACKET_NS))
		return;
	qp = object_by_number(OBJECT_QP, number);
	if (qp && qp->backend.qp && !qp->dc && !device->short_numbers)
		model_receive(qp->srq ? qp->srq : qp);
	model_command_end();
}

struct uroce_qp *__real_uroce_qp_find(struct uroce_host *host, uint32_t number);
struct uroce_qp *__wrap_uroce_qp_find(struct uroce_host *host, uint32_t number);
struct uroce_qp *__wrap_uroce_qp_find(struct uroce_host *host, uint32_t number)
{
	if (model_loses_messages())
		look_for(number);
	return __real_uroce_qp_find(host, number);
}

void __real_uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *packet);
void __wrap_uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *packet);
void __wrap_uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *packet)
{
	if (model_loses_messages() && model_lock_soon(MODEL_PACKET_NS)) {
		model_receive_all();
		model_command_end();
	}
	__real_uroce_mcast_packet(host, packet);
}
