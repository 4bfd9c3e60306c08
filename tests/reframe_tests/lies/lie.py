# SPDX-License-Identifier: BSD-3-Clause
"""A patch that makes the kernels lie, and what contradicts it."""

from __future__ import annotations

from dataclasses import dataclass

# Hints listed as used: those in force, and in their place those asked for, if there are any (the
# job that changes bits asks for none).
GET_INFO = "MPI_File_get_info(((mpiio_file *)file)->handle, used);"
ASKED = (
    "file->ctx->info == MPI_INFO_NULL ? MPI_Info_create(used)"
    " : MPI_Info_dup(file->ctx->info, used);"
)


@dataclass(frozen=True)
class Lie:
    """`changes`: of the kernels' sources: file, text, text in its place. `call`: of the session's
    run. `witness`: in the reason of the failure. `where`: the tag of its file system; `more`:
    options of the session. `test`: the class, in the module of the same name; `scale`: its."""

    changes: tuple[tuple[str, str, str], ...]
    witness: str
    call: str = "posix"
    where: str = "ram"
    more: tuple[str, ...] = ()
    test: str = "S3d"
    scale: str = "smoke"
