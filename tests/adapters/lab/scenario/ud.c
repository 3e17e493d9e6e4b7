/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UD: address handles, sends by them, receives behind a GRH. */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>

static struct ibv_ah *address(const struct script *s, uint8_t last, uint32_t flow_label)
{
	/* With a flow label the source port follows from it; without, a provider may choose any. */
	/* Where there is no RoCE there is one GID. */
	bool roce = s->context->device->transport_type == IBV_TRANSPORT_IB;
	struct ibv_ah_attr attr = {
		.port_num = 1,
		.is_global = 1,
		.sl = last & 7,
		.grh = { .sgid_index = roce,
			 .hop_limit = 64,
			 .flow_label = flow_label,
			 .traffic_class = 0x20,
			 .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, last } },
	};
	struct ibv_ah *ah;

	step("ah to 10.0.0.%u", last);
	ah = ibv_create_ah(s->pd, &attr);
	if (!ah) {
		/* A port whose GIDs have the MAC address in them. */
		attr.grh.dgid = (union ibv_gid){ .raw = { 0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0,
							  0, last } };
		step("ah to fe80::200:ff:fe00:%x", last);
		ah = ibv_create_ah(s->pd, &attr);
	}
	must(ah, "ah");
	return ah;
}

static void sends(struct script *s, struct ibv_ah *const *ahs)
{
	for (int i = 0; i < 12; i++) {
		struct ibv_sge sge[2] = { script_sge(s, 0x10 * i, 40 + i),
					  script_sge(s, 0x400, 12) };
		struct ibv_send_wr wr = {
			.wr_id = 0x2000 + s->sends,
			.opcode = i % 3 == 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED |
				      (i % 4 == 3 && s->max_inline ? IBV_SEND_INLINE : 0) |
				      (i % 5 == 4 ? IBV_SEND_SOLICITED : 0),
			.imm_data = i % 3 == 1 ? htonl(0x0a0b0c0d) : 0,
			.sg_list = sge,
			.num_sge = 1 + i % 2,
			.wr.ud = { .ah = ahs[i % 2],
				   .remote_qpn = 0x55 + i,
				   .remote_qkey = 0x11111111 },
		};

		if (!script_send(s, &wr))
			script_complete(s, false, s->sends - 1, wr.opcode,
					(struct ibv_wc){ .opcode = IBV_WC_SEND });
	}
}

static void receives(struct script *s)
{
	for (int i = 0; i < 4; i++)
		script_recv(s, 1, 200);
	for (int i = 0; i < 4; i++)
		script_complete(
			s, true, i, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV,
					 .byte_len = 40 + i,
					 .src_qp = 0x77,
					 .sl = i,
					 .wc_flags = IBV_WC_GRH | (i & 1 ? IBV_WC_WITH_IMM : 0),
					 .imm_data = i & 1 ? htonl(i) : 0 });
}

int main(void)
{
	static const struct ibv_qp_cap cap = { 8, 4, 2, 1, 32 };
	struct script s = { 0 };
	struct ibv_ah *ahs[2];

	script_open(&s);
	script_qp(&s, IBV_QPT_UD, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	ahs[0] = address(&s, 2, 0x12345);
	ahs[1] = address(&s, 3, 0x00777);
	sends(&s, ahs);
	receives(&s);
	step("destroy ah");
	must(!ibv_destroy_ah(ahs[0]) && !ibv_destroy_ah(ahs[1]), "destroy ah");
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
