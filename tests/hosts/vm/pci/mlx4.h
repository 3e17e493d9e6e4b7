/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ConnectX-3 with one InfiniBand port for the kernel's drivers mlx4_core and mlx4_ib. hcr.c has
 * its command register, icm.c the memory of its firmware, loop.c moves its messages.
 */
#ifndef PCI_MLX4_H
#define PCI_MLX4_H

#include "tests/hosts/vm/pci/hcr.h"
#include "tests/hosts/vm/pci/loop.h"

enum {
	HCA_BAR = 1 << 20,
	HCA_LOG_UAR_MB = 2,
	HCA_UARS = 1 << (20 + HCA_LOG_UAR_MB),
	HCA_BLUEFLAME = 512,
	HCA_VECTORS = 16,
	HCA_EQS = 64,
	HCA_CQE = 64,
	/* Places in BAR 0. */
	HCA_HCR = 0x80680,
	HCA_ERROR_BUFFER = 0x90000,
	HCA_ERROR_WORDS = 16,
	HCA_CLEAR_INTERRUPT = 0x91000,
	HCA_CLOCK = 0x92000,
	HCA_MSIX_TABLE = 0xa0000,
	HCA_RESET = 0xf0010,
	HCA_CLOCK_MHZ = 156,
	HCA_XRC_QP = 1 << 23, /* bit in the number of a receiver by XRC */
};

/* mlx4_port.c: capabilities, the port, and its management datagrams. */
enum hcr_status hca_query_firmware(struct hcr_call *call);
enum hcr_status hca_query_capabilities(struct hcr_call *call);
enum hcr_status hca_query_adapter(struct hcr_call *call);
enum hcr_status hca_query_port(struct hcr_call *call);
enum hcr_status hca_set_port(struct hcr_call *call);
enum hcr_status hca_mad(struct hcr_call *call);
void hca_gid(uint32_t index, uint8_t ret_gid[16]);

/* mlx4_object.c: event queues, CQs, SRQs. */
enum hcr_status hca_create_eq(struct hcr_call *call);
enum hcr_status hca_destroy_eq(struct hcr_call *call);
enum hcr_status hca_map_events(struct hcr_call *call);
enum hcr_status hca_create_cq(struct hcr_call *call);
enum hcr_status hca_modify_cq(struct hcr_call *call);
enum hcr_status hca_destroy_cq(struct hcr_call *call);
enum hcr_status hca_create_srq(struct hcr_call *call);
enum hcr_status hca_arm_srq(struct hcr_call *call);
enum hcr_status hca_query_srq(struct hcr_call *call);
enum hcr_status hca_destroy_srq(struct hcr_call *call);
void hca_event(enum loop_event type, uint32_t number);
void hca_completion_event(struct loop_cq *cq);
void hca_command_event(uint16_t token, enum hcr_status status, uint64_t out);
void hca_forget_eqs(void);

/* mlx4_key.c: memory keys and windows. */
enum hcr_status hca_create_key(struct hcr_call *call);
enum hcr_status hca_destroy_key(struct hcr_call *call);
/* Mark the keys in a page as unused. */
void hca_new_page(uint64_t at);
/* Take the place of the keys from INIT_HCA. */
void hca_place_keys(uint64_t at, uint32_t log_keys);
uint8_t *hca_memory(uint32_t key, uint32_t pd, uint32_t qp, uint64_t at, uint64_t length,
		    unsigned access, size_t *ret_together);
enum ibv_wc_status hca_bind(const struct loop_qp *qp, const struct work *work);
bool hca_invalidate(const struct loop_qp *qp, uint32_t key);

/* mlx4_group.c: multicast groups. */
enum hcr_status hca_hash_group(struct hcr_call *call);
enum hcr_status hca_read_group(struct hcr_call *call);
enum hcr_status hca_write_group(struct hcr_call *call);
uint32_t hca_next_member(const uint8_t *gid, uint32_t sender, uint32_t *cursor);
void hca_forget_groups(void);

/* mlx4_qp.c: queue pairs and their states. */
enum hcr_status hca_modify_qp(struct hcr_call *call);
enum hcr_status hca_query_qp(struct hcr_call *call);
enum hcr_status hca_special_qps(struct hcr_call *call);

/* mlx4_command.c */
extern const struct hcr hca_hcr;
/* Return a status for a command that fails by chance; see struct play_device. */
uint32_t hca_random_status(uint32_t opcode, uint32_t random);
void hca_forget_all(void);

#endif
