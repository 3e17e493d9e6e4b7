/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The owner's side of imports by other processes, see import.h. All functions run under host->lock.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "providers/uroce/host/import_socket.h"
#include "providers/uroce/host/watch.h"

#define SOCKET_NAME "uroce-context-"

enum {
	VISITS_MAX = 64,  /* largest number of visits of an import socket */
	HOLDS_MAX = 4096, /* largest number of objects that a visit holds */
	PASS_MAX = 16,	  /* messages that one socket may deliver in a row */
};

struct hold {
	LIST_ENTRY(hold) entry;
	enum import_what what;
	uint32_t handle;
	void *object;
};

struct visit {
	LIST_ENTRY(visit) entry;
	int fd;
	unsigned int holds;
	LIST_HEAD(, hold) held;
};

struct uroce_import_socket {
	LIST_ENTRY(uroce_import_socket) entry;
	struct ibv_context *ctx;
	int fd;
	dev_t fs; /* device and inode number of the other end */
	ino_t inode;
	unsigned int visits;
	LIST_HEAD(, visit) visiting;
};

/* --- objects --- */

int uroce_import_hold_pd(const struct ibv_context *ctx, uint32_t handle, struct uroce_pd **ret)
{
	struct uroce_pd *pd;

	LIST_FOREACH(pd, &ctx_host(ctx)->pds, entry)
		if (pd->pd.handle == handle && pd->pd.context == ctx) {
			uroce_pd_use(&pd->pd, 1);
			*ret = pd;
			return 0;
		}
	return -ENOENT;
}

int uroce_import_hold_dm(const struct ibv_context *ctx, uint32_t handle, struct uroce_dm **ret)
{
	struct uroce_dm *dm;

	LIST_FOREACH(dm, &ctx_host(ctx)->dms, entry)
		if (dm->vdm.dm.handle == handle && dm->vdm.dm.context == ctx) {
			atomic_fetch_add_explicit(&dm->regions, 1, memory_order_relaxed);
			*ret = dm;
			return 0;
		}
	return -ENOENT;
}

int uroce_import_hold_mr(const struct ibv_context *ctx, uint32_t handle, uint32_t pd_handle,
			 struct uroce_key **ret)
{
	return uroce_key_hold(ctx_host(ctx)->engine.keys, handle, ctx, pd_handle, ret);
}

void uroce_import_release(struct uroce_host *host, enum import_what what, void *object)
{
	switch (what) {
	case IMPORT_VISIT:
		break;
	case IMPORT_PD:
		uroce_pd_use(object, -1);
		break;
	case IMPORT_MR:
		uroce_key_release(host->engine.keys, object);
		break;
	case IMPORT_DM:
		/* release: like region_release(), pairs with uroce_free_dm() */
		atomic_fetch_sub_explicit(&((struct uroce_dm *)object)->regions, 1,
					  memory_order_release);
		break;
	}
}

/* --- requests --- */

/* Fill in where the memory is, and return a descriptor of it for the other process. */
static int memory_fill(struct uroce_host *host, const void *addr, struct import_answer *answer,
		       int *ret_fd)
{
	int fd = uroce_segment_open(host->shm, addr, answer->length, &answer->place);

	if (fd < 0)
		return -EOPNOTSUPP;
	*ret_fd = fd;
	return 0;
}

static int ask_mr(const struct ibv_context *ctx, const struct import_ask *ask, void **ret_object,
		  struct import_answer *answer, int *ret_fd)
{
	struct uroce_key *key = NULL;
	int r = uroce_import_hold_mr(ctx, ask->handle, ask->pd_handle, &key);

	if (r < 0)
		return r;
	answer->length = key->length;
	answer->iova = key->iova;
	answer->access = key->access & ~UROCE_ACCESS_LOCAL;
	r = key->null_size || !key->length
		    ? -EOPNOTSUPP
		    : memory_fill(ctx_host(ctx), (void *)key->base, answer, ret_fd);
	if (r < 0)
		uroce_import_release(ctx_host(ctx), IMPORT_MR, key);
	*ret_object = key;
	return r;
}

static int ask_dm(const struct ibv_context *ctx, const struct import_ask *ask, void **ret_object,
		  struct import_answer *answer, int *ret_fd)
{
	struct uroce_dm *dm = NULL;
	int r = uroce_import_hold_dm(ctx, ask->handle, &dm);

	if (r < 0)
		return r;
	answer->length = dm->vdm.length;
	r = memory_fill(ctx_host(ctx), dm->bytes, answer, ret_fd);
	if (r < 0)
		uroce_import_release(ctx_host(ctx), IMPORT_DM, dm);
	*ret_object = dm;
	return r;
}

static int ask_pd(const struct ibv_context *ctx, const struct import_ask *ask, void **ret_object)
{
	struct uroce_pd *pd = NULL;
	int r = uroce_import_hold_pd(ctx, ask->handle, &pd);

	*ret_object = pd;
	return r;
}

static int object_get(const struct ibv_context *ctx, const struct import_ask *ask,
		      void **ret_object, struct import_answer *answer, int *ret_fd)
{
	switch (ask->what) {
	case IMPORT_PD:
		return ask_pd(ctx, ask, ret_object);
	case IMPORT_MR:
		return ask_mr(ctx, ask, ret_object, answer, ret_fd);
	case IMPORT_DM:
		return ask_dm(ctx, ask, ret_object, answer, ret_fd);
	}
	return -EPROTO;
}

static int hold_new(const struct uroce_import_socket *sock, struct visit *visit,
		    const struct import_ask *ask, struct import_answer *answer, int *ret_fd)
{
	struct hold *hold = visit->holds < HOLDS_MAX ? calloc(1, sizeof(*hold)) : NULL;
	int r;

	if (!hold)
		return -ENOMEM;
	r = object_get(sock->ctx, ask, &hold->object, answer, ret_fd);
	if (r < 0) {
		free(hold);
		return r;
	}
	hold->what = ask->what;
	hold->handle = ask->handle;
	LIST_INSERT_HEAD(&visit->held, hold, entry);
	visit->holds++;
	return 0;
}

static void hold_end(struct uroce_host *host, struct visit *visit, struct hold *hold)
{
	LIST_REMOVE(hold, entry);
	visit->holds--;
	uroce_import_release(host, hold->what, hold->object);
	free(hold);
}

static void give_back(struct uroce_host *host, struct visit *visit, const struct import_ask *ask)
{
	struct hold *hold;

	LIST_FOREACH(hold, &visit->held, entry)
		if (hold->what == ask->what && hold->handle == ask->handle) {
			hold_end(host, visit, hold);
			return;
		}
}

static int ask_serve(const struct uroce_import_socket *sock, struct visit *visit,
		     const struct import_ask *ask)
{
	struct import_answer answer = { .magic = IMPORT_MAGIC };
	_cleanup_close_ int fd = -1;

	if (ask->magic != IMPORT_MAGIC)
		return -EPROTO;
	if (ask->give_back)
		give_back(ctx_host(sock->ctx), visit, ask);
	else
		answer.result = hold_new(sock, visit, ask, &answer, &fd);
	return uroce_import_send(visit->fd, &answer, sizeof(answer), fd);
}

/* --- visits --- */

static void visit_end(struct uroce_import_socket *sock, struct visit *visit)
{
	struct uroce_host *host = ctx_host(sock->ctx);
	struct hold *hold;

	while ((hold = LIST_FIRST(&visit->held)))
		hold_end(host, visit, hold);
	if (visit->fd >= 0) {
		uroce_watch_end(host, visit->fd);
		close(visit->fd);
	}
	LIST_REMOVE(visit, entry);
	sock->visits--;
	free(visit);
}

/* Begin a visit. The visit owns @fd; on failure @fd is closed. */
static void visit_begin(struct uroce_import_socket *sock, int fd)
{
	struct import_answer answer = { .magic = IMPORT_MAGIC };
	struct uroce_host *host = ctx_host(sock->ctx);
	struct visit *visit = sock->visits < VISITS_MAX ? calloc(1, sizeof(*visit)) : NULL;

	if (!visit || uroce_watch_begin(host, fd, WATCH_IMPORT, NULL) < 0) {
		log_warn("uroce: a process that imports a device is refused: %u do already",
			 sock->visits);
		answer.result = -EMFILE;
		uroce_import_send(fd, &answer, sizeof(answer), -1);
		close(fd);
		free(visit);
		return;
	}
	visit->fd = fd;
	LIST_INIT(&visit->held);
	LIST_INSERT_HEAD(&sock->visiting, visit, entry);
	sock->visits++;
	if (uroce_import_send(fd, &answer, sizeof(answer), -1) < 0)
		visit_end(sock, visit);
}

/*
 * Return whether @fd is a packet socket. Reading from another kind of file could have any effect.
 */
static bool is_packets(int fd)
{
	socklen_t length = sizeof(int);
	int type = 0, domain = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) && domain == AF_UNIX;
}

static void socket_serve(struct uroce_import_socket *sock)
{
	struct import_ask ask;
	int fd = -1;

	for (int i = 0; i < PASS_MAX; i++) {
		int r = uroce_import_receive(sock->fd, &ask, sizeof(ask), &fd);

		if (r == -EPROTO)
			continue;
		if (r == -ENODEV) /* no copy of the descriptor is open any more */
			uroce_watch_end(ctx_host(sock->ctx), sock->fd);
		if (r < 0)
			return;
		if (ask.magic == IMPORT_MAGIC && ask.what == IMPORT_VISIT && fd >= 0 &&
		    is_packets(fd))
			visit_begin(sock, fd);
		else if (fd >= 0)
			close(fd);
	}
}

static void visit_serve(struct uroce_import_socket *sock, struct visit *visit)
{
	for (int i = 0; i < PASS_MAX; i++) {
		struct import_ask ask;
		int fd = -1, r = uroce_import_receive(visit->fd, &ask, sizeof(ask), &fd);

		if (fd >= 0)
			close(fd);
		if (!r)
			r = ask_serve(sock, visit, &ask);
		if (r == -EAGAIN)
			return;
		if (r < 0) {
			visit_end(sock, visit);
			return;
		}
	}
}

void uroce_import_ready(struct uroce_host *host, int fd)
{
	struct uroce_import_socket *sock;
	struct visit *visit;

	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(sock, &host->import_sockets, entry) {
		if (sock->fd == fd) {
			socket_serve(sock);
			goto done;
		}
		LIST_FOREACH(visit, &sock->visiting, entry)
			if (visit->fd == fd) {
				visit_serve(sock, visit);
				goto done;
			}
	}
done:
	pthread_mutex_unlock(&host->lock);
}

/* --- import sockets --- */

/*
 * Make a name for an import socket. uroce_import_socket_is() recognises a device by it; no process
 * connects to the name.
 */
static int socket_name(const char *device, struct sockaddr_un *ret)
{
	uint64_t random;
	int n;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, SOCKET_NAME "%016llx-%s",
		     (unsigned long long)random, device);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

bool uroce_import_socket_is(const char *device_name, int cmd_fd)
{
	struct sockaddr_un name = {};
	socklen_t length = sizeof(name);
	size_t prefix = 1 + strlen(SOCKET_NAME) + 16 + 1;
	const char *path = name.sun_path;

	/* The buffer is zeroed and its last byte is not written, so the text is terminated. */
	length--;
	return !getpeername(cmd_fd, (struct sockaddr *)&name, &length) &&
	       name.sun_family == AF_UNIX && length < sizeof(name) && !path[0] &&
	       !strncmp(path + 1, SOCKET_NAME, strlen(SOCKET_NAME)) &&
	       strnlen(path + 1, sizeof(name.sun_path) - 1) >= prefix - 1 &&
	       !strcmp(path + prefix, device_name);
}

int uroce_import_socket_open(struct uroce_context *ctx)
{
	struct uroce_host *host = ctx->dev->host;
	struct uroce_import_socket *sock = calloc(1, sizeof(*sock));
	struct sockaddr_un name;
	struct stat st;
	int ends[2], r;

	if (!sock)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(sock);
		return uroce_call_failed("socketpair");
	}
	r = socket_name(ctx->dev->name, &name);
	if (r > 0)
		r = bind(ends[0], (struct sockaddr *)&name, r) || fstat(ends[1], &st) ? -errno : 0;
	sock->ctx = &ctx->vctx.context;
	sock->fd = ends[0];
	LIST_INIT(&sock->visiting);
	pthread_mutex_lock(&host->lock);
	if (!r)
		r = uroce_watch_begin(host, sock->fd, WATCH_IMPORT, NULL);
	if (!r) {
		sock->fs = st.st_dev;
		sock->inode = st.st_ino;
		LIST_INSERT_HEAD(&host->import_sockets, sock, entry);
		ctx->import_socket = sock;
	}
	pthread_mutex_unlock(&host->lock);
	if (!r) {
		ctx->vctx.context.cmd_fd = ends[1];
		return 0;
	}
	close(ends[0]);
	close(ends[1]);
	free(sock);
	return r;
}

void uroce_import_socket_close(struct uroce_context *ctx)
{
	struct uroce_host *host = ctx->dev->host;
	struct uroce_import_socket *sock = ctx->import_socket;
	struct visit *visit;

	if (!sock)
		return;
	pthread_mutex_lock(&host->lock);
	while ((visit = LIST_FIRST(&sock->visiting)))
		visit_end(sock, visit);
	LIST_REMOVE(sock, entry);
	if (sock->fd >= 0) {
		uroce_watch_end(host, sock->fd);
		close(sock->fd);
	}
	pthread_mutex_unlock(&host->lock);
	free(sock);
	ctx->import_socket = NULL;
}

struct ibv_context *uroce_import_socket_context(struct uroce_host *host, int cmd_fd)
{
	struct ibv_context *ctx = NULL;
	struct uroce_import_socket *sock;
	struct stat st;

	if (fstat(cmd_fd, &st))
		return NULL;
	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(sock, &host->import_sockets, entry)
		if (sock->fs == st.st_dev && sock->inode == st.st_ino)
			ctx = sock->ctx;
	pthread_mutex_unlock(&host->lock);
	return ctx;
}

/*
 * Close this process's visits to other processes in a child. Otherwise a child that outlives its
 * parent would keep the visits open.
 */
static void visits_forked(struct uroce_host *host)
{
	struct uroce_context *ctx;
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry)
		LIST_FOREACH(ctx, &dev->contexts, entry) {
			if (!ctx->owner || ctx->owner->fd < 0)
				continue;
			close(ctx->owner->fd);
			ctx->owner->fd = -1;
		}
}

/*
 * uroce_watches_forked() has closed the sockets of import sockets and of other processes' visits,
 * because the thread watches them. Forget their numbers.
 */
void uroce_import_sockets_forked(struct uroce_host *host)
{
	struct uroce_import_socket *sock;
	struct visit *visit;

	visits_forked(host);

	LIST_FOREACH(sock, &host->import_sockets, entry) {
		LIST_FOREACH(visit, &sock->visiting, entry)
			visit->fd = -1;
		sock->fd = -1;
	}
}
