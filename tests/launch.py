# SPDX-License-Identifier: BSD-3-Clause
"""How a stack starts programs."""

from iogauge.measure.kernels import environ


def launch_words(stack: str) -> list[str]:
    """The stack's launcher, up to `-n N`, without options that only root needs."""
    launcher = environ(stack)["extras"]["launcher"]
    options = [word for option in launcher["options"] for word in option.split()]
    return [launcher["command"], *(word for word in options if word != "--allow-run-as-root")]
