/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The meaning of counters. Names come from the InfiniBand architecture (port counters), from
 * drivers in the kernel (hw_counters, ethtool), from the kernel's network interfaces, and from
 * uroce. The first row that matches a name holds for it.
 */
#include <fnmatch.h>

#include "rdma-doctor/counter.h"
#include "util/enum.h"

#define TRAFFIC(pattern_)                                                          \
	{                                                                          \
		.pattern = pattern_, .kind = COUNTER_TRAFFIC, .state = FINDING_OK, \
		.text = "traffic"                                                  \
	}
#define ROW(pattern_, kind_, state_, text_)                                              \
	{                                                                                \
		.pattern = pattern_, .kind = COUNTER_##kind_, .state = FINDING_##state_, \
		.text = text_                                                            \
	}

static const struct counter_meaning meanings[] = {
	/* --- the link --- */
	ROW("symbol_error", LINK, FAILED, "bits of the link were wrong"),
	ROW("link_error_recovery", LINK, FAILED, "the link was lost and trained again"),
	ROW("link_downed", LINK, FAILED, "the link went down"),
	ROW("link_down_events_phy", LINK, FAILED, "the link went down"),
	ROW("carrier_down_count", LINK, FAILED, "the link went down"),
	ROW("carrier_up_count", LINK, NOTE, "the link came up"),
	ROW("carrier_changes", LINK, FAILED, "the link went down or came up"),
	ROW("local_link_integrity_errors", LINK, FAILED, "the link had too many errors in a row"),
	ROW("port_rcv_errors", LINK, FAILED, "packets arrived damaged"),
	ROW("port_rcv_remote_physical_errors", LINK, FAILED,
	    "packets arrived that a switch had marked as damaged"),
	ROW("rx_crc_errors*", LINK, FAILED, "packets arrived damaged (frame check sequence)"),
	ROW("rx_fcs_err*", LINK, FAILED, "packets arrived damaged (frame check sequence)"),
	ROW("rx_frame_errors", LINK, FAILED, "packets arrived damaged (framing)"),
	ROW("rx_symbol_err_phy", LINK, FAILED, "bits of the link were wrong"),
	ROW("rx_pcs_symbol_err_phy", LINK, FAILED, "symbols of the link were wrong"),
	ROW("rx_corrected_bits*", TRAFFIC, OK, "bits that the link corrected"),
	ROW("illegal_bytes*", LINK, FAILED, "bytes of the link were no code of it"),
	ROW("tx_carrier_errors", LINK, FAILED, "the carrier was lost while a packet was sent"),
	ROW("collisions", LINK, FAILED, "the link is half duplex"),
	ROW("rx_icrc_encapsulated", LINK, FAILED,
	    "RoCE packets arrived damaged (invariant CRC): a host, switch or tunnel changed them"),
	ROW("rcvd_icrc_err", LINK, FAILED,
	    "RoCE packets arrived damaged (invariant CRC): a host, switch or tunnel changed them"),
	ROW("?x_pci_signal_integrity", LINK, FAILED, "the PCIe link had errors"),

	/* --- packets that this host drops --- */
	ROW("out_of_buffer", DROP, FAILED, "packets were dropped because no receive was posted"),
	ROW("rx_out_of_buffer", DROP, FAILED,
	    "packets were dropped because the receive ring was empty"),
	ROW("port_xmit_discards", DROP, FAILED,
	    "packets were dropped before sending: the port is congested or down"),
	ROW("excessive_buffer_overrun_errors", DROP, FAILED, "the buffer of the port overran"),
	ROW("VL15_dropped", DROP, NOTE, "management packets were dropped"),
	ROW("rx_discards_phy", DROP, FAILED,
	    "packets were dropped because the adapter's buffer was full"),
	ROW("tx_discards_phy", DROP, FAILED, "packets were dropped before sending"),
	ROW("rx_prio*_discards", DROP, FAILED,
	    "packets of this priority were dropped because its buffer was full"),
	ROW("rx_prio*_cong_discard", DROP, FAILED,
	    "packets of this priority were dropped by congestion"),
	ROW("rx_prio*_buf_discard", DROP, FAILED,
	    "packets of this priority were dropped because its buffer was full"),
	ROW("rx_missed_errors", DROP, FAILED,
	    "packets were dropped because the host did not take them in time"),
	ROW("rx_over_errors", DROP, FAILED, "the receive buffer overran"),
	ROW("rx_fifo_errors", DROP, FAILED, "the receive buffer overran"),
	ROW("tx_fifo_errors", DROP, FAILED, "the send buffer underran"),
	ROW("rx_dropped*", DROP, NOTE,
	    "packets were dropped: no room, or nobody wanted their protocol"),
	ROW("tx_dropped*", DROP, NOTE, "packets were dropped before sending: a full queue"),
	ROW("rx_errors", DROP, NOTE, "packets were not taken because of an error"),
	ROW("tx_errors", DROP, NOTE, "packets were not sent because of an error"),
	ROW("rx_drops", DROP, FAILED, "packets were dropped"),
	ROW("?x_roce_discards", DROP, FAILED, "RoCE packets were dropped"),
	ROW("ip?InDiscards", DROP, FAILED, "packets were dropped"),
	ROW("outbound_pci_stalled_*", DROP, NOTE, "the adapter waited for the PCIe link"),
	ROW("RcvbufErrors", DROP, NOTE,
	    "datagrams were dropped because a socket's buffer was full"),
	ROW("SndbufErrors", DROP, NOTE, "datagrams were not sent because a buffer was full"),
	ROW("InCsumErrors", LINK, NOTE, "datagrams arrived damaged (checksum)"),
	ROW("dropped_no_receive", DROP, FAILED,
	    "datagrams were dropped because no receive was posted"),
	ROW("rq_num_udsdprd", DROP, FAILED, "datagrams were dropped because no receive was posted"),
	ROW("dropped_short_receive", REFUSED, FAILED,
	    "datagrams were dropped because the receive was too short: 40 bytes are for the GRH"),
	ROW("dropped_wrong_qkey", REFUSED, FAILED, "datagrams had a wrong Q_Key"),
	ROW("qkey_viol_cntr", REFUSED, FAILED, "datagrams had a wrong Q_Key"),

	/* --- packets that the network lost --- */
	ROW("out_of_sequence", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("out_of_seq_request", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("responder_oos", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("oos_drop_count", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("res_oos_drop_count", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("rq_num_oos", LOSS, FAILED, "requests arrived out of sequence: some were lost"),
	ROW("sq_num_oos", LOSS, FAILED, "the peer reported that requests were lost"),
	ROW("packet_seq_err", LOSS, FAILED, "the peer reported that requests were lost"),
	ROW("rcvd_seq_err", LOSS, FAILED, "the peer reported that requests were lost"),
	ROW("requester_oos_nak", LOSS, FAILED, "the peer reported that requests were lost"),
	ROW("seq_err_naks_rcvd", LOSS, FAILED, "the peer reported that requests were lost"),
	ROW("send_seq_err", LOSS, FAILED, "the peer was told that requests were lost"),
	ROW("implied_nak_seq_err", LOSS, FAILED, "read responses or acknowledgements were lost"),
	ROW("requester_implicit_nak", LOSS, FAILED, "read responses or acknowledgements were lost"),
	ROW("local_ack_timeout_err", LOSS, FAILED, "no acknowledgement came in time"),
	ROW("requester_timeout", LOSS, FAILED, "no acknowledgement came in time"),
	ROW("sq_num_to", LOSS, FAILED, "no acknowledgement came in time"),
	ROW("to_retransmits", LOSS, FAILED, "no acknowledgement came in time"),
	ROW("retrans_timeout_events", LOSS, FAILED, "no acknowledgement came in time"),
	ROW("completer_retry_err", LOSS, FAILED, "requests were sent again"),
	ROW("resent_pkts", LOSS, FAILED, "packets were sent again"),
	ROW("retrans_pkts", LOSS, FAILED, "packets were sent again"),
	ROW("retrans_bytes", LOSS, FAILED, "packets were sent again"),
	ROW("tcpRetransSegs", LOSS, FAILED, "segments were sent again"),
	ROW("roce_adp_retrans*", LOSS, FAILED, "packets were sent again (adaptive)"),
	ROW("roce_slow_restart*", LOSS, NOTE, "queue pairs began again slowly after a pause"),
	ROW("retry_exceeded_err", LOSS, FAILED, "queue pairs failed: the peer did not answer"),
	ROW("req*_rnr_*retries_exceeded", RECEIVER, FAILED,
	    "queue pairs failed: the peer posted no receive for too long (RNR)"),
	ROW("req*_retries_exceeded", LOSS, FAILED, "queue pairs failed: the peer did not answer"),
	ROW("sq_num_tree", LOSS, FAILED, "queue pairs failed: the peer did not answer"),
	ROW("max_retry_exceeded", LOSS, FAILED, "queue pairs failed: the peer did not answer"),
	ROW("*_remote_events", LOSS, FAILED, "peers did not answer"),
	ROW("missing_resp", LOSS, FAILED, "responses were lost"),
	ROW("rq_num_dup", LOSS, NOTE,
	    "requests arrived again: the peer did not get the answer in time"),
	ROW("duplicate_request", LOSS, NOTE,
	    "requests arrived again: the peer did not get the answer in time"),
	ROW("responder_dup_request", LOSS, NOTE,
	    "requests arrived again: the peer did not get the answer in time"),
	ROW("dup_req", LOSS, NOTE,
	    "requests arrived again: the peer did not get the answer in time"),

	/* --- receivers that were not ready --- */
	ROW("send_rnr_err", RECEIVER, FAILED,
	    "messages arrived here and no receive was posted (RNR)"),
	ROW("responder_rnr_nak", RECEIVER, FAILED,
	    "messages arrived here and no receive was posted (RNR)"),
	ROW("rq_num_rnr", RECEIVER, FAILED,
	    "messages arrived here and no receive was posted (RNR)"),
	ROW("sq_num_rnr", RECEIVER, FAILED, "the peer had posted no receive (RNR)"),
	ROW("rcvd_rnr_err", RECEIVER, FAILED, "the peer had posted no receive (RNR)"),
	ROW("requester_rnr_nak", RECEIVER, FAILED, "the peer had posted no receive (RNR)"),
	ROW("rnr_naks_rcvd", RECEIVER, FAILED, "the peer had posted no receive (RNR)"),
	ROW("rnr_nak_retry_err", RECEIVER, FAILED, "the peer had posted no receive (RNR)"),
	ROW("sq_num_rree", RECEIVER, FAILED,
	    "queue pairs failed: the peer posted no receive for too long (RNR)"),
	ROW("retry_rnr_exceeded_err", RECEIVER, FAILED,
	    "queue pairs failed: the peer posted no receive for too long (RNR)"),

	/* --- requests that were refused --- */
	ROW("req_remote_access_errors", REFUSED, FAILED,
	    "the peer refused requests: a wrong key or address"),
	ROW("sq_num_rae", REFUSED, FAILED, "the peer refused requests: a wrong key or address"),
	ROW("rq_num_rae", REFUSED, FAILED,
	    "requests of peers were refused: a wrong key or address"),
	ROW("responder_rem_access_error", REFUSED, FAILED,
	    "requests of peers were refused: a wrong key or address"),
	ROW("sq_num_rire", REFUSED, FAILED,
	    "the peer refused requests: an operation it does not permit, or a wrong length"),
	ROW("nak_*_err*", REFUSED, FAILED, "requests were refused"),
	ROW("nak_inv_re*", REFUSED, FAILED,
	    "requests were refused: an operation that is not permitted, or a wrong length"),
	ROW("rq_num_lle", REFUSED, FAILED, "messages were longer than the receive"),
	ROW("responder_local_len_error", REFUSED, FAILED, "messages were longer than the receive"),
	ROW("num_cqovf", REFUSED, FAILED, "completion queues overflowed"),
	ROW("?q_num_wrfe", REFUSED, NOTE, "requests were flushed: a queue pair ended"),
	ROW("resp_remote_access_errors", REFUSED, FAILED,
	    "requests of peers were refused: a wrong key or address"),
	ROW("req_remote_invalid_request", REFUSED, FAILED,
	    "the peer refused requests: an operation it does not permit, or a wrong length"),
	ROW("resp_local_length_error", REFUSED, FAILED, "messages were longer than the receive"),
	ROW("req_cqe_error", REFUSED, FAILED, "requests ended with an error"),
	ROW("resp_cqe_error", REFUSED, FAILED, "receives ended with an error"),
	ROW("*_cqe_flush_error", REFUSED, NOTE, "requests were flushed: a queue pair ended"),
	ROW("rcvd_nak_err", REFUSED, FAILED, "the peer refused requests"),
	ROW("port_*_constraint_errors", REFUSED, FAILED, "the partition of packets was wrong"),
	ROW("port_rcv_switch_relay_errors", REFUSED, FAILED, "a switch could not forward packets"),

	/* --- congestion --- */
	ROW("np_ecn_marked_roce_packets", CONGESTION, NOTE,
	    "packets arrived that a switch had marked (ECN): the way here is congested"),
	ROW("rx_ecn_marked_pkts", CONGESTION, NOTE,
	    "packets arrived that a switch had marked (ECN): the way here is congested"),
	ROW("RxECNMrkd", CONGESTION, NOTE,
	    "packets arrived that a switch had marked (ECN): the way here is congested"),
	ROW("rx_ecn_mark", CONGESTION, NOTE, "the adapter marked packets: its buffer filled"),
	ROW("np_cnp_sent", CONGESTION, NOTE, "senders were told to slow down (CNP)"),
	ROW("cnpSent", CONGESTION, NOTE, "senders were told to slow down (CNP)"),
	ROW("tx_cnp_pkts", CONGESTION, NOTE, "senders were told to slow down (CNP)"),
	ROW("rp_cnp_handled", CONGESTION, NOTE, "peers told this host to slow down (CNP)"),
	ROW("cnpHandled", CONGESTION, NOTE, "peers told this host to slow down (CNP)"),
	ROW("rx_cnp_pkts", CONGESTION, NOTE, "peers told this host to slow down (CNP)"),
	ROW("received_ecns", CONGESTION, NOTE,
	    "packets arrived that a switch had marked (ECN): the way here is congested"),
	ROW("sent_cnps", CONGESTION, NOTE, "senders were told to slow down (CNP)"),
	ROW("received_cnp*", CONGESTION, NOTE, "peers told this host to slow down (CNP)"),
	ROW("rp_cnp_ignored", CONGESTION, FAILED,
	    "peers told this host to slow down (CNP), and it does not obey"),
	ROW("cnpIgnored", CONGESTION, FAILED,
	    "peers told this host to slow down (CNP), and it does not obey"),
	ROW("port_xmit_wait", CONGESTION, NOTE,
	    "the port had data and waited for credits of the other end"),
	ROW("tx_pause_storm_*", CONGESTION, FAILED,
	    "this host paused the other end for too long: it is too slow"),
	ROW("rx_*pause*", CONGESTION, NOTE, "the switch paused this host"),
	ROW("tx_*pause*", CONGESTION, NOTE, "this host paused the switch: it is too slow"),
	ROW("rx_pfc*", CONGESTION, NOTE, "the switch paused this host"),
	ROW("tx_pfc*", CONGESTION, NOTE, "this host paused the switch: it is too slow"),
	ROW("rx_priority_*_xoff*", CONGESTION, NOTE, "the switch paused this host"),
	ROW("tx_priority_*_xoff*", CONGESTION, NOTE, "this host paused the switch: it is too slow"),
	ROW("link_xoff_rx*", CONGESTION, NOTE, "the switch paused this host"),
	ROW("link_xoff_tx*", CONGESTION, NOTE, "this host paused the switch: it is too slow"),

	/* --- traffic --- */
	TRAFFIC("*packets*"),
	TRAFFIC("*bytes*"),
	TRAFFIC("*_pkts"),
	TRAFFIC("port_*_data"),
	TRAFFIC("rx_*_requests"),
	TRAFFIC("rdma_sends"),
	TRAFFIC("rdma_recvs"),
	TRAFFIC("multicast"),
	TRAFFIC("InDatagrams"),
	TRAFFIC("OutDatagrams"),
	TRAFFIC("ack_deferred"),
};

const struct counter_meaning *counter_meaning(const char *name)
{
	static const struct counter_meaning unknown = { "", COUNTER_OTHER, FINDING_OK, "" };

	for (unsigned int i = 0; i < ARRAY_SIZE(meanings); i++)
		if (!fnmatch(meanings[i].pattern, name, 0))
			return &meanings[i];
	return &unknown;
}

static const char *const kind_names[] = {
	[COUNTER_OTHER] = "other",	[COUNTER_TRAFFIC] = "traffic",
	[COUNTER_LINK] = "link",	[COUNTER_DROP] = "drops",
	[COUNTER_LOSS] = "losses",	[COUNTER_RECEIVER] = "receivers",
	[COUNTER_REFUSED] = "refusals", [COUNTER_CONGESTION] = "congestion",
};

const char *counter_kind_name(enum counter_kind kind)
{
	return enum_name(kind_names, ARRAY_SIZE(kind_names), kind, "?");
}

static const char *const source_names[] = {
	[SOURCE_HW_COUNTERS] = "hw_counters",
	[SOURCE_COUNTERS] = "counters",
	[SOURCE_STATISTICS] = "statistics",
	[SOURCE_ETHTOOL] = "ethtool",
	[SOURCE_UDP] = "udp",
	[SOURCE_UROCE] = "uroce",
};

const char *counter_source_name(enum counter_source source)
{
	return enum_name(source_names, ARRAY_SIZE(source_names), source, "?");
}
