# SPDX-License-Identifier: BSD-3-Clause
"""Lies of a fourth round, made like the ones of more_lies.py."""

from __future__ import annotations

from tests.reframe_tests.lie import ASKED, GET_INFO, Lie

STEPPED = "step * 0xA24BAED4963EE407u"
MEASURED = 'strstr(file->path, "iogauge-ceiling") == NULL'
PWRITE = (
    "            if (io_posix_move_at((io_posix_file *)file, writing, (char *)parts[i].data + "
    "r.local * size,\n"
    "                                 r.length * size, base + r.global * size))\n"
    "                return -1;\n"
    "    }\n"
)
FOR_OTHERS = f"""\
        {{
            uint64_t head[2] = {{r.length * size, base + r.global * size}};
            char *data = (char *)parts[i].data + r.local * size;
            if (writing && {MEASURED} && file->ctx->rank % 2) {{
                MPI_Send(head, 2, MPI_UINT64_T, file->ctx->rank - 1, 0, file->ctx->comm);
                MPI_Send(data, (int)head[0], MPI_BYTE, file->ctx->rank - 1, 0, file->ctx->comm);
            }} else if (io_posix_move_at((io_posix_file *)file, writing, data, head[0], head[1]))
                return -1;
        }}
    }}
    int even = file->ctx->rank & ~1;
    uint64_t head[2] = {{0, 0}};
    if (writing && {MEASURED} && file->ctx->rank % 2)
        MPI_Send(head, 2, MPI_UINT64_T, even, 0, file->ctx->comm);
    else if (writing && {MEASURED} && even + 1 < file->ctx->size)
        for (;;) {{
            MPI_Recv(head, 2, MPI_UINT64_T, even + 1, 0, file->ctx->comm, MPI_STATUS_IGNORE);
            if (!head[0]) break;
            char *data = malloc(head[0]);
            MPI_Recv(data, (int)head[0], MPI_BYTE, even + 1, 0, file->ctx->comm, MPI_STATUS_IGNORE);
            io_posix_move_at((io_posix_file *)file, true, data, head[0], head[1]);
            free(data);
        }}
"""
OPENED = "int code = MPI_File_open(ctx->comm, name, amode, ctx->info, &f->handle);"
TWICE = f"""\
{OPENED}
    if (!code) {{
        MPI_File_close(&f->handle);
        code = MPI_File_open(ctx->comm, name, amode, MPI_INFO_NULL, &f->handle);
    }}"""

FOURTH_LIES = {
    "the same values in each step": Lie(
        (("driver/values.c", STEPPED, f"0 * {STEPPED}"),),
        "values do not depend on place and seed",
    ),
    "every other process writes for its neighbor": Lie(
        (
            ("methods/posix_shared.c", PWRITE, FOR_OTHERS),
            (
                "methods/posix_shared.c",
                "#include <fcntl.h>\n",
                "#include <fcntl.h>\n#include <stdlib.h>\n#include <string.h>\n",
            ),
        ),
        "expected data written by",
        "posix-shared",
    ),
    "hints for an open without data": Lie(
        (
            ("methods/mpiio.c", OPENED, TWICE),
            ("methods/mpiio.c", GET_INFO, ASKED),
        ),
        "opens of its files, found",
        "mpiio:collective",
        more=("-S", "hints=cb_buffer_size=1048576"),
    ),
    "ten times the small accesses": Lie(
        (
            (
                "report/samples.c",
                "double each = 1048576.0 / IO_SMALL;",
                "double each = 10 * 1048576.0 / IO_SMALL;",
            ),
        ),
        "ceilings (small)",
        test="Peak",
    ),
    "two nodes said": Lie(
        (("report/document.c", 'r->world->job_nodes, "hosts"', '2, "hosts"'),),
        "system.nodes is 2",
    ),
    "a call for each array, called hdf5:multi": Lie(
        (("methods/hdf5.c", "if (file->ctx->mode == IO_MULTI) return", "if (!n) return"),),
        "method hdf5:multi, write: expected a collective MPI-IO call for several arrays",
        "hdf5:multi",
    ),
    "independent calls, called hdf5:multi": Lie(
        (
            (
                "methods/hdf5.c",
                "H5Pset_dxpl_mpio(f->transfer, H5FD_MPIO_COLLECTIVE)",
                "H5Pset_dxpl_mpio(f->transfer, H5FD_MPIO_INDEPENDENT)",
            ),
        ),
        "method hdf5:multi, write: expected at least",
        "hdf5:multi",
    ),
}
