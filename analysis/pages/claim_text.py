# SPDX-License-Identifier: BSD-3-Clause
"""Judged claims as text, the same on the terminal and the page."""

from typing import Any

from ..judge.claim_criteria import Finding
from ..judge.claims import Judged


def row(judged: Judged) -> dict[str, Any]:
    told = judged.told
    held = sum(1 for finding in told if finding.holds)
    return {
        "claim": judged.claim.id,
        "verdict": judged.verdict,
        "says": judged.claim.says,
        "source": judged.claim.source,
        "cases": f"{held} of {len(told)}" if told else "",
        "measured": tuple(map(finding_text, judged.findings)),
        "published": tuple(
            dict.fromkeys(
                f"{finding.published.number} ({finding.published.origin})"
                for finding in judged.findings
                if finding.published
            )
        ),
        "missing": judged.missing,
        "command": judged.commands,
    }


def finding_text(finding: Finding) -> str:
    """`write_bw ...: 1.2 (1.1 to 1.3), published 5.13, local disk (ext4) openmpi, 2 processes`."""
    published = f", published {finding.published.number}" if finding.published else ""
    ends = f"{finding.value:.3g} ({finding.low:.3g} to {finding.high:.3g})"
    text = f"{finding.what} {ends}{published}, {finding.place.text}"
    if finding.place.crowded:
        text += f" on {finding.place.cores} cores, which is not conclusive"
    if finding.scale:
        text += f"; the claim is about {finding.scale} processes: a trend, which is not conclusive"
    return text


def origins(judged: Judged) -> list[str]:
    found = (finding.published.origin for finding in judged.findings if finding.published)
    return list(dict.fromkeys(found))
