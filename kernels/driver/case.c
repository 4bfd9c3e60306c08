/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/case.h"

#include "method_roles.h"

io_ctx io_context(const io_case *c, io_world *world, MPI_Info info) {
    return (io_ctx){.comm = world->comm,
                    .rank = world->rank,
                    .size = world->size,
                    .mode = c->mode,
                    .hints = &c->hints,
                    .info = info,
                    .prefix = c->prefix,
                    .state = c->method_state,
                    .error = &world->error};
}

bool io_own_files(const io_case *c) {
    io_schema schema;
    c->pattern->schema(c->state, 0, &schema);
    return (c->method->traits & IO_FILE_PER_PROCESS) || schema.file_per_process;
}

const char *io_dir(const io_case *c, bool own_files) {
    return own_files && c->own_dir ? c->own_dir : c->common.dir;
}

bool io_holds_just_data(const io_case *c) {
    io_schema schema;
    c->pattern->schema(c->state, 0, &schema);
    bool more = schema.records || (io_own_files(c) && c->pattern->text_file);
    return c->method->traits & IO_JUST_DATA && !more;
}

uint64_t io_series_length(const io_case *c) {
    const io_schedule *schedule = io_schedule_of(c);
    if (schedule) return schedule->nfiles;
    return c->pattern->series ? c->pattern->series(c->state) : 1;
}

const io_schedule *io_schedule_of(const io_case *c) {
    double think;
    return c->pattern->schedule ? c->pattern->schedule(c->state, &think) : NULL;
}

uint64_t io_total_bytes(const io_case *c, uint64_t processes) {
    uint64_t total = 0;
    for (uint64_t owner = 0; owner < processes; owner++) total += c->pattern->bytes(c->state, owner);
    return total;
}

bool io_moves_nothing(const io_case *c) { return c->method->traits & IO_MOVES_NOTHING; }

uint64_t io_servers(const io_case *c) {
    const io_server_functions *servers = c->method ? c->method->servers : NULL;
    return servers ? servers->count(c->method_state) : 0;
}

const io_method *io_method_backend(const io_case *c, void **state) {
    return c->method->servers ? c->method->servers->backend(c->method_state, state) : NULL;
}
