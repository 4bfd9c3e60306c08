# SPDX-License-Identifier: BSD-3-Clause
"""S3D through each MPI-IO component of a stack, and with PnetCDF's aggregation within a node."""

from typing import Any

from iogauge.common.hints import Hints
from reframe_tests.benchmarks.s3d import S3d
from reframe_tests.framework.labels import Label
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine.components import COMPONENTS, Component, missing


@benchmark
class Components(S3d):
    """`component` selects hints and OMPI_MCA_io; what was in use is checked."""

    descr = "S3D, MPI-IO components"
    apart = "components"
    features = "+components"
    component = axis(COMPONENTS)
    call = axis(["mpiio:collective", "hdf5:collective"])
    scale = axis(["smoke", "laptop", "node"])
    has_label = True

    @property
    def the_component(self) -> Component:
        return COMPONENTS[self.component]

    def label_hints(self) -> Label:
        return dict(self.the_component.hints)

    @property
    def sorted_hints(self) -> Hints:
        found = super().sorted_hints
        chosen = {**found.environment, **self.the_component.environment}
        return Hints(found.mpi, chosen, found.variables)

    def hint_conflict(self) -> str | None:
        environ = self.current_environ
        here = missing(environ.name, environ.extras, self.component)
        return here or super().hint_conflict()

    def label_in_use(self, used: dict[str, Any]) -> tuple[list[str], list[str]]:
        wrong, silent = super().label_in_use(used)
        right = self.the_component.mpi_io
        if used["mpi_io"] != right:
            wrong.append(f"MPI-IO was {used['mpi_io']}, the test's name stands for {right}")
        return wrong, silent


@benchmark
class Aggregation(S3d):
    """`aggregators` of each node write for its processes (PnetCDF 1.14); 0: each for itself."""

    descr = "S3D, PnetCDF's aggregation within a node"
    apart = "aggregation"
    features = "+pnetcdf-aggregation"
    aggregators = axis(["0", "1", "2"])
    call = axis(["pnetcdf:collective", "pnetcdf:nonblocking"])
    scale = axis(["smoke", "laptop", "node"])
    has_label = True

    def label_hints(self) -> Label:
        return {"nc_num_aggrs_per_node": self.aggregators}
