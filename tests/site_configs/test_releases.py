# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of another Debian release: the scripts with a root made of this machine's programs, and
what a session says. test_newer.py has a real root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

from iogauge.common.paths import ROOT
from site_configs.support import chosen, debian
from tests.reframe_session import reframe

SCRIPTS = ROOT / "environments" / "debian"
ENTER = "environments/debian/enter.sh"
# What the root of these tests has: enter.sh's own needs, and what the tests start.
PROGRAMS = ("env", "setpriv", "bash", "cat", "sleep", "id")


def run(*words: object, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, **settings},
    )  # fmt: skip


def may_enter() -> bool:
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    return run("unshare", *user, "--mount", "--", "true").returncode == 0


enters = pytest.mark.skipif(not may_enter(), reason="unshare: no name spaces for this user here")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user may enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="iogauge-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def checkout(place: Path) -> Path:
    """A checkout with the scripts alone, and a release `made`."""
    tree = place / "checkout"
    shutil.copytree(SCRIPTS, tree / "environments" / "debian")
    root = tree / ".local" / "releases" / "made" / "root"
    for program in PROGRAMS:
        for file in (f"/usr/bin/{program}", *libraries(f"/usr/bin/{program}")):
            put(Path(file), root)
    for link in ("bin", "lib", "lib64"):
        if Path("/", link).is_symlink():
            (root / link).symlink_to(Path("/", link).readlink())
    (root / "etc").mkdir()
    (root / "etc" / "release").write_text("made\n")
    (root / "etc" / "passwd").write_text("")
    (root / "mnt").mkdir()
    (root.parent / "bin").mkdir()
    for name in ("enter", "cat"):
        (root.parent / "bin" / name).symlink_to(f"../../../../{ENTER}")
    return tree


def libraries(program: str) -> list[str]:
    words = run("ldd", program).stdout.split()
    return [word for word in words if word.startswith("/")]


def put(file: Path, root: Path) -> None:
    """Below /usr, as it is there with /lib a link."""
    place = root / file.resolve().relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, place)
    named = root / "usr" / file.relative_to("/") if file.parts[1] != "usr" else root / file.parts[1]
    if file.parts[1] != "usr" and not named.exists():
        named.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, named)


@enters
def test_programs_are_the_releases_and_all_else_the_machines(
    checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("of the machine\n")
    enter = checkout / ENTER
    assert run(enter, "made", "cat", "/etc/release").stdout == "made\n"
    assert run(enter, "made", "cat", tmp_path / "data").stdout == "of the machine\n"
    assert run(enter, "made", "cat", "/etc/passwd").stdout == Path("/etc/passwd").read_text()
    # Whatever of /usr the release does not have is not there.
    assert run(enter, "made", "ls").returncode == 127
    inside = "[[ -e /proc/self/status && -w /dev/shm && -w /tmp ]] && exit 42"
    assert run(enter, "made", "bash", "-c", inside).returncode == 42
    assert str(checkout) not in Path("/proc/mounts").read_text()


@enters
def test_a_link_named_as_a_program_starts_it(checkout: Path) -> None:
    links = checkout / ".local" / "releases" / "made" / "bin"
    assert run(links / "cat", "/etc/release").stdout == "made\n"
    assert run(links / "enter", "cat", "/etc/release").stdout == "made\n"


@enters
def test_a_signal_reaches_the_program_and_nothing_stays_mounted(checkout: Path) -> None:
    words = [str(checkout / ENTER), "made", "bash", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(600) == -signal.SIGTERM
    assert list((checkout / ".local/releases/made/root/mnt").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_enters_with_no_more_rights(checkout: Path, place: Path) -> None:
    user = ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups"]
    if run(*user, "unshare", "--user", "--mount", "true").returncode:
        pytest.skip("unshare: no user name spaces for users other than root here")
    secret = place / "secret"
    secret.write_text("root's alone")
    secret.chmod(0o600)
    script = f"cd {place} && {checkout / ENTER} made bash -c 'id -u; cat {secret}'"
    found = run(*user, "bash", "-c", script)
    assert found.stdout == "4242\n"
    assert "Permission denied" in found.stderr


def test_what_is_not_there_is_told_with_the_command_that_makes_it(checkout: Path) -> None:
    found = run(checkout / ENTER, "other", "true")
    assert found.returncode == 3
    assert "environments/debian/release.sh other" in found.stderr


# ---------------------------------------------------------------- making a root

STUBS = {
    "apt-get": "echo https://archive.invalid/debian; echo https://second.invalid/",
    # Its last words are the suite, the folder and the archive.
    "mmdebstrap": """\
echo "${@: -3}" >> "$STUB_CALLS"
[[ ! -e $STUB_CALLS.fail ]] || { cat "$STUB_CALLS.fail"; exit 1; }
mkdir -p "${@: -2:1}/usr"
echo gcc 14 > "${@: -2:1}/versions.txt"
echo libpnetcdf-dev > "${@: -2:1}/missing.txt\"""",
    # A root's own: whatever the test says that it does not have cannot be installed.
    "chroot": """\
shift
[[ $* != *" -s "* || -z ${STUB_LACKS-} || " $* " != *" $STUB_LACKS "* ]] || exit 100
echo "$*" >> "$STUB_CALLS\"""",
}


@pytest.fixture
def stubs(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "stubs"
    folder.mkdir()
    for name, text in STUBS.items():
        (folder / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "STUB_CALLS": str(tmp_path / "calls")}


@enters
def test_a_root_is_made_once_and_what_the_suite_lacks_is_named(
    checkout: Path, stubs: dict[str, str]
) -> None:
    script = checkout / "environments" / "debian" / "release.sh"
    found = run(script, "newer", **stubs)
    assert found.returncode == 0, found.stderr
    release = checkout / ".local" / "releases" / "newer"
    first, *_ = found.stdout.splitlines()
    assert "GB" in first and "minutes" in first
    assert "release newer does not have: libpnetcdf-dev\n" in found.stdout
    called = Path(stubs["STUB_CALLS"]).read_text()
    assert called == f"newer {release}.new/root https://archive.invalid/debian\n"
    assert (release / "versions.txt").read_text() == "gcc 14\n"
    assert (release / "bin" / "mpiexec.mpich").resolve() == (checkout / ENTER).resolve()
    again = run(script, "newer", **stubs)
    assert again.stdout == "release newer: in place\n"
    assert Path(stubs["STUB_CALLS"]).read_text() == called
    assert run(script, "--check", "newer", **stubs).returncode == 0
    # Other packages than those that it was made of: it is made anew.
    with (checkout / "environments/debian/packages.txt").open("a") as file:
        file.write("one-more build # for this test\n")
    assert run(script, "--check", "newer", **stubs).returncode == 1


@enters
def test_a_small_root_does_for_one_mpi_and_a_whole_one_does_for_all(
    checkout: Path, stubs: dict[str, str]
) -> None:
    script = checkout / "environments" / "debian" / "release.sh"
    small = ("--only", "openmpi", "newer")
    found = run(script, *small, **stubs)
    assert found.returncode == 0, found.stderr
    assert "CGNS for MPICH" not in found.stdout
    assert run(script, "--check", *small, **stubs).returncode == 0
    assert run(script, "--check", "--only", "mpich", "newer", **stubs).returncode == 1
    assert run(script, "--check", "newer", **stubs).returncode == 1
    assert run(script, "newer", **stubs).returncode == 0
    assert run(script, "--check", "newer", **stubs).returncode == 0
    assert run(script, *small, **stubs).stdout == "release newer: in place\n"
    assert len(Path(stubs["STUB_CALLS"]).read_text().splitlines()) == 2
    assert run(script, "--only", "mvapich", "newer", **stubs).returncode == 2


def test_what_a_suite_lacks_is_left_out_and_named_alone(
    checkout: Path, tmp_path: Path, stubs: dict[str, str]
) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    fill = (checkout / "environments/debian/release.sh", "--fill", "newer", root, "openmpi")
    assert run(*fill, **stubs).returncode == 0
    assert (root / "missing.txt").read_text() == ""
    asked, installed, _ = Path(stubs["STUB_CALLS"]).read_text().splitlines()
    assert " -s " in asked and " libpnetcdf-dev" in installed  # one question, where all are there
    (root / "missing.txt").unlink()
    assert run(*fill, **stubs, STUB_LACKS="libpnetcdf-dev").returncode == 0
    assert (root / "missing.txt").read_text() == "libpnetcdf-dev\n"
    *_, less, _ = Path(stubs["STUB_CALLS"]).read_text().splitlines()
    assert less.split() == [word for word in installed.split() if word != "libpnetcdf-dev"]


@enters
@pytest.mark.parametrize(
    "said",
    [
        "E: Failed to fetch https://archive.invalid/dists/newer/InRelease  Could not connect",
        "E: The repository 'https://archive.invalid newer Release' does not have a Release file.",
    ],
)
def test_an_archive_that_hands_nothing_out_is_no_failure_of_the_script(
    checkout: Path, stubs: dict[str, str], said: str
) -> None:
    Path(stubs["STUB_CALLS"] + ".fail").write_text(f"I: running apt-get update...\n{said}\n")
    found = run(checkout / "environments" / "debian" / "release.sh", "newer", **stubs)
    assert found.returncode == 3
    last = found.stderr.splitlines()[-1]
    assert last == f"release.sh: the archive does not hand out newer: {said.removeprefix('E: ')}"


@enters
def test_a_root_that_was_not_finished_does_not_count(checkout: Path, stubs: dict[str, str]) -> None:
    script = checkout / "environments" / "debian" / "release.sh"
    Path(stubs["STUB_CALLS"] + ".fail").touch()
    found = run(script, "newer", **stubs)
    assert found.returncode == 1
    assert "mmdebstrap" in found.stderr
    assert run(script, "--check", "newer", **stubs).returncode == 1
    assert not (checkout / ".local" / "releases" / "newer").exists()


@enters
@pytest.mark.skipif(os.geteuid() != 0, reason="other users: in the name space of mmdebstrap")
def test_mounts_of_a_root_whose_making_is_killed_are_gone(
    checkout: Path, stubs: dict[str, str]
) -> None:
    (Path(stubs["PATH"].split(":")[0]) / "mmdebstrap").write_text(
        """#!/usr/bin/env bash
mkdir -p "${@: -2:1}/proc"
mount -t tmpfs tmpfs "${@: -2:1}/proc"
grep "${@: -2:1}" /proc/self/mounts > "$STUB_CALLS"
kill -KILL $$
"""
    )
    found = run(checkout / "environments" / "debian" / "release.sh", "newer", **stubs)
    assert found.returncode == 1
    assert "tmpfs" in Path(stubs["STUB_CALLS"]).read_text()
    assert str(checkout) not in Path("/proc/self/mounts").read_text()


def test_a_suite_is_a_word(checkout: Path) -> None:
    script = checkout / "environments" / "debian" / "release.sh"
    for wrong in ("../trixie", "", "Trixie"):
        found = run(script, wrong)
        assert found.returncode == 2, wrong
        assert "such as trixie" in found.stderr


# ---------------------------------------------------------------- in a session


def test_stacks_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOGAUGE_STACKS", raising=False)
    assert [stack["name"] for stack in chosen.stacks()] == ["openmpi", "mpich"]
    monkeypatch.setenv("IOGAUGE_STACKS", "mpich trixie-openmpi mpich")
    assert [stack["name"] for stack in chosen.stacks()] == ["mpich", "trixie-openmpi"]
    for wrong in ("trixie", "trixi-mpi", "-mpich", "a/b-mpich"):
        with pytest.raises(ConfigError, match=r"(use one of openmpi, |did you mean ')mpich"):
            debian.stack(wrong)


def test_a_releases_stack_has_nothing_of_the_machines_own() -> None:
    """Each path and command that it needs or starts is in its root, or was built for it."""
    for mpi in debian.MPIS:
        stack = debian.stack(f"newer-{mpi}")
        newer = debian.Debian("newer")
        own = (f"{newer.folder}/", f"{newer.prefix(mpi)}/")
        extras = stack["extras"]
        needs = [need for group in extras["needs"].values() for need in group]
        places = [need["what"] for need in needs]
        places += [stack["cc"], extras["launcher"]["command"], *extras["inside"]]
        assert [place for place in places if not place.startswith(own)] == []
        assert {need["from"].partition(":")[0] for need in needs} == {
            "environments/debian/release.sh newer"
        }


@pytest.mark.slow
def test_a_root_that_is_not_there_skips_with_the_command(tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("--system", "local", "-r", "-t", "smoke", "-n", "S3d.*fs=disk.*call=mpiio:collective"),
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_STACKS": "nosuch-mpich"},
    )
    (case,) = session.cases
    assert case["result"] == "skip"
    assert "environments/debian/release.sh nosuch" in case["skip_reason"]
