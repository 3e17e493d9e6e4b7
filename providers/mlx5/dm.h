/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the adapter. */
#ifndef MLX5_DM_H
#define MLX5_DM_H

#include "providers/mlx5/mlx5.h"

/* Memory of the adapter, mapped. */
struct mlx5_dm {
	struct verbs_dm vdm;
	struct kit_page page;
	char *bytes;
	uint64_t mmap_offset;
	uint64_t remote_va; /* address of its beginning in the adapter */
	struct kit_page
		*op_pages; /* pages in which stores are operations: mlx5dv_dm_map_op_addr() */
	unsigned int op_count;
};

int mlx5_alloc_dm(struct verbs_dm *vdm, const struct verbs_alloc_dm *in);
int mlx5_free_dm(struct verbs_dm *vdm);
int mlx5_dm_export_dmabuf_fd(struct verbs_dm *vdm);
/* Map the pages that hold the memory, from @page_index on. */
int mlx5_dm_map(struct mlx5_dm *dm, uint64_t start, uint16_t page_index, size_t length);
void mlx5_dm_unmap(struct mlx5_dm *dm);

#endif
