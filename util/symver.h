/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Old versions of exported functions, for programs linked long ago. Present versions are plain
 * definitions, and the version script gives them their version.
 */
#ifndef UTIL_SYMVER_H
#define UTIL_SYMVER_H

/*
 * COMPAT_SYMBOL(node, type, name, parameters...) - begin the definition of an old version
 *
 *   COMPAT_SYMBOL("IBVERBS_1.0", int, ibv_dealloc_pd, struct ibv_pd_1_0 *pd)
 *   {
 *           ...
 *
 * defines the function exported as ibv_dealloc_pd@IBVERBS_1.0. The version script lists the name in
 * the node of its present version only.
 */
#if defined(__has_attribute)
#if __has_attribute(symver)
#define SYMVER_ATTRIBUTE(text) __attribute__((symver(text)))
#endif
#endif

#ifdef SYMVER_ATTRIBUTE
#define SYMVER_DIRECTIVE(text)
#else
#define SYMVER_ATTRIBUTE(text)
#define SYMVER_DIRECTIVE(text) __asm__(text);
#endif

#define COMPAT_SYMBOL(node, type, name, ...)                                    \
	SYMVER_DIRECTIVE(".symver " #name "_compat," #name "@" node)            \
	SYMVER_ATTRIBUTE(#name "@" node)                                        \
	__attribute__((visibility("default"))) type name##_compat(__VA_ARGS__); \
	type name##_compat(__VA_ARGS__)

#endif
