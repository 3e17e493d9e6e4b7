/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common parts of the ping-pong programs. Two processes connect over TCP, exchange the addresses of
 * their queue pairs, and then send a message back and forth. A program implements its transport:
 * creating and connecting queue pairs, and posting work.
 *
 * All releases of the ibv_*_pingpong programs use the same text on the TCP connection, so that the
 * two ends may be of different releases.
 *
 * Internal functions return 0 or a negative errno. They print failures on stderr.
 */
#ifndef LIBIBVERBS_TOOLS_PINGPONG_H
#define LIBIBVERBS_TOOLS_PINGPONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "util/util.h"

#define PP_QP_MAX    256 /* number of addresses that a multi-QP program always exchanges */
#define PP_HOP_LIMIT 64
#define PP_UD_QKEY   0x11111111
#define PP_UD_GRH    40

/* wr_id: low bits: type of work; higher bits: buffer slot of a receive. */
enum {
	PP_RECV = 1,
	PP_SEND = 2,
	PP_SLOT_SHIFT = 8,
};

struct pp_options {
	const char *host;   /* name of the server; NULL: this process is the server */
	const char *device; /* name of the device; NULL: the first one */
	unsigned int tcp_port;
	unsigned int ib_port;
	unsigned int size; /* bytes of a message */
	enum ibv_mtu mtu;
	unsigned int num_qp;
	unsigned int rx_depth;
	unsigned int iters;
	unsigned int sl;
	int gid_index; /* -1: the user named none */
	bool events, odp, implicit_odp, prefetch, timestamps, check, dm, new_send;
	bool unprotected; /* memory that a confidential guest shares with its host */
};

struct pp;

struct pp_program {
	const char *letters; /* letters of its options in pingpong_options.c */
	struct pp_options defaults;
	const char *odp_needs; /* end of the message if the device does not support ODP */
	uint32_t odp_caps;     /* enum ibv_odp_transport_cap_bits that its transport needs */
	unsigned int grh;      /* bytes before a received message */
	enum ibv_qp_type type;
	uint8_t plain; /* byte value of all messages of older releases */
	bool many_qps; /* several QPs on one SRQ; exchange PP_QP_MAX addresses, not one */
	int (*create_qps)(struct pp *pp); /* sets qps[].qp, prints failures */
	int (*connect_qp)(struct pp *pp, unsigned int i);
	/* Post one receive into, or send from, @sge. Return: 0 or an errno value, as ibv_post_*().
	 */
	int (*post_recv)(struct pp *pp, uint64_t wr_id, struct ibv_sge *sge);
	int (*post_send)(struct pp *pp, unsigned int i, struct ibv_sge *sge);
};

struct pp_dest {
	uint16_t lid;
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
};

struct pp_qp {
	struct ibv_qp *qp;
	struct ibv_ah *ah;    /* UD: address handle of the peer */
	unsigned int pending; /* PP_SEND, PP_RECV: work to complete before the next send */
	struct pp_dest remote;
	struct pp_dest local;
};

struct pp {
	const struct pp_program *program;
	struct pp_options opt;
	struct ibv_context *context;
	struct ibv_device_attr_ex device_attr;
	struct ibv_port_attr port;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd;
	struct ibv_pd *parent_of; /* domain under @pd if that is a parent domain; or NULL */
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same CQ if timestamps are requested */
	struct ibv_srq *srq;
	struct pp_qp qps[PP_QP_MAX];
	int tcp; /* connection to the peer; 0: none */

	/*
	 * The buffer: a send slot for each QP, then receive slots. Without -c the data are not
	 * checked, and all slots are the same.
	 */
	char *buffer;
	struct ibv_buf *buf; /* handle of @buffer if the provider allocated it; or NULL */
	uint8_t *shadow;     /* a copy of a message in device memory */
	uint8_t *message;    /* a correct message */
	uint8_t *scrubbed;   /* wrong data, see pp_data_scrub() */
	size_t slot_size;
	unsigned int slot_count, first_recv_slot;
	unsigned int *free_slots, free_count; /* receive slots that are not posted */

	unsigned int send_flags;     /* enum ibv_send_flags */
	unsigned int outstanding;    /* receives */
	unsigned int sent, received; /* completed */
	bool plain_peer;	     /* its first message was that of an older release */
	bool invalid_data;
	struct {
		uint64_t last, min, max, sum;
		unsigned int count;
	} clock; /* time between receive completions, in ticks of the device */
};

/* pingpong_options.c. Exit with 0 after --help, and with 1 after an error. */
void pp_options_parse(const struct pp_program *program, int argc, char **argv,
		      struct pp_options *ret_options);

/* pingpong_exchange.c */

/* Called on the server after it got the addresses of the client and before it sends its own. */
typedef int (*pp_connect_fn)(struct pp *pp);

/* Exchange @count addresses with the peer: send pp->qps[].local and receive .remote. */
int pp_exchange(struct pp *pp, unsigned int count, pp_connect_fn connect_server);

/*
 * After the last exchange: wait a moment until the peer has finished, because it may still need the
 * queue pairs here. Do not wait for older releases, which close the connection at once.
 */
void pp_part(struct pp *pp);

/* Parts of pp_exchange(): connection of the client, listener of the server, next client, bytes. */
int pp_tcp_connect(const struct pp_options *opt);
int pp_tcp_listen(const struct pp_options *opt);
int pp_tcp_accept(int listener);
int pp_tcp_send(int fd, const void *data, size_t size);
/* -ECONNRESET: the peer closed the connection before @size bytes arrived. */
int pp_tcp_receive(int fd, void *data, size_t size);

/* Print and parse the text of one address. -EPROTO: it is not an address. */
#define PP_ADDRESS_SIZE sizeof("0000:000000:000000:00000000000000000000000000000000")
void pp_address_print(const struct pp_dest *dest, char ret_text[PP_ADDRESS_SIZE]);
int pp_address_parse(const char text[PP_ADDRESS_SIZE], struct pp_dest *ret_dest);

/*
 * pingpong_data.c: contents of messages with -c. Bytes at multiples of 4096 are 0, and the others
 * depend on their position. Older releases check only these zeros and send one byte value between
 * them. A server of an older release with several QPs may answer with the message of another QP.
 */
void pp_data_fill(uint8_t *data, size_t size);
/* Fill in data that differ from a correct message at every byte, to detect missing data. */
void pp_data_scrub(uint8_t *data, size_t size);
/* Return the offset of the first wrong byte; @size: all are correct. @right: data of pp_data_fill()
 */
size_t pp_data_check(const uint8_t *data, size_t size, const uint8_t *right);
size_t pp_data_check_plain(const uint8_t *data, size_t size, uint8_t plain);

/* pingpong_objects.c */
int pp_open(struct pp *pp);
int pp_close(struct pp *pp);
int pp_qp_to_init(struct pp *pp, unsigned int i);
bool pp_has_gid(const struct pp_dest *dest);
struct ibv_ah_attr pp_remote_ah_attr(const struct pp *pp, unsigned int i);
struct ibv_qp_init_attr pp_qp_init_attr(const struct pp *pp);

/* Steps that most of the programs share. */
int pp_qps_create(struct pp *pp);
int pp_qp_connect(struct pp *pp, unsigned int i); /* RC and UC: INIT to RTS */
int pp_post_recv(struct pp *pp, uint64_t wr_id, struct ibv_sge *sge);
int pp_post_send(struct pp *pp, unsigned int i, struct ibv_sge *sge);

/* Print the failure with the text of @error, which is a positive or negative errno or 0. Return:
 * -errno. */
int pp_fail(int error, const char *fmt, ...) _printf_(2, 3);

/* pingpong.c: run the program. Return: its exit code. */
int pp_main(const struct pp_program *program, int argc, char **argv);

#endif
