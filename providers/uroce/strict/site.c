/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The call of the program behind an operation: the innermost frame of the stack that lies in none
 * of this project's libraries. In a static program all frames lie in one file, so the call is
 * unknown. It is also unknown if the C library is not glibc, because such a library may not have
 * functions that walk a stack.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <unwind.h>
#endif

#include "providers/uroce/strict/report.h"

#ifdef __GLIBC__
static bool name_begins(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, name, strlen(name));
}

static bool file_is(const Dl_info *info, const char *name)
{
	return info->dli_fname && name_begins(info->dli_fname, name);
}

static bool is_ours(const Dl_info *info)
{
	Dl_info own;

	return (dladdr((void *)(uintptr_t)is_ours, &own) && own.dli_fbase == info->dli_fbase) ||
	       file_is(info, "libibverbs.so");
}

static _Unwind_Reason_Code frame_look(struct _Unwind_Context *frame, void *arg)
{
	struct strict_site *site = arg;
	uintptr_t next = _Unwind_GetIP(frame);
	Dl_info info;

	/* The address of the call, which is before the address of the return. */
	if (!next || !dladdr((void *)(next - 1), &info) || is_ours(&info))
		return _URC_NO_REASON;
	if (file_is(&info, "librdmacm.so")) {
		site->by_cm = true;
		return _URC_NO_REASON;
	}
	site->address = (void *)(next - 1);
	return _URC_NORMAL_STOP;
}

struct strict_site strict_site_here(void)
{
	struct strict_site site = {};

	_Unwind_Backtrace(frame_look, &site);
	return site;
}
#else
struct strict_site strict_site_here(void)
{
	return (struct strict_site){};
}
#endif

/* Return the address as addr2line(1) wants it: from the start of the file, unless that is linked to
 * a fixed address. */
static uintptr_t address_in_file(const Dl_info *info, const void *address)
{
	const ElfW(Ehdr) *header = info->dli_fbase;

	return header->e_type == ET_EXEC ? (uintptr_t)address
					 : (uintptr_t)address - (uintptr_t)info->dli_fbase;
}

void strict_site_text(const struct strict_site *site, char *text, size_t size)
{
	Dl_info info;

	text[0] = '\0';
	if (!site->address || !dladdr(site->address, &info) || !info.dli_fname)
		return;
	snprintf(text, size, "%s+0x%zx%s%s%s", info.dli_fname,
		 (size_t)address_in_file(&info, site->address), info.dli_sname ? " (" : "",
		 info.dli_sname ? info.dli_sname : "", info.dli_sname ? ")" : "");
}
