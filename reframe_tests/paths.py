"""Where things are, relative to this file: no test depends on the folder it is started in."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "kernels"
TEMPLATES = ROOT / "templates"
BUILDS = ROOT / ".local" / "build"
ENVIRONMENTS = ROOT / "environments"
SPACK_STATE = ROOT / ".local" / "spack"
