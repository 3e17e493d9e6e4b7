/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The node description of a device: up to 64 bytes of UTF-8 that subnet managers and fabric tools
 * show for it (IBTA vol. 1, chapter 14, attribute NodeDescription).
 */
#ifndef RDMA_NDD_NODE_DESC_H
#define RDMA_NDD_NODE_DESC_H

#define NODE_DESC_SIZE	 64 /* bytes; the attribute needs no zero byte at its end */
#define NODE_DESC_FORMAT "%h %d"

/*
 * @format: %h is the host name up to its first dot, %d the device name, %% a percent sign. Other
 * text is copied. Control characters become '_'. A text that is longer than the attribute is cut
 * between characters.
 */
void node_desc_format(const char *format, const char *host, const char *device,
		      char ret_text[NODE_DESC_SIZE + 1]);

/* Read the description. @device_fd: folder of the device in sysfs. Return: 0; -errno. */
int node_desc_read(int device_fd, char ret_text[NODE_DESC_SIZE + 1]);
int node_desc_write(int device_fd, const char *text);

#endif
