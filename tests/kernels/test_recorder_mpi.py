# SPDX-License-Identifier: BSD-3-Clause
"""The embedded recorder under MPI: every form of call, every method, and how a process ends."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import HOWS, MOVING, How, Stack, missing, prepared, stacks
from recorder_runs import counters, kernel, launched, only, preload, traces_in

from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.log import Log, read_log
from iogauge.analysis.darshan.raw import RawProcess
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.phases import OUTSIDE
from iogauge.analysis.ledger.verdict import HOLES, PADDING, READ_SIEVING, SIEVING, Judgement, judge
from reframe_tests.framework.recorders import RECORDER
from tests.ctest import mpi_end

FORMS = {"INDEP": 3, "COLL": 3, "NB": 5, "SPLIT": 3}  # of one direction and kind of count
GRID = ["s3d", "--grid", "12x10x8"]
REPEATS = 2


def forms(stack: Stack, folder: Path, *words: str) -> tuple[list[RawProcess], int]:
    """The traces of mpi_forms.c, one process, and its exit status."""
    data = folder / "data"
    data.mkdir()
    program = folder / "forms"
    source = Path(__file__).with_name("mpi_forms.c")
    subprocess.run([f"mpicc.{stack.name}", str(source), "-o", str(program)], check=True)
    environment = preload(stack, folder / "traces", data)
    done = launched(stack, 1, [program, *words], environment, folder=data)
    found = list((folder / "traces").glob("*.trace"))
    return (traces_in(folder / "traces") if found else []), done.returncode


def kinds_of_count(stack: Stack) -> int:
    """MPI 4 has each form a second time, with large counts."""
    test = "#include <mpi.h>\nMPI_VERSION"
    done = subprocess.run(
        [f"mpicc.{stack.name}", "-E", "-P", "-x", "c", "-"],
        input=test,
        capture_output=True,
        text=True,
    )
    return 2 if int(done.stdout.strip().splitlines()[-1]) >= 4 else 1


def test_every_form_of_call_counts_once(stack: Stack, tmp_path: Path) -> None:
    processes, status = forms(stack, tmp_path)
    assert status == 0 and [p.whole for p in processes] == [True]
    found = only(processes, "forms", "MPI-IO")
    kinds = kinds_of_count(stack)
    for kind, count in FORMS.items():
        assert (found[f"{kind}_WRITES"], found[f"{kind}_READS"]) == (kinds * count,) * 2, kind
    bytes_moved = 1000 * kinds * sum(FORMS.values())
    assert (found["BYTES_WRITTEN"], found["BYTES_READ"]) == (bytes_moved, bytes_moved)
    assert (found["INDEP_OPENS"], found["VIEWS"], found["SYNCS"]) == (1, 1, 1)
    aio = only(processes, "aio")
    assert (aio["WRITES"], aio["READS"], aio["BYTES_WRITTEN"]) == (1, 1, 1000)
    assert (aio["MAX_BYTE_WRITTEN"], aio["MAX_BYTE_READ"]) == (1499, 1499)


PLUGIN = """
#include <mpi.h>
int run(const char *name) {
    MPI_File f;
    MPI_Init(0, 0);
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    int code = MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f) ||
               MPI_File_write_at(f, 0, name, 7, MPI_BYTE, MPI_STATUS_IGNORE) || MPI_File_close(&f);
    MPI_Finalize();
    return code;
}
"""
LOADS = """
#include <dlfcn.h>
int main(int argc, char **argv) {
    for (int i = 3; i < argc; i++) dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    int (*run)(const char *) = 0;
    if (library && argc > 2) run = (int (*)(const char *))dlsym(library, "run");
    return run ? run(argv[2]) : 9;
}
"""


LINKED = """
#include <dlfcn.h>
int main(int n, char **argv) { return dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) ? run(argv[1]) : 9; }
"""


def loading(stack: Stack, folder: Path) -> list[str]:
    """A program and the plugin that it loads, after those that follow the next word."""
    folder.mkdir(exist_ok=True)
    plugin, program, source = (folder / name for name in ("plugin.so", "loads", "source.c"))
    for code, words in ((PLUGIN, [f"mpicc.{stack.name}", "-shared", "-fPIC"]), (LOADS, ["cc"])):
        source.write_text(code)
        made = plugin if code is PLUGIN else program
        subprocess.run([*words, str(source), "-o", str(made), "-ldl"], check=True)
    return [str(program), str(plugin)]


def test_a_program_that_loads_mpi_later_is_recorded(stack: Stack, tmp_path: Path) -> None:
    """As Python does with mpi4py: MPI is loaded for that module alone."""
    data = tmp_path / "data"
    data.mkdir()
    variables = preload(stack, tmp_path / "traces", data, dxt=True)
    done = launched(stack, 2, [*loading(stack, tmp_path), data / "f"], variables)
    assert done.returncode == 0 and "iogauge recorder" not in done.stderr, done.stderr
    processes = traces_in(tmp_path / "traces")
    assert [(one.rank, one.processes, one.whole) for one in processes] == [
        (0, 2, True),
        (1, 2, True),
    ]
    for one in processes:
        found = only([one], "f", "MPI-IO")
        assert (found["COLL_OPENS"], found["INDEP_WRITES"], found["BYTES_WRITTEN"]) == (1, 1, 7)


@pytest.mark.parametrize("later", [False, True])
def test_the_recorder_of_another_mpi_is_refused(stack: Stack, tmp_path: Path, later: bool) -> None:
    """It would crash, as a handle is a number there and an address here. `later`: the program loads
    its MPI, when the recorder may have loaded the other one."""
    other = next((one for name, one in stacks().items() if name != stack.name), None)
    if not other or missing(other):
        pytest.skip("one MPI only")
    data, source, program = (tmp_path / name for name in ("data", "source.c", "program"))
    data.mkdir()
    source.write_text(f"{PLUGIN}\nint main(int n, char **words) {{ return run(words[n - 1]); }}\n")
    subprocess.run([f"mpicc.{stack.name}", str(source), "-o", str(program)], check=True)
    variables = preload(prepared(other.name), tmp_path / "traces", data)
    start = loading(stack, tmp_path) if later else [str(program)]
    done = launched(stack, 1, [*start, data / "f"], variables)
    assert done.returncode != 0
    assert "which is not this program's MPI; preload the one built for that" in done.stderr


NAMES = {  # as given, and of the file; with another prefix, ROMIO refuses a name
    "openmpi": {name: name for name in ("out_2000-01-24_12:00:00", "ab:c", "ufsx:y", "d:e/f")},
    "mpich": {"ufs:plain": "plain", "UFS:other": "other", "ufs:out_12:00": "out_12:00"},
}


@pytest.mark.parametrize(
    ("name", "given", "file"), [(mpi, *both) for mpi, of in NAMES.items() for both in of.items()]
)
def test_only_a_prefix_of_romio_is_no_part_of_a_name(
    name: str, given: str, file: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    stack, data = request.getfixturevalue(name), tmp_path / "data"
    (data / file).parent.mkdir(parents=True)
    variables = preload(stack, tmp_path / "traces", data, dxt=True)
    words = [*loading(stack, tmp_path), given]
    done = launched(stack, 1, words, variables, folder=data)
    assert done.returncode == 0, done.stderr
    (process,) = traces_in(tmp_path / "traces")
    found = {one.module for one in process.records if one.path == f"{data}/{file}"}
    assert found == {"POSIX", "MPI-IO"}


def beside_another_mpi(stack: Stack, folder: Path) -> tuple[Path, Path, str]:
    """A folder for data, the source of a program that writes, and a library of another MPI."""
    other = next((one for name, one in stacks().items() if name != stack.name), None)
    if not other or missing(other):
        pytest.skip("one MPI only")
    data, source = folder / "data", folder / "source.c"
    data.mkdir()
    source.write_text(PLUGIN + LINKED)
    return data, source, loading(prepared(other.name), folder / "other")[1]


@pytest.mark.parametrize("later", [False, True])
def test_an_mpi_that_is_loaded_and_not_called_is_no_matter(
    stack: Stack, tmp_path: Path, later: bool
) -> None:
    """Before the program's own, or beside the one that it is linked with."""
    data, source, unused = beside_another_mpi(stack, tmp_path)
    program = tmp_path / "program"
    subprocess.run([f"mpicc.{stack.name}", str(source), "-o", str(program), "-ldl"], check=True)
    variables = preload(stack, tmp_path / "traces", data)
    start = loading(stack, tmp_path / "own") if later else [str(program)]
    done = launched(stack, 1, [*start, data / "f", unused], variables)
    assert done.returncode == 0 and "iogauge recorder" not in done.stderr, done.stderr
    found = only(traces_in(tmp_path / "traces"), "f", "MPI-IO")
    assert (found["INDEP_WRITES"], found["BYTES_WRITTEN"]) == (1, 7)


# A thread of Open MPI's may crash there, with all written.
CRASHES_ONCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
int PMPI_Finalize(void) {
    if (open(getenv("ONCE"), O_CREAT | O_EXCL, 0600) >= 0) raise(SIGSEGV);
    return ((int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize"))();
}
"""


@pytest.mark.filterwarnings("ignore:repeated")
def test_of_a_run_that_crashed_at_the_end_the_second_is_traced(
    stack: Stack, tmp_path: Path
) -> None:
    library, once = tmp_path / "crash.so", tmp_path / "once"
    (tmp_path / "crash.c").write_text(CRASHES_ONCE)
    words = ["cc", "-shared", "-fPIC", str(tmp_path / "crash.c"), "-o", str(library), "-ldl"]
    subprocess.run(words, check=True)
    more = {"LD_PRELOAD": f"{stack.build / RECORDER}:{library}", "ONCE": str(once)}
    run, processes = kernel(stack, tmp_path, *GRID, "--method", "posix", more=more)
    assert once.exists() and run.good() and [one.rank for one in processes] == [0, 1]
    once.unlink()
    kept = [*GRID, "--method", "posix", "--keep", "--dir", str(tmp_path)]
    more |= {"IOGAUGE_TRACE_DIR": str(tmp_path)}
    run = stack.run(*kept, processes=1, environment=more, document=tmp_path / "kept.json")
    assert once.exists() and run.good(), "the first run's files are in the way of the second"


# As a thread of Open MPI does whose component is unloaded: the handler for signals crashes, too.
JUMPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int PMPI_Finalize(void) {
    int count = open(getenv("COUNT"), O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (lseek(count, 0, SEEK_END) < atoi(getenv("CRASHES")) && write(count, "x", 1) == 1) {
        void *page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(page, 4096);
        ((void (*)(void))page)();
    }
    return ((int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize"))();
}
"""


@pytest.mark.parametrize("crashes", [1, 3])
def test_a_program_that_crashed_at_the_end_runs_twice_at_most(
    openmpi: Stack, tmp_path: Path, crashes: int
) -> None:
    library, program, count, data = (tmp_path / n for n in ("jumps.so", "program", "count", "data"))
    data.mkdir()
    own = f"{PLUGIN}\nint main(int n, char **words) {{ return run(words[n - 1]); }}\n"
    compiled = (library, JUMPS, ["cc", "-shared", "-fPIC"]), (program, own, ["mpicc.openmpi"])
    for made, code, words in compiled:
        source = made.with_suffix(".c")
        source.write_text(code)
        subprocess.run([*words, str(source), "-o", str(made), "-ldl"], check=True)
    variables = preload(openmpi, tmp_path / "traces", data)
    variables |= {"LD_PRELOAD": f"{variables['LD_PRELOAD']}:{library}"}
    variables |= {"COUNT": str(count), "CRASHES": str(crashes)}
    with pytest.warns(UserWarning, match="repeated, because MPI crashed"):
        done = launched(openmpi, 1, [program, data / "f"], variables)
    if crashes == 1:
        assert done.returncode == 0, done.stderr
        assert [one.whole for one in traces_in(tmp_path / "traces")] == [True]
    else:
        assert done.returncode in mpi_end.SIGNALLED and count.read_text() == "xx", done
        assert mpi_end.HANDLER in done.stderr and not mpi_end.CALL.search(done.stderr), done


def test_a_process_that_never_finalizes_makes_the_log_partial(stack: Stack, tmp_path: Path) -> None:
    processes, _ = forms(stack, tmp_path, "exit")
    assert [p.whole for p in processes] == [False]
    write_log(processes, tmp_path / "log")
    assert "POSIX" in read_log(tmp_path / "log").partial


@pytest.mark.filterwarnings("ignore:repeated")  # it aborts each time
def test_a_killed_process_leaves_no_trace_and_its_absence_makes_the_log_partial(
    openmpi: Stack, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    assert forms(openmpi, killed, "kill")[0] == []
    _, processes = kernel(openmpi, tmp_path, *GRID, "--method", "posix")
    write_log(processes[:1], tmp_path / "log")
    assert "POSIX" in read_log(tmp_path / "log").partial


def ledger_of(
    stack: Stack, folder: Path, *words: str, **more: Any
) -> tuple[dict[str, Any], Log, Judgement]:
    """A verified run's document, its log, and the verdict on its ledger."""
    run, _ = kernel(stack, folder, *GRID, *words, "--repeat", str(REPEATS), **more)
    document = run.good()
    log = read_log(folder / "log", convert=folder / "traces")
    assert not log.partial
    return document, log, judge(make_ledger(document, log))


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_the_ledger_of_each_method_adds_up(stack: Stack, tmp_path: Path, how: How) -> None:
    document, log, judgement = ledger_of(stack, tmp_path, *how.options(), "--ceilings")
    payload = document["payload"]["bytes"] * REPEATS
    # 16 values of 8 bytes at each of the grid's points.
    assert payload == REPEATS * 12 * 10 * 8 * 16 * 8
    ledger = make_ledger(document, log)
    assert judgement.verdict in ("balanced", "explained"), judgement
    for side in ledger.sides:
        assert side.posix >= payload, judgement
        without = ("posix", "posix-shared", "master", "twophase")
        assert (side.mpiio is None) == (how.method in without)
    if how.method not in ("hdf5", "pnetcdf", "netcdf4"):
        # No format: each layer moves the payload and nothing else, but for sieving.
        allowed = {READ_SIEVING, SIEVING, HOLES}
        assert {reason.split(" (")[0] for reason in judgement.reasons} <= allowed
        assert all(side.mpiio in (None, payload) for side in ledger.sides)
    assert any("iogauge-ceiling" in path for path in ledger.other_files)


def test_each_phase_has_its_own_bytes(stack: Stack, tmp_path: Path) -> None:
    """HDF5 writes all data in phase write, and its headers when it closes; nothing is moved between
    phases."""
    document, log, _ = ledger_of(
        stack, tmp_path, "--method", "hdf5", "--mode", "collective", "--ceilings", "--steps", "2",
        dxt=True,
    )  # fmt: skip
    log = read_log(log.path, segments=True)
    ledger = make_ledger(document, log)
    assert ledger.phases_from == "each access (DXT)"
    moved = {phase.title: phase.layers for phase in ledger.phases}
    assert OUTSIDE not in moved
    payload = document["payload"]["bytes"] * REPEATS
    written, headers = moved["write: write"]["MPI-IO"], moved["write: close"]["MPI-IO"]
    assert written.bytes["write"] == payload
    assert 0 < headers.bytes["write"] < payload / 10
    assert moved["read: read"]["MPI-IO"].bytes["read"] == payload
    assert moved["read: open"]["POSIX"].bytes["read"] > 0
    for side in ledger.sides:
        total = sum(
            phase.layers["POSIX"].bytes[side.direction] for phase in ledger.phases if phase.layers
        )
        assert total == (side.posix if side.direction == "write" else ledger.all_read)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("collective", "COLL"), ("independent", "INDEP"), ("nonblocking", "NB"), ("ordered", "COLL")],
)
def test_mpi_calls_are_those_of_the_mode(
    stack: Stack, tmp_path: Path, mode: str, kind: str
) -> None:
    run, processes = kernel(stack, tmp_path, *GRID, "--method", "mpiio", "--mode", mode)
    payload = run.good()["payload"]
    # Only nonblocking calls move each data set by a separate call.
    calls = payload["calls"] * (len(payload["datasets"]) if kind == "NB" else 1)
    for process in processes:
        (record,) = (r for r in process.records if r.module == "MPI-IO")
        found = counters(record)
        moved = {k: v for k, v in found.items() if k.endswith(("_READS", "_WRITES"))}
        assert moved == {f"{kind}_READS": calls, f"{kind}_WRITES": calls}


def test_nothing_is_moved_by_null(stack: Stack, tmp_path: Path) -> None:
    (null,) = (how for how in HOWS if how.method == "null")
    _, log, judgement = ledger_of(stack, tmp_path, *null.options())
    assert judgement.verdict == "balanced"
    assert sum(file.count("BYTES_READ", "BYTES_WRITTEN") for file in log.files) == 0


@pytest.mark.parametrize(
    ("hint", "cause"), [("romio_ds_write=enable", SIEVING), ("romio_ds_write=disable", None)]
)
def test_romio_sieves_where_it_is_asked_to(
    stack: Stack, tmp_path: Path, hint: str, cause: str | None
) -> None:
    words = ["--method", "mpiio", "--mode", "independent", "--hint", hint]
    romio = {"OMPI_MCA_io": "romio321"}  # Open MPI's own OMPIO has no such hint
    document, _, judgement = ledger_of(stack, tmp_path, *words, environment=romio)
    assert document["used"]["mpi_io"] == "ROMIO"
    causes = {reason.split(" (")[0] for reason in judgement.reasons}
    assert (SIEVING in causes) == (cause is not None), judgement
    assert PADDING not in causes


def test_one_aggregator_writes_for_all(mpich: Stack, tmp_path: Path) -> None:
    words = ["--method", "mpiio", "--mode", "collective", "--hint", "romio_cb_write=enable"]
    document, log, _ = ledger_of(mpich, tmp_path, *words)
    side = make_ledger(document, log).side("write")
    assert side is not None and document["used"]["hints"]["cb_nodes"] == "1"
    layer = side.layer("POSIX")
    assert layer is not None and layer.processes == 1
