/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A child and what it inherited: every operation of the device fails with EIO, and none waits for a
 * lock that a thread of the parent had. The parent's traffic takes no harm.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <infiniband/uroce.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 4096,
	CHILDREN = 40, /* beside threads */
};

/* One object of each kind. */
static struct world {
	struct rt_dev *dev;
	struct ibv_context *ctx;
	struct rt_pair pair;
	struct rt_side ud;
	struct ibv_cq_ex *cq_ex;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	struct ibv_ah_attr ah_attr;
	union ibv_gid group;
	char memory[SIZE];
} w;

static void world_make(void)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16 };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_alloc_dm_attr dm_attr = { .length = SIZE };
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct rt_address self;

	w.dev = rt_open();
	w.ctx = w.dev->ctx;
	w.pair = rt_pair_open(w.dev, &options);
	options = (struct rt_options){ .type = IBV_QPT_UD };
	w.ud = rt_side_open(w.dev, &options, NULL);
	self = rt_side_address(&w.ud);
	w.ah_attr = rt_ah_attr(w.dev, &self);
	CHECK(w.cq_ex = ibv_create_cq_ex(w.ctx, &cq_attr));
	CHECK(w.channel = ibv_create_comp_channel(w.ctx));
	CHECK(w.srq = ibv_create_srq(w.dev->pd, &srq_attr));
	CHECK(w.pd = ibv_alloc_pd(w.ctx));
	CHECK(w.mr = ibv_reg_mr(w.dev->pd, w.memory, SIZE, RT_ACCESS | IBV_ACCESS_MW_BIND));
	CHECK(w.mw = ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_1));
	CHECK(w.dm = ibv_alloc_dm(w.ctx, &dm_attr));
	CHECK(w.xrcd = ibv_open_xrcd(w.ctx, &xrcd_attr));
	CHECK(w.ah = ibv_create_ah(w.dev->pd, &w.ah_attr));
	w.group = (union ibv_gid){ .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } };
}

/* --- the operations: each returns an errno, 0 for success --- */

static int of_pointer(const void *p)
{
	return p ? 0 : errno;
}

/* The verbs whose failure is -1 and errno, and those that return a negative errno. */
static int of_number(long r)
{
	return r == -1 ? errno : r < 0 ? -r : r;
}

static int query_device(void)
{
	struct ibv_device_attr attr;

	return ibv_query_device(w.ctx, &attr);
}

static int query_port(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(w.ctx, 1, &attr);
}

static int query_gid(void)
{
	union ibv_gid gid;

	return of_number(ibv_query_gid(w.ctx, 1, 0, &gid));
}

static int query_gid_table(void)
{
	static struct ibv_gid_entry entries[4096];

	return of_number(ibv_query_gid_table(w.ctx, entries, 4096, 0));
}

static int query_pkey(void)
{
	__be16 pkey;

	return of_number(ibv_query_pkey(w.ctx, 1, 0, &pkey));
}

static int query_port_speed(void)
{
	uint64_t speed;

	return of_number(ibv_query_port_speed(w.ctx, 1, &speed));
}

static int query_rt_values(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	return ibv_query_rt_values_ex(w.ctx, &values);
}

static int create_comp_channel(void)
{
	return of_pointer(ibv_create_comp_channel(w.ctx));
}

static int alloc_pd(void)
{
	return of_pointer(ibv_alloc_pd(w.ctx));
}

static int dealloc_pd(void)
{
	return ibv_dealloc_pd(w.pd);
}

static int alloc_td(void)
{
	struct ibv_td_init_attr attr = {};

	return of_pointer(ibv_alloc_td(w.ctx, &attr));
}

static int alloc_parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = w.pd };

	return of_pointer(ibv_alloc_parent_domain(w.ctx, &attr));
}

static int reg_mr(void)
{
	return of_pointer(ibv_reg_mr(w.dev->pd, w.memory, SIZE, IBV_ACCESS_LOCAL_WRITE));
}

static int rereg_mr(void)
{
	return ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ? errno : 0;
}

static int dereg_mr(void)
{
	return ibv_dereg_mr(w.mr);
}

static int advise_mr(void)
{
	struct ibv_sge sge = { (uintptr_t)w.memory, SIZE, w.mr->lkey };

	return ibv_advise_mr(w.dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);
}

static int alloc_null_mr(void)
{
	return of_pointer(ibv_alloc_null_mr(w.dev->pd));
}

static int alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = SIZE };

	return of_pointer(ibv_alloc_dm(w.ctx, &attr));
}

static int free_dm(void)
{
	return ibv_free_dm(w.dm);
}

static int copy_to_dm(void)
{
	return ibv_memcpy_to_dm(w.dm, 0, w.memory, 8);
}

static int copy_from_dm(void)
{
	return ibv_memcpy_from_dm(w.memory, w.dm, 0, 8);
}

static int reg_dm_mr(void)
{
	return of_pointer(ibv_reg_dm_mr(w.dev->pd, w.dm, 0, SIZE, IBV_ACCESS_ZERO_BASED));
}

static int alloc_buf(void)
{
	struct ibv_buf *buf;

	return of_pointer(ibv_alloc_buf(w.dev->pd, SIZE, &buf));
}

static int alloc_mw(void)
{
	return of_pointer(ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_1));
}

static int dealloc_mw(void)
{
	return ibv_dealloc_mw(w.mw);
}

static int bind_mw(void)
{
	struct ibv_mw_bind bind = { .bind_info = { w.mr, (uintptr_t)w.memory, SIZE, 0 } };

	return ibv_bind_mw(w.pair.a.qp, w.mw, &bind);
}

static int create_cq(void)
{
	return of_pointer(ibv_create_cq(w.ctx, 16, NULL, NULL, 0));
}

static int resize_cq(void)
{
	return ibv_resize_cq(w.pair.a.cq, 128);
}

static int modify_cq(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { 1, 1 } };

	return ibv_modify_cq(w.pair.a.cq, &attr);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(ibv_cq_ex_to_cq(w.cq_ex));
}

static int poll_cq(void)
{
	struct ibv_wc wc;

	return of_number(ibv_poll_cq(w.pair.a.cq, 1, &wc));
}

static int start_poll(void)
{
	struct ibv_poll_cq_attr attr = {};

	return ibv_start_poll(w.cq_ex, &attr);
}

static int req_notify_cq(void)
{
	return ibv_req_notify_cq(w.pair.a.cq, 0);
}

static int create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return of_pointer(ibv_create_srq(w.dev->pd, &attr));
}

static int modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	return ibv_modify_srq(w.srq, &attr, IBV_SRQ_LIMIT);
}

static int query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(w.srq, &attr);
}

static int destroy_srq(void)
{
	return ibv_destroy_srq(w.srq);
}

static int create_qp(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .send_cq = w.pair.a.cq,
					 .recv_cq = w.pair.a.cq,
					 .cap = { 1, 1, 1, 1, 0 } };

	return of_pointer(ibv_create_qp(w.dev->pd, &attr));
}

static int modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(w.pair.a.qp, &attr, IBV_QP_STATE);
}

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(w.pair.a.qp, &attr, IBV_QP_STATE, &init);
}

static int destroy_qp(void)
{
	return ibv_destroy_qp(w.pair.a.qp);
}

static int open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return of_pointer(ibv_open_xrcd(w.ctx, &attr));
}

static int close_xrcd(void)
{
	return of_number(ibv_close_xrcd(w.xrcd));
}

static int open_qp(void)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = w.pair.a.qp->qp_num,
		.xrcd = w.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return of_pointer(ibv_open_qp(w.ctx, &attr));
}

static int create_ah(void)
{
	return of_pointer(ibv_create_ah(w.dev->pd, &w.ah_attr));
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(w.ah);
}

static int attach_mcast(void)
{
	return ibv_attach_mcast(w.ud.qp, &w.group, 0);
}

static int detach_mcast(void)
{
	return ibv_detach_mcast(w.ud.qp, &w.group, 0);
}

static int post_send(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 9, &sge), *bad = NULL;
	int r = ibv_post_send(w.pair.a.qp, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int wr_complete(void)
{
	struct ibv_qp_ex *qp = w.pair.a.qpx;

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, w.mr->lkey, (uintptr_t)w.memory, 64);
	return ibv_wr_complete(qp);
}

static int wr_abort(void)
{
	ibv_wr_start(w.pair.a.qpx);
	ibv_wr_send(w.pair.a.qpx);
	ibv_wr_abort(w.pair.a.qpx);
	return EIO; /* it returned */
}

static int post_recv(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int r = ibv_post_recv(w.pair.a.qp, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int post_srq_recv(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int r = ibv_post_srq_recv(w.srq, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int counters(void)
{
	struct uroce_counter counter;

	return of_number(uroce_query_counters(w.ctx, NULL, &counter, 1));
}

static int first_error(void)
{
	struct uroce_qp_error error;

	return of_number(uroce_query_first_error(w.pair.a.qp, &error));
}

#define OP(name)                  \
	{                         \
#name, name, true \
	}
#define MORE(name)                 \
	{                          \
#name, name, false \
	}
static const struct op {
	const char *name;
	int (*call)(void);
	bool in_table; /* of the provider's operations */
} ops[] = {
	OP(query_device),   OP(query_port),	  OP(query_gid),       OP(query_gid_table),
	OP(query_pkey),	    OP(query_port_speed), OP(query_rt_values), OP(create_comp_channel),
	OP(alloc_pd),	    OP(dealloc_pd),	  OP(alloc_td),	       OP(alloc_parent_domain),
	OP(reg_mr),	    OP(rereg_mr),	  OP(dereg_mr),	       OP(advise_mr),
	OP(alloc_null_mr),  OP(alloc_dm),	  OP(free_dm),	       MORE(copy_to_dm),
	MORE(copy_from_dm), OP(reg_dm_mr),	  OP(alloc_buf),       OP(alloc_mw),
	OP(dealloc_mw),	    OP(bind_mw),	  OP(create_cq),       OP(resize_cq),
	OP(modify_cq),	    OP(destroy_cq),	  OP(poll_cq),	       MORE(start_poll),
	OP(req_notify_cq),  OP(create_srq),	  OP(modify_srq),      OP(query_srq),
	OP(destroy_srq),    OP(create_qp),	  OP(modify_qp),       OP(query_qp),
	OP(destroy_qp),	    OP(open_xrcd),	  OP(close_xrcd),      OP(open_qp),
	OP(create_ah),	    OP(destroy_ah),	  OP(attach_mcast),    OP(detach_mcast),
	OP(post_send),	    MORE(wr_complete),	  MORE(wr_abort),      OP(post_recv),
	OP(post_srq_recv),  MORE(counters),	  MORE(first_error),
};

/* Operations of the table that no program calls on an object that its parent made. */
static const char *const others[] = {
	"open_context",
	"close_context", /* what a child may do */
	"destroy_comp_channel",
	"free_buf", /* return nothing */
	"import_pd",
	"unimport_pd", /* of a context that was imported: tests/e2e/import */
	"import_mr",
	"unimport_mr",
	"import_dm",
	"unimport_dm",
	"gsi_open",
	"gsi_listen",
	"gsi_send",
	"gsi_recv",
	"gsi_offer",
	"gsi_probe",
	"gsi_poll",
	"gsi_leave",
	"gsi_guard",
	"gsi_last_word",   /* librdmacm's */
	"post_write_copy", /* rsockets' */
};

static bool is_walked(const char *name)
{
	for (int i = 0; i < RT_COUNT(ops); i++)
		if (ops[i].in_table && !strcmp(ops[i].name, name))
			return true;
	for (int i = 0; i < RT_COUNT(others); i++)
		if (!strcmp(others[i], name))
			return true;
	return false;
}

/* Each operation that the provider has is one of those above. */
static void table_is_walked(void)
{
	FILE *f = fopen(UROCE_TABLE, "re");
	char line[256], name[64];
	bool inside = false;
	int count = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strcmp(line, "static const struct verbs_ops uroce_ops = {\n"))
			inside = true;
		else if (*line == '}')
			inside = false;
		if (!inside || sscanf(line, " .%63[a-z_] = uroce_", name) != 1)
			continue;
		if (!is_walked(name))
			FAIL("%s is not called in a child", name);
		count++;
	}
	fclose(f);
	CHECK(count > RT_COUNT(ops) / 2);
}

/* --- children --- */

/* Return: how many did something else than to fail with EIO. */
static int walk(void)
{
	int wrong = 0;

	for (int i = 0; i < RT_COUNT(ops); i++) {
		int r = ops[i].call();

		if (r == EIO)
			continue;
		fprintf(stderr, "%s in a child: %s instead of EIO\n", ops[i].name, strerror(r));
		wrong++;
	}
	return wrong;
}

static void child_await(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
}

static void message(int i)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&w.pair.b, 2, 1024, 64);
	rt_fill(w.pair.a.buf.p, 64, i);
	POST(&w.pair.a, &wr);
	EXPECT(&w.pair.b, 2, IBV_WC_RECV);
	VERIFY(w.pair.b.buf.p + 1024, 64, i);
	EXPECT(&w.pair.a, 1, IBV_WC_SEND);
}

static void fork_walks(void)
{
	world_make();
	message(0);
	for (int i = 1; i < 4; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(walk());
		child_await(pid);
		message(i);
	}
}

/* The C library calls no handler of such a fork. */
static void clone_walks(void)
{
	pid_t pid;

	world_make();
	message(0);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		syscall(SYS_exit_group, walk());
	child_await(pid);
	message(1);
}

/* A child may close what it inherited, and open the device for itself. */
static void child_starts_anew(void)
{
	pid_t pid;

	world_make();
	pid = fork();
	if (!pid) {
		struct ibv_context *inherited = w.ctx;

		world_make();
		message(0);
		CHECK_OK(ibv_close_device(inherited));
		message(1);
		_exit(0);
	}
	child_await(pid);
	message(2);
}

static atomic_bool stop;

static void *traffic(void *arg)
{
	for (int i = 0; !atomic_load(&stop); i++)
		message(i);
	return NULL;
}

static void *lists(void *arg)
{
	while (!atomic_load(&stop)) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_mr *mr = ibv_reg_mr(w.dev->pd, w.memory, SIZE, IBV_ACCESS_LOCAL_WRITE);

		CHECK(list && mr);
		ibv_free_device_list(list);
		CHECK_OK(ibv_dereg_mr(mr));
	}
	return NULL;
}

/* A child has none of the threads that had a lock when it was made. */
static void beside_threads(void)
{
	static void *(*const threads[])(void *) = { traffic, lists, lists };
	pthread_t ids[RT_COUNT(threads)];

	world_make();
	for (int i = 0; i < RT_COUNT(threads); i++)
		CHECK_OK(pthread_create(&ids[i], NULL, threads[i], NULL));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid;

		usleep(i * 100);
		pid = fork();
		if (!pid) {
			int wrong = walk();

			if (i % 4 == 1)
				world_make();
			_exit(wrong);
		}
		child_await(pid);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < RT_COUNT(threads); i++)
		CHECK_OK(pthread_join(ids[i], NULL));
}

static const struct rt_case cases[] = {
	{ "table_is_walked", table_is_walked }, { "fork_walks", fork_walks },
	{ "clone_walks", clone_walks },		{ "child_starts_anew", child_starts_anew },
	{ "beside_threads", beside_threads },
};
RT_MAIN(cases)
