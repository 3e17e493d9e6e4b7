/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hardware reads a ring of receives if a message has arrived and needs a receive. The backend
 * must have the receives earlier: a message without acknowledgement would be lost although the
 * process has posted a receive in time. Therefore a thread that has a packet reads the rings of
 * the process before it looks up the queue pair. The linker's --wrap calls this function. */
#include "tests/adapters/lab/model/model.h"

struct uroce_host;
struct uroce_packet;
struct uroce_qp;

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
