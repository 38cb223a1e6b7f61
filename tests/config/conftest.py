"""A small project to make mistakes in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from probelab.config.load import Configuration, load, read_yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The project."""
    return ROOT


@pytest.fixture
def lab() -> dict[str, Any]:
    """The default settings of the lab, for one small probe."""
    return {**read_yaml(ROOT / "config" / "config.yaml"), "probes": ["small"]}


@pytest.fixture
def probe() -> dict[str, Any]:
    """A probe with two roles."""
    return {
        "name": "small",
        "title": "Small probe",
        "question": "Which is quicker?",
        "kernel": "small.cu",
        "roles": [
            {"name": "one", "intent": {"opcode": "FFMA", "chains": [7]}},
            {"name": "two", "reference": "one"},
        ],
        "claims": [
            {
                "id": "first",
                "statement": "One is ahead.",
                "source": "a note",
                "scope": {
                    "placement": "coresident",
                    "dispatch": "in_loop",
                    "threads_per_block": 256,
                },
                "expect": "one > two",
            }
        ],
    }


Load = Callable[[dict[str, Any], dict[str, Any]], Configuration]


@pytest.fixture
def load_small(tmp_path: Path) -> Load:
    """Loads given lab settings and one given probe from a project of their own."""

    def loading(lab: dict[str, Any], probe: dict[str, Any]) -> Configuration:
        for folder in ("config/probes", "kernels"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernels" / "small.cu").touch()
        path = tmp_path / "config" / "probes" / "small.yaml"
        path.write_text(yaml.safe_dump(probe, sort_keys=False), encoding="utf-8")
        return load(lab, tmp_path)

    return loading
