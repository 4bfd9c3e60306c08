# SPDX-License-Identifier: BSD-3-Clause
"""The method's calls and hints."""

from __future__ import annotations

from tests.reframe_tests.lies.lie import ASKED, GET_INFO, Lie

MPIIO, HDF5 = "methods/mpiio.c", "methods/hdf5.c"
ALL = "bool all = io_mode_has(f->base.ctx->mode, IO_IS_COLLECTIVE);"
HID = "hid_t transfer = independent ? f->independent : f->transfer,"
TOGETHER = "if (independent) H5Pset_dxpl_mpio(f->independent, H5FD_MPIO_COLLECTIVE);\n    "
NONBLOCKING = "if (file->ctx->mode == IO_NONBLOCKING) return move_nonblocking"
BLOCKING = NONBLOCKING.replace("IO_NONBLOCKING", 'IO_NONBLOCKING && getenv("HONEST")')
PWRITE = (
    "            if (io_posix_move_at((io_posix_file *)file, writing, (char *)parts[i].data + "
    "r.local * size,\n"
    "                                 r.length * size, base + r.global * size))\n"
    "                return -1;\n"
    "    }\n"
)
MEASURED = 'strstr(file->path, "iogauge-ceiling") == NULL'
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
HINTED = ("-S", "hints=cb_buffer_size=1048576")
GIVEN = "amode, ctx->info, &f->handle)"
NOT_GIVEN = (MPIIO, GIVEN, GIVEN.replace("ctx->info", "MPI_INFO_NULL"))

LIES = {
    "independent calls, called mpiio:collective": Lie(
        ((MPIIO, ALL, "bool all = false;"),),
        "method mpiio:collective, write: expected at least",
        "mpiio:collective",
    ),
    "collective calls, called mpiio:independent": Lie(
        ((MPIIO, ALL, "bool all = true;"),),
        "method mpiio:independent, write: expected",
        "mpiio:independent",
    ),
    "collective calls, called mpiio:ordered": Lie(
        (
            (
                MPIIO,
                "== IO_ORDERED) return move_ordered",
                "== IO_ORDERED && !n) return move_ordered",
            ),
        ),
        "method mpiio:ordered",
        "mpiio:ordered",
    ),
    "independent calls, called hdf5:collective": Lie(
        ((HDF5, "bool independent = d->small ||", "bool independent = true || d->small ||"),),
        "method hdf5:collective, write: expected at least",
        "hdf5:collective",
    ),
    "collective calls, called hdf5:independent": Lie(
        ((HDF5, HID, TOGETHER + HID),),
        "method hdf5:independent, write: expected",
        "hdf5:independent",
    ),
    "independent calls, called netcdf4:collective": Lie(
        (("methods/netcdf4.c", "|| f->base.ctx->mode == IO_INDEPENDENT;", "|| schema;"),),
        "method netcdf4:collective, write: expected",
        "netcdf4:collective",
    ),
    "collective calls, called netcdf4:independent": Lie(
        (("methods/netcdf4.c", "|| f->base.ctx->mode == IO_INDEPENDENT;", ";"),),
        "method netcdf4:independent, write: expected",
        "netcdf4:independent",
    ),
    "nonblocking calls, called pnetcdf:collective": Lie(
        (("methods/pnetcdf.c", NONBLOCKING, "if (n) return move_nonblocking"),),
        "method pnetcdf:collective, write: expected at least",
        "pnetcdf:collective",
    ),
    "blocking calls, called mpiio:nonblocking": Lie(
        ((MPIIO, NONBLOCKING, BLOCKING),),
        "method mpiio:nonblocking, write: expected at least",
        "mpiio:nonblocking",
    ),
    "blocking calls, called pnetcdf:nonblocking": Lie(
        (
            ("methods/pnetcdf.c", NONBLOCKING, BLOCKING),
            ("methods/pnetcdf.c", "== IO_COLLECTIVE ? &co", "!= IO_INDEPENDENT ? &co"),
        ),
        "method pnetcdf:nonblocking, write: expected a collective MPI-IO call for several arrays",
        "pnetcdf:nonblocking",
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
    "native representation called external32": Lie(
        (
            (
                MPIIO,
                'IO_EXTERNAL32 ? "external32" : "native"',
                'IO_EXTERNAL32 ? "native" : "native"',
            ),
        ),
        "mode external32: expected file views",
        "mpiio:external32",
    ),
    "master, called posix-shared": Lie(
        (
            ("methods/master.c", '.name = "master"', '.name = "posix-shared"'),
            ("methods/posix_shared.c", '.name = "posix-shared"', '.name = "master"'),
            (
                "methods/methods.def",
                'IO_METHOD(posix_shared, "posix-shared"',
                'IO_METHOD(master, "posix-shared"',
            ),
            (
                "methods/methods.def",
                'IO_METHOD(master, "master"',
                'IO_METHOD(posix_shared, "master"',
            ),
        ),
        "expected data written by each process",
        "posix-shared",
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
    "half of the calls": Lie(
        (
            (
                "report/samples.c",
                '(json_int_t)s->calls[direction], "phases"',
                '(json_int_t)s->calls[direction] / 2, "phases"',
            ),
        ),
        "calls, the result says at most",
    ),
    "hints never given to MPI": Lie(
        (
            NOT_GIVEN,
            (MPIIO, GET_INFO, ASKED),
        ),
        "hint cb_buffer_size=1048576",
        "mpiio:collective",
        more=HINTED,
    ),
    "hints for an open without data": Lie(
        (
            (MPIIO, OPENED, TWICE),
            (MPIIO, GET_INFO, ASKED),
        ),
        "opens of its files, found",
        "mpiio:collective",
        more=HINTED,
    ),
    "a hint in force, called ignored": Lie(
        (
            ("report/document_hints.c", "!own && !json_equal(", "!own && (1 || !json_equal("),
            (
                "report/document_hints.c",
                "json_object_get(used, key), value))",
                "json_object_get(used, key), value)))",
            ),
        ),
        "is listed as ignored, but MPI",
        "mpiio:collective",
        more=HINTED,
    ),
    "a hint not given, called ignored": Lie(
        (NOT_GIVEN,),
        "hint cb_buffer_size=1048576, write: expected",
        "mpiio:collective",
        more=HINTED,
    ),
    "a hint not given, called one of the environment": Lie(
        (
            NOT_GIVEN,
            (
                "report/document_hints.c",
                "given->items[i].value, NULL);",
                'given->items[i].value, "ROMIO_HINTS");',
            ),
        ),
        "asked.hints_environment.cb_buffer_size is",
        "mpiio:collective",
        more=HINTED,
    ),
}
