# SPDX-License-Identifier: BSD-3-Clause
"""A session as gauges for Prometheus, read directly or through node_exporter."""

from collections.abc import Iterator, Sequence

from ..columns import columns
from ..session.model import CEILINGS, DIRECTIONS, LATENCY
from ..session.rows import Row, Table
from ..statistics.spread import Spread

MIB = 2**20
CASE = columns("metrics_case")

# Name without `iogauge_`, what it is, and labels.
METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "session_start_timestamp_seconds": ("Start of the session", ("session", "host")),
    "session_duration_seconds": ("Duration of the session", ("session", "host")),
    "session_cases": ("Number of cases by outcome", ("session", "outcome")),
    "verified": ("1 if the last runs of the case succeeded and every byte was verified", CASE),
    "bandwidth_bytes_per_second": ("Median of the repeats", (*CASE, "direction")),
    "ceiling_bytes_per_second": (
        "Median practical peak measured between the repeats",
        (*CASE, "direction", "kind"),
    ),
    "ceiling_ratio": ("Median share of the practical peak", (*CASE, "direction", "kind")),
    "call_seconds": (
        "Duration of single data-moving calls: median of the repeats",
        (*CASE, "direction", "of_calls"),
    ),
    "operations_per_second": ("Median of the repeats", (*CASE, "operation")),
    "repeats": ("Number of repeats", CASE),
}

Sample = tuple[str, Sequence[str], float]  # name, values of its labels, value


def openmetrics(table: Table) -> str:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.openmetrics.exposition import generate_latest

    families = {
        name: GaugeMetricFamily(f"iogauge_{name}", text, labels=[*labels])
        for name, (text, labels) in METRICS.items()
    }
    for name, labels, value in [*_of_session(table), *_of_rows(table)]:
        families[name].add_metric(labels, value)

    class Session:
        def collect(self) -> Iterator[GaugeMetricFamily]:
            yield from (family for family in families.values() if family.samples)

    registry = CollectorRegistry()
    registry.register(Session())
    return str(generate_latest(registry).decode())  # type: ignore[no-untyped-call]


def _of_session(table: Table) -> Iterator[Sample]:
    session = table.session
    about = (session.uuid, session.host)
    yield "session_start_timestamp_seconds", about, session.started.timestamp()
    yield "session_duration_seconds", about, session.seconds
    for outcome, count in sorted(table.counts().items()):
        yield "session_cases", (session.uuid, outcome), count


def _of_rows(table: Table) -> Iterator[Sample]:
    for row in table.ran:
        values = (getattr(row.run, name) for name in CASE)
        case = ["" if value is None else str(value) for value in values]
        yield "verified", case, float(row.outcome == "verified")
        if row.run.status != "ok":
            continue  # the numbers of a failed run mean nothing
        yield "repeats", case, len(row.samples)
        for direction in DIRECTIONS:
            if spread := row.bandwidth(direction):
                yield "bandwidth_bytes_per_second", (*case, direction), spread.median * MIB
            for name in LATENCY:
                if (seconds := row.latency(direction, name)) is not None:
                    yield "call_seconds", (*case, direction, name), seconds
        for operation, rate in row.rates.items():
            yield "operations_per_second", (*case, operation), rate
        yield from _ceilings(row, case)


def _ceilings(row: Row, case: Sequence[str]) -> Iterator[Sample]:
    for kind in CEILINGS:
        for direction in DIRECTIONS:
            both = [
                (own, peak)
                for sample in row.samples
                if (peak := sample.ceilings.get((kind, direction)))
                and (own := sample.bandwidth(direction))
            ]
            labels = (*case, direction, kind)
            if peaks := Spread.of(peak for _, peak in both):
                yield "ceiling_bytes_per_second", labels, peaks.median * MIB
            if parts := Spread.of(own / peak for own, peak in both):
                yield "ceiling_ratio", labels, parts.median
