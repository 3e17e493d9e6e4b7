/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>

#include "providers/uroce/host/short_way.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/engine/engine.h"
#include "providers/uroce/verbs/verbs.h"
#include "tests/fuzz/victim.h"

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	CANARY = 0xc5,
	FAKE_SOCKET = 0x7ff0,
	CQE = 64,
};

struct victim victim;
static bool inside; /* the fuzzer replaces the system */
static uint64_t random_state;
static long thread[128]; /* zeros for the progress thread: awake, without descriptors */

/* --- the system, as the victim sees it --- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!inside)
		return syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){ victim.now / 1000000000, victim.now % 1000000000 };
	return 0;
}

ssize_t getrandom(void *buf, size_t length, unsigned int flags)
{
	uint8_t *p = buf;

	if (!inside)
		return syscall(SYS_getrandom, buf, length, flags);
	for (size_t i = 0; i < length; i++) {
		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		p[i] = random_state >> 56;
	}
	return length;
}

static void control_add(struct msghdr *msg, size_t *used, int level, int type, const void *value,
			size_t length)
{
	struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)msg->msg_control + *used);

	if (*used + CMSG_SPACE(length) > msg->msg_controllen)
		return;
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(c), value, length);
	*used += CMSG_SPACE(length);
}

static void message_fill(struct msghdr *msg)
{
	int segment = victim.segment, ttl = input_u8(&victim.control);
	uint64_t value = input_u8(&victim.control);
	int level = input_u8(&victim.control), type = input_u8(&victim.control);
	size_t used = 0;

	memcpy(msg->msg_iov->iov_base, victim.datagram, victim.datagram_length);
	memcpy(msg->msg_name, &victim.address[1], sizeof(victim.address[1]));
	if (victim.stranger)
		((struct sockaddr_in *)msg->msg_name)->sin_addr.s_addr ^= htonl(0x100);
	if (segment)
		control_add(msg, &used, SOL_UDP, UDP_GRO, &segment, sizeof(segment));
	control_add(msg, &used, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	control_add(msg, &used, level, type, &value, input_u8(&victim.control) % 9);
	msg->msg_controllen = used;
	msg->msg_flags = 0;
}

/* Return the number of bytes, or -1 if there is none. */
static int datagram_receive(int fd, struct msghdr *msg)
{
	int length = victim.datagram_length;

	CHECK(fd == FAKE_SOCKET);
	if (!length) {
		errno = EAGAIN;
		return -1;
	}
	CHECK((size_t)length <= msg->msg_iov->iov_len);
	message_fill(msg);
	victim.datagram_length = 0;
	return length;
}

static int datagrams_receive(int fd, struct mmsghdr *msgs)
{
	int length = datagram_receive(fd, &msgs->msg_hdr);

	if (length < 0)
		return -1;
	msgs->msg_len = length;
	return 1;
}

/* Receive without control data. */
static int bytes_receive(int fd, void *data, size_t size, void *from)
{
	struct iovec iov = { data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = from };

	return datagram_receive(fd, &msg);
}

/* Packets are received without the C library's point of cancellation: path/udp/udp_call.h. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (inside && number == SYS_recvmmsg)
		return datagrams_receive(a, (struct mmsghdr *)b);
	if (inside && number == SYS_recvmsg)
		return datagram_receive(a, (struct msghdr *)b);
	if (inside && number == SYS_recvfrom)
		return bytes_receive(a, (void *)b, c, (void *)e);
	return __real_syscall(number, a, b, c, d, e, f);
}

/* --- made once --- */

static int path_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	uint8_t payload[VICTIM_MTU], *p = payload;

	CHECK(tx->length <= sizeof(payload));
	for (int i = 0; i < tx->iovcnt; i++) {
		CHECK(tx->iov[i].iov_len <= (size_t)(payload + sizeof(payload) - p));
		if (uroce_copy(p, tx->iov[i].iov_base, tx->iov[i].iov_len) < 0)
			return -EFAULT;
		p += tx->iov[i].iov_len;
	}
	CHECK(p - payload == tx->length);
	victim.sent++;
	return 0;
}

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void host_make(void)
{
	struct uroce_host *host = &victim.host;
	struct uroce_dev *dev = &victim.dev;

	pthread_mutex_init(&host->lock, NULL);
	pthread_mutex_init(&host->xrc_lock, NULL);
	pthread_mutex_init(&victim.shm.lock, NULL);
	host->pid = getpid();
	host->paths.slot = VICTIM_SLOT;
	path_host_take(&host->paths, VICTIM_SLOT);
	host->qps = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*host->qps));
	host->resting = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*host->resting));
	host->thread = (struct uroce_thread *)thread;
	host->shm = &victim.shm;
	victim.shm = (struct uroce_shm){ .host = &host->paths, .board_fd = -1 };
	victim.shm.path = (struct uroce_path){ .ops = &uroce_shm_ops,
					       .host = &host->paths,
					       .name = "shm",
					       .lossless = true,
					       .piggyback = true };
	victim.shm.board = pages(sizeof(struct shm_board));
	victim.shm.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*dev = (struct uroce_dev){ .host = host, .name = "uroce_lo", .netdev = "lo", .ifindex = 1 };
	pthread_mutex_init(&dev->lock, NULL);
	victim.ctx.dev = dev;
	victim.ctx.vctx.context.device = &victim.device;
	strcpy(victim.device.name, "uroce_lo");
	CHECK(!uroce_event_open(&victim.ctx));
}

static void addresses_make(void)
{
	for (int i = 0; i < 2; i++) {
		victim.address[i].in = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(UROCE_UDP_PORT),
			.sin_addr = { htonl(0x7f000001 + i) },
		};
		uroce_address_to_gid(&victim.address[i], &victim.gid[i]);
	}
	victim.dev.gids[0] = (struct uroce_gid){ .gid = victim.gid[0], .valid = true };
}

static void udp_make(void)
{
	static const struct uroce_path_ops ops = { .send = path_send };

	victim.udp.path =
		(struct uroce_path){ .ops = &ops, .host = &victim.host.paths, .name = "udp" };
	for (int i = 0; i < UROCE_GID_MAX; i++)
		victim.udp.ports[i].fd = -1;
	victim.udp.ports[0] = (struct udp_port){ .gid = victim.gid[0], .fd = FAKE_SOCKET };
	victim.udp.slots = 1;
	CHECK(!uroce_udp_receiver_new(&victim.udp.receiver));
	victim.dev.udp = &victim.udp.path;
}

static void once(void)
{
	host_make();
	addresses_make();
	udp_make();
	victim.peer.lane = pages(shm_lane_size(SHM_RING_BYTES));
	victim.peer_board = pages(sizeof(struct shm_board));
	victim.peer.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	victim.region = (uint8_t *)pages(VICTIM_REGION + 2 * VICTIM_CANARY) + VICTIM_CANARY;
	uroce_copy_init();
}

/* --- made for each input --- */

static void host_reset(void)
{
	uroce_host_init(&victim.host, victim.now);
	LIST_INIT(&victim.host.devices);
	LIST_INSERT_HEAD(&victim.host.devices, &victim.dev, entry);
	victim.host.next_qpn = uroce_qpn_index(victim_qpn(0));
	victim.host.next_srqn = VICTIM_SRQN;
	atomic_store(&victim.host.epochs[0].epoch, 0);
	atomic_store(&victim.host.next_strand, 0);
	memset(victim.host.strand_qps, 0, sizeof(victim.host.strand_qps));
	memset(victim.host.rests, 0, sizeof(victim.host.rests));
	memset(victim.host.resting + victim.host.next_qpn, 0,
	       sizeof(*victim.host.resting) << UROCE_QPN_BLOCK_BITS);
	victim.udp.ports[0].pace.idle = 0;
	victim.udp.passes = 0;
	victim.udp.ready = true;
	CHECK(!uroce_keys_new(&victim.host.engine.keys));
	CHECK(!uroce_forward_new(&victim.host.forward));
	victim.host.forwards = 0; /* the former input's forwards went with its list */
}

static void peer_reset(void)
{
	struct shm_peer *peer = &victim.peer;
	struct shm_lane *lane = peer->lane;
	struct shm_board *board = victim.peer_board;
	int wake_fd = peer->wake_fd;

	/* Give the pages back to the system, so that they are zero again. */
	madvise(lane, shm_lane_size(SHM_RING_BYTES), MADV_DONTNEED);
	madvise(board, sizeof(*board), MADV_DONTNEED);
	madvise(victim.shm.board, sizeof(*board), MADV_DONTNEED);
	for (unsigned int i = 0; i < PATH_STRANDS - 1; i++) {
		free(peer->links[i]);
		lane->other[i][0].seed = lane->other[i][1].seed = 1;
	}
	*peer = (struct shm_peer){ .shm = &victim.shm,
				   .slot = PEER_SLOT,
				   .reads = SHM_READS,
				   .ready = true,
				   .pid = getpid(),
				   .conn = -1,
				   .process = -1,
				   .wake_fd = wake_fd,
				   .lane = lane,
				   .board = board,
				   .first_page = &board->first_page,
				   .ring_bytes = SHM_RING_BYTES,
				   .link.peer = peer,
				   .link.wide_bytes = SHM_RING_BYTES,
				   .link.rx_side = 1,
				   .link.tx_bytes = SHM_RING_BYTES,
				   .link.tx_room = SHM_RING_BYTES,
				   .link.rx_bytes = SHM_RING_BYTES,
				   .wide = lane,
				   .link.tx = &lane->ring[0],
				   .link.tx_data = lane->data,
				   .link.rx = &lane->ring[1],
				   .link.rx_data = lane->data + SHM_RING_BYTES,
				   .uses = &lane->uses[0],
				   .used = &lane->uses[1],
				   .link.tx_stamp = 1,
				   .link.tx_open = SHM_OPEN,
				   .link.tx_span = SHM_RING_BYTES,
				   .link.rx_stamp = 1 };
	atomic_store(&board->first_page.life.word[SHM_LIFE_WORD], 1);
	LIST_INIT(&victim.shm.peers);
	LIST_INIT(&victim.shm.gone);
	LIST_INSERT_HEAD(&victim.shm.peers, peer, entry);
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		LIST_INIT(&victim.shm.links[i]);
	LIST_INSERT_HEAD(&victim.shm.links[0], &peer->link, entry);
	atomic_store(&victim.shm.inhabited[PEER_SLOT / SHM_WORD], 1ull << PEER_SLOT % SHM_WORD);
	atomic_store(&victim.shm.by_slot[PEER_SLOT], peer);
}

static void region_reset(void)
{
	struct verbs_reg_mr in = {
		.pd = &victim.pd.pd,
		.addr = victim.region,
		.length = VICTIM_REGION,
		.iova = VICTIM_IOVA,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
			  IBV_ACCESS_FLUSH_GLOBAL,
	};

	memset(victim.region - VICTIM_CANARY, CANARY, VICTIM_REGION + 2 * VICTIM_CANARY);
	victim.pd = (struct uroce_pd){ .pd.context = &victim.ctx.vctx.context };
	CHECK(!uroce_alloc_pd(&victim.pd.pd, NULL));
	victim.mr = (struct uroce_mr){ .vmr.ibv_mr = { .context = &victim.ctx.vctx.context,
						       .pd = &victim.pd.pd } };
	CHECK(!uroce_reg_mr(&victim.mr.vmr, &in));
}

static struct ibv_sge sge_at(uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){ VICTIM_IOVA + offset, length, victim.mr.vmr.ibv_mr.lkey };
}

static void queues_reset(void)
{
	const struct ibv_cq_init_attr_ex cq_attr = { .cqe = CQE };
	const struct verbs_create_cq create_cq = { .attr = &cq_attr };
	struct ibv_srq_init_attr_ex srq_attr = { .attr = { .max_wr = 4, .max_sge = 2 } };
	const struct verbs_create_srq create_srq = { .attr = &srq_attr };

	victim.cq = (struct uroce_cq){ .vcq.cq.context = &victim.ctx.vctx.context };
	CHECK(!uroce_create_cq(&victim.cq.vcq, &create_cq));
	victim.srq = (struct uroce_srq){ .vsrq.srq = { .context = &victim.ctx.vctx.context,
						       .pd = &victim.pd.pd } };
	CHECK(!uroce_create_srq(&victim.srq.vsrq, &create_srq));
}

static void qp_connect(struct uroce_qp *qp, uint32_t peer, bool local)
{
	qp->av = (struct uroce_av){ .path = &victim.udp.path,
				    .route = { .sgid = victim.gid[0], .dgid = victim.gid[1] },
				    .addr = victim.address[1],
				    .mtu = VICTIM_MTU };
	if (local) {
		qp->av.path = &victim.shm.path;
		qp->av.peer = &victim.peer;
		qp->av.mtu = SHM_SEGMENT;
		qp->av.ref_min = SHM_REF_MIN;
		qp->short_way = uroce_short_way_possible(qp);
	}
	qp->dest_qpn = peer;
	qp->mtu = VICTIM_MTU;
	qp->qkey = VICTIM_QKEY;
	qp->access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	qp->req.window = qp->req.window_max = 64;
	qp->req.max_rd_atomic = qp->resp.max_rd_atomic = 4;
	qp->req.timeout = 8;
	qp->req.retry_cnt = qp->req.retry_left = 2;
	qp->req.rnr_retry = qp->req.rnr_left = 2;
	qp->resp.res_size = uroce_qp_reliable(qp) ? 4 : 0;
	qp->resp.res = calloc(4, sizeof(*qp->resp.res));
	qp->state = IBV_QPS_RTS;
	uroce_lock(&qp->lock);
	uroce_qp_show(qp);
	uroce_unlock(&qp->lock);
}

static void qp_receives(struct uroce_qp *qp)
{
	struct ibv_sge sge[2] = { sge_at(0, 100), sge_at(4096, 3000) };
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;

	for (int i = 0; i < 4; i++) {
		wr.num_sge = 2 - i % 2;
		if (qp->srq)
			uroce_post_srq_recv(&qp->srq->vsrq.srq, &wr, &bad);
		else
			uroce_post_recv(&qp->vqp.qp, &wr, &bad);
	}
}

/* Reset the XRC queue pair, which is connected like the others, to an SRQ with receives. */
static void xrc_reset(bool local)
{
	const struct ibv_xrcd_init_attr xrcd_attr = { .fd = -1 };
	const struct verbs_open_xrcd open_xrcd = { .attr = &xrcd_attr };
	struct ibv_srq_init_attr_ex srq_attr = { .attr = { .max_wr = 4, .max_sge = 2 } };
	const struct verbs_create_srq create_srq = { .attr = &srq_attr };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV };
	const struct verbs_create_qp in = { .attr = &attr };
	struct ibv_context *ctx = &victim.ctx.vctx.context;
	struct ibv_sge sge[2] = { sge_at(0, 100), sge_at(4096, 3000) };
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;

	victim.xrcd = (struct uroce_xrcd){ .vxrcd.xrcd.context = ctx };
	CHECK(!uroce_open_xrcd(&victim.xrcd.vxrcd, &open_xrcd));
	victim.xrc_srq =
		(struct uroce_srq){ .vsrq = { .srq = { .context = ctx, .pd = &victim.pd.pd },
					      .srq_type = IBV_SRQT_XRC,
					      .xrcd = &victim.xrcd.vxrcd.xrcd,
					      .cq = &victim.cq.vcq.cq } };
	CHECK(!uroce_create_srq(&victim.xrc_srq.vsrq, &create_srq));
	CHECK(victim.xrc_srq.vsrq.srq_num == VICTIM_SRQN);
	victim.xrc =
		(struct uroce_qp){ .vqp = { .qp = { .context = ctx, .qp_type = IBV_QPT_XRC_RECV },
					    .xrcd = &victim.xrcd.vxrcd.xrcd } };
	CHECK(!uroce_create_qp(&victim.xrc.vqp, &in));
	CHECK(victim.xrc.vqp.qp.qp_num == victim_qpn(VICTIM_XRC));
	qp_connect(victim.xrc.shared, victim_peer_qpn(VICTIM_XRC), local);
	for (int i = 0; i < 4; i++) {
		wr.num_sge = 2 - i % 2;
		uroce_post_srq_recv(&victim.xrc_srq.vsrq.srq, &wr, &bad);
	}
}

static void qp_reset(enum victim_qp which, bool local)
{
	static const enum ibv_qp_type types[VICTIM_QPS] = {
		[VICTIM_RC] = IBV_QPT_RC,
		[VICTIM_RC_SRQ] = IBV_QPT_RC,
		[VICTIM_UC] = IBV_QPT_UC,
		[VICTIM_UD] = IBV_QPT_UD,
	};
	struct uroce_qp *qp = &victim.qp[which];
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &victim.cq.vcq.cq,
		.recv_cq = &victim.cq.vcq.cq,
		.srq = which == VICTIM_RC_SRQ ? &victim.srq.vsrq.srq : NULL,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 64 },
		.qp_type = types[which],
		.sq_sig_all = 1,
	};
	const struct verbs_create_qp in = { .attr = &attr };

	victim.cq.strand = uroce_qpn_strand(victim_qpn(which));
	victim.cq.strand_given = true;
	*qp = (struct uroce_qp){ .vqp.qp = { .context = &victim.ctx.vctx.context,
					     .pd = &victim.pd.pd,
					     .qp_type = types[which] } };
	CHECK(!uroce_create_qp(&qp->vqp, &in));
	CHECK(qp->vqp.qp.qp_num == victim_qpn(which));
	qp_connect(qp, victim_peer_qpn(which), local);
	qp_receives(qp);
}

void victim_begin(bool local, bool strands)
{
	victim.strands = strands;
	if (!victim.region)
		once();
	inside = true;
	victim.now = 1000000000;
	victim.sent = 0;
	victim.datagram_length = 0;
	random_state = 0;
	host_reset();
	peer_reset();
	region_reset();
	queues_reset();
	for (int i = 0; i < VICTIM_QPS; i++)
		qp_reset(i, local);
	xrc_reset(local);
}

bool victim_xrc_address(uint8_t *packet, uint32_t length)
{
	if ((packet[0] & UROCE_TRANSPORT_MASK) != UROCE_XRC)
		return false;
	put32(packet + 4, victim_qpn(VICTIM_XRC));
	if (length >= BTH_LEN + XRC_ETH_LEN && !packet[BTH_LEN])
		put32(packet + BTH_LEN, VICTIM_SRQN);
	return true;
}

/* --- actions of the victim --- */

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND_WITH_INV,
};

void victim_post(enum victim_qp which, struct input *in)
{
	struct uroce_qp *qp = &victim.qp[which];
	struct uroce_ah ah = { .av = qp->av };
	uint8_t kind = input_u8(in);
	enum ibv_wr_opcode opcode = opcodes[kind % ARRAY_SIZE(opcodes)];
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct ibv_sge sge = sge_at(8192, atomic ? 8 : input_u16(in) % 8192);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;

	wr.send_flags = kind & 0x40 ? IBV_SEND_FENCE : 0;
	if (qp->type == IBV_QPT_UD) {
		wr.wr.ud.ah = &ah.ah;
		wr.wr.ud.remote_qpn = victim_peer_qpn(0);
		sge.length %= VICTIM_MTU;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = VICTIM_IOVA;
		wr.wr.atomic.rkey = input_u32(in);
	} else {
		wr.wr.rdma.remote_addr = VICTIM_IOVA;
		wr.wr.rdma.rkey = input_u32(in);
	}
	(void)!uroce_post_send(&qp->vqp.qp, &wr, &bad);
}

/* Run as long as there is work, but not for ever. */
void victim_progress(uint64_t ns)
{
	struct ibv_wc wc[8];

	victim.now += ns;
	uroce_lock(&victim.host.paths.progress_lock);
	for (int i = 0; i < 8 && uroce_progress_pass(&victim.host, true, i % 2); i++)
		;
	while (uroce_poll_cq(&victim.cq.vcq.cq, ARRAY_SIZE(wc), wc) > 0)
		;
	uroce_unlock(&victim.host.paths.progress_lock);
	for (unsigned int i = 1; i < PATH_STRANDS; i++)
		uroce_progress_visit(&victim.host, i);
}

/* --- invariants after the input --- */

static void qp_check(const struct uroce_qp *qp)
{
	const struct uroce_responder *resp = &qp->resp;
	uint32_t active = 0;

	CHECK(qp->sq.head - qp->sq.tail <= qp->sq.size);
	CHECK(qp->sq.next - qp->sq.tail <= qp->sq.head - qp->sq.tail);
	CHECK(qp->rq.head - qp->rq.tail <= qp->rq.size);
	CHECK(qp->req.rd_atomic <= qp->req.max_rd_atomic);
	CHECK(resp->res_count <= resp->res_size);
	for (uint32_t i = 0; i < resp->res_count; i++)
		active += resp->res[(resp->res_head + i) % resp->res_size].active;
	CHECK(active == resp->res_pending);
}

static void canary_check(const uint8_t *p)
{
	for (int i = 0; i < VICTIM_CANARY; i++)
		CHECK(p[i] == CANARY);
}

void victim_end(void)
{
	uint64_t rung;

	canary_check(victim.region - VICTIM_CANARY);
	canary_check(victim.region + VICTIM_REGION);
	for (int i = 0; i < VICTIM_QPS; i++) {
		qp_check(&victim.qp[i]);
		CHECK(!uroce_destroy_qp(&victim.qp[i].vqp));
	}
	qp_check(victim.xrc.shared);
	CHECK(!uroce_destroy_qp(&victim.xrc.vqp));
	CHECK(!uroce_destroy_srq(&victim.xrc_srq.vsrq));
	CHECK(!uroce_close_xrcd(&victim.xrcd.vxrcd));
	free(atomic_exchange(&victim.host.engine.srqs, NULL));
	CHECK(!uroce_destroy_srq(&victim.srq.vsrq));
	CHECK(!uroce_destroy_cq(&victim.cq.vcq));
	CHECK(!uroce_dereg_mr(&victim.mr.vmr));
	CHECK(!uroce_dealloc_pd(&victim.pd.pd));
	CHECK(!victim.host.engine.wheel.armed);
	uroce_forward_free(victim.host.forward);
	uroce_keys_free(victim.host.engine.keys);
	(void)!read(victim.shm.wake_fd, &rung, sizeof(rung));
	inside = false;
}
