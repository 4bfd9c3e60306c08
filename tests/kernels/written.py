# SPDX-License-Identifier: BSD-3-Clause
"""Files that a run has written, for tests to copy, change and read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import iokernel_model as model
from iokernel_stacks import How, Stack


class Written:
    """Files kept by a --write-only run; tests take copies of them."""

    def __init__(self, stack: Stack, how: How, words: list[str], folder: Path) -> None:
        self.stack, self.how, self.words, self.folder = stack, how, words, folder
        folder.mkdir()
        run = stack.run(
            *words, *how.options(), "--dir", str(folder), "--keep", "--write-only",
            document=folder.with_suffix(".json"),
        )  # fmt: skip
        self.document: dict[str, Any] = run.good()

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.folder, to))

    def read(self, folder: Path, document: Path | None = None) -> Any:
        """A --read-only run with the same options."""
        words = [*self.words, *self.how.options(), "--dir", str(folder), "--read-only"]
        return self.stack.run(*words, document=document or folder.with_suffix(".json"))


Writer = Callable[[Stack, How, str], Written]

S3D = model.S3d()
IOR = model.Ior()
PATTERNS = {
    "s3d": ["s3d", *S3D.options(), "--steps", "2"],
    "ior": ["ior", *IOR.options(), "-C"],
    "ior-F": ["ior", *IOR.options(), "-F", "-C"],
}
