/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check by compiling that rdma_cma_abi.h and the kernel's header describe the same interface of
 * /dev/infiniband/rdma_cm. */
#include <stddef.h>

#include <rdma/rdma_cma_abi.h>
#include <rdma/rdma_user_cm.h>

#define HEADER sizeof(struct rdma_ucm_cmd_hdr)

/* A command is the header and the kernel's struct; @member is at the place where the kernel
 * reads it. */
#define COMMAND(number, name, member)                                                             \
	_Static_assert((int)UCMA_CMD_##number == (int)RDMA_USER_CM_CMD_##number, #number);        \
	_Static_assert(sizeof(struct ucma_abi_##name) == HEADER + sizeof(struct rdma_ucm_##name), \
		       #name);                                                                    \
	_Static_assert(offsetof(struct ucma_abi_##name, member) ==                                \
			       HEADER + offsetof(struct rdma_ucm_##name, member),                 \
		       #name "." #member)

#define ANSWER(name, member)                                                                     \
	_Static_assert(sizeof(struct ucma_abi_##name) == sizeof(struct rdma_ucm_##name), #name); \
	_Static_assert(offsetof(struct ucma_abi_##name, member) ==                               \
			       offsetof(struct rdma_ucm_##name, member),                         \
		       #name "." #member)

COMMAND(CREATE_ID, create_id, qp_type);
COMMAND(DESTROY_ID, destroy_id, id);
COMMAND(BIND_IP, bind_ip, id);
COMMAND(RESOLVE_IP, resolve_ip, timeout_ms);
COMMAND(RESOLVE_ROUTE, resolve_route, timeout_ms);
COMMAND(CONNECT, connect, ece);
COMMAND(LISTEN, listen, backlog);
COMMAND(ACCEPT, accept, ece);
COMMAND(REJECT, reject, private_data);
COMMAND(DISCONNECT, disconnect, id);
COMMAND(INIT_QP_ATTR, init_qp_attr, qp_state);
COMMAND(GET_EVENT, get_event, response);
COMMAND(SET_OPTION, set_option, optlen);
COMMAND(NOTIFY, notify, event);
COMMAND(JOIN_IP_MCAST, join_ip_mcast, id);
COMMAND(MIGRATE_ID, migrate_id, fd);
COMMAND(QUERY, query, option);
COMMAND(BIND, bind, addr);
COMMAND(RESOLVE_ADDR, resolve_addr, dst_addr);
COMMAND(JOIN_MCAST, join_mcast, addr);

ANSWER(create_id_resp, id);
ANSWER(destroy_id_resp, events_reported);
ANSWER(migrate_resp, events_reported);
ANSWER(query_route_resp, ibdev_index);
ANSWER(query_addr_resp, dst_addr);
ANSWER(query_path_resp, num_paths);
ANSWER(conn_param, valid);
ANSWER(ece, attr_mod);
ANSWER(event_resp, ece);

/* The kernel's structs have no padding at the end, which 32-bit programs need. */
_Static_assert(sizeof(struct ucma_abi_ud_param) == sizeof(struct rdma_ucm_ud_param) + 4, "");
_Static_assert(offsetof(struct ucma_abi_ud_param, private_data_len) ==
		       offsetof(struct rdma_ucm_ud_param, private_data_len),
	       "");
_Static_assert((int)UCMA_CMD_WRITE_CM_EVENT == (int)RDMA_USER_CM_CMD_WRITE_CM_EVENT, "");
_Static_assert(offsetof(struct ucma_abi_write_cm_event, param) ==
		       HEADER + offsetof(struct rdma_ucm_write_cm_event, param),
	       "");
