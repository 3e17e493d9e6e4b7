/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On s390x a store to a register is a system call, which refuses memory that is not of PCI. In unit
 * tests the registers are memory, and the store is made here. */
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number != __NR_s390_pci_mmio_write)
		return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	memcpy((void *)a[0], (const void *)a[1], a[2]);
	return 0;
}
