/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of the actions of a rule: which action may follow which. */
#include "providers/mlx5/steering/order.h"

enum state {
	STATE_START,
	STATE_DECAP,
	STATE_POP,
	STATE_MODIFY,
	STATE_PUSH,
	STATE_ENCAP,
	STATE_ASO,
	STATE_END,
	STATES,
};

/* A letter for each action. Capitals are actions that end the path of a packet. */
static const char letters[DR_ACTION_KINDS] = {
	[DR_ACTION_DROP] = 'D',	      [DR_ACTION_MISS] = 'X',	  [DR_ACTION_TAG] = 't',
	[DR_ACTION_QP] = 'Q',	      [DR_ACTION_TIR] = 'Q',	  [DR_ACTION_TABLE] = 'F',
	[DR_ACTION_COUNTER] = 'c',    [DR_ACTION_DECAP_L2] = 'd', [DR_ACTION_DECAP_L3] = 'd',
	[DR_ACTION_ENCAP_L2] = 'e',   [DR_ACTION_ENCAP_L3] = 'e', [DR_ACTION_MODIFY] = 'm',
	[DR_ACTION_POP] = 'o',	      [DR_ACTION_PUSH] = 'u',	  [DR_ACTION_VPORT] = 'V',
	[DR_ACTION_METER] = 'M',      [DR_ACTION_SAMPLER] = 'S',  [DR_ACTION_ARRAY] = 'A',
	[DR_ACTION_ROOT_TABLE] = 'R', [DR_ACTION_ASO_HIT] = 'h',  [DR_ACTION_ASO_METER] = 'a',
	[DR_ACTION_ASO_CT] = 'a',     [DR_ACTION_KERNEL] = '-',
};

typedef const char *const states[STATES];

static const states of_received = {
	"DQFMSAXRtchdemoua", "QFMSARtchmouae", "QFMSARtchomae", "QFMSARtchaue",
	"QFMSARtchue",	     "QFMSARtch",      "QFSARtcha",	"c",
};
static const states of_sent = {
	"DFMXRchemoua", "", "FMRchoume", "FMRcheu", "FMRchue", "FMRch", "DFXRchaemu", "c",
};
static const states of_switch_received = {
	"DQFMSAVXRchdemoua", "FMSAVRchmouae", "FMSAVRchomae", "FMSAVRchaue",
	"FMSAVRchuae",	     "FMSAVRch",      "FSAVRcha",     "c",
};
static const states of_switch_sent = {
	"DQFMSAVXRchemoua", "",		"FMSAVRchoume", "FMSAVRcheu",
	"FMSAVRchue",	    "FMSAVRch", "FSAVRchaemu",	"c",
};

static const states *states_of(const struct mlx5dv_dr_domain *domain, enum dr_half half)
{
	if (dr_is_switch(domain))
		return half == DR_RECEIVE ? &of_switch_received : &of_switch_sent;
	return half == DR_RECEIVE ? &of_received : &of_sent;
}

static unsigned int state_after(unsigned int state, char letter, enum dr_half half)
{
	switch (letter) {
	case 'd':
		return STATE_DECAP;
	case 'o':
		return STATE_POP;
	case 'm':
		return STATE_MODIFY;
	case 'u':
		return STATE_PUSH;
	case 'e':
		return STATE_ENCAP;
	case 'a':
		return STATE_ASO;
	case 'h':
		return state == STATE_ENCAP && half == DR_RECEIVE ? STATE_ASO : state;
	case 't':
	case 'c':
		return state;
	default:
		return STATE_END;
	}
}

int dr_order_check(const struct mlx5dv_dr_domain *domain, enum dr_half half, unsigned int *state,
		   enum dr_action_kind kind)
{
	char letter = letters[kind];

	if (!strchr((*states_of(domain, half))[*state], letter))
		return -EOPNOTSUPP;
	*state = state_after(*state, letter, half);
	return 0;
}
