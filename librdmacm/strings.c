/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of events, and reject reasons in words. */
#include <string.h>

#include "librdmacm/cm.h"
#include "util/enum.h"
#include "util/util.h"

static const char *const event_names[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
	[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
	[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
	[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
	[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
	[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
	[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
	[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
	[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
	[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
	[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
	[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	[RDMA_CM_EVENT_ADDRINFO_RESOLVED] = "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
	[RDMA_CM_EVENT_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
	[RDMA_CM_EVENT_USER] = "RDMA_CM_EVENT_USER",
	[RDMA_CM_EVENT_INTERNAL] = "RDMA_CM_EVENT_INTERNAL",
};

CM_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	return enum_name(event_names, ARRAY_SIZE(event_names), event, "UNKNOWN EVENT");
}

/* Reject reasons (IBTA vol. 1, communication management), explained for the reader of a log. */
static const char *const reject_reasons[] = {
	[1] = "the other side has no queue pair left",
	[2] = "the other side has no end-to-end context left",
	[3] = "the other side is out of resources",
	[4] = "a message of the handshake did not arrive in time",
	[5] = "the request's transport is not supported there",
	[6] = "the communication id is not valid there",
	[7] = "the communication instance is not valid there",
	[8] = "nobody listens on that port (invalid service id)",
	[9] = "the transport service type is not valid there",
	[10] = "stale connection: the other side still has one with this queue pair",
	[11] = "the reliable datagram channel does not exist",
	[12] = "the primary path's remote GID is not the other side's",
	[13] = "the primary path's remote LID is not the other side's",
	[14] = "the primary path's service level is not valid",
	[15] = "the primary path's traffic class is not valid",
	[16] = "the primary path's hop limit is not valid",
	[17] = "the primary path's packet rate is not valid",
	[18] = "the alternate path's remote GID is not the other side's",
	[19] = "the alternate path's remote LID is not the other side's",
	[20] = "the alternate path's service level is not valid",
	[21] = "the alternate path's traffic class is not valid",
	[22] = "the alternate path's hop limit is not valid",
	[23] = "the alternate path's packet rate is not valid",
	[24] = "the port moved to another channel adapter (redirected)",
	[25] = "the port moved within the channel adapter (redirected)",
	[26] = "the path MTU is not supported there",
	[27] = "the other side has too few responder resources",
	[28] = "the program on the other side refused (consumer reject)",
	[29] = "the RNR retry count is not supported there",
	[30] = "the other side is connecting to this one at the same time, with the same ids",
	[31] = "the class version is not supported there",
	[32] = "the primary path's flow label is not valid",
	[33] = "the alternate path's flow label is not valid",
	[35] = "the options offered are not supported (enhanced connection establishment)",
};

CM_EXPORT const char *rdma_reject_str(int status)
{
	if (status < 0)
		return strerror(-status);
	return enum_name(reject_reasons, ARRAY_SIZE(reject_reasons), status,
			 "reason without a name");
}
