/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs that this library does not implement. They exist because programs link all names. A
 * call returns EOPNOTSUPP, as for a device that mlx5 does not serve.
 */
#include "providers/kit/absent.h"

ABSENT_NUMBER("mlx5", mlx5dv_devx_destroy_eq)
ABSENT_NUMBER("mlx5", mlx5dv_devx_free_msi_vector)
ABSENT_NUMBER("mlx5", mlx5dv_dr_aso_other_domain_link)
ABSENT_NUMBER("mlx5", mlx5dv_dr_aso_other_domain_unlink)
ABSENT_NUMBER("mlx5", mlx5dv_vfio_get_events_fd)
ABSENT_NUMBER("mlx5", mlx5dv_vfio_process_events)

ABSENT_POINTER("mlx5", mlx5dv_devx_alloc_msi_vector)
ABSENT_POINTER("mlx5", mlx5dv_devx_create_eq)
ABSENT_POINTER("mlx5", mlx5dv_get_vfio_device_list)
