// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usage: differ_end
 *
 * Reads lines "LANE CALL WORD..." and answers each by "LANE RESULT ERROR TEXT". Lane 0 is the main
 * thread, lanes 1 to 3 are threads whose calls may block, and lane f is a child of fork().
 * A lane answers "b LANE" when it begins.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define LANES 4
#define CLOSED                                                                                   \
	63 /* not open, and below the size of the smallest table of the kernel: select() ignores \
	      others */

/* A thread that makes calls one after the other. The lock protects line and filled. */
static struct lane {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t come;
	char line[512];
	bool filled;
	atomic_bool busy; /* true from the arrival of the line until the answer */
	uint8_t *buffer;
} lanes[LANES];

static atomic_int slots[SLOTS];
static atomic_int pipes_broken, signals_taken;

/* ---- words ---- */

long number(const struct words *words, int i)
{
	return i < words->count ? strtol(words->word[i], NULL, 0) : 0;
}

const char *string(const struct words *words, int i)
{
	return i < words->count ? words->word[i] : "";
}

int slot_fd(const struct words *words, int i)
{
	int fd = slots[number(words, i) & (SLOTS - 1)];

	return fd >= 0 ? fd : CLOSED;
}

void slot_set(const struct words *words, int i, int fd)
{
	slots[number(words, i) & (SLOTS - 1)] = fd;
}

void answer_add(struct answer *answer, const char *format, ...)
{
	size_t used = strlen(answer->text);
	va_list list;

	va_start(list, format);
	vsnprintf(answer->text + used, sizeof(answer->text) - used, format, list);
	va_end(list);
}

void answer_result(struct answer *answer, long result)
{
	answer->error = result < 0 ? errno : 0;
	answer->result = result;
}

/* ---- signals ---- */

static void take_pipe(int number)
{
	pipes_broken++;
}

static void take_signal(int number)
{
	signals_taken++;
}

/* SIGUSR1 always interrupts. SIGUSR2 has the flags that a plan gives it. */
static void handlers_set(int flags)
{
	struct sigaction interrupt = { .sa_handler = take_signal };
	struct sigaction poke = { .sa_handler = take_signal, .sa_flags = flags };
	struct sigaction broken = { .sa_handler = take_pipe, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &interrupt, NULL);
	sigaction(SIGUSR2, &poke, NULL);
	sigaction(SIGPIPE, &broken, NULL);
}

void slots_reset(void)
{
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i] >= 0)
			close(slots[i]);
		slots[i] = -1;
	}
	handlers_set(0);
	pipes_broken = signals_taken = 0;
}

/* ---- calls ---- */

static const struct call *call_find(const char *name)
{
	const struct call *tables[] = { socket_calls, data_calls, wait_calls };

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct call *call = tables[i]; call->name; call++)
			if (!strcmp(call->name, name))
				return call;
	return NULL;
}

static void words_split(char *line, struct words *ret)
{
	char *rest;

	for (char *word = strtok_r(line, " \n", &rest); word && ret->count < WORDS;
	     word = strtok_r(NULL, " \n", &rest))
		ret->word[ret->count++] = word;
}

static void call_make(struct words *words, struct answer *ret)
{
	int broken = pipes_broken;
	const char *name = string(words, 0);
	const struct call *call = call_find(name);

	words->count--;
	memmove(words->word, words->word + 1, words->count * sizeof(words->word[0]));
	if (call)
		call->make(words, ret);
	else if (!strcmp(name, "reset"))
		slots_reset();
	else if (!strcmp(name, "handlers"))
		handlers_set(number(words, 0) ? SA_RESTART : 0);
	else if (!strcmp(name, "signals"))
		ret->result = signals_taken;
	else
		answer_add(ret, "no such call: %s", name);
	if (pipes_broken != broken)
		answer_add(ret, " SIGPIPE");
}

static void answer_write(char lane, const struct answer *answer)
{
	char line[640];
	const char *name = answer->error ? strerrorname_np(answer->error) : "0";
	int size = snprintf(line, sizeof(line), "%c %ld %s%s%s\n", lane, answer->result,
			    name ? name : "?", answer->text[0] == ' ' ? "" : " ", answer->text);

	if (write(STDOUT_FILENO, line, size) != size)
		_exit(1);
}

static void line_run(int lane, char *line)
{
	struct words words = { .buffer = lanes[lane].buffer };
	struct answer answer = {};

	words_split(line, &words);
	call_make(&words, &answer);
	lanes[lane].busy = false;
	answer_write('0' + lane, &answer);
}

static void *lane_run(void *arg)
{
	struct lane *lane = arg;
	struct answer start = { .result = syscall(SYS_gettid) };
	char line[sizeof(lane->line)];

	answer_add(&start, "%d", (int)(lane - lanes));
	answer_write('t', &start);
	for (;;) {
		pthread_mutex_lock(&lane->lock);
		while (!lane->filled)
			pthread_cond_wait(&lane->come, &lane->lock);
		lane->filled = false;
		memcpy(line, lane->line, sizeof(line));
		pthread_mutex_unlock(&lane->lock);
		answer_write('b', &(struct answer){ .result = lane - lanes });
		line_run(lane - lanes, line);
	}
	return NULL;
}

static void lane_give(struct lane *lane, const char *line)
{
	pthread_mutex_lock(&lane->lock);
	snprintf(lane->line, sizeof(lane->line), "%s", line);
	lane->filled = lane->busy = true;
	pthread_cond_signal(&lane->come);
	pthread_mutex_unlock(&lane->lock);
}

/* Make a call in a child, which ends without the handlers of exit(). */
static void child_run(char *line)
{
	struct words words = { .buffer = lanes[0].buffer };
	struct answer answer = {};
	int status, ends[2];
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child) {
		words_split(line, &words);
		call_make(&words, &answer);
		_exit(write(ends[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(ends[1]);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		answer_add(&answer, "the child is gone");
	close(ends[0]);
	waitpid(child, &status, 0);
	if (status)
		answer_add(&answer, " status %x", status);
	answer_write('f', &answer);
}

/* "i LANE": interrupt the lane until it has answered. "p LANE": one signal. */
static void lane_signal(char how, const char *line)
{
	struct lane *lane = &lanes[atoi(line) & (LANES - 1)];

	if (how == 'p' && lane->busy)
		pthread_kill(lane->thread, SIGUSR2);
	while (how == 'i' && lane->busy) {
		pthread_kill(lane->thread, SIGUSR1);
		usleep(1000);
	}
	answer_write(how, &(struct answer){});
}

int main(void)
{
	static char line[512];
	static FILE *plan;

	for (int i = 0; i < SLOTS; i++)
		slots[i] = -1;
	handlers_set(0);
	for (int i = 0; i < LANES; i++) {
		lanes[i].buffer = malloc(ROOM);
		pthread_mutex_init(&lanes[i].lock, NULL);
		pthread_cond_init(&lanes[i].come, NULL);
		if (i)
			pthread_create(&lanes[i].thread, NULL, lane_run, &lanes[i]);
	}
	plan = fdopen(STDIN_FILENO, "r");
	while (fgets(line, sizeof(line), plan)) {
		char lane = line[0];

		/* What the lanes have done so far happened before. Pairs with line_run(). */
		for (int i = 1; i < LANES; i++)
			(void)atomic_load(&lanes[i].busy);
		if (lane == '0')
			line_run(0, line + 2);
		else if (lane > '0' && lane < '0' + LANES)
			lane_give(&lanes[lane - '0'], line + 2);
		else if (lane == 'f')
			child_run(line + 2);
		else if (lane == 'i' || lane == 'p')
			lane_signal(lane, line + 2);
		else if (lane == 'x')
			exit(0);
		else
			_exit(0);
	}
	return 0;
}
