# SPDX-License-Identifier: BSD-3-Clause
"""Kernels built to lie: a patch of a few lines each, built, and run through a session. The reason
of the failure names what the lie contradicts (docs/guarantees.md)."""

from __future__ import annotations

import itertools
import os
import zlib
from pathlib import Path

import pytest

from iogauge.common.files import write_whole
from iogauge.measure.certify.stacks import prepare
from iogauge.measure.kernels import build_for_tests, environ, lacking
from reframe_tests.framework import recorders, verifier_check
from tests.changed_kernel import changed_kernel
from tests.reframe_session import reframe
from tests.reframe_tests.fifth_lies import FIFTH_LIES
from tests.reframe_tests.fourth_lies import FOURTH_LIES
from tests.reframe_tests.lie import ASKED, GET_INFO, Lie
from tests.reframe_tests.more_lies import MORE_LIES
from tests.reframe_tests.third_lies import THIRD_LIES

# Of a newer release; by hand also one of the two for all.
STACK = os.environ.get("IOGAUGE_ATTACKED")
STACKS = ("openmpi", "mpich")
pytestmark = [pytest.mark.first, pytest.mark.slow]


VERIFY = "    io_verify_part(f->session->found, part, facts, f->file, seed_of(f), f->step);\n"
COUNTED = (
    "{ f->session->found->check.bytes += io_part_bytes(&f->schema, part);"
    " f->session->found->check.elements += io_part_bytes(&f->schema, part) / 8; } else\n"
)
MISSED = "planted wrong bytes noticed"
WRONG_BYTE = "wrong byte"  # of the planted, or of the job that changes one
MPIIO, HDF5 = "methods/mpiio.c", "methods/hdf5.c"


# Where the witness is another than the job that changes bits, that job is not run.
OF_THE_CHECK = ("do not notice", WRONG_BYTE, "read back", "values do not depend")


def not_compared(condition: str, call: str = "posix", witness: str = MISSED) -> Lie:
    """Counts what it does not compare."""
    return Lie(
        (("driver/move.c", VERIFY, f"    if ({condition}) {COUNTED}{VERIFY}"),), witness, call
    )


WRITE = (
    "int status = f->direction == IO_WRITING ? m->write(f->file, parts, n) : "
    "m->read(f->file, parts, n);"
)
FILL = (
    "if (f->direction == IO_READING && f->session->found) {"
    " for (int i = 0; i < n; i++) fill_part(f, &parts[i]); return 0; }\n"
)
ALL = "bool all = io_mode_has(f->base.ctx->mode, IO_IS_COLLECTIVE);"
NONBLOCKING = "if (file->ctx->mode == IO_NONBLOCKING) return move_nonblocking"
BLOCKING = NONBLOCKING.replace("IO_NONBLOCKING", 'IO_NONBLOCKING && getenv("HONEST")')
HID = "hid_t transfer = independent ? f->independent : f->transfer,"
TOGETHER = "if (independent) H5Pset_dxpl_mpio(f->independent, H5FD_MPIO_COLLECTIVE);\n    "
SHIFT = "return (reader.rank + (reader.nodes > 1 ? reader.per_node : 1)) % reader.size;"
TIMED = "f->seconds.phase[phase] += io_step_clock(f) - f->began;"
STEPS = "for (uint64_t step = 0; s->what->write && step < c->steps"
REMOVED = "if (s->created && !s->what->common.keep) {"
SHORT = '"co"'  # create, close, open
DROP = "if (s->what->drop_caches) {"
CREATED = "rate_of(r, i, IO_OP_CREATE);"
SAID = '"write", c->bandwidth[IO_WRITING], "read", c->bandwidth[IO_READING],'
LIES = {
    "compares nothing": not_compared("true", witness="do not notice a wrong byte"),
    "compares in the first repeat only": not_compared("f->session->repeat"),
    "compares in runs that only read": not_compared("f->session->what->write"),
    "compares for one method only": not_compared(
        'strcmp(f->session->what->method->name, "posix-shared")'
    ),
    # The job that changes a byte notices it too if that byte, drawn by chance, is beyond them.
    "compares the first 64 KiB only": not_compared("part->offset >= 65536", witness=WRONG_BYTE),
    "compares the first step only": not_compared("f->step"),
    "compares on process 0 only": not_compared("f->session->world->rank", witness=WRONG_BYTE),
    "hands nothing over to be planted": Lie(
        (("driver/move.c", "if (iogauge_plant)", "if (iogauge_plant && !f->session->repeat)"),),
        "the verification looked at 0",
    ),
    "counts each comparison twice": Lie(
        (
            (
                "driver/values.c",
                "check->bytes += r.length * size;",
                "check->bytes += 2 * r.length * size;",
            ),
        ),
        "bytes were verified, more than",
    ),
    "fills the buffer and does not read": Lie(
        (("driver/move.c", WRITE, FILL + WRITE),), "do not notice a wrong byte"
    ),
    "reads its own data": Lie((("driver/driver.c", SHIFT, "return reader.rank;"),), "read back"),
    "writes nothing after the first repeat": Lie(
        (
            (
                "driver/driver.c",
                "s->what->write) status = io_remove",
                "s->what->write && (!s->repeat || !s->found)) status = io_remove",
            ),
            (
                "driver/driver.c",
                STEPS,
                STEPS.replace("write", "write && (!s->repeat || !s->found)"),
            ),
            ("driver/driver.c", REMOVED, "if (s->created && (s->repeat || !s->found)) {"),
        ),
        "samples/1/write/bandwidth",
    ),
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
    "opens and closes take no time": Lie(
        (("driver/driver.c", TIMED, f"if (!strchr({SHORT}, io_phases[phase].name[0])) {TIMED}"),),
        "write: another clock says",
        "mpiio:collective",
    ),
    "ceilings of 4 KiB calls": Lie(
        (("driver/ceilings.c", "((uint64_t)8 << 20)", "((uint64_t)4 << 10)"),),
        "ceilings (fpp): expected at most",
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
    "hints never given to MPI": Lie(
        (
            (MPIIO, "amode, ctx->info, &f->handle)", "amode, MPI_INFO_NULL, &f->handle)"),
            (MPIIO, GET_INFO, ASKED),
        ),
        "hint cb_buffer_size=1048576",
        "mpiio:collective",
        more=("-S", "hints=cb_buffer_size=1048576"),
    ),
    "reads from memory, called dropped": Lie(
        (
            ("driver/run_files.c", DROP, "if (s->what->drop_caches && !s->found) {"),
            ("driver/run_files.c", "resident += resident;", "resident += 0 * resident;"),
        ),
        "caches are said to be 'dropped'",
        where="disk",
    ),
    "twice the rate of creating files": Lie(
        (("report/report.c", CREATED, f"2 * {CREATED}"),),
        "summary.create_rate",
        test="Metadata",
    ),
    "ceilings that are a million times slower": Lie(
        (("report/samples.c", SAID, SAID.replace("IO_WRITING]", "IO_WRITING] / 1e6")),),
        "summary.write_fraction_fpp",
    ),
    **MORE_LIES,
    **THIRD_LIES,
    **FOURTH_LIES,
    **FIFTH_LIES,
}


def liar(lie: Lie, stack: str, folder: Path) -> Path:
    """The program with the lie."""
    if reason := lacking(stack):
        pytest.skip(reason)
    honest = build_for_tests(stack) if stack in STACKS else prepare(stack).program.parent
    return changed_kernel(honest, lie.changes, folder, environ(stack)["extras"].get("inside", ()))


def marks(lie: Lie) -> list[pytest.MarkDecorator]:
    """Debian 12's HDF5 has no call for several arrays: `make test-newer` attacks it."""
    return [pytest.mark.newer] if lie.call == "hdf5:multi" else []


def stacks(name: str, lie: Lie) -> tuple[str, ...]:
    """What concerns MPI is told by all that have the method and the test, another lie by one of
    them, as its name has it."""
    if STACK:
        return (STACK,)
    features = {one: environ(one)["features"] for one in STACKS}
    needs = {lie.call.partition(":")[0], lie.test.lower()} & {*itertools.chain(*features.values())}
    able = tuple(one for one in STACKS if needs <= {*features[one]})
    one = zlib.crc32(name.encode()) % len(able)
    return (able[one],) if lie.call.startswith("posix") else able


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        pytest.param(name, stack, marks=marks(lie))
        for name, lie in LIES.items()
        for stack in stacks(name, lie)
    ],
)
def test_a_lie_has_a_witness(
    name: str, stack: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lie = LIES[name]
    program = liar(lie, stack, tmp_path / "lies")
    if not lie.witness.startswith(OF_THE_CHECK):
        passed = verifier_check.stamp_of(program, recorders.find({}, program, lambda _: False))
        write_whole(passed, "")
        request.addfinalizer(passed.unlink)
    which = f"{lie.test}.*call={lie.call}(%|$)"
    one = ("-t", lie.scale, "-t", lie.where, "-n", which, "-p", stack)
    more = ("-S", "repeats=2", "-S", f"kernel_path={program}", *lie.more)
    session = reframe(
        tmp_path, "-r", *one, *more, tests=f"{lie.test.lower()}.py",
        environment={**os.environ, "IOGAUGE_STACKS": stack},
    )  # fmt: skip
    if not session.status and {case["result"] for case in session.cases} == {"skip"}:
        pytest.skip(f"{stack} has no {lie.call}")
    assert session.status == 1, "the lie passed"
    assert lie.witness in session.text, session.text
