/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uroce-guardian: wait until the process that started it has ended, send the messages that a kernel
 * would have sent to the peers of its connections, and end. See guardian.h and uroce(7).
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "providers/uroce/guardian/guardian.h"
#include "providers/uroce/path/udp/udp.h"

enum {
	ROUNDS = 5, /* repetitions of all messages, because the guardian receives no answers */
	BURST = 64, /* packets between two pauses */
	BURST_MS = 1,
	WORDS_READ = 64, /* words of one read() */
};
#define FIRST_MS 200 /* ms between two rounds at first; doubled each time */

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

/* --- protection from the fate of the process --- */

/*
 * Close inherited descriptors, because a reader at the other end waits until all holders have
 * closed.
 */
static void files_close(void)
{
	int max = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, GUARDIAN_FILES, ~0u, 0))
		return;
#endif
	for (int fd = GUARDIAN_FILES; fd < max; fd++)
		close(fd);
}

/*
 * Ignore the signals by which a terminal, a shell or a service manager ends a group of processes.
 */
static void signals_ignore(void)
{
	static const int numbers[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGPIPE,
				       SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP };
	sigset_t none;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void process_await(void)
{
	struct pollfd ends[] = { { .fd = GUARDIAN_LIFE, .events = POLLIN },
				 { .fd = GUARDIAN_PROCESS, .events = POLLIN } };

	while (poll(ends, ARRAY_SIZE(ends), -1) < 0)
		;
}

/* --- the messages --- */

/* Check a message, because the process that wrote it may have written random bytes. */
static bool word_is_sound(const struct guardian_word *word, const union ibv_gid *local,
			  const union ibv_gid *remote)
{
	static const union ibv_gid none;

	if (word->valid != 1 || uroce_gid_is_multicast(remote) ||
	    !memcmp(remote, &none, sizeof(none)) || !memcmp(local, &none, sizeof(none)) ||
	    uroce_gid_is_ipv4(local) != uroce_gid_is_ipv4(remote))
		return false;
	return word->mad[0] == MAD_VERSION && word->mad[MAD_AT_CLASS] == MAD_CLASS_CM &&
	       word->mad[2] == MAD_CLASS_VERSION && word->mad[3] == MAD_SEND &&
	       !word->mad[MAD_AT_ATTR_ID] &&
	       (word->mad[MAD_AT_ATTR_ID + 1] == CM_DREQ ||
		word->mad[MAD_AT_ATTR_ID + 1] == CM_REJ);
}

static uint32_t packet_make(const struct guardian_word *word,
			    uint8_t ret_packet[UROCE_HEADER_MAX + GSI_MAD_LEN])
{
	struct uroce_hdr hdr = {
		.opcode = UROCE_UD | UROCE_SEND_ONLY,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = GSI_QPN,
		.qkey = GSI_QKEY,
		.src_qpn = GSI_QPN,
	};
	uint32_t header = uroce_wire_pack(&hdr, GSI_MAD_LEN, ret_packet);

	memset(ret_packet + header, 0, GSI_MAD_LEN);
	memcpy(ret_packet + header, word->mad, GUARDIAN_MAD_LEN);
	return header + GSI_MAD_LEN;
}

/*
 * One socket, bound to the source address of the last message, because most processes use one
 * address.
 */
static struct {
	int fd;
	union ibv_gid local;
} voice = { .fd = -1 };

static int voice_for(const union ibv_gid *local)
{
	if (voice.fd >= 0 && memcmp(&voice.local, local, sizeof(*local))) {
		close(voice.fd);
		voice.fd = -1;
	}
	voice.local = *local;
	return voice.fd;
}

static bool word_say(const struct guardian_word *word)
{
	uint8_t packet[UROCE_HEADER_MAX + GSI_MAD_LEN];
	struct uroce_av av = { .route.traffic_class = word->traffic_class };
	union ibv_gid remote;

	memcpy(av.route.sgid.raw, word->local_gid, sizeof(word->local_gid));
	memcpy(remote.raw, word->remote_gid, sizeof(word->remote_gid));
	if (!word_is_sound(word, &av.route.sgid, &remote))
		return false;
	uroce_address_from_gid(&remote, UROCE_UDP_PORT, word->ifindex, &av.addr);
	voice.fd = voice_for(&av.route.sgid);
	(void)uroce_udp_probe(&av, word->ifindex, packet, packet_make(word, packet), &voice.fd);
	return true;
}

/* Send all valid messages. Return: their number. */
static unsigned int words_say(void)
{
	struct guardian_word words[WORDS_READ];
	unsigned int said = 0;

	for (unsigned int at = 0; at < GUARDIAN_WORDS; at += WORDS_READ) {
		if (pread(GUARDIAN_LIST, words, sizeof(words), at * sizeof(words[0])) !=
		    sizeof(words))
			break;
		for (unsigned int i = 0; i < WORDS_READ; i++)
			if (word_say(&words[i]) && !(++said % BURST))
				sleep_ms(BURST_MS);
	}
	return said;
}

int main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], GUARDIAN_LAYOUT)) {
		fprintf(stderr,
			"%s: started by programs with a uroce device, for them; see uroce(7)\n",
			GUARDIAN_PROGRAM);
		return 2;
	}
	signals_ignore();
	files_close();
	(void)setsid();
	(void)!chdir("/");
	process_await();
	for (unsigned int round = 0; round < ROUNDS && words_say(); round++)
		if (round + 1 < ROUNDS)
			sleep_ms(FIRST_MS << round);
	return 0;
}
