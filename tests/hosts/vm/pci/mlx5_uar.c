/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of doorbells (UARs). A program may write a request there, too, by stores that the processor
 * combines. The driver tests whether that works: its requests ask for a completion in the page, but
 * not in their ring.
 */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	COPIES = 0x800, /* offset of the copies in a page */
	COPY_STEP = 0x100,
	COPIES_END = 0xc00,
	COPY_SIZE = 32,	 /* that is compared: control and first data segment */
	CONTROL_IDS = 8, /* bytes: index and opcode, queue pair and size */
	CONTROL_FLAGS = 11,
	COMPLETION = 8,
};

enum hca_combining hca_combining;
static uint32_t copies;

enum hca_status hca_alloc_uar(const struct hca_call *call)
{
	for (uint32_t i = HCA_FIRST_UAR; i < HCA_UARS; i++)
		if (!hca.uars[i]) {
			hca.uars[i] = true;
			put(call->out, COMMAND_NUMBER, i);
			return HCA_OK;
		}
	return HCA_NO_RESOURCES;
}

enum hca_status hca_dealloc_uar(const struct hca_call *call)
{
	if (call->number >= HCA_UARS || !hca.uars[call->number])
		return HCA_BAD_RESOURCE;
	hca.uars[call->number] = false;
	return HCA_OK;
}

/* Return whether the page has a copy whose first @same bytes are those of the request. */
static bool find_copy(const struct hca_qp *qp, uint32_t index, size_t same,
		      uint8_t ret_copy[COPY_SIZE])
{
	const struct queue *sq = &qp->object.sq;
	const uint8_t *request = sq->base + (size_t)(index & (sq->entries - 1)) * WQEBB;
	uint32_t number = get(qp->context, QPC_UAR_PAGE);
	volatile uint8_t *page = number < HCA_UARS ? play_bar(0, number * HCA_PAGE) : NULL;

	for (uint32_t at = COPIES; page && at < COPIES_END; at += COPY_STEP) {
		for (size_t i = 0; i < COPY_SIZE; i++)
			ret_copy[i] = page[at + i];
		if (!memcmp(ret_copy, request, same))
			return true;
	}
	return false;
}

bool hca_copy_wants_completion(const struct hca_qp *qp, uint32_t index)
{
	uint8_t copy[COPY_SIZE];

	return hca_combining == HCA_COMBINES && find_copy(qp, index, CONTROL_IDS, copy) &&
	       copy[CONTROL_FLAGS] & COMPLETION;
}

/* A doorbell without a copy has only the first eight bytes of a request. */
void hca_copy_count(const struct hca_qp *qp, uint32_t index)
{
	uint8_t copy[COPY_SIZE];

	copies += find_copy(qp, index, COPY_SIZE, copy);
}

bool hca_uar_order(const char *word)
{
	static const char *const words[] = {
		[HCA_COMBINES] = "combine",
		[HCA_COMBINES_FALSELY] = "combine-falsely",
		[HCA_COMBINES_NOT] = "combine-not",
	};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i])) {
			hca_combining = i;
			return true;
		}
	if (strcmp(word, "copies"))
		return false;
	printf("copies: %u\n", copies);
	copies = 0;
	return true;
}
