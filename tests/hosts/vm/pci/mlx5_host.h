/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PCI_MLX5_HOST_H
#define PCI_MLX5_HOST_H

enum {
	/* The decoder gives this key to inline data that lies in the ring of its queue pair. */
	HCA_RING_KEY = 0x7fffffff,
};

#endif
