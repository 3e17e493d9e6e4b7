/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the device. In run mode it consists of the pages that the process maps. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

int dm_alloc(uint64_t length, uint32_t log_align, struct ib_uverbs_ioctl_hdr *call,
	     struct object **ret_dm)
{
	struct object *dm;
	int r;

	if (!device->alloc_dm)
		return EOPNOTSUPP;
	dm = object_new(OBJECT_DM);
	if (!dm)
		return ENOMEM;
	dm->length = length;
	r = device->alloc_dm(dm, log_align, call);
	if (r) {
		object_free(dm);
		return r;
	}
	trace_line("ALLOC_DM length=0x%llx align=%u -> %s", (unsigned long long)length, log_align,
		   object_name(OBJECT_DM, dm->handle));
	*ret_dm = dm;
	return 0;
}

int dm_reg_mr(struct object *dm, struct object *pd, uint64_t offset, uint64_t length,
	      unsigned access, struct object **ret_mr)
{
	struct object *mr;
	int r;

	if (!dm || !pd || offset > dm->length || length > dm->length - offset)
		return EINVAL;
	mr = object_new(OBJECT_MR);
	if (!mr)
		return ENOMEM;
	mr->pd = pd;
	mr->dm = dm;
	mr->length = length;
	trace_line("REG_DM_MR %s %s offset=0x%llx length=0x%llx access=0x%x -> %s",
		   object_name(OBJECT_PD, pd->handle), object_name(OBJECT_DM, dm->handle),
		   (unsigned long long)offset, (unsigned long long)length, access,
		   object_name(OBJECT_MR, mr->handle));
	r = model_reg_dm_mr(mr, offset, length, access);
	if (r) {
		object_free(mr);
		return r;
	}
	*ret_mr = mr;
	return 0;
}
