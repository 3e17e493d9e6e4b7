/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the ping-pong programs share. Two processes find each other over TCP, tell each other the
 * address of their queue pairs, and then send a message to and fro. A program brings its transport:
 * how its queue pairs are made and connected, and how work is posted.
 *
 * The text on the TCP connection is the one all ibv_*_pingpong programs have always spoken; both
 * ends may be of different versions.
 *
 * Inside, functions return 0 or a negative errno after they have said on stderr what failed.
 */
#ifndef LIBIBVERBS_TOOLS_PINGPONG_H
#define LIBIBVERBS_TOOLS_PINGPONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "util/util.h"

#define PP_QP_MAX    256 /* addresses a multi-QP program always exchanges */
#define PP_HOP_LIMIT 64
#define PP_UD_QKEY   0x11111111
#define PP_UD_GRH    40

/* wr_id: the kind of work in the low bits, the buffer slot of a receive above. */
enum {
	PP_RECV = 1,
	PP_SEND = 2,
	PP_SLOT_SHIFT = 8,
};

struct pp_options {
	const char *host;   /* of the server; NULL: this is the server */
	const char *device; /* NULL: the first one */
	unsigned int tcp_port;
	unsigned int ib_port;
	unsigned int size; /* bytes of a message */
	enum ibv_mtu mtu;
	unsigned int num_qp;
	unsigned int rx_depth;
	unsigned int iters;
	unsigned int sl;
	int gid_index; /* -1: none named */
	bool events, odp, implicit_odp, prefetch, timestamps, check, dm, new_send;
};

struct pp;

struct pp_program {
	const char *letters; /* the options it has, of those in pingpong_options.c */
	struct pp_options defaults;
	const char *odp_needs; /* end of the message when the device cannot do ODP */
	uint32_t odp_caps;     /* enum ibv_odp_transport_cap_bits of its transport */
	unsigned int grh;      /* bytes in front of a received message */
	enum ibv_qp_type type;
	uint8_t plain; /* what older versions of the program fill messages with */
	bool many_qps; /* on one SRQ; PP_QP_MAX addresses are exchanged instead of one */
	int (*create_qps)(struct pp *pp); /* fills qps[].qp, says what failed */
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
	struct ibv_ah *ah;    /* UD: the way to the peer */
	unsigned int pending; /* PP_SEND, PP_RECV: what must complete before the next send */
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
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex; /* the same CQ when timestamps are wanted */
	struct ibv_srq *srq;
	struct pp_qp qps[PP_QP_MAX];
	int tcp; /* to the other side; 0: none */

	/*
	 * The buffer: send slots, one a QP, then receive slots. Without -c nobody looks at the data
	 * and all of them are the same slot.
	 */
	char *buffer;
	uint8_t *shadow;   /* a message, to look at device memory through */
	uint8_t *message;  /* a right one */
	uint8_t *scrubbed; /* none */
	size_t slot_size;
	unsigned int slot_count, first_recv_slot;
	unsigned int *free_slots, free_count; /* receive slots that are not posted */

	unsigned int send_flags;     /* enum ibv_send_flags */
	unsigned int outstanding;    /* receives */
	unsigned int sent, received; /* completed */
	bool plain_peer;	     /* its first message was that of an older program */
	bool invalid_data;
	struct {
		uint64_t last, min, max, sum;
		unsigned int count;
	} clock; /* between receive completions, in ticks of the device */
};

/* pingpong_options.c. Exits the program with 0 after --help, with 1 after a mistake. */
void pp_options_parse(const struct pp_program *program, int argc, char **argv,
		      struct pp_options *ret_options);

/* pingpong_exchange.c */

/* Called on the server when it knows the client's addresses, before it sends its own. */
typedef int (*pp_connect_fn)(struct pp *pp);

/* Swap pp->qps[].local and .remote with the other side: @count of them. */
int pp_exchange(struct pp *pp, unsigned int count, pp_connect_fn connect_server);

/*
 * After the last exchange: wait a moment until the other side has finished too, so that it still
 * finds our queue pairs. Older programs close the connection at once, and are not waited for.
 */
void pp_part(struct pp *pp);

/* Its parts: the client's connection, the server's listener, one client after another, bytes. */
int pp_tcp_connect(const struct pp_options *opt);
int pp_tcp_listen(const struct pp_options *opt);
int pp_tcp_accept(int listener);
int pp_tcp_send(int fd, const void *data, size_t size);
/* -ECONNRESET when the other side ends before @size bytes came. */
int pp_tcp_receive(int fd, void *data, size_t size);

/* The text of one address, and back. Return: -EPROTO when it is none. */
#define PP_ADDRESS_SIZE sizeof("0000:000000:000000:00000000000000000000000000000000")
void pp_address_print(const struct pp_dest *dest, char ret_text[PP_ADDRESS_SIZE]);
int pp_address_parse(const char text[PP_ADDRESS_SIZE], struct pp_dest *ret_dest);

/*
 * pingpong_data.c: what a message holds with -c. Bytes at multiples of 4096 are zero, the others
 * depend on their place. Programs older than this one look only at those zeros and send one byte
 * value between them; as servers of several QPs they may answer with another QP's message.
 */
void pp_data_fill(uint8_t *data, size_t size);
/* Nothing of a right message: so that what is not received is seen. */
void pp_data_scrub(uint8_t *data, size_t size);
/* Return: offset of the first byte that is wrong, @size for none; @right: from pp_data_fill(). */
size_t pp_data_check(const uint8_t *data, size_t size, const uint8_t *right);
size_t pp_data_check_plain(const uint8_t *data, size_t size, uint8_t plain);

/* pingpong_objects.c */
int pp_open(struct pp *pp);
int pp_close(struct pp *pp);
int pp_qp_to_init(struct pp *pp, unsigned int i);
bool pp_has_gid(const struct pp_dest *dest);
struct ibv_ah_attr pp_remote_ah_attr(const struct pp *pp, unsigned int i);
struct ibv_qp_init_attr pp_qp_init_attr(const struct pp *pp);

/* The steps that are the same in most of the programs. */
int pp_qps_create(struct pp *pp);
int pp_qp_connect(struct pp *pp, unsigned int i); /* RC and UC: INIT to RTS */
int pp_post_recv(struct pp *pp, uint64_t wr_id, struct ibv_sge *sge);
int pp_post_send(struct pp *pp, unsigned int i, struct ibv_sge *sge);

/* Say what failed, with the text of @error (positive or negative errno, 0 for none). -errno. */
int pp_fail(int error, const char *fmt, ...) _printf_(2, 3);

/* pingpong.c: the whole program. Return: its exit code. */
int pp_main(const struct pp_program *program, int argc, char **argv);

#endif
