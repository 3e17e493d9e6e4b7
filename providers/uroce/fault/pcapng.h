/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture file: pcapng (draft-ietf-opsawg-pcapng), little or big endian as this machine is, raw
 * IP packets, nanoseconds. Each packet is written as it is added, so that the file is whole
 * whenever the process ends.
 */
#ifndef UROCE_PCAPNG_H
#define UROCE_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>

struct pcapng {
	int fd;
	uint32_t snaplen; /* bytes of a packet that are kept */
	uint64_t limit;	  /* bytes of the file; then nothing more is added */
	uint64_t size;
	uint32_t interfaces; /* described so far */
	bool full;
};

/*
 * Create the file, or empty it. -EBUSY: another process is writing to it; -ELOOP: it is a symbolic
 * link.
 */
int pcapng_create(const char *path, uint32_t snaplen, uint64_t limit, struct pcapng *ret);
void pcapng_close(struct pcapng *file);

/* Return: the number of the new interface, or -errno. */
int pcapng_add_interface(struct pcapng *file, const char *name);

/*
 * Add a packet of @length bytes. @comment may be NULL. Return: 0; -ENOSPC the first time
 * the limit stands against it, and 0 afterwards; another -errno.
 */
int pcapng_add_packet(struct pcapng *file, uint32_t interface, bool outgoing, uint64_t time_ns,
		      const void *packet, uint32_t length, const char *comment);

#endif
