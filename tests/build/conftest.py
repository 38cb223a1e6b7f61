from __future__ import annotations

import pytest

from probelab.errors import ToolError
from probelab.toolchain import Toolchain
from tests.sass.sass_support import Compile, compiler


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    try:
        return Toolchain.find()
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def compile_cuda(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles CUDA source text for an architecture: `compile_cuda(source, 86, *flags)`."""
    return compiler(tmp_path_factory.mktemp)
