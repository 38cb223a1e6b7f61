"""Fixtures of the timing station's tests."""

from pathlib import Path

import pytest

from probelab.timing.devices import Gpu, pycuda_present, visible_gpus
from tests.timing.timing_support import REFERENCE_SOURCE, Lab, compile_reference


@pytest.fixture(scope="session")
def reference_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host reference that agrees with the fake GPU."""
    return compile_reference(REFERENCE_SOURCE, tmp_path_factory.mktemp("ref") / "reference.so")


@pytest.fixture
def lab(tmp_path: Path, reference_library: Path) -> Lab:
    """An empty chunk with a fake GPU."""
    lab = Lab(tmp_path)
    lab.results.mkdir()
    (lab.results / "reference.so").write_bytes(reference_library.read_bytes())
    return lab


@pytest.fixture
def real_gpu() -> Gpu:
    """A GPU of this machine; the test is skipped without one."""
    gpus = visible_gpus()
    if not gpus or not pycuda_present():
        pytest.skip("needs an NVIDIA GPU and PyCUDA")
    return gpus[0]
