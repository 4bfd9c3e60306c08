/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/with_servers.h"

#include "driver/pulse.h"
#include "driver/servers.h"
#include "method_roles.h"

/* Narrows the world to the processes of the same role, and starts the method on all; called by all. */
static int split_roles(io_run *run, io_world *world, bool *serving, MPI_Info *info) {
    io_world all = *world;
    MPI_Comm kind;
    *serving = io_is_server(world->rank, world->size, (int)io_servers(&run->what));
    IO_MPI(world, MPI_Comm_split, world->comm, *serving, world->rank, &kind);
    if (!io_world_narrow(world, kind) &&
        !io_hints_info(&run->what.hints, IO_HINT_OF_WRITING, info, &world->error)) {
        io_ctx ctx = io_context(&run->what, world, *info);
        run->what.method->servers->start(&ctx, all.comm, *serving);
    }
    all.node = world->node;
    if (world->error.set) all.error = world->error;
    if (!io_agree(&all)) return 0;
    io_world_print_error(&all);
    return -1;
}

int io_run_with_servers(io_run *run, io_world *world, int (*run_all)(io_run *, io_world *)) {
    bool serving;
    MPI_Info info = MPI_INFO_NULL;
    const io_method *method = run->what.method;
    if (!method->servers) return run_all(run, world);
    if (split_roles(run, world, &serving, &info)) return 1;
    io_ctx ctx = io_context(&run->what, world, info);
    int status;
    if (serving) {
        io_world_doing(world, "serve", method->name, run->what.common.dir);
        io_now_at(world, IO_AT_SERVE);
        status = method->servers->serve(&ctx);
        io_now_at(world, IO_AT_END);
        if (status) world->doing[0] = '\0'; /* the clients have reported it; a library left open may crash */
    } else {
        status = run_all(run, world);
        if (method->servers->stop(&ctx, status, run->what.common.keep) && !status) io_world_give_up(world);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return status;
}
