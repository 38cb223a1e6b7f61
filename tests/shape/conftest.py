from __future__ import annotations

import pytest

from tests.sass.sass_support import Compile, compiler


@pytest.fixture(scope="session")
def compile_cuda(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles CUDA source text for an architecture: `compile_cuda(source, 86, *flags)`."""
    return compiler(tmp_path_factory.mktemp)
