/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of /dev/playpci, which plays one PCI function for each open file. */
#ifndef PLAYPCI_H
#define PLAYPCI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PLAYPCI_CONFIG 4096
#define PLAYPCI_BARS   6

/*
 * Make a function, whose BARs are zeroes. `config` is its configuration space. `writable` has a 1
 * for each bit that the kernel may change: the size of a BAR follows from it. PLAYPCI_PLUG plugs
 * the function in, after the process has set the registers that a driver reads at once. The kernel
 * finds the device after that call has returned, because the driver's probe function needs the
 * process that plays.
 */
struct playpci_add {
	__u8 config[PLAYPCI_CONFIG], writable[PLAYPCI_CONFIG];
	/* Answers: physical addresses for mmap(). */
	__u64 window, window_size; /* where the BARs of all functions lie */
	__u64 config_at;	   /* the configuration space, as the kernel has written it */
	__u32 slot;		   /* the function is 1d1d:00:SLOT.0 */
	__u32 reserved;
};

/* Send an interrupt as the entry of an MSI-X table names it. */
struct playpci_interrupt {
	__u32 cpu, vector;
};

#define PLAYPCI_ADD	  _IOWR('P', 1, struct playpci_add)
#define PLAYPCI_INTERRUPT _IOW('P', 2, struct playpci_interrupt)
#define PLAYPCI_PLUG	  _IO('P', 3)

#endif
