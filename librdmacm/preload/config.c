/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration file. A line is a program's name, a domain, a type and a protocol, each of
 * which may be *; '#' begins a comment. A socket that matches a line uses RDMA. Without a file, or
 * without a line, all sockets do.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "librdmacm/preload/preload.h"

#define PATH	    RDMA_SYSCONFDIR "/rdma/rsocket/preload_config"
#define LINES_MAX   128
#define ANY	    (-1)
#define NAME_LENGTH 64

struct word {
	const char *word;
	int value;
};

static const struct word domains[] = {
	{ "*", ANY },
	{ "INET", AF_INET },
	{ "AF_INET", AF_INET },
	{ "PF_INET", AF_INET },
	{ "INET6", AF_INET6 },
	{ "AF_INET6", AF_INET6 },
	{ "PF_INET6", AF_INET6 },
};

static const struct word types[] = {
	{ "*", ANY },
	{ "STREAM", SOCK_STREAM },
	{ "SOCK_STREAM", SOCK_STREAM },
	{ "DGRAM", SOCK_DGRAM },
	{ "SOCK_DGRAM", SOCK_DGRAM },
};

static const struct word protocols[] = {
	{ "*", ANY },		{ "TCP", IPPROTO_TCP },		{ "IPPROTO_TCP", IPPROTO_TCP },
	{ "UDP", IPPROTO_UDP }, { "IPPROTO_UDP", IPPROTO_UDP },
};

struct line {
	char program[NAME_LENGTH];
	int domain, type, protocol;
};

static struct line lines[LINES_MAX];
static unsigned int lines_count;

static bool word_find(const struct word *words, size_t count, const char *word, int *ret_value)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcasecmp(words[i].word, word)) {
			*ret_value = words[i].value;
			return true;
		}
	}
	return false;
}

static bool line_parse(const char *text, struct line *line)
{
	char domain[16], type[16], protocol[16];

	return sscanf(text, "%63s %15s %15s %15s", line->program, domain, type, protocol) == 4 &&
	       word_find(domains, ARRAY_SIZE(domains), domain, &line->domain) &&
	       word_find(types, ARRAY_SIZE(types), type, &line->type) &&
	       word_find(protocols, ARRAY_SIZE(protocols), protocol, &line->protocol);
}

/* Open the file. A FIFO would wait for a writer, and a device has no end. */
static FILE *file_open(void)
{
	FILE *file = NULL;
	struct stat st;

	if (stat(PATH, &st))
		return NULL;
	if (S_ISREG(st.st_mode))
		file = fopen(PATH, "re");
	if (!file)
		log_err("%s: %s: all sockets use RDMA", PATH,
			S_ISREG(st.st_mode) ? strerror(errno) : "not a regular file");
	return file;
}

static void file_read(void)
{
	char text[256];
	FILE *file = file_open();

	while (file && lines_count < LINES_MAX && fgets(text, sizeof(text), file)) {
		text[strcspn(text, "#\n")] = 0;
		if (!text[strspn(text, " \t")])
			continue;
		if (line_parse(text, &lines[lines_count]))
			lines_count++;
		else
			log_err("%s: '%s': not program, domain, type and protocol: skipped", PATH,
				text);
	}
	if (file)
		fclose(file);
}

static bool line_takes(const struct line *line, int domain, int type, int protocol)
{
	/* A name matches all programs that begin with it. */
	if (strcmp(line->program, "*") != 0 &&
	    strncasecmp(line->program, program_invocation_short_name, strlen(line->program)) != 0)
		return false;
	return (line->domain == ANY || line->domain == domain) &&
	       (line->type == ANY || line->type == type) &&
	       (line->protocol == ANY || line->protocol == protocol);
}

bool config_takes(int domain, int type, int protocol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, file_read);
	if (!lines_count)
		return true;
	if (!protocol)
		protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	for (unsigned int i = 0; i < lines_count; i++)
		if (line_takes(&lines[i], domain, type, protocol))
			return true;
	return false;
}
