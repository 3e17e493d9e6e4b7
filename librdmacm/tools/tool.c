/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>
#include <string.h>

#include <infiniband/ib.h>

#include "tool.h"
#include "util/version.h"

const struct tool_word tool_address_formats[] = {
	{ "name", AF_UNSPEC }, { "ip", AF_INET }, { "ipv6", AF_INET6 }, { "gid", AF_IB }, {},
};

const struct tool_word tool_datagram_spaces[] = {
	{ "udp", RDMA_PS_UDP },
	{ "ipoib", RDMA_PS_IPOIB },
	{},
};

void tool_start(void)
{
	setenv("VERBS_LOG_LEVEL", "1", 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

int tool_perror(const char *prefix, const char *what)
{
	fprintf(stderr, "%s%s%s: %s\n", prefix, *prefix ? ": " : "", what, strerror(errno));
	return -1;
}

int tool_open_error(const char *prefix, const char *what)
{
	if (errno != ENODEV)
		return tool_perror(prefix, what);
	fprintf(stderr, "No RDMA devices were detected\n");
	return -1;
}

void tool_explain_event(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		fprintf(stderr, "rejected: %s\n", rdma_reject_str(event->status));
}

/* ---- options ---- */

static void help(FILE *to, const struct tool_option *options, const char *arguments)
{
	fprintf(to, "usage: %s [OPTION]...%s\n", program_invocation_short_name, arguments);
	for (const struct tool_option *o = options; o->letter; o++) {
		char spelling[32];

		snprintf(spelling, sizeof(spelling), "-%c %s", o->letter,
			 o->argument ? o->argument : "");
		fprintf(to, "  %-14s %s\n", spelling, o->help);
	}
	fprintf(to, "  %-14s %s\n", "-h, --help", "print this text");
	fprintf(to, "  %-14s %s\n", "--version", "print the version");
}

void tool_mistake(int mistake, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "; %s -h explains the options\n", program_invocation_short_name);
	va_end(args);
	exit(mistake);
}

static bool number_parse(const char *text, long min, long max, int *ret_value)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 0);
	if (errno || end == text || *end || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

static bool word_parse(const struct tool_word *words, const char *text, int *ret_value)
{
	int number = 0;
	bool is_number = number_parse(text, 1, INT16_MAX, &number);

	for (; words->name; words++) {
		if (strcasecmp(words->name, text) && !(is_number && words->value == number))
			continue;
		*ret_value = words->value;
		return true;
	}
	return false;
}

static _Noreturn void word_refuse(const struct tool_option *option, const char *text, int mistake)
{
	char all[256] = "";

	for (const struct tool_word *w = option->words; w->name; w++) {
		size_t length = strlen(all);

		snprintf(all + length, sizeof(all) - length, "%s%s",
			 !length ? "" : (w[1].name ? ", " : " or "), w->name);
	}
	tool_mistake(mistake, "-%c %s: %s is expected", option->letter, text, all);
}

static void option_set(const struct tool_option *option, const char *text, int mistake)
{
	int bits = 0;

	switch (option->kind) {
	case TOOL_FLAG:
		*(bool *)option->value = true;
		break;
	case TOOL_TEXT:
		*(const char **)option->value = text;
		break;
	case TOOL_NUMBER:
		if (!number_parse(text, option->min, option->max, option->value))
			tool_mistake(mistake, "-%c %s: a number from %ld to %ld is expected",
				     option->letter, text, option->min, option->max);
		break;
	case TOOL_WORD:
		if (!word_parse(option->words, text, option->value))
			word_refuse(option, text, mistake);
		break;
	case TOOL_WORDS:
		if (!word_parse(option->words, text, &bits))
			word_refuse(option, text, mistake);
		*(int *)option->value |= bits;
		break;
	}
}

static const struct tool_option *option_find(const struct tool_option *options, int letter)
{
	for (; options->letter; options++)
		if (options->letter == letter)
			return options;
	return NULL;
}

int tool_arguments_parse(const struct tool_option *options, const char *arguments, int mistake,
			 int argc, char **argv)
{
	enum {
		VERSION = 256
	};
	static const struct option names[] = {
		{ .name = "help", .val = 'h' },
		{ .name = "version", .val = VERSION },
		{},
	};
	char letters[64] = ":h", *end = letters + 2;
	int letter;

	for (const struct tool_option *o = options; o->letter; o++) {
		*end++ = o->letter;
		if (o->argument)
			*end++ = ':';
	}
	while ((letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		if (letter == 'h') {
			help(stdout, options, arguments);
			exit(0);
		}
		if (letter == VERSION) {
			version_print();
			exit(0);
		}
		if (letter == ':')
			tool_mistake(mistake, "-%c needs a value, %s", optopt,
				     option_find(options, optopt)->argument);
		if (letter == '?' && optopt)
			tool_mistake(mistake, "there is no option -%c", optopt);
		if (letter == '?')
			tool_mistake(mistake, "there is no option %s", argv[optind - 1]);
		option_set(option_find(options, letter), optarg, mistake);
	}
	return optind;
}

void tool_options_parse(const struct tool_option *options, int mistake, int argc, char **argv)
{
	int first = tool_arguments_parse(options, "", mistake, argc, argv);

	if (first < argc)
		tool_mistake(mistake, "%s: an option is expected", argv[first]);
}

/* ---- addresses ---- */

const char *tool_address_error(int r)
{
	return r == -1 || r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r);
}

static int lookup(const struct tool_names *names, const char *node, const char *service,
		  const struct rdma_addrinfo *hints, struct rdma_addrinfo **ret_info)
{
	int r = rdma_getaddrinfo(node, service, hints, ret_info);
	const char *prefix = names->prefix;

	if (r)
		printf("%s%sgetaddrinfo error: %s\n", prefix, *prefix ? ": " : "",
		       tool_address_error(r));
	return r;
}

int tool_address(const struct tool_names *names, struct rdma_addrinfo **ret_info)
{
	struct rdma_addrinfo *source = NULL;
	struct rdma_addrinfo hints = {
		.ai_flags = names->family == AF_UNSPEC ? 0 : RAI_NUMERICHOST | RAI_FAMILY,
		.ai_family = names->family,
		.ai_port_space = names->port_space,
	};
	int r = 0;

	if (names->destination && names->source) {
		hints.ai_flags |= RAI_PASSIVE;
		r = lookup(names, names->source, NULL, &hints, &source);
		if (r)
			return r;
		hints.ai_flags &= ~RAI_PASSIVE;
		hints.ai_src_addr = source->ai_src_addr;
		hints.ai_src_len = source->ai_src_len;
	}
	if (!names->destination)
		hints.ai_flags |= RAI_PASSIVE;
	r = lookup(names, names->destination ? names->destination : names->source, names->service,
		   &hints, ret_info);
	if (source)
		rdma_freeaddrinfo(source);
	return r;
}

int tool_ip_address(const char *text, struct sockaddr_storage *ret_addr)
{
	struct addrinfo *info;
	int r = getaddrinfo(text, NULL, NULL, &info);

	if (r) {
		printf("getaddrinfo failed (%s) - invalid hostname or IP address\n",
		       gai_strerror(r));
		return r;
	}
	*ret_addr = (struct sockaddr_storage){};
	memcpy(ret_addr, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return 0;
}

/* ---- texts of measurements ---- */

const char *tool_size_text(long long size, char text[48])
{
	static const char letters[] = { 0, 'k', 'm', 'g' };
	int unit = size >= 1 << 30 ? 3 : size >= 1 << 20 ? 2 : size >= 1 << 10 ? 1 : 0;
	long long base = 1ll << 10 * unit, tenths = size % base * 10 / base;

	if (size / base < 10 && tenths)
		snprintf(text, 48, "%lld.%lld%c", size / base, tenths, letters[unit]);
	else
		snprintf(text, 48, "%lld%c", size / base, letters[unit]);
	return text;
}

const char *tool_count_text(int count, char text[48])
{
	static const char letters[] = { 0, 'k', 'm', 'b' };
	int unit = 0;

	for (; count >= 1000 && unit < 3; unit++)
		count /= 1000;
	snprintf(text, 48, "%d%c", count, letters[unit]);
	return text;
}

int tool_transfers(int size)
{
	return size >= 1 << 20 ? 100 : size >= 1 << 16 ? 1000 : size >= 1 << 10 ? 10000 : 100000;
}
