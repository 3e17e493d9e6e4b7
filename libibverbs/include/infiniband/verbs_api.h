/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef VERBS_API_H
#define VERBS_API_H

#include <endian.h>
#include <stdint.h>
#include <linux/types.h>

/**
 * RDMA_UAPI_PTR() - a pointer member of a struct shared with the kernel
 *
 * Always eight bytes: a program of either word size has the layout of the kernel. As
 * @name the member is a pointer, as @name_data_u64 the whole word, which a 32-bit program has to
 * clear before it stores the pointer. The kernel's own header knows only the word: when it came
 * first, its form stays.
 */
#ifndef RDMA_UAPI_PTR
#if UINTPTR_MAX == UINT64_MAX
#define RDMA_UAPI_PTR(_type, _name)             \
	__extension__ union {                   \
		_type _name;                    \
		__aligned_u64 _name##_data_u64; \
	}
#elif UINTPTR_MAX == UINT32_MAX && __BYTE_ORDER == __LITTLE_ENDIAN
#define RDMA_UAPI_PTR(_type, _name)             \
	__extension__ union {                   \
		__extension__ struct {          \
			_type _name;            \
			__u32 _name##_reserved; \
		};                              \
		__aligned_u64 _name##_data_u64; \
	}
#elif UINTPTR_MAX == UINT32_MAX
#define RDMA_UAPI_PTR(_type, _name)             \
	__extension__ union {                   \
		__extension__ struct {          \
			__u32 _name##_reserved; \
			_type _name;            \
		};                              \
		__aligned_u64 _name##_data_u64; \
	}
#else
#error "infiniband/verbs_api.h: pointers of this size are not known"
#endif
#endif

#include <infiniband/ib_user_ioctl_verbs.h>

/*
 * Constants that verbs and the kernel share are defined once, by the kernel's header. These are
 * their names in verbs. The headers in verbs/ explain them with the functions that take them.
 */

/* memory regions */
#define ibv_advise_mr_advice		       ib_uverbs_advise_mr_advice
#define IBV_ADVISE_MR_ADVICE_PREFETCH	       IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH
#define IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE    IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define IBV_ADVISE_MR_FLAG_FLUSH	       IB_UVERBS_ADVISE_MR_FLAG_FLUSH
#define IBV_ACCESS_OPTIONAL_RANGE	       IB_UVERBS_ACCESS_OPTIONAL_RANGE
#define IBV_ACCESS_OPTIONAL_FIRST	       IB_UVERBS_ACCESS_OPTIONAL_FIRST

/* port attributes */
#define IBV_QPF_GRH_REQUIRED IB_UVERBS_QPF_GRH_REQUIRED

/* flow actions: ESP */
#define ibv_flow_action_esp_keymat		   ib_uverbs_flow_action_esp_keymat
#define IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM	   IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM
#define ibv_flow_action_esp_keymat_aes_gcm_iv_algo ib_uverbs_flow_action_esp_keymat_aes_gcm_iv_algo
#define IBV_FLOW_ACTION_IV_ALGO_SEQ		   IB_UVERBS_FLOW_ACTION_IV_ALGO_SEQ
#define ibv_flow_action_esp_keymat_aes_gcm	   ib_uverbs_flow_action_esp_keymat_aes_gcm
#define ibv_flow_action_esp_replay		   ib_uverbs_flow_action_esp_replay
#define IBV_FLOW_ACTION_ESP_REPLAY_NONE		   IB_UVERBS_FLOW_ACTION_ESP_REPLAY_NONE
#define IBV_FLOW_ACTION_ESP_REPLAY_BMP		   IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP
#define ibv_flow_action_esp_replay_bmp		   ib_uverbs_flow_action_esp_replay_bmp
#define ibv_flow_action_esp_flags		   ib_uverbs_flow_action_esp_flags
#define IBV_FLOW_ACTION_ESP_FLAGS_INLINE_CRYPTO	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_INLINE_CRYPTO
#define IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD
#define IBV_FLOW_ACTION_ESP_FLAGS_TUNNEL	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TUNNEL
#define IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TRANSPORT
#define IBV_FLOW_ACTION_ESP_FLAGS_DECRYPT	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_DECRYPT
#define IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT	   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ENCRYPT
#define IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW   IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW
#define ibv_flow_action_esp_encap		   ib_uverbs_flow_action_esp_encap
#define ibv_flow_action_esp			   ib_uverbs_flow_action_esp

#endif
