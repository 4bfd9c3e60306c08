# SPDX-License-Identifier: BSD-3-Clause
"""MANIFEST: the sha256 of each file of a bundle, for `sha256sum --check`; and its signature."""

import hashlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import AnalysisError
from .archive import CHUNK, BadBundleError

MANIFEST = "MANIFEST"
SIGNATURE = "MANIFEST.sig"
NAMESPACE = "iogauge-bundle"  # keeps signatures made for other purposes out
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")
_SECONDS = 60


def digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while some := file.read(CHUNK):
            found.update(some)
    return found.hexdigest()


def write(folder: Path, names: Sequence[str]) -> None:
    lines = [f"{digest(folder / name)}  {name}\n" for name in names]
    (folder / MANIFEST).write_text("".join(lines))


def problems(folder: Path, names: Sequence[str]) -> list[str]:
    """The files of `names` that differ from MANIFEST. Raises BadBundleError."""
    if MANIFEST not in names:
        raise BadBundleError(f"it has no {MANIFEST}")
    listed: dict[str, str] = {}
    for line in (folder / MANIFEST).read_text(encoding="ascii", errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if not match or match[2] in listed:
            raise BadBundleError(f"{MANIFEST}: {line!r:.100} is not a valid line, or appears twice")
        listed[match[2]] = match[1]
    there = [name for name in names if name not in (MANIFEST, SIGNATURE)]
    return [
        *(f"{name}: was removed" for name in listed if name not in there),
        *(f"{name}: was added" for name in there if name not in listed),
        *(
            f"{name}: was changed: its sha256 differs from {MANIFEST}"
            for name in there
            if name in listed and digest(folder / name) != listed[name]
        ),
    ]


def sign(folder: Path, key: Path) -> None:
    done = _keygen("sign", "-f", str(key), "-n", NAMESPACE, str(folder / MANIFEST))
    if done.returncode or not (folder / SIGNATURE).exists():
        raise AnalysisError(f"{key}: cannot sign: {_output(done)}")


def signer(folder: Path, allowed: Path) -> tuple[str, str]:
    """The signer, if listed in the file `allowed`; else empty, and why not."""
    signature = folder / SIGNATURE
    if not signature.exists():
        return "", "it is not signed"
    found = _keygen("find-principals", "-s", str(signature), "-f", str(allowed))
    names = found.stdout.decode(errors="replace").split("\n")[0].split(",")
    if found.returncode or not names[0]:
        return "", f"not signed by anybody in {allowed}"
    checked = _keygen(
        "verify",
        "-f",
        str(allowed),
        "-I",
        names[0],
        "-n",
        NAMESPACE,
        "-s",
        str(signature),
        given=(folder / MANIFEST).read_bytes(),
    )
    if checked.returncode:
        return "", f"the signature is not of this {MANIFEST}: {_output(checked)}"
    return names[0], ""


def _keygen(action: str, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", action, *words],
            input=given,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except OSError as error:
        raise AnalysisError(f"ssh-keygen (OpenSSH 8.1 or newer): {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise AnalysisError(
            "ssh-keygen waits for input; a key with a passphrase needs ssh-agent"
        ) from None


def _output(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode(errors="replace").split("\n")
    return " ".join(line.strip() for line in lines if line.strip()) or f"status {done.returncode}"
