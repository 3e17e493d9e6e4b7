/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture file: pcapng (draft-ietf-opsawg-pcapng), in the byte order of this machine, with raw IP
 * packets and times in nanoseconds. Each packet is written at once, so that the file is complete
 * whenever the process ends.
 */
#ifndef UROCE_PCAPNG_H
#define UROCE_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>

struct pcapng {
	int fd;
	uint32_t snaplen; /* limit of bytes kept of a packet */
	uint64_t limit;	  /* limit of the file in bytes; later packets are not added */
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
 * Add a packet of @length bytes. @comment may be NULL. Return: 0; -ENOSPC for the first packet
 * beyond the limit, 0 for later ones; another -errno.
 */
int pcapng_add_packet(struct pcapng *file, uint32_t interface, bool outgoing, uint64_t time_ns,
		      const void *packet, uint32_t length, const char *comment);

#endif
