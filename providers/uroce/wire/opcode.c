/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IBTA vol. 1, chapter 9: base transport header and its extensions. */
#include "providers/uroce/wire/opcode.h"
#include "providers/uroce/wire/header.h"

#define REQ   (PKT_VALID | PKT_REQUEST)
#define RESP  (PKT_VALID | PKT_RESPONSE)
#define FIRST (PKT_START | PKT_PAYLOAD)
#define MID   (PKT_MIDDLE | PKT_PAYLOAD)
#define LAST  (PKT_END | PKT_PAYLOAD)
#define ONLY  (PKT_START | PKT_END | PKT_PAYLOAD)

/* The requests RC and UC have in common. */
#define CONNECTED_REQUESTS(t, T)                                                                   \
	[t | UROCE_SEND_FIRST] = { REQ | FIRST | PKT_SEND | PKT_RWQE, BTH_LEN, T " send first" },  \
	     [t | UROCE_SEND_MIDDLE] = { REQ | MID | PKT_SEND, BTH_LEN, T " send middle" },        \
	     [t | UROCE_SEND_LAST] = { REQ | LAST | PKT_SEND | PKT_CQE, BTH_LEN, T " send last" }, \
	     [t | UROCE_SEND_LAST_IMM] = { REQ | LAST | PKT_SEND | PKT_CQE | PKT_IMM,              \
					   BTH_LEN + IMM_LEN, T " send last with immediate" },     \
	     [t | UROCE_SEND_ONLY] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE, BTH_LEN,        \
				       T " send only" },                                           \
	     [t | UROCE_SEND_ONLY_IMM] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_IMM,   \
					   BTH_LEN + IMM_LEN, T " send only with immediate" },     \
	     [t | UROCE_WRITE_FIRST] = { REQ | FIRST | PKT_WRITE | PKT_RETH, BTH_LEN + RETH_LEN,   \
					 T " write first" },                                       \
	     [t | UROCE_WRITE_MIDDLE] = { REQ | MID | PKT_WRITE, BTH_LEN, T " write middle" },     \
	     [t | UROCE_WRITE_LAST] = { REQ | LAST | PKT_WRITE, BTH_LEN, T " write last" },        \
	     [t | UROCE_WRITE_LAST_IMM] = { REQ | LAST | PKT_WRITE | PKT_RWQE | PKT_CQE | PKT_IMM, \
					    BTH_LEN + IMM_LEN, T " write last with immediate" },   \
	     [t | UROCE_WRITE_ONLY] = { REQ | ONLY | PKT_WRITE | PKT_RETH, BTH_LEN + RETH_LEN,     \
					T " write only" },                                         \
	     [t | UROCE_WRITE_ONLY_IMM] = { REQ | ONLY | PKT_WRITE | PKT_RETH | PKT_RWQE |         \
						    PKT_CQE | PKT_IMM,                             \
					    BTH_LEN + RETH_LEN + IMM_LEN,                          \
					    T " write only with immediate" }

const struct uroce_opcode uroce_opcodes[256] = {
	CONNECTED_REQUESTS(UROCE_RC, "RC"),
	[UROCE_RC | UROCE_READ_REQUEST] = { REQ | PKT_START | PKT_END | PKT_READ | PKT_RETH,
					    BTH_LEN + RETH_LEN, "RC read request" },
	[UROCE_RC | UROCE_READ_RESP_FIRST] = { RESP | FIRST | PKT_READ | PKT_AETH,
					       BTH_LEN + AETH_LEN, "RC read response first" },
	[UROCE_RC | UROCE_READ_RESP_MIDDLE] = { RESP | MID | PKT_READ, BTH_LEN,
						"RC read response middle" },
	[UROCE_RC | UROCE_READ_RESP_LAST] = { RESP | LAST | PKT_READ | PKT_AETH, BTH_LEN + AETH_LEN,
					      "RC read response last" },
	[UROCE_RC | UROCE_READ_RESP_ONLY] = { RESP | ONLY | PKT_READ | PKT_AETH, BTH_LEN + AETH_LEN,
					      "RC read response only" },
	[UROCE_RC | UROCE_ACK] = { RESP | PKT_START | PKT_END | PKT_AETH, BTH_LEN + AETH_LEN,
				   "RC acknowledge" },
	[UROCE_RC | UROCE_ATOMIC_ACK] = { RESP | PKT_START | PKT_END | PKT_AETH | PKT_ATOMIC_ACK |
						  PKT_ATOMIC,
					  BTH_LEN + AETH_LEN + ATOMIC_ACK_LEN,
					  "RC atomic acknowledge" },
	[UROCE_RC | UROCE_CMP_SWAP] = { REQ | PKT_START | PKT_END | PKT_ATOMIC | PKT_ATOMIC_ETH,
					BTH_LEN + ATOMIC_ETH_LEN, "RC compare and swap" },
	[UROCE_RC | UROCE_FETCH_ADD] = { REQ | PKT_START | PKT_END | PKT_ATOMIC | PKT_ATOMIC_ETH,
					 BTH_LEN + ATOMIC_ETH_LEN, "RC fetch and add" },
	[UROCE_RC | UROCE_SEND_LAST_INV] = { REQ | LAST | PKT_SEND | PKT_CQE | PKT_IETH,
					     BTH_LEN + IETH_LEN, "RC send last with invalidate" },
	[UROCE_RC | UROCE_SEND_ONLY_INV] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_IETH,
					     BTH_LEN + IETH_LEN, "RC send only with invalidate" },
	[UROCE_RC | UROCE_FLUSH] = { REQ | PKT_START | PKT_END | PKT_FETH | PKT_RETH,
				     BTH_LEN + FETH_LEN + RETH_LEN, "RC flush" },
	[UROCE_RC | UROCE_ATOMIC_WRITE] = { REQ | ONLY | PKT_RETH, BTH_LEN + RETH_LEN,
					    "RC atomic write" },

	CONNECTED_REQUESTS(UROCE_UC, "UC"),

	[UROCE_UD | UROCE_SEND_ONLY] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_DETH,
					 BTH_LEN + DETH_LEN, "UD send only" },
	[UROCE_UD | UROCE_SEND_ONLY_IMM] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_DETH |
						     PKT_IMM,
					     BTH_LEN + DETH_LEN + IMM_LEN,
					     "UD send only with immediate" },
};
