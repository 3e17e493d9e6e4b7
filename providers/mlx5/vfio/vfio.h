/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlx5 without a kernel driver: the process owns a PCI function through VFIO and runs the commands
 * of the firmware itself. Such a context has protection domains, memory regions and the functions
 * mlx5dv_devx_*(). Queues belong to the program, which creates them as objects of the firmware.
 *
 *     device.c    finds the function by its PCI address
 *     bus.c       opens the function, its registers and its interrupts in the kernel's VFIO
 *     iova.c      addresses of the function for memory of this process
 *     pool.c      pages that the firmware uses
 *     slot.c      one entry of the command queue and its mailboxes
 *     command.c   commands, and the wait for their ends
 *     event.c     the library's event queue, requests of the firmware for pages, and health
 *     setup.c     start and end of the function
 *     open.c      the operations of verbs
 *     memory.c    protection domains, regions, and umems
 *     object.c    objects of the firmware, and the commands that destroy them
 *     vector.c    interrupt vectors and event queues of the program
 *
 * This header has the functions for ../direct, which sends calls of programs here.
 */
#ifndef MLX5_VFIO_H
#define MLX5_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct mlx5_umem;
struct mlx5dv_devx_obj;
struct mlx5dv_devx_umem_in;

/* Return whether the context was opened through VFIO. */
bool mlx5_vfio_is(const struct ibv_context *ctx);

/* Run a command of the program. -EREMOTEIO: the firmware refused it, and @out has its status. */
int mlx5_vfio_command(struct ibv_context *ctx, const void *in, size_t inlen, void *out,
		      size_t outlen);

/* Run a command that creates an object, and note in @obj how to destroy it. -EINVAL: the command
 * creates none. */
int mlx5_vfio_create(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
		     size_t outlen);
int mlx5_vfio_destroy(struct mlx5dv_devx_obj *obj);

int mlx5_vfio_umem_make(struct mlx5_umem *umem, const struct mlx5dv_devx_umem_in *in);
int mlx5_vfio_umem_free(struct mlx5_umem *umem);

/* Return the first doorbell register and the number of the page that all programs share. */
int mlx5_vfio_uar(struct ibv_context *ctx, uint32_t flags, char **ret_reg, uint32_t *ret_page_id);

/* Return the event queue of vector 0, the only one that belongs to the library. */
int mlx5_vfio_eqn(struct ibv_context *ctx, uint32_t vector, uint32_t *ret_eqn);

#endif
