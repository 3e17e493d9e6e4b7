/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Write one indented JSON document to standard output. */
#ifndef LIBIBVERBS_TOOLS_JSON_H
#define LIBIBVERBS_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* @key: NULL inside an array. @bracket: '{' or '['. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_string(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/* Format a string by printf(). */
void json_format(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
