/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that libnl, built with glibc, needs and musl does not have: printing with a check of
 * the buffer's size. With these functions libnl works in programs built with musl. */
#include <stdarg.h>
#include <stdio.h>

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list values);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __vsnprintf_chk(char *text, size_t size, int flag, size_t known, const char *format,
		    va_list values);
int __snprintf_chk(char *text, size_t size, int flag, size_t known, const char *format, ...);
int __vasprintf_chk(char **text, int flag, const char *format, va_list values);

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list values)
{
	return vfprintf(file, format, values);
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = vfprintf(file, format, values);
	va_end(values);
	return n;
}

int __vsnprintf_chk(char *text, size_t size, int flag, size_t known, const char *format,
		    va_list values)
{
	return vsnprintf(text, size, format, values);
}

int __snprintf_chk(char *text, size_t size, int flag, size_t known, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = vsnprintf(text, size, format, values);
	va_end(values);
	return n;
}

int __vasprintf_chk(char **text, int flag, const char *format, va_list values)
{
	return vasprintf(text, format, values);
}
