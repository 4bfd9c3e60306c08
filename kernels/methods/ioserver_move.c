/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a server wrote into a folder of its node, and moves to their places: copies. A file that is
 * there already is never replaced; an incomplete copy is removed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "methods/ioserver.h"

int ioserver_make_folder(const io_ctx *ctx, char folder[IO_MAX_PATH]) {
    const ioserver *s = ctx->state;
    int n = snprintf(folder, IO_MAX_PATH, "%s/iokernel.XXXXXX", s->local);
    if (n >= IO_MAX_PATH / 2) {
        folder[0] = '\0';
        return io_fail(ctx->error, "--local %.60s...: the path is too long", s->local);
    }
    if (mkdtemp(folder)) return 0;
    int code = errno;
    folder[0] = '\0';
    return io_fail_errno(ctx->error, "--local: mkdtemp", s->local, code);
}

void ioserver_moving_start(moving *m, const char *folder, uint64_t number, int client) {
    *m = (moving){.in = -1, .out = -1};
    snprintf(m->from, sizeof m->from, "%.*s/%" PRIu64 ".%d", IO_MAX_PATH / 2, folder, number, client);
}

static int begin(moving *m, const io_ctx *ctx, const char *to) {
    m->in = open(m->from, O_RDONLY | O_CLOEXEC);
    if (m->in < 0) return io_fail_errno(ctx->error, "open", m->from, errno);
    m->out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (m->out < 0) return io_fail_errno(ctx->error, "create", to, errno);
    snprintf(m->copy, sizeof m->copy, "%s", to);
    return 0;
}

static int finish(moving *m, const io_ctx *ctx, bool sync) {
    if (sync && fsync(m->out)) return io_fail_errno(ctx->error, "fsync", m->copy, errno);
    int out = m->out;
    m->out = -1;
    if (close(out)) return io_fail_errno(ctx->error, "close", m->copy, errno);
    m->copy[0] = '\0';
    ioserver_moving_stop(m);
    return 0;
}

int ioserver_move(moving *m, const io_ctx *ctx, const char *to, bool sync, char *buffer) {
    if (m->in < 0 && begin(m, ctx, to)) return -1;
    ssize_t n = read(m->in, buffer, PIECE);
    if (n < 0 && errno == EINTR) return 1;
    if (n < 0) return io_fail_errno(ctx->error, "read", m->from, errno);
    for (ssize_t done = 0, some; done < n; done += some) {
        some = write(m->out, buffer + done, (size_t)(n - done));
        if (some < 0 && errno == EINTR) some = 0;
        if (some < 0) return io_fail_errno(ctx->error, "write", m->copy, errno);
    }
    return n ? 1 : finish(m, ctx, sync);
}

void ioserver_moving_stop(moving *m) {
    if (m->in >= 0) close(m->in);
    if (m->out >= 0) close(m->out);
    if (m->copy[0]) unlink(m->copy);
    if (m->from[0]) unlink(m->from);
    *m = (moving){.in = -1, .out = -1};
}
