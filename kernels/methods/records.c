/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows and their record marks are written straight from memory, many in a call (pwritev, preadv), so that
 * small records do not cost a call each and large ones are not copied. */
#include "methods/records.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>

#define RECORDS 256 /* per call; three iovecs each, and Linux allows 1024 */

/* The records of one call, contiguous in the file. */
typedef struct {
    io_posix_file *file;
    bool writing;
    int n;
    uint64_t begin, end; /* in the file */
    int32_t before[RECORDS], after[RECORDS], expected[RECORDS];
    struct iovec pieces[3 * RECORDS];
} batch;

static uint64_t row_length(const io_schema *schema, const io_part *part) {
    int ndims = schema->datasets[part->dataset].ndims;
    return part->count[ndims - 1];
}

uint64_t io_records_offset(const io_schema *schema, const io_part *part, uint64_t local) {
    uint64_t size = io_type_size(schema->datasets[part->dataset].type);
    uint64_t marks = local / row_length(schema, part) * 2 * sizeof(int32_t);
    return part->offset + part->frames + marks + local * size;
}

/* Moves all bytes of the batch, with as many calls as necessary. */
static int move_bytes(batch *b) {
    io_file *file = &b->file->base;
    struct iovec *next = b->pieces;
    int left = 3 * b->n;
    uint64_t at = b->begin;
    while (left) {
        file->calls++;
        ssize_t n = b->writing ? pwritev(b->file->fd, next, left, (off_t)at)
                               : preadv(b->file->fd, next, left, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return io_fail_errno(file->ctx->error, b->writing ? "pwritev" : "preadv", file->path, errno);
        if (!n) return io_posix_cut(b->file, b->writing ? "pwritev" : "preadv", b->end);
        at += (uint64_t)n;
        while (left && (size_t)n >= next->iov_len) n -= (ssize_t)(next++)->iov_len, left--;
        if (!left) break;
        next->iov_base = (char *)next->iov_base + n;
        next->iov_len -= (size_t)n;
    }
    return 0;
}

/* Compares the marks that were read with the expected ones. */
static int check_marks(const batch *b) {
    const io_file *file = &b->file->base;
    uint64_t at = b->begin;
    for (int i = 0; i < b->n; i++) {
        int32_t expected = b->expected[i];
        bool first = b->before[i] != expected;
        if (first || b->after[i] != expected)
            return io_fail(file->ctx->error,
                           "record mark at byte %llu of %s is %d; expected %d: not a file of this pattern, "
                           "or was written with other options",
                           (unsigned long long)(first ? at : at + 4 + (uint64_t)expected), file->path,
                           first ? b->before[i] : b->after[i], expected);
        at += (uint64_t)expected + 2 * sizeof(int32_t);
    }
    return 0;
}

static int flush(batch *b) {
    if (!b->n) return 0;
    if (move_bytes(b) || (!b->writing && check_marks(b))) return -1;
    b->n = 0;
    return 0;
}

static int add(batch *b, char *data, uint64_t bytes, uint64_t offset) {
    const io_file *file = &b->file->base;
    if (bytes > INT32_MAX - 8)
        return io_fail(
            file->ctx->error,
            "a record of %llu bytes exceeds the limit of an unsplit Fortran record (2^31 - 9): %s; "
            "use more processes",
            (unsigned long long)bytes, file->path);
    if (b->n == RECORDS || (b->n && b->end != offset))
        if (flush(b)) return -1;
    if (!b->n) b->begin = offset;
    int i = b->n++;
    b->expected[i] = (int32_t)bytes;
    if (b->writing) b->before[i] = b->after[i] = (int32_t)bytes;
    b->pieces[3 * i] = (struct iovec){&b->before[i], sizeof b->before[i]};
    b->pieces[3 * i + 1] = (struct iovec){data, bytes};
    b->pieces[3 * i + 2] = (struct iovec){&b->after[i], sizeof b->after[i]};
    b->end = offset + bytes + 2 * sizeof(int32_t);
    return 0;
}

int io_records_move(io_posix_file *file, const io_part *parts, int n, bool writing) {
    const io_schema *schema = file->base.schema;
    batch b = {.file = file, .writing = writing};
    for (int i = 0; i < n; i++) {
        uint64_t elements = io_part_elements(schema, &parts[i]), row = row_length(schema, &parts[i]);
        uint64_t size = io_type_size(schema->datasets[parts[i].dataset].type);
        for (uint64_t k = 0; k < elements; k += row)
            if (add(&b, (char *)parts[i].data + k * size, row * size,
                    io_records_offset(schema, &parts[i], k) - sizeof(int32_t)))
                return -1;
    }
    return flush(&b);
}
