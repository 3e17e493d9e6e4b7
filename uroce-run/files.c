/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files in which the kernel describes a device. Their content comes from the verbs library or
 * from the network interface of a GID. Files whose content is unknown are left out.
 */
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <infiniband/verbs.h>

#include "libibverbs/tools/show.h"
#include "uroce-run/uroce_run.h"

enum {
	PATH_SIZE = 320,
	TEXT_SIZE = 128,
	GUID_WORDS = 4,
};

/* The folder for the files of one device. @error is the first failure. After it no more files are
 * written. */
struct place {
	const char *root;
	char folder[PATH_SIZE];
	int error;
};

static void place_fail(struct place *p, const char *path)
{
	p->error = -errno;
	complain("%s: %s", path, strerror(errno));
}

static void folder_make(struct place *p, const char *fmt, ...) _printf_(2, 3);
static void folder_make(struct place *p, const char *fmt, ...)
{
	char path[2 * PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%s/", p->folder);
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, args);
	va_end(args);
	if (!p->error && mkdir(path, 0755))
		place_fail(p, path);
}

static void text_put(const char *path, const char *text, struct place *p)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		place_fail(p, path);
}

/* Write a file of one line. @number is appended to the name unless it is negative. */
static void file_put(struct place *p, const char *name, int number, const char *fmt, ...)
	_printf_(4, 5);
static void file_put(struct place *p, const char *name, int number, const char *fmt, ...)
{
	char path[2 * PATH_SIZE], text[TEXT_SIZE];
	va_list args;

	if (p->error)
		return;
	if (number < 0)
		snprintf(path, sizeof(path), "%s/%s", p->folder, name);
	else
		snprintf(path, sizeof(path), "%s/%s/%d", p->folder, name, number);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text) - 1, fmt, args);
	va_end(args);
	strcat(text, "\n");
	text_put(path, text, p);
}

/* --- numbers in the format of sysfs --- */

static const char *words_text(const uint8_t *raw, unsigned int words, char *text)
{
	char *end = text;

	for (unsigned int i = 0; i < words; i++)
		end += sprintf(end, "%s%02x%02x", i ? ":" : "", raw[2 * i], raw[2 * i + 1]);
	return text;
}

static void guid_put(struct place *p, const char *name, __be64 guid)
{
	char text[TEXT_SIZE];

	file_put(p, name, -1, "%s", words_text((const uint8_t *)&guid, GUID_WORDS, text));
}

/* Return "ACTIVE" for the "PORT_ACTIVE" of ibv_devinfo. */
static const char *state_word(int state)
{
	const char *word = show_port_state(state);

	return strncmp(word, "PORT_", 5) ? word : word + 5;
}

static const char *phys_word(int state)
{
	static const char *const words[] = { "",
					     "Sleep",
					     "Polling",
					     "Disabled",
					     "PortConfigurationTraining",
					     "LinkUp",
					     "LinkErrorRecovery",
					     "Phy Test" };

	return state > 0 && state < (int)ARRAY_SIZE(words) ? words[state] : "<unknown>";
}

/* Return the rate of all lanes, for example "40 Gb/sec (4X QDR)"; "" for unknown codes. */
static const char *rate_text(const struct ibv_port_attr *attr, char *text)
{
	/* Rate of one lane, in tenths of Gbit/s. */
	static const struct {
		uint8_t code;
		unsigned int tenths;
		const char *word;
	} speeds[] = { { 1, 25, "" },	     { 2, 50, " DDR" },	   { 4, 100, " QDR" },
		       { 8, 100, " FDR10" }, { 16, 140, " FDR" },  { 32, 250, " EDR" },
		       { 64, 500, " HDR" },  { 128, 1000, " NDR" } };
	static const struct {
		uint8_t code, lanes;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } };
	unsigned int lanes = 0, i;

	*text = '\0';
	for (i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].code == attr->active_width)
			lanes = widths[i].lanes;
	for (i = 0; lanes && i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].code == attr->active_speed)
			sprintf(text, "%u%s Gb/sec (%uX%s)", lanes * speeds[i].tenths / 10,
				lanes * speeds[i].tenths % 10 ? ".5" : "", lanes, speeds[i].word);
	return text;
}

/* --- a port --- */

static void port_gid_put(struct place *p, const struct ibv_gid_entry *gid)
{
	char name[IF_NAMESIZE], text[TEXT_SIZE], folder[64];

	snprintf(folder, sizeof(folder), "ports/%u/gids", gid->port_num);
	file_put(p, folder, gid->gid_index, "%s", words_text(gid->gid.raw, 8, text));
	snprintf(folder, sizeof(folder), "ports/%u/gid_attrs/types", gid->port_num);
	file_put(p, folder, gid->gid_index, "%s",
		 gid->gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
	snprintf(folder, sizeof(folder), "ports/%u/gid_attrs/ndevs", gid->port_num);
	if (gid->ndev_ifindex && if_indextoname(gid->ndev_ifindex, name))
		file_put(p, folder, gid->gid_index, "%s", name);
}

static void port_pkeys_put(struct place *p, struct ibv_context *context, int port, int count)
{
	char folder[64];
	__be16 pkey;

	snprintf(folder, sizeof(folder), "ports/%d/pkeys", port);
	for (int i = 0; i < count; i++)
		if (!ibv_query_pkey(context, port, i, &pkey))
			file_put(p, folder, i, "0x%04x", be16toh(pkey));
}

static void port_put(struct place *p, struct ibv_context *context, int port)
{
	static const char *const folders[] = {
		"", "/gids", "/gid_attrs", "/gid_attrs/types", "/gid_attrs/ndevs", "/pkeys"
	};
	struct ibv_port_attr attr;
	char name[64], rate[TEXT_SIZE];

	if (ibv_query_port(context, port, &attr)) {
		place_fail(p, "ibv_query_port");
		return;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(folders); i++)
		folder_make(p, "ports/%d%s", port, folders[i]);
#define PORT_FILE(file, ...)                                             \
	do {                                                             \
		snprintf(name, sizeof(name), "ports/%d/%s", port, file); \
		file_put(p, name, -1, __VA_ARGS__);                      \
	} while (0)
	PORT_FILE("state", "%d: %s", attr.state, state_word(attr.state));
	PORT_FILE("phys_state", "%d: %s", attr.phys_state, phys_word(attr.phys_state));
	if (*rate_text(&attr, rate))
		PORT_FILE("rate", "%s", rate);
	PORT_FILE("link_layer", "%s",
		  attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	PORT_FILE("lid", "0x%x", attr.lid);
	PORT_FILE("lid_mask_count", "%u", attr.lmc);
	PORT_FILE("sm_lid", "0x%x", attr.sm_lid);
	PORT_FILE("sm_sl", "%u", attr.sm_sl);
	PORT_FILE("cap_mask", "0x%08x", attr.port_cap_flags);
#undef PORT_FILE
	port_pkeys_put(p, context, port, attr.pkey_tbl_len);
}

/* --- the parent of the device --- */

/* Link the parent device of the interface. If there is none, make a folder with the known facts. */
static void below_put(struct place *p, const char *interface, const struct ibv_device_attr *attr)
{
	char path[2 * PATH_SIZE], target[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/device", p->folder);
	snprintf(target, sizeof(target), "/sys/class/net/%s/device", interface);
	if (*interface && !access(target, F_OK)) {
		if (symlink(target, path))
			place_fail(p, path);
		return;
	}
	folder_make(p, "device");
	file_put(p, "device/vendor", -1, "0x%04x", attr->vendor_id);
	file_put(p, "device/device", -1, "0x%04x", attr->vendor_part_id);
	file_put(p, "device/numa_node", -1, "%d", -1); /* as in sysfs for a device without a node */
	if (!*interface)
		return;
	folder_make(p, "device/net");
	snprintf(path, sizeof(path), "%s/device/net/%s", p->folder, interface);
	snprintf(target, sizeof(target), "/sys/class/net/%s", interface);
	if (!p->error && symlink(target, path))
		place_fail(p, path);
}

/* --- the device --- */

static unsigned int gids_query(struct ibv_context *context, const struct ibv_device_attr_ex *attr,
			       struct ibv_gid_entry **ret)
{
	struct ibv_port_attr port;
	size_t most = 0;
	ssize_t n;

	for (int i = 1; i <= attr->orig_attr.phys_port_cnt; i++)
		if (!ibv_query_port(context, i, &port))
			most += port.gid_tbl_len;
	*ret = calloc(most + 1, sizeof(**ret));
	n = *ret ? ibv_query_gid_table(context, *ret, most, 0) : 0;
	return n > 0 ? n : 0;
}

static void device_put(struct place *p, struct ibv_context *context)
{
	_cleanup_free_ struct ibv_gid_entry *gids = NULL;
	const struct ibv_device *device = context->device;
	char interface[IF_NAMESIZE] = "";
	struct ibv_device_attr_ex attr;
	unsigned int count;

	if (ibv_query_device_ex(context, NULL, &attr)) {
		place_fail(p, "ibv_query_device_ex");
		return;
	}
	count = gids_query(context, &attr, &gids);
	file_put(p, "node_type", -1, "%d: %s", device->node_type,
		 device->node_type == IBV_NODE_CA ? "CA" : ibv_node_type_str(device->node_type));
	guid_put(p, "node_guid", attr.orig_attr.node_guid);
	guid_put(p, "sys_image_guid", attr.orig_attr.sys_image_guid);
	file_put(p, "fw_ver", -1, "%s", attr.orig_attr.fw_ver);
	folder_make(p, "ports");
	for (int i = 1; i <= attr.orig_attr.phys_port_cnt; i++)
		port_put(p, context, i);
	for (unsigned int i = 0; i < count; i++)
		port_gid_put(p, &gids[i]);
	if (count && gids[0].ndev_ifindex)
		if_indextoname(gids[0].ndev_ifindex, interface);
	below_put(p, interface, &attr.orig_attr);
	say("%s: %u GIDs, node " NODE_FOLDER "/%s", device->name, count, device->dev_name);
}

/* Write the folder in class/infiniband_verbs, named after the device node. */
static void verbs_put(struct place *p, const struct ibv_device *device)
{
	char path[2 * PATH_SIZE], target[PATH_SIZE];

	snprintf(p->folder, sizeof(p->folder), "%s" VERBS_FOLDER, p->root);
	folder_make(p, "%s", device->dev_name);
	snprintf(p->folder, sizeof(p->folder), "%s" VERBS_FOLDER "/%s", p->root, device->dev_name);
	file_put(p, "ibdev", -1, "%s", device->name);
	snprintf(path, sizeof(path), "%s/device", p->folder);
	snprintf(target, sizeof(target), "../../infiniband/%s/device", device->name);
	if (!p->error && symlink(target, path))
		place_fail(p, path);
}

/*
 * Make a character device that every user may open and that does nothing: programs check only that
 * the node can be opened. Mount it if possible, because programs can tell a link from a node.
 */
static void node_put(struct place *p, const char *name)
{
	char path[PATH_SIZE];

	if (p->error)
		return;
	snprintf(path, sizeof(path), "%s" NODE_FOLDER "/%s", p->root, name);
	if (*p->root) {
		if (symlink("/dev/null", path))
			place_fail(p, path);
		return;
	}
	text_put(path, "", p);
	if (!p->error && mount("/dev/null", path, NULL, MS_BIND, NULL))
		place_fail(p, path);
}

static int device_show(const char *root, struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	struct place p = { .root = root };

	if (!context) {
		complain("%s cannot be opened: %s", device->name, strerror(errno));
		return -errno;
	}
	snprintf(p.folder, sizeof(p.folder), "%s" IB_FOLDER, root);
	folder_make(&p, "%s", device->name);
	snprintf(p.folder, sizeof(p.folder), "%s" IB_FOLDER "/%s", root, device->name);
	device_put(&p, context);
	verbs_put(&p, device);
	node_put(&p, device->dev_name);
	ibv_close_device(context);
	return p.error;
}

static bool is_shown(const char *root, const struct ibv_device *device)
{
	char path[PATH_SIZE];
	struct stat st;

	snprintf(path, sizeof(path), "%s" IB_FOLDER "/%s", root, device->name);
	return !lstat(path, &st);
}

bool files_are_shown(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned int shown = 0, hidden = 0;

	for (int i = 0; list && list[i]; i++) {
		if (list[i]->dev_path[0])
			continue;
		shown += is_shown("", list[i]);
		hidden += !is_shown("", list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	return shown && !hidden;
}

int files_write(const char *root)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int shown = 0, r = 0;

	for (int i = 0; list && list[i] && !r; i++) {
		if (is_shown(root, list[i]))
			continue;
		r = device_show(root, list[i]);
		shown += !r;
	}
	if (list)
		ibv_free_device_list(list);
	if (!r && !shown)
		complain(
			"no device that the kernel does not know: uroce(7) says when there is one; "
			"UROCE=on in the environment switches it on");
	return r ? r : shown;
}
