/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/play.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/pci_regs.h>
#include "tests/hosts/vm/playpci/playpci.h"

enum {
	WINDOW_SHIFT = 21,
	WINDOW = 1 << WINDOW_SHIFT,
	WINDOWS = 4096, /* of 2 MiB: 8 GiB of memory */
	CAP_MSIX = 0x40,
	CAP_EXPRESS = 0x60,
	IDLE_PASSES = 200,
	IDLE_US = 50,
};

bool play_verbose;
static int bus;
static const struct play_identity *me;
static uint64_t window, window_size;
static uint8_t *window_map, *config;
static unsigned int slot;
static bool pending[PLAY_VECTORS];

void play_die(const char *format, ...)
{
	va_list args;
	int error = errno;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(error));
	exit(1);
}

static void *try_map(uint64_t at, size_t length)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, bus, at);
}

void *play_map(uint64_t at, size_t length)
{
	void *p = try_map(at, length);

	if (p == MAP_FAILED)
		play_die("mmap of 0x%llx", (unsigned long long)at);
	return p;
}

void *play_map_pages(const uint64_t *page, uint32_t count, size_t length)
{
	uint8_t *p = mmap(NULL, count * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		play_die("address space for %u pages", count);
	for (uint32_t i = 0; i < count; i++)
		if (mmap(p + i * length, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 bus, page[i]) == MAP_FAILED)
			play_die("mmap of 0x%llx", (unsigned long long)page[i]);
	return p;
}

void play_unmap(void *at, size_t length)
{
	munmap(at, length);
}

/* Here the kernel caches some pages in another way than their neighbours, so that they have no
 * common mapping. */
static void *single_page(uint64_t at)
{
	static void **pages[WINDOWS];
	uint64_t n = at >> WINDOW_SHIFT, page = (at & (WINDOW - 1)) / PLAY_PAGE;

	if (!pages[n])
		pages[n] = calloc(WINDOW / PLAY_PAGE, sizeof(*pages[n]));
	if (!pages[n])
		play_die("memory");
	if (!pages[n][page])
		pages[n][page] = play_map(at & ~(uint64_t)(PLAY_PAGE - 1), PLAY_PAGE);
	return (uint8_t *)pages[n][page] + at % PLAY_PAGE;
}

void *play_memory(uint64_t at)
{
	static void *windows[WINDOWS];
	uint64_t n = at >> WINDOW_SHIFT;

	if (n >= WINDOWS) {
		errno = EFAULT;
		play_die("DMA to 0x%llx", (unsigned long long)at);
	}
	if (!windows[n])
		windows[n] = try_map(n << WINDOW_SHIFT, WINDOW);
	if (windows[n] == MAP_FAILED)
		return single_page(at);
	return (uint8_t *)windows[n] + (at & (WINDOW - 1));
}

uint64_t play_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

unsigned int play_slot(void)
{
	return slot;
}

static uint16_t config_16(unsigned int at)
{
	return *(volatile uint16_t *)(config + at);
}

volatile void *play_bar_memory(unsigned int bar, uint32_t offset)
{
	uint64_t at = *(volatile uint32_t *)(config + PCI_BASE_ADDRESS_0 + 4 * bar) &
		      PCI_BASE_ADDRESS_MEM_MASK;

	if (at < window || at + me->bars[bar] > window + window_size)
		return NULL;
	return window_map + (at - window) + offset;
}

volatile void *play_bar(unsigned int bar, uint32_t offset)
{
	return config_16(PCI_COMMAND) & PCI_COMMAND_MEMORY ? play_bar_memory(bar, offset) : NULL;
}

/* The bit clears itself. The write is one instruction on a word that the kernel seldom writes. */
bool play_reset_asked(void)
{
	volatile uint16_t *control = (uint16_t *)(config + CAP_EXPRESS + PCI_EXP_DEVCTL);

	if (!(*control & PCI_EXP_DEVCTL_BCR_FLR))
		return false;
	__atomic_and_fetch(control, (uint16_t)~PCI_EXP_DEVCTL_BCR_FLR, __ATOMIC_RELAXED);
	return true;
}

/* An address of x86: bit 2 says that the destination is a set of processors and not the number of
 * one. */
static void send(volatile uint32_t *entry)
{
	struct playpci_interrupt irq = { .vector = entry[2] & 0xff };
	uint32_t destination = entry[0] >> 12 & 0xff;

	irq.cpu = entry[0] & 4 ? (destination ? __builtin_ctz(destination) : 0) : destination;
	if (ioctl(bus, PLAYPCI_INTERRUPT, &irq))
		fprintf(stderr, "interrupt: cpu %u, vector %u: %s\n", irq.cpu, irq.vector,
			strerror(errno));
}

void play_interrupt(unsigned int entry)
{
	volatile uint32_t *at = play_bar(0, me->msix_at + entry * PCI_MSIX_ENTRY_SIZE);
	uint16_t control = config_16(CAP_MSIX + PCI_MSIX_FLAGS);

	if (!at || entry >= me->msix_vectors || !(control & PCI_MSIX_FLAGS_ENABLE))
		return;
	pending[entry] = control & PCI_MSIX_FLAGS_MASKALL || at[3] & PCI_MSIX_ENTRY_CTRL_MASKBIT;
	if (!pending[entry])
		send(at);
}

void play_interrupts_again(void)
{
	for (unsigned int i = 0; i < me->msix_vectors; i++)
		if (pending[i])
			play_interrupt(i);
}

static void put_16(uint8_t *at, uint16_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void describe(uint8_t *c, uint8_t *w)
{
	put_16(c + PCI_VENDOR_ID, me->vendor);
	put_16(c + PCI_DEVICE_ID, me->part);
	put_16(c + PCI_SUBSYSTEM_VENDOR_ID, me->vendor);
	put_16(c + PCI_SUBSYSTEM_ID, me->part);
	put_32(c + PCI_CLASS_REVISION, me->class_code << 8);
	put_16(c + PCI_STATUS, PCI_STATUS_CAP_LIST);
	c[PCI_CAPABILITY_LIST] = CAP_MSIX;
	put_16(w + PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	w[PCI_INTERRUPT_LINE] = 0xff;
	for (int i = 0; i < PLAY_BARS; i++)
		if (me->bars[i])
			put_32(w + PCI_BASE_ADDRESS_0 + 4 * i, ~(me->bars[i] - 1));
	/* MSI-X: the pending bits follow the table. */
	c[CAP_MSIX] = PCI_CAP_ID_MSIX;
	c[CAP_MSIX + 1] = CAP_EXPRESS;
	put_16(c + CAP_MSIX + PCI_MSIX_FLAGS, me->msix_vectors - 1);
	put_16(w + CAP_MSIX + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put_32(c + CAP_MSIX + PCI_MSIX_TABLE, me->msix_at);
	put_32(c + CAP_MSIX + PCI_MSIX_PBA, me->msix_at + PLAY_VECTORS * PCI_MSIX_ENTRY_SIZE);
	/* An endpoint within the root complex, which can be reset. */
	c[CAP_EXPRESS] = PCI_CAP_ID_EXP;
	put_16(c + CAP_EXPRESS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_RC_END << 4);
	put_32(c + CAP_EXPRESS + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR);
	put_16(w + CAP_EXPRESS + PCI_EXP_DEVCTL, 0xffff);
}

static void make_function(const struct play_identity *identity)
{
	static struct playpci_add add;

	me = identity;
	bus = open("/dev/playpci", O_RDWR | O_CLOEXEC);
	if (bus < 0)
		play_die("/dev/playpci");
	describe(add.config, add.writable);
	if (ioctl(bus, PLAYPCI_ADD, &add))
		play_die("the function has no place on the bus");
	window = add.window;
	window_size = add.window_size;
	slot = add.slot;
	window_map = play_map(window, window_size);
	config = play_memory(add.config_at);
}

void play_run(const struct play_device *played, int argc, char **argv)
{
	unsigned int idle = 0;
	int at = 1;

	play_verbose = at < argc && !strcmp(argv[at], "-v");
	at += play_verbose;
	if (at < argc)
		play_fault_open(argv[at], played);
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_function(&played->identity);
	played->start();
	if (ioctl(bus, PLAYPCI_PLUG))
		play_die("the function is not plugged in");
	for (;;) {
		if (played->pass()) {
			idle = 0;
		} else if (++idle > IDLE_PASSES) {
			play_fault_read();
			usleep(IDLE_US);
		} else {
			sched_yield();
		}
	}
}
