# SPDX-License-Identifier: BSD-3-Clause
"""Wrong words in a site file or on the command line are named with file and key."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli.main import main
from iogauge.measure import sites
from iogauge.measure.sites import Asked
from reframe_tests.machine.filesystems import published_peak, published_shares
from reframe_tests.machine.stacks import ONLY, only
from site_configs.support import check, common
from tests.reframe_session import LOCAL, ROOT, Session, changed_site, reframe, strict_site

ONE = ("-t", "smoke", "-n", "S3d.*call=posix%")


def listed(output: Path, config: Path = LOCAL, **settings: str) -> Session:
    environment = {**os.environ, **settings}
    return reframe(
        output, "--system", "local", "-l", *ONE, config=config, tests="s3d.py",
        environment=environment,
    )  # fmt: skip


def test_a_test_can_be_told_its_stacks(tmp_path: Path) -> None:
    """As the later rounds of `make run` do. The hash is the one that ReFrame lists."""
    (line, *_) = [line for line in listed(tmp_path).text.splitlines() if line.startswith("- S3d")]
    own = line.rsplit(" /", 1)[1].split()[0]
    text = reframe(
        tmp_path, "--system", "local", "-lC", *ONE, tests="s3d.py",
        environment={**os.environ, ONLY: only({own: ["mpich"]})},
    ).text  # fmt: skip
    told = [word for word in text.splitlines() if f"/{own} @" in word]
    assert told and all(word.endswith("+mpich") for word in told)
    assert "+openmpi" in text, "the others run where they did"


@pytest.mark.parametrize("site", ["local", "docker"])
def test_a_site_without_a_batch_system_is_checked_too(site: str, tmp_path: Path) -> None:
    text = sites.find(site).read_text()
    text = text.replace("Path(__file__).resolve().parents[1]", f"Path({str(ROOT)!r})")
    path = tmp_path / f"{site}.py"
    path.write_text(text.replace("create=True", "creaet=True"))
    session = reframe(tmp_path / "out", "--system", site, "-l", config=path, tests="s3d.py")
    assert session.status == 1
    assert f"{path}: {site}:" in session.text
    assert "'creaet' is unknown; did you mean 'create'?" in session.text


def site_of(**partition: object) -> dict[str, Any]:
    batch = {
        "name": "batch",
        "scheduler": "pbs.j2",
        "launcher": "stack",
        "environs": ["mpich"],
        "extras": {"filesystems": {"disk": {"path": "/disk", "type": "ext4"}}},
    } | partition
    batch = {key: value for key, value in batch.items() if value is not None}
    return {
        "systems": [{"name": "dawn", "partitions": [batch]}],
        "environments": [{"name": "mpich"}],
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"launcher": "stakc"}, ["dawn:batch.launcher: 'stakc' is unknown; did you mean 'stack'?"]),
        ({"scheduler": "pbs.j3"}, ["dawn:batch.scheduler: 'pbs.j3' is unknown; did you mean "]),
        ({"environs": None, "envirosn": []}, ["dawn:batch.environs: missing; there are name, "]),
        ({"extras": None, "extrsa": {}}, ["dawn:batch.extras: missing; there are name, "]),
        (
            {"launcher": None, "environs": None},
            ["dawn:batch.launcher: missing; ", "dawn:batch.env"],
        ),
        ({"extras": {"filesystems": {}}}, ["dawn:batch.extras.filesystems: {} is not an object: "]),
        ({"extras": {}}, ["dawn:batch.extras.filesystems: missing; "]),
        ({"name": None}, ["dawn:number 0.name: missing; there are scheduler, "]),
        (
            {"access": ["-q long", "-A <your-project>"]},
            ["dawn:batch.access.1: '-A <your-project>' "],
        ),
        ({"access": ["-A projects", "--account=allocations"]}, []),
        ({}, []),
    ],
)
def test_a_partition_is_checked(wrong: dict[str, object], said: list[str]) -> None:
    found = list(check.problems(site_of(**wrong)))
    assert len(found) == len(said)
    for problem, beginning in zip(found, said, strict=True):
        assert problem.startswith(beginning)


def test_the_launchers_that_are_checked_are_those_that_there_are() -> None:
    """ReFrame has no public list; it finds each by its name, and loads them for that."""
    from reframe.core import backends

    import reframe_tests.jobs.launchers  # noqa: F401 (registers ours)

    for name in (*check.LAUNCHERS, *check.STOCK_LAUNCHERS):
        backends.getlauncher(name)
    assert set(backends._launchers) == {*check.LAUNCHERS, *check.STOCK_LAUNCHERS}


def test_a_file_system_of_another_name_is_refused(tmp_path: Path) -> None:
    session = listed(tmp_path, IOGAUGE_FS="rma")
    assert session.status == 1
    known = "IOGAUGE_FS: file system 'rma' is unknown; did you mean 'ram'?"
    assert f"error: {known} (`filesystems` in {LOCAL})" in session.text


def test_the_file_systems_that_were_chosen_are_the_axis(tmp_path: Path) -> None:
    assert {name.split("%fs=")[1].split()[0] for name in listed(tmp_path).listed} == {"ram", "disk"}
    chosen = listed(tmp_path, IOGAUGE_FS="ram").listed
    assert {name.split("%fs=")[1].split()[0] for name in chosen} == {"ram"}


@pytest.mark.parametrize(
    "peak",
    [36000, {"value": 36000}, {"value": "36 GB/s", "source": "x"}, {"value": 36000, "source": ""}],
)
def test_a_published_peak_needs_a_number_and_a_source(peak: object) -> None:
    entry = {"path": "/scratch1", "published_peak": peak}
    (problem,) = check.problems(site_of(extras={"filesystems": {"scratch1": entry}}))
    assert problem.startswith("dawn:batch.extras.filesystems.scratch1.published_peak")
    assert "source" in problem


def test_shares_of_a_published_peak_are_of_equal_units() -> None:
    """MiB/s of a run, MB/s of a publication."""
    entry = {"published_peak": {"value": 2000, "source": "a page"}}
    assert published_peak(entry) == "2000 MB/s (a page)"
    shares = published_shares(entry, {"write_bw": 1000.0, "read_bw": None})
    assert shares == {"write_fraction_published": pytest.approx(0.524288)}
    assert published_shares({}, {"write_bw": 1000.0, "read_bw": 1.0}) == {}
    assert published_peak({}) == ""


def test_a_published_peak_stands_beside_the_results(tmp_path: Path) -> None:
    config = strict_site(
        tmp_path,
        "partition['extras']['filesystems']['ram'] |= "
        "{'published_peak': {'value': 5000, 'source': 'its maker'}}",
    )
    only = (*ONE, "-t", "ram", "-p", "mpich", "-S", "repeats=1")
    session = reframe(tmp_path, "-r", "--system", "tests", *only, config=config, tests="s3d.py")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["published_peak"] == "5000 MB/s (its maker)"
    values = {key.split(":")[-1]: value[0] for key, value in case["perfvalues"].items()}
    share = values["write_bw"] * 1.048576 / 5000
    assert values["write_fraction_published"] == pytest.approx(share)
    script = (Path(case["outputdir"]) / "rfm_job.sh").read_text()
    assert "#                published peak: 5000 MB/s (its maker)\n" in script
    done = subprocess.run(
        [sys.executable, "-m", "iogauge", "summary", "--all", "--output", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "published peak of ram: 5000 MB/s (its maker)" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "named"), [((), "dawn:batch"), (("-n", "S3d"), "dawn:batch"), (("--system=x",), "x")]
)
def test_a_session_always_names_the_system(words: tuple[str, ...], named: str) -> None:
    """Without it ReFrame guesses by the host's name, and falls back to `generic`."""
    options = " ".join(Asked(Path("dawn.py"), "dawn:batch", words).options()).replace("=", " ")
    assert re.findall(r"--system (\S+)", options) == [named]


def with_disk(**entry: object) -> dict[str, Any]:
    return {"extras": {"filesystems": {"disk": {"path": "/disk", **entry}}}}


def with_extras(**extras: object) -> dict[str, Any]:
    return {"extras": {"filesystems": {"disk": {"path": "/disk"}}, **extras}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"extras": ["nodes"]}, "dawn:batch.extras: ['nodes'] is not an object"),
        (with_disk(hints="cb_nodes=4"), "disk.hints: 'cb_nodes=4' is not an object of hints"),
        (with_disk(hints={"cb_nodes": 4}), "disk.hints.cb_nodes: 4 is not a string"),
        (with_disk(hints={"a;b": "4"}), "disk.hints: 'a;b' is not a name"),
        (with_disk(path=None), "disk.path: None is not a path"),
        (with_disk(path="scratch"), "disk.path: 'scratch' is not a path of one line that begins"),
        ({"extras": {"filesystems": {"disk": {}}}}, "filesystems.disk.path: missing"),
        ({"extras": {"filesystems": []}}, "extras.filesystems: [] is not an object"),
        (with_disk(expected_bandwidth="80"), "disk.expected_bandwidth: '80' is not a number"),
        (with_disk(hints_where=[{"patterns": ["s3d"]}]), "disk.hints_where.0.hints: missing"),
        (
            with_disk(hints_where=[{"patterns": ["s4d"], "hints": {}}]),
            "disk.hints_where.0.patterns: 's4d' is unknown; did you mean 's3d'?",
        ),
        (with_disk(create="yes"), "disk.create: 'yes' is not True or False"),
        (with_extras(per_node="4"), "extras.per_node: '4' is not a list of whole numbers"),
        (with_extras(nodes=True), "extras.nodes: True is not a whole number"),
        (with_extras(exclusive="no"), "extras.exclusive: 'no' is not True or False"),
        (with_extras(job_type="serial"), "extras.job_type: 'serial' is not 'parallel' or "),
        ({"scheduler": "loadleveler.j2"}, "dawn:batch.extras.job_type: missing; expected "),
        ({"modules": ["hdf5"]}, "dawn:batch.modules: system dawn has no modules_system"),
        ({"env_vars": [["A"]]}, "dawn:batch.env_vars.0: ['A'] is not a pair [name, value]"),
        ({"access": "-q long"}, "dawn:batch.access: '-q long' is not a list of texts"),
    ],
)
def test_a_wrong_type_is_one_line_with_its_key(wrong: dict[str, Any], said: str) -> None:
    (problem,) = check.problems(site_of(**wrong))
    assert said in problem
    assert problem.startswith("dawn:batch.")


@pytest.mark.parametrize(
    "name", ["24h", "-a", "gpu.a100", "a b", "", "\N{GREEK SMALL LETTER ALPHA}"]
)
def test_names_are_those_that_reframe_takes(name: str) -> None:
    for place in ("partition", "system", "environ"):
        site = site_of(**({"name": name} if place == "partition" else {}))
        if place != "partition":
            site["systems" if place == "system" else "environments"][0]["name"] = name
        assert any(f"name: {name!r} is not a name of" in one for one in check.problems(site)), place
    assert not list(check.problems(site_of(name="_24h-long")))


def test_two_partitions_have_two_names() -> None:
    site = site_of()
    site["systems"][0]["partitions"] *= 2
    (problem,) = check.problems(site)
    assert problem == "dawn:batch: two partitions have this name; use others"


@pytest.mark.parametrize("system", ["nomod", None, "lmod"])
def test_a_stacks_modules_need_a_modules_system(system: str | None) -> None:
    site = site_of()
    site["environments"][0]["modules"] = ["mpich/4"]
    if system:
        site["systems"][0]["modules_system"] = system
    found = list(check.problems(site))
    assert bool(found) == (system != "lmod")
    assert all(one.startswith("environ mpich.modules: system dawn has no ") for one in found)


@pytest.mark.parametrize(
    "site", [None, [], {}, {"systems": 3, "environments": []}, {"systems": []}]
)
def test_what_is_no_site_at_all_is_told_in_lines(site: object) -> None:
    assert list(check.problems(site))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("S3d.nosuch=3", "-S S3d.nosuch=...: variable 'nosuch' is unknown"),
        ("S3d.repeat=3", "did you mean 'repeats'?"),
        ("nosuch=3", "-S nosuch=...: variable 'nosuch' is unknown"),
        ("S3.repeats=3", "test 'S3' is unknown; did you mean 'S3d'?"),
        ("repeats=2", ""),
        ("S3d.kernels.kernel_path=/x", ""),
    ],
)
def test_a_setting_that_nothing_has_is_an_error(setting: str, said: str, tmp_path: Path) -> None:
    options = ("--system", "local", "-l", *ONE, "-S", setting)
    session = reframe(tmp_path, *options, tests="s3d.py")
    assert session.status == (1 if said else 0), session.text
    assert said in session.text
    assert "Traceback" not in session.text


def test_a_folder_that_cannot_be_written_to_is_named_with_what_helps(tmp_path: Path) -> None:
    """As with somebody else's checkout; root may write to all but what is no folder."""
    (tmp_path / "file").write_text("")
    session = listed(tmp_path / "file" / "output")
    assert session.status == 1
    assert f"results cannot be written to {tmp_path}/file/output (Not a directory)" in session.text
    assert "set IOGAUGE_OUTPUT to a folder of your own" in session.text
    assert "Traceback" not in session.text


def test_another_user_is_told_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    code = (
        "import os, sys\n"
        f"sys.path.append({str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from site_configs.support import common\n"
        f"place = Path({str(tmp_path)!r})\n"
        "os.access = lambda path, mode: False\n"
        "common.make_writable(place)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "IOGAUGE_OUTPUT": str(tmp_path)},
    )  # fmt: skip
    assert f"results cannot be written to {tmp_path} (Permission denied)" in done.stderr


def test_measurements_have_their_nodes_alone(tmp_path: Path) -> None:
    config = ROOT / "site_configs" / "slurm_lustre.py"
    options = ("--system", "slurm_lustre", "--dry-run", *ONE)
    for number, (more, is_alone) in enumerate([((), True), (("-S", "exclusive_access=no"), False)]):
        output = tmp_path / str(number)
        session = reframe(output, *options, *more, config=config, tests="s3d.py")
        scripts = session.scripts()
        assert scripts, session.text
        for script in scripts:
            assert ("#SBATCH --exclusive\n" in script.read_text()) == is_alone


def test_a_stacks_extras_land_in_its_extras() -> None:
    """Each key that the schema knows there, whichever function makes the environ."""
    given: dict[str, Any] = {
        "iokernel": "/opt/iokernel",
        "ior": "/opt/ior",
        "darshan": "/opt/darshan",
    }
    for made in (
        common.stack("own", "mpicc", "libmpi.so.40", [], env_vars=[["A", "1"]], **given),
        common.spack_stack("default", [], env_vars=[["A", "1"]], **given),
    ):
        assert given.items() <= made["extras"].items()
        assert not given.keys() & made.keys()
        assert made["env_vars"] == [["A", "1"]]


def test_the_program_that_a_stack_names_is_the_one_that_runs(tmp_path: Path) -> None:
    """From `common.stack(iokernel=...)` in a site file to the line of the job that starts it."""
    code = (
        "from site_configs.support import common\n"
        "own = common.stack('own', 'mpicc', 'libmpi.so.40', [], iokernel='/opt/own/iokernel')\n"
        "site['environments'], partition['environs'] = [own], ['own']"
    )
    one = ("--dry-run", "--system", "local", "-t", "smoke", "-n", "S3d.*fs=disk.*mpiio:collective")
    session = reframe(tmp_path, *one, config=changed_site(tmp_path, code), tests="s3d.py")
    assert session.status == 0, session.text
    (script,) = session.scripts("own")
    assert "/opt/own/iokernel s3d --grid " in script.read_text()


def test_an_old_reframe_is_named_in_one_line() -> None:
    """By the command, and by ReFrame itself when it reads a site file."""
    command = "from iogauge.cli.main import main; sys.exit(main(['run', '-n', 'S3d']))"
    frontend = "sys.argv[1:] = ['-C', 'site_configs/local.py', '-l']; cli.main()"
    for code in (command, f"from reframe.frontend import cli; {frontend}"):
        done = subprocess.run(
            [sys.executable, "-c", f"import reframe, sys; reframe.VERSION = '4.8.4'; {code}"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        text = done.stdout + done.stderr
        assert re.search(r"ReFrame 4\.8\.4 in /.*; expected 4\.9 or newer", text), text
        assert "Traceback" not in text


def test_file_systems_of_this_machine() -> None:
    """As `--fs` of tune and certify names them, and doctor lists them."""
    found = sites.local_file_systems()
    assert set(found) == {"ram", "disk"}
    assert str(found["ram"]["path"]) == (os.environ.get("IOGAUGE_RAM") or "/dev/shm")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\nx = (\n", "line 2: SyntaxError: "),
        ("import os\nos.nosuch\n", "line 2: AttributeError: "),
        ("import nosuch\n", "line 1: ModuleNotFoundError: "),
        ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
        ("\xff\xfe", "line 1: SyntaxError: "),
        ("", "no site_configuration; "),
        ("site_configuration = {'systems': 1}\n", "environments: missing; "),
    ],
)
@pytest.mark.parametrize("command", ["site check", "run --dry-run --site"])
def test_what_is_wrong_in_a_site_file_is_one_line(
    command: str, text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path := tmp_path / "mine.py").write_bytes(text.encode("latin-1"))
    assert main([*command.split(), str(path)]) in (1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"iogauge: {path}: ")
    assert why in line
