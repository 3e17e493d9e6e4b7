/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs that this library does not implement. They exist because programs link all names. A
 * call returns EOPNOTSUPP, as for a device that mlx5 does not serve.
 */
#include "providers/kit/absent.h"

ABSENT_NUMBER("mlx5", mlx5dv_dr_aso_other_domain_link)
ABSENT_NUMBER("mlx5", mlx5dv_dr_aso_other_domain_unlink)
