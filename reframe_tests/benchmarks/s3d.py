# SPDX-License-Identifier: BSD-3-Clause
"""S3D-IO: four arrays of a combustion code, block-block-block, one shared file per dump."""

from dataclasses import dataclass

from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, scales

# yspecies(11), u(3), pressure and temp: float64 values in each grid point.
VALUES_PER_POINT = 11 + 3 + 1 + 1
BYTES_PER_VALUE = 8


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`grid`: points of the whole grid in x, y, z, or of each process with `per_process`.
    `split`: the process grid in x, y, z, if the scale is defined for one."""

    grid: tuple[int, int, int]
    per_process: bool = False
    split: tuple[int, int, int] | None = None


SCALES = {
    # Odd sizes, to test the remainders of an uneven division.
    "smoke": Scale((23, 19, 17), steps=2),
    # 62.5 MiB per dump.
    "laptop": Scale((80, 80, 80)),
    # 15 MiB per process and dump, the load that the S3D-IO document gives each process.
    "node": Scale((50, 50, 50), per_process=True),
    # The S3D-IO document's "test run with small data size and a short return time".
    "example": Scale((10, 10, 10), split=(2, 2, 1), steps=5),
    # The S3D-IO document's published run: 305.18 GiB, at 17 GiB/s.
    "paper": Scale((800, 800, 800), split=(16, 16, 16), steps=5, bandwidth=1000),
}

# The hints that S3D-IO itself sets before each file (set_io_hints in its io_profiling_m.f90), for
# its two methods, in the versions of the published run (1.1 to 1.2.1). Since 2019-07-21 it sets two
# PnetCDF hints instead, and so does s3d_io.x (kernels/compat).
UPSTREAM_CALLS = ("pnetcdf:collective", "pnetcdf:nonblocking")
UPSTREAM_HINTS = {
    "romio_ds_write": "disable",
    "romio_ds_read": "disable",
    "romio_no_indep_rw": "true",
}


@benchmark
class S3d(IoBenchmark):
    """Checkpoint of S3D (S3D-IO document; facts: x-fastest process order, CDF-5)."""

    descr = "S3D checkpoint"
    pattern = "s3d"
    call = axis(calls.names())
    scales = SCALES
    scale = axis(SCALES)

    def scale_processes(self) -> int | None:
        grid = SCALES[self.scale].split
        return grid and grid[0] * grid[1] * grid[2]

    def own_hints(self) -> dict[str, str]:
        """Another MPI-IO than ROMIO does not know them."""
        has_romio = "romio" in self.current_environ.features
        return UPSTREAM_HINTS if has_romio and self.call in UPSTREAM_CALLS else {}

    def process_grid(self) -> tuple[int, int, int]:
        """The scale's own, unless another number of processes was asked for."""
        fixed = SCALES[self.scale].split
        if fixed and self.clients == self.scale_processes():
            return fixed
        return scales.near_cubic(self.clients)

    def grid(self) -> tuple[int, int, int]:
        scale = SCALES[self.scale]
        times = self.process_grid() if scale.per_process or self.factor > 1 else (1, 1, 1)
        fewer = scale.split if self.factor > 1 and scale.split else (1, 1, 1)
        x, y, z = (n // b * a for n, a, b in zip(scale.grid, times, fewer, strict=True))
        return x, y, z

    def pattern_options(self) -> list[str]:
        points = "x".join(str(n) for n in self.grid())
        processes = "x".join(str(n) for n in self.process_grid())
        return [f"--grid {points}", f"--procs-grid {processes}"]

    def payload_bytes(self) -> int:
        x, y, z = self.grid()
        return x * y * z * VALUES_PER_POINT * BYTES_PER_VALUE * self.dumps
