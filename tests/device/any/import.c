/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Import objects of the same process and of another one. A device of the kernel imports domains
 * and regions. It imports a context only if its driver supports that, and rxe and siw do not. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/lib/rt_child.h"

/* Check the result of an import: an object, or a refusal. Return whether it was imported. */
static bool is_imported(const void *object, bool expected)
{
	int error = errno;

	CHECK(!object == !expected);
	if (!expected)
		CHECK_INT(error, EOPNOTSUPP);
	return expected;
}

/* Import a context by a duplicate of its descriptor. The new context owns the duplicate. If the
 * import fails, the caller still owns it. */
static struct ibv_context *import_context(int cmd_fd)
{
	int fd = fcntl(cmd_fd, F_DUPFD_CLOEXEC, 0), error;
	struct ibv_context *ctx = ibv_import_device(fd);

	error = errno;
	if (ctx)
		CHECK_INT(ctx->cmd_fd, fd);
	else
		CHECK_OK(close(fd));
	errno = error;
	return ctx;
}

static bool imports_contexts(const struct rt_dev *dev)
{
	return !rt_is_rxe(dev) && !rt_is_iwarp(dev);
}

/* Write data from @from to @to; the queue pair accepts both keys. */
static void data_moves(struct rt_dev *dev, struct rt_buf *from, uint32_t lkey, struct rt_buf *to,
		       uint32_t rkey)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = { (uintptr_t)from->p, 4096, lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(from->p, 4096, 3);
	wr.wr.rdma.remote_addr = (uintptr_t)to->p;
	wr.wr.rdma.rkey = rkey;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(to->p, 4096, 3);
	rt_pair_close(&pair);
}

/* Queue pairs in an imported view of a domain accept regions of the domain itself. */
static void device(void)
{
	struct rt_dev *dev = rt_open(), imported = *dev;

	imported.ctx = import_context(dev->ctx->cmd_fd);
	if (is_imported(imported.ctx, imports_contexts(dev))) {
		struct rt_buf from = rt_buf_alloc(dev, 4096, RT_ACCESS);
		struct rt_buf to = rt_buf_alloc(dev, 4096, RT_ACCESS);

		CHECK(imported.ctx->device == dev->ctx->device);
		imported.pd = ibv_import_pd(imported.ctx, dev->pd->handle);
		CHECK(imported.pd);
		data_moves(&imported, &from, from.mr->lkey, &to, to.mr->rkey);
		ibv_unimport_pd(imported.pd);
		CHECK_OK(ibv_close_device(imported.ctx));
		rt_buf_free(&from);
		rt_buf_free(&to);
	}
	rt_close(dev);
}

/* No descriptor is left, whether the import succeeds or fails. */
static void descriptors(void)
{
	struct rt_dev *dev = rt_open();
	int before = rt_use().descriptors;
	struct ibv_context *ctx = import_context(dev->ctx->cmd_fd);

	if (is_imported(ctx, imports_contexts(dev)))
		CHECK_OK(ibv_close_device(ctx));
	CHECK_INT(rt_use().descriptors, before);
	rt_close(dev);
}

/* A region that is registered in the imported domain belongs to the domain. */
static void pd(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *imported = ibv_import_pd(dev->ctx, dev->pd->handle), *own = dev->pd;
	struct rt_buf from, to;

	CHECK(imported);
	from = rt_buf_alloc(dev, 4096, RT_ACCESS);
	dev->pd = imported;
	to = rt_buf_alloc(dev, 4096, RT_ACCESS);
	dev->pd = own;
	data_moves(dev, &from, from.mr->lkey, &to, to.mr->rkey);
	rt_buf_free(&from);
	rt_buf_free(&to);
	ibv_unimport_pd(imported);
	rt_close(dev);
}

/* A queue pair may outlive the view in which it was created. */
static void pd_first(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *imported = ibv_import_pd(dev->ctx, dev->pd->handle), *own = dev->pd;
	struct rt_buf from = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct rt_pair pair;
	struct ibv_sge sge = { (uintptr_t)from.p, 4096, from.mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	CHECK(imported);
	dev->pd = imported;
	pair = rt_pair_open(dev, NULL);
	dev->pd = own;
	ibv_unimport_pd(imported);
	rt_fill(from.p, 4096, 4);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p, 4096, 4);
	rt_pair_close(&pair);
	rt_buf_free(&from);
	rt_close(dev);
}

/* A window and its region may outlive the view too; the queue pair of the domain can use them all
 * the same. */
static void window_first(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *imported = ibv_import_pd(dev->ctx, dev->pd->handle), *own = dev->pd;
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge = rt_sge(&pair.b, 0, 1000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 6, &sge);
	struct rt_buf buf;
	struct ibv_mw *mw;

	CHECK(imported);
	mw = ibv_alloc_mw(imported, IBV_MW_TYPE_1);
	if (!mw)
		rt_skip("the device has no memory windows");
	dev->pd = imported;
	buf = rt_buf_alloc(dev, 4096, RT_ACCESS | IBV_ACCESS_MW_BIND);
	dev->pd = own;
	ibv_unimport_pd(imported);
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = buf.mr,
						    .addr = (uintptr_t)buf.p,
						    .length = 4096,
						    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	CHECK_OK(ibv_bind_mw(pair.a.qp, mw, &bind));
	EXPECT(&pair.a, 5, IBV_WC_BIND_MW);
	rt_fill(pair.b.buf.p, 1000, 9);
	wr.wr.rdma.remote_addr = (uintptr_t)buf.p + 100;
	wr.wr.rdma.rkey = mw->rkey;
	POST(&pair.b, &wr);
	EXPECT(&pair.b, 6, IBV_WC_RDMA_WRITE);
	VERIFY(buf.p + 100, 1000, 9);
	CHECK_OK(ibv_dealloc_mw(mw));
	POST(&pair.b, &wr);
	EXPECT_STATUS(&pair.b, 6, IBV_WC_REM_ACCESS_ERR);
	rt_buf_free(&buf);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void mr(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf from = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct rt_buf to = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct ibv_mr *imported = ibv_import_mr(dev->pd, to.mr->handle);

	CHECK(imported);
	CHECK_INT(imported->length, 4096);
	CHECK_INT(imported->rkey, to.mr->rkey);
	data_moves(dev, &from, from.mr->lkey, &to, imported->rkey);
	/* Both have the same keys. Only the refusal to deregister shows that the region is
	 * imported. */
	if (!rt_is_kernel(dev))
		CHECK_INT(ibv_dereg_mr(to.mr), EBUSY);
	ibv_unimport_mr(imported);
	memset(to.p, 0, 4096);
	data_moves(dev, &from, from.mr->lkey, &to, to.mr->rkey);
	CHECK(!ibv_import_mr(dev->pd, 0x7ffffff0));
	CHECK_INT(errno, ENOENT);
	rt_buf_free(&from);
	rt_buf_free(&to);
	rt_close(dev);
}

/* ---- two processes ---- */

#define SIZE 40000

/* The owner sends these handles with the descriptor of its context. */
struct told {
	uint32_t pd;
	uint32_t mr; /* SIZE bytes from @addr, in memory that both processes can map */
	uint64_t addr;
	uint32_t other_mr; /* in memory that only the owner has, in another domain */
	uint32_t other_pd;
	uint32_t dm; /* SIZE bytes */
	bool has_dm;
};

static void told_send(int socket, int cmd_fd, struct told *told)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { told, sizeof(*told) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &cmd_fd, sizeof(int));
	CHECK(sendmsg(socket, &msg, 0) == sizeof(*told));
}

static int told_receive(int socket, struct told *ret)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	int fd;

	if (!n) /* the owner skips the case */
		exit(0);
	CHECK(n == sizeof(*ret));
	CHECK(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* The owner's objects. */
struct owner {
	struct rt_dev *dev;
	uint8_t *shared;
	struct ibv_mr *mr;
	struct ibv_pd *other_pd;
	struct rt_buf other;
	struct ibv_dm *dm;
};

static struct owner owner_open(int socket)
{
	struct owner o = { .dev = rt_open() };
	struct ibv_alloc_dm_attr dm = { .length = SIZE };
	int file = memfd_create("shared", MFD_CLOEXEC);
	struct ibv_pd *own = o.dev->pd;
	struct told told = {};

	if (!imports_contexts(o.dev))
		rt_skip("the kernel's rxe and siw do not import contexts");
	CHECK(file >= 0);
	/* The offset is neither the beginning of the file nor of the mapping. */
	CHECK_OK(ftruncate(file, 4096 + SIZE + 4096));
	o.shared = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
	CHECK(o.shared != MAP_FAILED);
	close(file);
	o.shared += 100;
	o.mr = ibv_reg_mr(o.dev->pd, o.shared, SIZE, RT_ACCESS);
	CHECK(o.mr);
	o.other_pd = ibv_alloc_pd(o.dev->ctx);
	CHECK(o.other_pd);
	o.dev->pd = o.other_pd;
	o.other = rt_buf_alloc(o.dev, 4096, RT_ACCESS);
	o.dev->pd = own;
	o.dm = o.dev->attr.max_dm_size ? ibv_alloc_dm(o.dev->ctx, &dm) : NULL;
	CHECK(o.dm || !o.dev->attr.max_dm_size);
	told = (struct told){ .pd = o.dev->pd->handle,
			      .mr = o.mr->handle,
			      .addr = (uintptr_t)o.shared,
			      .other_mr = o.other.mr->handle,
			      .other_pd = o.other_pd->handle,
			      .dm = o.dm ? o.dm->handle : 0,
			      .has_dm = o.dm };
	told_send(socket, o.dev->ctx->cmd_fd, &told);
	return o;
}

/* Close the owner; the importer has no object of it any more. */
static void owner_close(struct owner *o)
{
	CHECK_OK(ibv_dereg_mr(o->mr));
	rt_buf_free(&o->other);
	CHECK_OK(ibv_dealloc_pd(o->other_pd));
	if (o->dm)
		CHECK_OK(ibv_free_dm(o->dm));
	munmap(o->shared - 100, SIZE + 4096);
	rt_close(o->dev);
}

/* The other process: the device is its own, context and domain belong to the owner. */
struct importer {
	struct rt_dev *own;
	struct rt_dev dev;
	struct told told;
};

static struct importer importer_open(int socket)
{
	struct importer i = { .own = NULL };
	int fd = told_receive(socket, &i.told);

	i.own = rt_open();
	i.dev = *i.own;
	i.dev.ctx = ibv_import_device(fd);
	CHECK(i.dev.ctx);
	i.dev.pd = ibv_import_pd(i.dev.ctx, i.told.pd);
	CHECK(i.dev.pd);
	return i;
}

static void importer_close(struct importer *i)
{
	ibv_unimport_pd(i->dev.pd);
	CHECK_OK(ibv_close_device(i->dev.ctx));
	rt_close(i->own);
}

/* Write, read and send by the region's own addresses, which are not mapped in this process. */
static void import_and_move(int socket, int arg)
{
	struct importer i = importer_open(socket);
	struct ibv_mr *mr = ibv_import_mr(i.dev.pd, i.told.mr);
	struct rt_pair pair = rt_pair_open(&i.dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 5000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	CHECK(mr);
	CHECK(!mr->addr);
	CHECK_INT(mr->length, SIZE);
	rt_fill(pair.a.buf.p, 5000, 1);
	wr.wr.rdma.remote_addr = i.told.addr + 10000;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_tell(socket, 1);
	CHECK_INT(rt_hear(socket), 2); /* the owner has filled the beginning */
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = i.told.addr;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_READ);
	VERIFY(pair.a.buf.p, 5000, 2);
	/* As local memory, of a send and of a receive. */
	sge = (struct ibv_sge){ i.told.addr, 5000, mr->lkey };
	wr = rt_wr(IBV_WR_SEND, 3, &sge);
	rt_recv(&pair.b, 4, 0, 5000);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 3, IBV_WC_SEND);
	EXPECT(&pair.b, 4, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 5000, 2);
	/* Access ends with the region. */
	sge = rt_sge(&pair.a, 0, 100);
	wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	wr.wr.rdma.remote_addr = i.told.addr + SIZE - 99;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	rt_pair_close(&pair);
	ibv_unimport_mr(mr);
	importer_close(&i);
	rt_tell(socket, 3);
	CHECK_INT(rt_hear(socket), 4);
}

static void region(void)
{
	struct rt_child child = rt_child_start(import_and_move, 0);
	struct owner o = owner_open(child.socket);

	CHECK_INT(rt_hear(child.socket), 1);
	VERIFY(o.shared + 10000, 5000, 1);
	/* An object in use by the importer cannot be destroyed by the owner. */
	CHECK_INT(ibv_dereg_mr(o.mr), EBUSY);
	rt_fill(o.shared, 5000, 2);
	rt_tell(child.socket, 2);
	CHECK_INT(rt_hear(child.socket), 3);
	owner_close(&o);
	rt_tell(child.socket, 4);
	rt_child_finish(&child);
}

/* The owner's queue pair and a queue pair in the importer's domain: both reach the region. */
static void import_and_serve(int socket, int arg)
{
	struct importer i = importer_open(socket);
	struct ibv_mr *mr = ibv_import_mr(i.dev.pd, i.told.mr);
	struct rt_side side = rt_side_open(&i.dev, NULL, NULL);
	struct rt_address mine = rt_side_address(&side), peer;

	CHECK(mr);
	mine.rkey = mr->rkey;
	mine.addr = i.told.addr;
	peer = rt_exchange(socket, &mine);
	rt_side_connect(&side, &peer);
	rt_tell(socket, 1);
	CHECK_INT(rt_hear(socket), 2);
	rt_side_close(&side);
	ibv_unimport_mr(mr);
	importer_close(&i);
	rt_tell(socket, 3);
}

static void peer(void)
{
	struct rt_child child = rt_child_start(import_and_serve, 0);
	struct owner o = owner_open(child.socket);
	struct rt_side side = rt_side_open(o.dev, NULL, NULL);
	struct rt_address mine = rt_side_address(&side);
	struct rt_address remote = rt_exchange(child.socket, &mine);
	struct ibv_sge sge = rt_sge(&side, 0, 20000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_side_connect(&side, &remote);
	CHECK_INT(rt_hear(child.socket), 1);
	rt_fill(side.buf.p, 20000, 7);
	wr.wr.rdma.remote_addr = remote.addr + 1000;
	wr.wr.rdma.rkey = remote.rkey;
	POST(&side, &wr);
	EXPECT(&side, 1, IBV_WC_RDMA_WRITE);
	VERIFY(o.shared + 1000, 20000, 7);
	rt_tell(child.socket, 2);
	CHECK_INT(rt_hear(child.socket), 3);
	rt_side_close(&side);
	owner_close(&o);
	rt_child_finish(&child);
}

static void import_memory(int socket, int arg)
{
	struct importer i = importer_open(socket);
	struct rt_pair pair = rt_pair_open(&i.dev, NULL);
	struct ibv_dm *dm = i.told.has_dm ? ibv_import_dm(i.dev.ctx, i.told.dm) : NULL;
	struct ibv_sge sge = rt_sge(&pair.a, 0, 3000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	struct ibv_mr *mr;
	uint8_t bytes[600];

	CHECK(dm || !i.told.has_dm);
	if (dm) {
		CHECK_INT(rt_hear(socket), 1); /* the owner has written the first bytes */
		CHECK_OK(ibv_memcpy_from_dm(bytes, dm, 100, 600));
		VERIFY(bytes, 600, 5);
		mr = ibv_reg_dm_mr(i.dev.pd, dm, 0, SIZE, RT_ACCESS | IBV_ACCESS_ZERO_BASED);
		CHECK(mr);
		rt_fill(pair.a.buf.p, 3000, 6);
		wr.wr.rdma.remote_addr = 20000;
		wr.wr.rdma.rkey = mr->rkey;
		POST(&pair.a, &wr);
		EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
		rt_tell(socket, 2);
		CHECK_INT(rt_hear(socket), 3);
		CHECK_OK(ibv_dereg_mr(mr));
		ibv_unimport_dm(dm);
	}
	rt_pair_close(&pair);
	importer_close(&i);
	rt_tell(socket, 4);
}

static void memory(void)
{
	struct rt_child child = rt_child_start(import_memory, 0);
	struct owner o = owner_open(child.socket);
	uint8_t bytes[3000];

	if (!o.dm)
		rt_skip("the device has no memory of its own");
	rt_fill(bytes, 600, 5);
	CHECK_OK(ibv_memcpy_to_dm(o.dm, 100, bytes, 600));
	rt_tell(child.socket, 1);
	CHECK_INT(rt_hear(child.socket), 2);
	CHECK_OK(ibv_memcpy_from_dm(bytes, o.dm, 20000, 3000));
	VERIFY(bytes, 3000, 6);
	CHECK_INT(ibv_free_dm(o.dm), EBUSY);
	rt_tell(child.socket, 3);
	CHECK_INT(rt_hear(child.socket), 4);
	owner_close(&o);
	rt_child_finish(&child);
}

/* Return the log since the last call. */
static const char *log_new(void)
{
	static size_t seen;
	const char *text = rt_log_text() + seen;

	seen += strlen(text);
	return text;
}

/* Check a refusal, and the log line with its reason. */
static void refused(const void *object, int error, const char *text)
{
	int got = errno;
	const char *said = log_new();

	CHECK(!object);
	CHECK_INT(got, error);
	if (!strstr(said, text))
		FAIL("the log does not say \"%s\": %s", text, said);
}

static void import_wrongly(int socket, int arg)
{
	struct importer i;
	struct ibv_pd *pd, *again;
	struct ibv_mr *mr, *own;
	uint8_t bytes[100];
	int pipes[2], pair[2], before;
	struct ibv_context *other;

	rt_log_capture();
	i = importer_open(socket);
	before = rt_use().descriptors;
	other = import_context(i.dev.ctx->cmd_fd);
	CHECK(other);
	CHECK_OK(ibv_close_device(other));
	CHECK_INT(rt_use().descriptors, before);
	CHECK_OK(pipe(pipes));
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	refused(ibv_import_device(pipes[0]), EINVAL, "not the cmd_fd");
	refused(ibv_import_device(-1), EINVAL, "not the cmd_fd");
	refused(ibv_import_device(pair[0]), ENODEV, "no device that is seen here");
	refused(ibv_import_pd(i.dev.ctx, 0x7ffffff0), ENOENT, "ibv_import_pd: handle");
	refused(ibv_import_mr(i.dev.pd, 0x7ffffff0), ENOENT, "no such region");
	refused(ibv_import_dm(i.dev.ctx, 0x7ffffff0), ENOENT, "ibv_import_dm: handle");
	refused(ibv_import_mr(i.dev.pd, i.told.other_mr), EINVAL, "is not of pd");
	pd = ibv_import_pd(i.dev.ctx, i.told.other_pd);
	CHECK(pd);
	refused(ibv_import_mr(pd, i.told.other_mr), EOPNOTSUPP, "the other process's alone");
	refused(ibv_import_mr(pd, i.told.mr), EINVAL, "is not of pd");
	CHECK_INT(ibv_dealloc_pd(pd), EOPNOTSUPP);
	/* All imports of a domain are one domain, which is destroyed when it is empty. */
	again = ibv_import_pd(i.dev.ctx, i.told.other_pd);
	CHECK(again);
	ibv_unimport_pd(pd);
	own = ibv_reg_mr(again, bytes, sizeof(bytes), 0);
	CHECK(own);
	log_new();
	ibv_unimport_pd(again);
	CHECK(strstr(log_new(), "1 objects of it still exist"));
	CHECK_OK(ibv_dereg_mr(own));
	mr = ibv_import_mr(i.dev.pd, i.told.mr);
	CHECK(mr);
	CHECK_INT(ibv_dereg_mr(mr), EOPNOTSUPP);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	ibv_unimport_mr(mr);
	importer_close(&i);
	rt_log_discard();
	rt_tell(socket, 1);
	CHECK_INT(rt_hear(socket), 2);
}

static void mistakes(void)
{
	struct rt_child child = rt_child_start(import_wrongly, 0);
	struct owner o = owner_open(child.socket);

	if (rt_is_kernel(o.dev))
		rt_skip("what the kernel refuses is the driver's affair");
	CHECK_INT(rt_hear(child.socket), 1);
	owner_close(&o);
	rt_tell(child.socket, 2);
	rt_child_finish(&child);
}

/* A killed process releases its imports. */
static void import_and_stay(int socket, int arg)
{
	struct importer i = importer_open(socket);

	CHECK(ibv_import_mr(i.dev.pd, i.told.mr));
	rt_tell(socket, 1);
	rt_hear(socket); /* wait to be killed; the word comes only if the parent has failed */
}

static void killed_importer(void)
{
	struct rt_child child = rt_child_start(import_and_stay, 0);
	struct owner o = owner_open(child.socket);
	int r;

	CHECK_INT(rt_hear(child.socket), 1);
	CHECK_INT(ibv_dereg_mr(o.mr), EBUSY);
	rt_child_kill(&child);
	while ((r = ibv_dereg_mr(o.mr)) == EBUSY)
		usleep(1000);
	CHECK_OK(r);
	o.mr = ibv_reg_mr(o.dev->pd, o.shared, SIZE, 0);
	CHECK(o.mr);
	owner_close(&o);
}

/* If the owner is killed, imported objects stay, but no further ones can be imported. */
static void own_and_die(int socket, int arg)
{
	struct owner o = owner_open(socket);

	rt_fill(o.shared, 1000, 8);
	rt_tell(socket, 1);
	rt_hear(socket); /* wait to be killed; the word comes only if the parent has failed */
}

static void killed_owner(void)
{
	struct rt_child child = rt_child_start(own_and_die, 0);
	struct importer i = importer_open(child.socket);
	struct ibv_mr *mr = ibv_import_mr(i.dev.pd, i.told.mr);
	struct rt_pair pair = rt_pair_open(&i.dev, NULL);
	struct ibv_sge sge = { i.told.addr, 1000, mr ? mr->lkey : 0 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 3, &sge);

	CHECK(mr);
	CHECK_INT(rt_hear(child.socket), 1);
	rt_child_kill(&child);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 3, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p, 1000, 8);
	CHECK(!ibv_import_mr(i.dev.pd, i.told.mr));
	CHECK_INT(errno, ENODEV);
	CHECK(!import_context(i.dev.ctx->cmd_fd));
	CHECK_INT(errno, ENODEV);
	rt_pair_close(&pair);
	ibv_unimport_mr(mr);
	importer_close(&i);
}

/* Import by the descriptor that a forked child inherits. */
static struct owner parent;

static void import_inherited(int socket, int arg)
{
	struct ibv_context *ctx = import_context(parent.dev->ctx->cmd_fd);
	struct ibv_pd *imported = ctx ? ibv_import_pd(ctx, parent.dev->pd->handle) : NULL;
	struct ibv_mr *mr = imported ? ibv_import_mr(imported, parent.mr->handle) : NULL;

	CHECK(mr);
	rt_tell(socket, 1);
	CHECK_INT(rt_hear(socket), 2);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(imported);
	CHECK_OK(ibv_close_device(ctx));
	_exit(0); /* the parent closes the inherited objects */
}

static void forked(void)
{
	struct rt_child child;
	int sockets[2];

#ifdef __SANITIZE_THREAD__
	rt_skip("under ThreadSanitizer a forked child has no threads");
#endif
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	parent = owner_open(sockets[0]);
	if (rt_is_kernel(parent.dev))
		rt_skip("what a child inherits of the kernel's context is the same context");
	close(sockets[0]);
	close(sockets[1]);
	child = rt_child_start(import_inherited, 0);
	CHECK_INT(rt_hear(child.socket), 1);
	CHECK_INT(ibv_dereg_mr(parent.mr), EBUSY);
	rt_tell(child.socket, 2);
	rt_child_finish(&child);
	owner_close(&parent);
}

static const struct rt_case cases[] = {
	{ "device", device },
	{ "descriptors", descriptors },
	{ "pd", pd },
	{ "pd_first", pd_first },
	{ "window_first", window_first },
	{ "mr", mr },
	{ "region", region },
	{ "peer", peer },
	{ "memory", memory },
	{ "mistakes", mistakes },
	{ "killed_importer", killed_importer },
	{ "killed_owner", killed_owner },
	{ "forked", forked },
};
RT_MAIN(cases)
