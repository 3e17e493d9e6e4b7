/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options: a table of all options, and the options that wait for a backend. */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/id.h"
#include "util/util.h"

struct option_rule {
	int level;
	int name;
	const char *text;
	size_t length; /* bytes of one value */
	bool array;    /* any number of values */
};

static const struct option_rule rules[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, "RDMA_OPTION_ID_TOS", sizeof(uint8_t) },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, "RDMA_OPTION_ID_REUSEADDR", sizeof(int) },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, "RDMA_OPTION_ID_AFONLY", sizeof(int) },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, "RDMA_OPTION_ID_ACK_TIMEOUT",
	  sizeof(uint8_t) },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, "RDMA_OPTION_IB_PATH", sizeof(struct ibv_path_data),
	  .array = true },
};

/* An option that was set before the choice of the backend. */
struct cm_option {
	struct cm_option *next;
	int level;
	int name;
	size_t length;
	uint8_t value[];
};

static const struct option_rule *rule_find(int level, int name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].level == level && rules[i].name == name)
			return &rules[i];
	return NULL;
}

static int option_check(struct cm_id *id, int level, int name, const void *value, size_t length)
{
	const struct option_rule *rule = rule_find(level, name);

	if (!rule) {
		cm_err(id, "rdma_set_option: level %d has no option %d", level, name);
		return -ENOSYS;
	}
	if (!value || (rule->array ? !length || length % rule->length : length != rule->length)) {
		cm_err(id, "rdma_set_option %s: %zu bytes%s; it needs %s%zu", rule->text, length,
		       value ? "" : " at NULL", rule->array ? "multiples of " : "", rule->length);
		return -EINVAL;
	}
	return 0;
}

static int option_remember(struct cm_id *id, int level, int name, const void *value, size_t length)
{
	struct cm_option *option = calloc(1, sizeof(*option) + length);
	struct cm_option **last = &id->options;

	if (!option)
		return -ENOMEM;
	option->level = level;
	option->name = name;
	option->length = length;
	memcpy(option->value, value, length);
	while (*last)
		last = &(*last)->next;
	*last = option;
	return 0;
}

static int option_apply(struct cm_id *id, int level, int name, const void *value, size_t length)
{
	int r;

	if (!id->backend->set_option)
		return cm_unsupported(id, "rdma_set_option");
	r = id->backend->set_option(id, level, name, value, length);
	if (r < 0)
		cm_err(id, "rdma_set_option %s on the %s connection manager: %s",
		       rule_find(level, name)->text, id->backend->name, strerror(-r));
	return r;
}

int cm_options_replay(struct cm_id *id)
{
	const struct cm_id *visible = cm_id_visible(id);
	int r = 0;

	for (const struct cm_option *o = visible->options; o && !r; o = o->next)
		r = option_apply(id, o->level, o->name, o->value, o->length);
	return r;
}

void cm_options_free(struct cm_id *id)
{
	struct cm_option *option;

	while ((option = id->options)) {
		id->options = option->next;
		free(option);
	}
}

int cm_option_set(struct cm_id *id, int level, int name, const void *value, size_t length)
{
	int r = option_check(id, level, name, value, length);

	if (!r && cm_channel_is_mixed(cm_id_channel(id)))
		r = option_remember(id, level, name, value, length);
	if (!r && id->backend)
		r = option_apply(id, level, name, value, length);
	if (!r && id->twin)
		r = option_apply(id->twin, level, name, value, length);
	return r;
}

CM_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
			      size_t optlen)
{
	return ret_neg1(cm_option_set(to_cm_id(id), level, optname, optval, optlen));
}
