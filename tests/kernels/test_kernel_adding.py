# SPDX-License-Identifier: BSD-3-Clause
"""Adding a pattern or a method to the kernels is one file and one line, as docs/add-a-*.md say:
done here in a copy of the tree, built, listed, run and verified."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import ROOT, Stack, build, missing, stacks

from reframe_tests.paths import KERNELS

PATTERN = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* rows: a row of numbers of each process. */
#include <stdio.h>

#include "pattern.h"

extern const io_pattern io_pattern_rows;

typedef struct {
    uint64_t length;
    io_dim dims[2];
    io_dataset data;
} rows;

static const io_option options[] = {{"length", 256, "N", "of a row (default 1000)"}, {0}};

static void defaults(void *state) { ((rows *)state)->length = 1000; }

static int option(void *state, int letter, const char *value, io_error *error) {
    (void)letter;
    return io_parse_count("--length", value, &((rows *)state)->length, error);
}

static int configure(void *state, const io_setup *setup, io_error *error) {
    rows *s = state;
    (void)error;
    s->dims[0] = (io_dim){"processes", setup->processes};
    s->dims[1] = (io_dim){"length", s->length};
    s->data = (io_dataset){
        .name = "rows", .type = IO_FLOAT64, .ndims = 2, .dim = {0, 1}, .block = {1, s->length}};
    return 0;
}

static json_t *describe(const void *state) {
    return json_pack("{s:I}", "length", (json_int_t)((const rows *)state)->length);
}

static void schema(const void *state, uint64_t step, io_schema *out) {
    const rows *s = state;
    (void)step;
    *out = (io_schema){.ndims = 2, .dims = s->dims, .ndatasets = 1, .datasets = &s->data};
}

static void file_name(const void *state, uint64_t step, const char *extension, char *name,
                      size_t size) {
    (void)state;
    snprintf(name, size, "rows%d%s", (int)step, extension);
}

static uint64_t calls(const void *state) {
    (void)state;
    return 1;
}

static int parts(const void *state, uint64_t owner, uint64_t call, io_part *out) {
    (void)call;
    *out = (io_part){.start = {owner}, .count = {1, ((const rows *)state)->length}};
    return 1;
}

static uint64_t bytes(const void *state, uint64_t owner) {
    (void)owner;
    return 8 * ((const rows *)state)->length;
}

const io_pattern io_pattern_rows = {
    .name = "rows", .summary = "a row of each process", .options = options,
    .state_size = sizeof(rows), .max_parts = 1, .defaults = defaults, .option = option,
    .configure = configure, .describe = describe, .schema = schema, .file_name = file_name,
    .calls = calls, .parts = parts, .bytes = bytes,
};
"""

METHOD = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* streams: a file for each process through the C library's streams. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "method.h"

extern const io_method io_method_streams;

typedef struct {
    io_file base;
    FILE *stream;
} stream_file;

static int start(const io_ctx *ctx, const char *path, const io_schema *schema, const char *how,
                 io_file **file) {
    stream_file *f = io_file_new(sizeof *f, &io_method_streams, ctx, path, schema);
    if (!f) return -1;
    f->stream = fopen(path, how);
    if (f->stream) {
        *file = &f->base;
        return 0;
    }
    free(f);
    return io_fail_errno(ctx->error, "fopen", path, errno);
}

static int create(const io_ctx *ctx, const char *path, const io_schema *schema, io_file **file) {
    return start(ctx, path, schema, "w", file);
}

static int open_existing(const io_ctx *ctx, const char *path, const io_schema *schema,
                         io_file **file) {
    return start(ctx, path, schema, "r", file);
}

static int move(io_file *file, const io_part *parts, int n, bool writing) {
    FILE *stream = ((stream_file *)file)->stream;
    for (int i = 0; i < n; i++) {
        size_t bytes = io_part_bytes(file->schema, &parts[i]);
        file->calls++;
        if (fseeko(stream, (off_t)parts[i].offset, SEEK_SET)) return -1;
        size_t moved = writing ? fwrite(parts[i].data, 1, bytes, stream)
                               : fread(parts[i].data, 1, bytes, stream);
        if (moved < bytes) return io_fail_errno(file->ctx->error, "fwrite", file->path, errno);
    }
    return 0;
}

static int write_parts(io_file *file, const io_part *parts, int n) {
    return move(file, parts, n, true);
}

static int read_parts(io_file *file, const io_part *parts, int n) {
    return move(file, parts, n, false);
}

static int sync_file(io_file *file) {
    FILE *stream = ((stream_file *)file)->stream;
    if (!fflush(stream) && !fsync(fileno(stream))) return 0;
    return io_fail_errno(file->ctx->error, "fsync", file->path, errno);
}

static int close_file(io_file *file) {
    int code = fclose(((stream_file *)file)->stream) ? errno : 0;
    int status = code ? io_fail_errno(file->ctx->error, "fclose", file->path, code) : 0;
    free(file);
    return status;
}

const io_method io_method_streams = {
    .name = "streams", .summary = "C streams", .extension = ".bin",
    .traits = IO_FILE_PER_PROCESS | IO_ALONE, .create = create, .open = open_existing,
    .write = write_parts, .read = read_parts, .sync = sync_file, .close = close_file,
};
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The program with a pattern and a method more; without the libraries, which take longest."""
    stack = stacks()["openmpi"]
    if reason := missing(stack):
        pytest.skip(reason)
    kernels = tmp_path_factory.mktemp("tree") / "kernels"
    shutil.copytree(KERNELS, kernels)
    (kernels / "patterns" / "rows.c").write_text(PATTERN)
    (kernels / "methods" / "streams.c").write_text(METHOD)
    for table, line in (
        ("patterns/patterns.def", "IO_PATTERN(rows)\n"),
        ("methods/methods.def", 'IO_METHOD(streams, "streams", none)\n'),
    ):
        with (kernels / table).open("a") as file:
            file.write(line)
    off = [f"-DIOKERNEL_{name}=OFF" for name in ("HDF5", "PNETCDF", "CGNS", "RECORDER")]
    return build(stack, kernels.parent / "build", *off, source=kernels)


def test_they_are_listed(grown: Stack) -> None:
    found: dict[str, Any] = json.loads(grown.alone("--list", "--json", "-").stdout)
    assert found["patterns"][-1]["name"] == "rows" and found["methods"][-1]["name"] == "streams"
    pairs = {(p["pattern"], p["method"]): p["ok"] for p in found["cross"]}
    assert pairs["rows", "streams"] and pairs["s3d", "streams"] and pairs["rows", "mpiio"]


@pytest.mark.parametrize(
    ("pattern", "method"), [("rows", "mpiio"), ("s3d", "streams"), ("rows", "streams")]
)
def test_they_run_verified(grown: Stack, tmp_path: Path, pattern: str, method: str) -> None:
    place = tmp_path / "data"
    place.mkdir()
    small = ["--grid", "13x11x7"] if pattern == "s3d" else ["--length", "77"]
    words = [pattern, *small, "--method", method, "--dir", str(place)]
    document = grown.run(*words, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"
    assert document["verification"]["bytes"] == (
        8 * 16 * 13 * 11 * 7 if small[0] == "--grid" else 8 * 77 * 2
    )


def test_they_stand_behind_a_server(grown: Stack, tmp_path: Path) -> None:
    words = ["rows", "--method", "ioserver", "--inner", "streams", "--dir", str(tmp_path)]
    document = grown.run(*words, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"


def test_ctest_and_the_unit_tests_take_them_up(grown: Stack) -> None:
    """The matrix has their pairs, and each process's parts cover the data once."""
    matrix = (grown.build / "tests" / "matrix.cmake").read_text()
    assert "rows.mpiio.collective" in matrix and "weather.streams" in matrix
    for case in ("rows.streams", "rows.ioserver"):
        command = ["ctest", "--test-dir", str(grown.build), "-R", f"^{case}$", "--no-tests=error"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    done = subprocess.run(
        [str(grown.build / "tests" / "iokernel_unit"), "patterns"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_method_whose_library_no_table_has(tmp_path: Path) -> None:
    """The build says which line is wrong."""
    stack = stacks()["openmpi"]
    if reason := missing(stack):
        pytest.skip(reason)
    kernels = shutil.copytree(KERNELS, tmp_path / "kernels")
    with (kernels / "methods" / "methods.def").open("a") as file:
        file.write('IO_METHOD(odd, "odd", adios)\n')
    command = ["cmake", "-S", str(kernels), "-B", str(tmp_path / "build"), "-DIOKERNEL_HDF5=OFF"]
    command += ["-DIOKERNEL_PNETCDF=OFF", f"-DCMAKE_C_COMPILER=mpicc.{stack.name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "methods/methods.def: method odd needs adios, which libraries.def does not have" in said
