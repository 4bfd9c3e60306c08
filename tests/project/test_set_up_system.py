# SPDX-License-Identifier: BSD-3-Clause
"""What set-up does to the machine besides installing packages: nothing, with stand-ins of Debian's
commands, in a mount name space."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = "# iogauge set-up"
POLICY = "/usr/sbin/policy-rc.d"

# $1: the folder of stand-ins and of what they saw. Then what stands in the two folders, and set-up.
PREPARE = f"""set -e; cd "$1"
mount -t tmpfs none /usr/sbin; mount -t tmpfs none /etc/systemd/system
mkdir /etc/systemd/system/multi-user.target.wants
touch /etc/systemd/system/ssh.service
[ ! -e policy ] || cp policy {POLICY}
PATH=$1/bin:$PATH bash "$1/checkout/environments/debian/setup.sh" || status=$?
cp {POLICY} policy-after 2>/dev/null || :
exit "$status"
"""

STAND_INS = {
    "dpkg": "",
    "dpkg-query": "",
    "cgnscheck": "",
    # Of the two packages one is new, and enables its service; Debian prefers another mpicc then.
    "apt-get": f"""case "$*" in *install*) ;; *) exit 0 ;; esac
for service in newd newer.service ssh ssh.service; do
    status=0; {POLICY} --quiet $service start 2 || status=$?
    echo "$service $status" >> services
done
ln -s /x /etc/systemd/system/multi-user.target.wants/newd.service
printf '%s\\n' 'mpi auto /bin/false' 'awk auto /bin/true' 'mpirun auto /bin/false' > alternatives
exit $(cat apt-status)""",
    "update-alternatives": """case $1 in --get-selections) cat alternatives ;;
*) echo "$*" >> set ;; esac""",
    "systemctl": 'echo "$*" >> systemctl-said',
}


def set_up(place: Path, apt_status: int, policy: str = "") -> subprocess.CompletedProcess[str]:
    (place / "bin").mkdir()
    debian = place / "checkout" / "environments" / "debian"
    shutil.copytree(ROOT / "environments" / "debian", debian)
    for name, text in STAND_INS.items():
        file = place / "bin" / name
        file.write_text(f"#!/bin/bash\ncd {place}\n{text}\n")
        file.chmod(0o755)
    (place / "alternatives").write_text("mpi auto /bin/true\nawk auto /bin/true\ngone auto /none\n")
    (place / "apt-status").write_text(str(apt_status))
    if policy:
        (place / "policy").write_text(policy)
        (place / "policy").chmod(0o755)
    front = ["unshare", "--mount"]
    if os.geteuid() or subprocess.run([*front, "true"], check=False).returncode:
        pytest.skip("unshare: only root has a mount name space here")
    return subprocess.run(
        [*front, "bash", "-c", PREPARE, "-", str(place)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("apt_status", [0, 1])
@pytest.mark.parametrize("stale", ["", f"#!/bin/sh\n{MARK}\nexit 7\n"])
def test_no_service_starts_and_no_alternative_changes(
    apt_status: int, stale: str, tmp_path: Path
) -> None:
    """However the installation ends, also after a set-up that was killed."""
    done = set_up(tmp_path, apt_status, stale)
    assert done.returncode == 1, done.stderr  # the stand-ins install nothing
    assert (tmp_path / "services").read_text().split("\n")[:-1] == [
        "newd 101", "newer.service 101", "ssh 0", "ssh.service 0",
    ]  # fmt: skip
    assert not (tmp_path / "policy-after").exists()
    assert (tmp_path / "set").read_text() == "--set mpi /bin/true\n"
    assert (tmp_path / "systemctl-said").read_text() == "disable newd.service\n"
    assert "mpi stays /bin/true (" in done.stdout


def test_a_policy_of_the_machine_stays(tmp_path: Path) -> None:
    own = "#!/bin/sh\nexit 104\n"
    set_up(tmp_path, 0, own)
    assert (tmp_path / "services").read_text().startswith("newd 104\n")
    assert (tmp_path / "policy-after").read_text() == own


def test_off_debian_it_looks_for_programs_and_ends_with_two_ways(tmp_path: Path) -> None:
    debian = tmp_path / "checkout" / "environments" / "debian"
    shutil.copytree(ROOT / "environments" / "debian", debian)
    (tmp_path / "bin").mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name not in ("dpkg-query", "cmake", "mpicc"):
            (tmp_path / "bin" / program.name).symlink_to(program)
    words = ["/bin/bash", str(debian / "setup.sh")]
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 3
    first, *ways = done.stderr.splitlines()
    assert first == "set-up: this is not Debian, and PATH lacks: cmake mpicc"
    assert any("iogauge site new" in line for line in ways)
    assert any("iogauge run --site spack" in line for line in ways)


@pytest.mark.parametrize(("failures", "status"), [(0, 0), (2, 0), (3, 1)])
def test_a_download_has_three_chances(failures: int, status: int, tmp_path: Path) -> None:
    download = tmp_path / "download"
    download.write_text(f"""#!/bin/bash
echo try >> {tmp_path}/tries; echo "cut off"
(($(wc -l < {tmp_path}/tries) > {failures}))
""")
    download.chmod(0o755)
    common = ROOT / "environments" / "debian" / "common.sh"
    words = f"set -euo pipefail; . {common}; sleep() {{ :; }}; run_again {tmp_path}/log {download}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("cut off" in done.stderr) == bool(status)
    assert len((tmp_path / "tries").read_text().split()) == min(failures + 1, 3)
