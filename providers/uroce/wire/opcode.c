/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table of opcodes: base transport header and its extensions. IBTA vol. 1, chapter 9, annexes A14
 * and A17.
 */
#include "providers/uroce/wire/opcode.h"
#include "providers/uroce/wire/header.h"

#define REQ   (PKT_VALID | PKT_REQUEST)
#define RESP  (PKT_VALID | PKT_RESPONSE)
#define FIRST (PKT_START | PKT_PAYLOAD)
#define MID   (PKT_MIDDLE | PKT_PAYLOAD)
#define LAST  (PKT_END | PKT_PAYLOAD)
#define ONLY  (PKT_START | PKT_END | PKT_PAYLOAD)

/*
 * The requests that RC, UC and XRC have in common. @F, @L: the flags and the header length that the
 * transport adds.
 */
#define CONNECTED_REQUESTS(t, T, F, L)                                                             \
	[t | UROCE_SEND_FIRST] = { F | REQ | FIRST | PKT_SEND | PKT_RWQE, BTH_LEN + L,             \
				   T " send first" },                                              \
	     [t | UROCE_SEND_MIDDLE] = { F | REQ | MID | PKT_SEND, BTH_LEN + L,                    \
					 T " send middle" },                                       \
	     [t | UROCE_SEND_LAST] = { F | REQ | LAST | PKT_SEND | PKT_CQE, BTH_LEN + L,           \
				       T " send last" },                                           \
	     [t | UROCE_SEND_LAST_IMM] = { F | REQ | LAST | PKT_SEND | PKT_CQE | PKT_IMM,          \
					   BTH_LEN + L + IMM_LEN, T " send last with immediate" }, \
	     [t | UROCE_SEND_ONLY] = { F | REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE,             \
				       BTH_LEN + L, T " send only" },                              \
	     [t | UROCE_SEND_ONLY_IMM] = { F | REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE |        \
						   PKT_IMM,                                        \
					   BTH_LEN + L + IMM_LEN, T " send only with immediate" }, \
	     [t | UROCE_WRITE_FIRST] = { F | REQ | FIRST | PKT_WRITE | PKT_RETH,                   \
					 BTH_LEN + L + RETH_LEN, T " write first" },               \
	     [t | UROCE_WRITE_MIDDLE] = { F | REQ | MID | PKT_WRITE, BTH_LEN + L,                  \
					  T " write middle" },                                     \
	     [t | UROCE_WRITE_LAST] = { F | REQ | LAST | PKT_WRITE, BTH_LEN + L,                   \
					T " write last" },                                         \
	     [t | UROCE_WRITE_LAST_IMM] = { F | REQ | LAST | PKT_WRITE | PKT_RWQE | PKT_CQE |      \
						    PKT_IMM,                                       \
					    BTH_LEN + L + IMM_LEN,                                 \
					    T " write last with immediate" },                      \
	     [t | UROCE_WRITE_ONLY] = { F | REQ | ONLY | PKT_WRITE | PKT_RETH,                     \
					BTH_LEN + L + RETH_LEN, T " write only" },                 \
	     [t | UROCE_WRITE_ONLY_IMM] = { F | REQ | ONLY | PKT_WRITE | PKT_RETH | PKT_RWQE |     \
						    PKT_CQE | PKT_IMM,                             \
					    BTH_LEN + L + RETH_LEN + IMM_LEN,                      \
					    T " write only with immediate" }

/* The requests and responses that only reliable transports have. */
#define RELIABLE_REQUESTS(t, T, F, L)                                                              \
	[t | UROCE_READ_REQUEST] = { F | REQ | PKT_START | PKT_END | PKT_READ | PKT_RETH,          \
				     BTH_LEN + L + RETH_LEN, T " read request" },                  \
	     [t | UROCE_CMP_SWAP] = { F | REQ | PKT_START | PKT_END | PKT_ATOMIC | PKT_ATOMIC_ETH, \
				      BTH_LEN + L + ATOMIC_ETH_LEN, T " compare and swap" },       \
	     [t | UROCE_FETCH_ADD] = { F | REQ | PKT_START | PKT_END | PKT_ATOMIC |                \
					       PKT_ATOMIC_ETH,                                     \
				       BTH_LEN + L + ATOMIC_ETH_LEN, T " fetch and add" },         \
	     [t | UROCE_SEND_LAST_INV] = { F | REQ | LAST | PKT_SEND | PKT_CQE | PKT_IETH,         \
					   BTH_LEN + L + IETH_LEN,                                 \
					   T " send last with invalidate" },                       \
	     [t | UROCE_SEND_ONLY_INV] = { F | REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE |        \
						   PKT_IETH,                                       \
					   BTH_LEN + L + IETH_LEN,                                 \
					   T " send only with invalidate" },                       \
	     [t | UROCE_FLUSH] = { F | REQ | PKT_START | PKT_END | PKT_FETH | PKT_RETH,            \
				   BTH_LEN + L + FETH_LEN + RETH_LEN, T " flush" },                \
	     [t | UROCE_ATOMIC_WRITE] = { F | REQ | ONLY | PKT_RETH, BTH_LEN + L + RETH_LEN,       \
					  T " atomic write" }

#define RESPONSES(t, T)                                                                            \
	[t | UROCE_READ_RESP_FIRST] = { RESP | FIRST | PKT_READ | PKT_AETH, BTH_LEN + AETH_LEN,    \
					T " read response first" },                                \
	     [t | UROCE_READ_RESP_MIDDLE] = { RESP | MID | PKT_READ, BTH_LEN,                      \
					      T " read response middle" },                         \
	     [t | UROCE_READ_RESP_LAST] = { RESP | LAST | PKT_READ | PKT_AETH, BTH_LEN + AETH_LEN, \
					    T " read response last" },                             \
	     [t | UROCE_READ_RESP_ONLY] = { RESP | ONLY | PKT_READ | PKT_AETH, BTH_LEN + AETH_LEN, \
					    T " read response only" },                             \
	     [t | UROCE_ACK] = { RESP | PKT_START | PKT_END | PKT_AETH, BTH_LEN + AETH_LEN,        \
				 T " acknowledge" },                                               \
	     [t | UROCE_ATOMIC_ACK] = { RESP | PKT_START | PKT_END | PKT_AETH | PKT_ATOMIC_ACK |   \
						PKT_ATOMIC,                                        \
					BTH_LEN + AETH_LEN + ATOMIC_ACK_LEN,                       \
					T " atomic acknowledge" }

const struct uroce_opcode uroce_opcodes[256] = {
	CONNECTED_REQUESTS(UROCE_RC, "RC", 0, 0),
	RELIABLE_REQUESTS(UROCE_RC, "RC", 0, 0),
	RESPONSES(UROCE_RC, "RC"),

	CONNECTED_REQUESTS(UROCE_UC, "UC", 0, 0),

	CONNECTED_REQUESTS(UROCE_XRC, "XRC", PKT_XRC_ETH, XRC_ETH_LEN),
	RELIABLE_REQUESTS(UROCE_XRC, "XRC", PKT_XRC_ETH, XRC_ETH_LEN),
	RESPONSES(UROCE_XRC, "XRC"),

	[UROCE_UD | UROCE_SEND_ONLY] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_DETH,
					 BTH_LEN + DETH_LEN, "UD send only" },
	[UROCE_UD | UROCE_SEND_ONLY_IMM] = { REQ | ONLY | PKT_SEND | PKT_RWQE | PKT_CQE | PKT_DETH |
						     PKT_IMM,
					     BTH_LEN + DETH_LEN + IMM_LEN,
					     "UD send only with immediate" },

	[UROCE_CNP] = { PKT_VALID | PKT_CNP, BTH_LEN + CNP_LEN, "congestion notification" },
};
