from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sass"))

from sass_support import Compile, compiler


@pytest.fixture(scope="session")
def compile_cuda(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles CUDA source text for an architecture: `compile_cuda(source, 86, *flags)`."""
    return compiler(tmp_path_factory.mktemp)
