/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: mlx5_vfio CASE
 *
 * Use the function of vfio/ through the public functions of VFIO. Results go to stdout; commands
 * are in the function's log.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

enum {
	PAGE = 4096,
	WAIT_MS = 20000,
};

#define PLACE	 ((char *)0x10000000000) /* of all memory, so that each log has the same addresses */
#define PCI_NAME "0000:99:00.0"

static struct ibv_context *context;
static struct ibv_device **devices;
static char *memory;

/* Functions of the played function. */
static void (*ask)(int function, int pages);
static void (*send_event)(int vector, int type);
static unsigned int (*page_commands)(void);

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Print a result, with errno if it is a failure. */
static void tell_pointer(const char *what, const void *pointer)
{
	if (pointer)
		printf("%s: ok\n", what);
	else
		printf("%s: errno %d\n", what, errno);
	errno = 0;
}

static void tell(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
	errno = 0;
}

static void device_open(uint32_t flags)
{
	struct mlx5dv_vfio_context_attr attr = { .pci_name = PCI_NAME, .flags = flags };

	devices = mlx5dv_get_vfio_device_list(&attr);
	must(devices && devices[0] && !devices[1], "mlx5dv_get_vfio_device_list");
	context = ibv_open_device(devices[0]);
	must(!!context, "ibv_open_device");
	ask = (void (*)(int, int))dlsym(RTLD_DEFAULT, "vfio_played_ask");
	send_event = (void (*)(int, int))dlsym(RTLD_DEFAULT, "vfio_played_event");
	page_commands = (unsigned int (*)(void))dlsym(RTLD_DEFAULT, "vfio_played_pages");
	must(ask && send_event && page_commands, "the played function");
	memory = mmap(PLACE, 1 << 20, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(memory == PLACE, "mmap");
}

static void device_close(void)
{
	tell("close", ibv_close_device(context));
	ibv_free_device_list(devices);
	munmap(memory, 1 << 20);
}

/* ---- lists of devices */

static void list_refused(uint32_t flags, uint64_t comp_mask, const char *what)
{
	struct mlx5dv_vfio_context_attr attr = { PCI_NAME, flags, comp_mask };

	tell_pointer(what, mlx5dv_get_vfio_device_list(&attr));
}

static void list_empty(const char *name, const char *what)
{
	struct mlx5dv_vfio_context_attr attr = { name, 0, 0 };

	tell(what, !mlx5dv_get_vfio_device_list(&attr));
}

static void refusals(void)
{
	list_refused(2, 0, "unknown flag");
	list_refused(0, 1, "unknown mask");
	list_empty("xyz", "no address");
	list_empty("0000:98:00.0", "no device");
	list_empty("0000:99:00", "no function");
}

/* ---- memory */

/* Of the last two release 44 makes regions without what this tree's libibverbs adds or refuses. */
static const int accesses[] = {
	0,
	IBV_ACCESS_LOCAL_WRITE,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_MW_BIND,
	IBV_ACCESS_ON_DEMAND,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING,
};

static void regions(void)
{
	static const size_t lengths[] = { 1, 100, PAGE, 3 * PAGE, 5 * PAGE + 7, 16 * PAGE };
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr;

	must(!!pd, "ibv_alloc_pd");
	for (size_t i = 0; i < sizeof(accesses) / sizeof(*accesses) - 2; i++) {
		mr = ibv_reg_mr(pd, memory, PAGE, accesses[i]);
		tell_pointer("region with access", mr);
		if (mr)
			tell("its end", ibv_dereg_mr(mr));
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		mr = ibv_reg_mr(pd, memory + i * 3 * PAGE + 16, lengths[i], IBV_ACCESS_LOCAL_WRITE);
		must(!!mr, "ibv_reg_mr");
		tell("key", mr->lkey);
		tell("its end", ibv_dereg_mr(mr));
	}
	mr = ibv_reg_mr_iova(pd, memory + 16, 2 * PAGE, 0x7000000010, IBV_ACCESS_LOCAL_WRITE);
	must(!!mr, "ibv_reg_mr_iova");
	tell("its end", ibv_dereg_mr(mr));
	tell_pointer("other place in the page",
		     ibv_reg_mr_iova(pd, memory + 16, PAGE, 0x7000000020, IBV_ACCESS_LOCAL_WRITE));
	tell("end of the domain", ibv_dealloc_pd(pd));
}

static void umem(size_t offset, size_t size, uint32_t access, uint64_t pages)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = memory + offset, .size = size, .access = access, .pgsz_bitmap = pages
	};
	struct mlx5dv_devx_umem *u = mlx5dv_devx_umem_reg_ex(context, &in);

	tell_pointer("umem", u);
	if (u)
		tell("its end", mlx5dv_devx_umem_dereg(u));
}

static void umems(void)
{
	struct mlx5dv_devx_umem *u =
		mlx5dv_devx_umem_reg(context, memory + 64, 5000, IBV_ACCESS_LOCAL_WRITE);

	must(!!u, "mlx5dv_devx_umem_reg");
	tell("umem", u->umem_id);
	tell("its end", mlx5dv_devx_umem_dereg(u));
	for (size_t i = 0; i < sizeof(accesses) / sizeof(*accesses); i++)
		umem(0, PAGE, accesses[i], ~0ull << 12);
	umem(0, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE, ~0ull << 12);
	umem(100, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE, PAGE * 4);
	umem(100, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE, PAGE);
}

/* ---- objects of the firmware */

static void number(uint32_t *in, unsigned int offset, uint32_t value)
{
	in[offset / 4] |= htobe32(value);
}

/* Create and destroy an object by a command whose words all have a value of their own. */
static void object(uint16_t opcode, uint16_t op_mod, uint32_t word_8)
{
	uint32_t in[0x140 / 4] = { 0 }, out[0x40 / 4] = { 0 };
	struct mlx5dv_devx_obj *obj;
	char name[32];

	number(in, 0, (uint32_t)opcode << 16 | 3);
	number(in, 4, op_mod);
	number(in, 8, word_8);
	for (unsigned int i = 0xc; i < 0x28; i += 4)
		number(in, i, 0x01000000 * (i / 4) + 0x100 + i);
	snprintf(name, sizeof(name), "object 0x%x", opcode);
	obj = mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
	tell_pointer(name, obj);
	if (!obj)
		return;
	memset(out, 0, sizeof(out));
	tell("query", mlx5dv_devx_obj_query(obj, in, 16, out, sizeof(out)));
	tell("modify", mlx5dv_devx_obj_modify(obj, in, 16, out, sizeof(out)));
	tell("destroy", mlx5dv_devx_obj_destroy(obj));
}

static void objects(void)
{
	static const uint16_t opcodes[] = {
		0x200, 0x400, 0x500, 0x700, 0x705, 0x710, 0x717, 0x771, 0x782, 0x800, 0x806,
		0x80e, 0x816, 0x827, 0x829, 0x900, 0x904, 0x908, 0x90c, 0x912, 0x916, 0x930,
		0x933, 0x936, 0x939, 0x93d, 0x940, 0x802, 0x301, 0x100, 0,
	};

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		object(opcodes[i], 0, 0x80000007);
	object(0x936, 1, 0x80000007);
	object(0xa00, 0x24, 0x11);
	object(0x600, 0, 0x10000005);
	object(0x600, 0, 0x20000005);
}

static void general_command(void)
{
	static uint32_t in[0x4000 / 4], out[0x2000 / 4];
	uint32_t eqn = 0;

	in[0] = htobe32(0x80b << 16);
	in[0x3000 / 4] = htobe32(0x12345678);
	tell("general", mlx5dv_devx_general_cmd(context, in, sizeof(in), out, sizeof(out)));
	tell("general", mlx5dv_devx_general_cmd(context, in, 16, out, 16));
	tell("eqn of 0", mlx5dv_devx_query_eqn(context, 0, &eqn));
	tell("eqn", eqn);
	tell("eqn of 1", mlx5dv_devx_query_eqn(context, 1, &eqn));
}

static void domain_shown(void)
{
	struct mlx5dv_pd shown = { 0 };
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct mlx5dv_obj obj = { .pd = { pd, &shown } };

	must(!!pd, "ibv_alloc_pd");
	tell("mlx5dv_init_obj", mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));
	tell("pdn", shown.pdn);
	tell("end of the domain", ibv_dealloc_pd(pd));
}

static void uars(void)
{
	struct mlx5dv_devx_uar *a = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct mlx5dv_devx_uar *b = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC);

	must(a && b, "mlx5dv_devx_alloc_uar");
	tell("page", a->page_id);
	tell("register", (char *)a->reg_addr - (char *)a->base_addr);
	tell("same", a->reg_addr == b->reg_addr);
	mlx5dv_devx_free_uar(a);
	mlx5dv_devx_free_uar(b);
	tell_pointer("page for requests", mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_BF));
}

static void others(void)
{
	struct ibv_device_attr attr;

	tell("ibv_query_device", ibv_query_device(context, &attr));
	tell_pointer("ibv_create_cq", ibv_create_cq(context, 1, NULL, NULL, 0));
	tell("is supported", mlx5dv_is_supported(devices[0]));
}

/* ---- events */

/* Handle events until this number of commands about pages have ended. */
static void pages_until(unsigned int count)
{
	struct pollfd fd = { mlx5dv_vfio_get_events_fd(context), POLLIN, 0 };

	for (int i = 0; i < WAIT_MS / 10 && page_commands() < count; i++) {
		poll(&fd, 1, 10);
		must(!mlx5dv_vfio_process_events(context), "mlx5dv_vfio_process_events");
	}
	must(page_commands() == count, "pages");
	/* Handle the event of the last end. */
	poll(&fd, 1, 1000);
	must(!mlx5dv_vfio_process_events(context), "mlx5dv_vfio_process_events");
}

static void page_requests(void)
{
	unsigned int before = page_commands();

	ask(0, 2);
	pages_until(before + 1);
	ask(0, -1);
	pages_until(before + 2);
	ask(3, 1);
	ask(4, -2);
	pages_until(before + 4);
}

static void event_queue(void)
{
	struct mlx5dv_devx_msi_vector *vector = mlx5dv_devx_alloc_msi_vector(context);
	uint32_t in[0x110 / 4] = { 0 }, out[4] = { 0 };
	struct mlx5dv_devx_eq *eq;
	struct pollfd fd;

	must(!!vector, "mlx5dv_devx_alloc_msi_vector");
	tell("vector", vector->vector);
	number(in, 0, 0x301 << 16);
	number(in, 0x1c, 4 << 24 | 3);
	tell_pointer("queue of vector 0", mlx5dv_devx_create_eq(context, in, sizeof(in), out, 16));
	number(in, 0x24, vector->vector);
	number(in, 0x58, 0x1111);
	eq = mlx5dv_devx_create_eq(context, in, sizeof(in), out, sizeof(out));
	must(!!eq, "mlx5dv_devx_create_eq");
	((uint8_t *)eq->vaddr)[63] = 1;
	send_event(vector->vector, 9);
	fd = (struct pollfd){ vector->fd, POLLIN, 0 };
	tell("interrupt", poll(&fd, 1, WAIT_MS));
	tell("event", ((uint8_t *)eq->vaddr)[1]);
	tell("its owner", ((uint8_t *)eq->vaddr)[63]);
	tell("end of the queue", mlx5dv_devx_destroy_eq(eq));
	tell("end of the vector", mlx5dv_devx_free_msi_vector(vector));
}

static void vectors(void)
{
	struct mlx5dv_devx_msi_vector *all[16];
	int count = 0;

	while (count < 16 && (all[count] = mlx5dv_devx_alloc_msi_vector(context)))
		count++;
	tell("errno", errno);
	tell("vectors", count);
	while (count)
		tell("end of a vector", mlx5dv_devx_free_msi_vector(all[--count]));
}

/* ---- cases */

static void all(void)
{
	refusals();
	device_open(0);
	tell("vectors", context->num_comp_vectors);
	tell("descriptor of events", mlx5dv_vfio_get_events_fd(context) >= 0);
	regions();
	umems();
	objects();
	domain_shown();
	uars();
	others();
	page_requests();
	event_queue();
	vectors();
	general_command();
	device_close();
}

/* Twice in one process, and a link that stays down. */
static void again(void)
{
	device_open(0);
	device_close();
	device_open(MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN);
	regions();
	device_close();
}

/* Hold the function until the process is killed. */
static void hold(void)
{
	device_open(0);
	regions();
	printf("held by %d\n", getpid());
	fflush(stdout);
	pause();
}

/* What a function may do wrong must not end this process. Failures are allowed. */
static void faults(void)
{
	struct pollfd fd;
	int r = 0;

	device_open(0);
	ask(0, 4);
	ask(0, -2);
	fd = (struct pollfd){ mlx5dv_vfio_get_events_fd(context), POLLIN, 0 };
	for (int i = 0; i < 200 && !r; i++) {
		poll(&fd, 1, 10);
		r = mlx5dv_vfio_process_events(context);
		if (i > 20 && page_commands() >= 4)
			break;
	}
	tell("process", r);
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_mr *mr =
			pd ? ibv_reg_mr(pd, memory, PAGE, IBV_ACCESS_LOCAL_WRITE) : NULL;
		struct mlx5dv_devx_umem *u =
			mlx5dv_devx_umem_reg(context, memory, PAGE, IBV_ACCESS_LOCAL_WRITE);

		r |= !pd || !mr || !u;
		if (u)
			r |= mlx5dv_devx_umem_dereg(u);
		if (mr)
			r |= ibv_dereg_mr(mr);
		if (pd)
			r |= ibv_dealloc_pd(pd);
	}
	device_close();
	exit(r ? 1 : 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "all", all }, { "again", again }, { "hold", hold }, { "faults", faults } };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: %s all|again|hold|faults\n", argv[0]);
	return 2;
}
