# SPDX-License-Identifier: BSD-3-Clause
"""Advice: the fastest that was seen, what it gains, and files that the libraries read."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

from iogauge.analysis.judge.advice import settings
from tests import analysis_made as made
from tests.analysis_recorded import DATA, run_analysis, s3d

CASES = {
    (s3d("mpiio:collective"), "openmpi"): [100.0] * 6,
    (s3d("posix"), "openmpi"): [300.0] * 6,
    (s3d("posix-shared"), "openmpi"): [50.0] * 6,
}


def test_golden_csv(tmp_path: Path) -> None:
    """Constant bandwidths of 300, 100 and 50: the gains over 100 are 3, 1 and 0.5."""
    store = made.store(tmp_path, [CASES], jobs=True)
    done = run_analysis(
        "advise", "--pattern", "s3d", "--system", "local", "--csv", "--store", store
    )
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    golden = list(csv.DictReader((DATA / "golden_advise.csv").open()))
    assert [{name: row[name] for name in golden[0]} for row in found] == golden


def test_in_words(tmp_path: Path) -> None:
    store = made.store(tmp_path, [CASES], jobs=True)
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--store", store)
    assert (
        "ram, smoke, 2 processes: posix on openmpi, no hints: 300 MiB/s, "
        "3.00 times mpiio:collective on the same stack (3.00 to 3.00)"
    ) in done.stdout


def test_nothing_to_advise(tmp_path: Path) -> None:
    store = made.store(tmp_path, [CASES])
    done = run_analysis("advise", "--pattern", "weather", "--system", "local", "--store", store)
    assert done.returncode == 3
    assert "no verified writes of pattern weather on local" in done.stderr


def test_files_of_the_fastest_one_with_hints(tmp_path: Path) -> None:
    values = {(s3d("mpiio:collective"), "mpich"): [100.0] * 6}
    session = made.session(tmp_path / "s", values)
    hints = {"romio_cb_write": "enable", "cb_nodes": "2", "nc_header_align_size": "1048576"}
    session.edit_document(
        s3d("mpiio:collective"), "mpich", lambda d: d["asked"].update(hints=hints)
    )
    from iogauge.cli import store_add

    store_add.ingest(session.report, tmp_path / "store")
    folder = tmp_path / "hints"
    done = run_analysis("advise", "--pattern", "s3d", "--system", "local", "--write", folder,
                        "--store", tmp_path / "store")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "romio-hints").read_text() == "cb_nodes 2\nromio_cb_write enable\n"
    sourced = subprocess.run(
        ["bash", "-c", f". {folder}/environment.sh; echo $ROMIO_HINTS; echo $PNETCDF_HINTS"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sourced.stdout.split() == [str(folder / "romio-hints"), "nc_header_align_size=1048576"]


def test_open_mpi_gets_its_own_file(tmp_path: Path) -> None:
    files = settings({"io_ompio_num_aggregators": "4"}, "OMPIO", tmp_path)
    assert files["mca-params.conf"] == "io = ompio\nio_ompio_num_aggregators = 4\n"
    assert "OMPI_MCA_mca_base_param_files" in files["environment.sh"]


def test_each_hint_goes_where_its_library_looks(tmp_path: Path) -> None:
    """ROMIO would not read the settings of Blue Gene, of OMPIO's frameworks and of HDF5."""
    files = settings(
        {"BGLOCKLESSMPIO_F_TYPE": "7", "sharedfp": "sm", "hdf5_alignment": "1", "cb_nodes": "2"},
        "ROMIO", tmp_path,
    )  # fmt: skip
    assert files["romio-hints"] == "cb_nodes 2\n"
    assert files["mca-params.conf"] == "sharedfp = sm\n"
    assert 'export BGLOCKLESSMPIO_F_TYPE="7"\n' in files["environment.sh"]
    assert "# hdf5_alignment=1: the program asks HDF5\n" in files["environment.sh"]
