"""`config/README.md` documents each key that the models know, and no other."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from probelab.config.models import Claim, Lab, Probe, Published, Role, Scope, Wording
from probelab.config.sweeps import Axes, Sweep
from probelab.schema.intent import Intent

SECTIONS: dict[str, type[BaseModel]] = {
    "## `config.yaml`: the lab": Lab,
    "## `probes/*.yaml`: a probe": Probe,
    "### `roles`: a role": Role,
    "### `intent`: what the SASS must show": Intent,
    "### `claims`: a claim": Claim,
    "### `scope`: a kernel form": Scope,
    "### `wording`: what must not be said": Wording,
    "## `sweeps/*.yaml`: a sweep": Sweep,
    "### `axes`: the values of a sweep": Axes,
    "### `published`: figures to show beside the lab's own": Published,
}


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under `heading`, without its head."""
    assert f"\n{heading}\n" in text, heading
    section = re.split(r"\n#{2,3} ", text.split(f"\n{heading}\n")[1])[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "config" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("heading", SECTIONS)
def test_each_key_is_documented(readme: str, heading: str):
    keys = [key for row in rows(readme, heading) for key in re.findall(r"`(\w+)`", row[0])]
    assert sorted(keys) == sorted(SECTIONS[heading].model_fields)


@pytest.mark.parametrize("heading", [h for h in SECTIONS if SECTIONS[h] not in (Lab, Intent)])
def test_needed_keys_are_marked(readme: str, heading: str):
    fields = SECTIONS[heading].model_fields
    for first, needed, *_ in rows(readme, heading):
        for key in re.findall(r"`(\w+)`", first):
            assert (needed == "yes") == fields[key].is_required(), key


def test_the_lab_needs_every_key():
    assert all(field.is_required() for field in Lab.model_fields.values())


def test_config_yaml_has_each_key_in_the_order_of_the_readme(readme: str, root: Path):
    text = (root / "config" / "config.yaml").read_text(encoding="utf-8")
    keys = re.findall(r"^(\w+):", text, flags=re.MULTILINE)
    assert keys == [row[0].strip("`") for row in rows(readme, "## `config.yaml`: the lab")]


def test_the_smallest_probe_is_one(readme: str):
    import yaml  # noqa: PLC0415

    (block,) = re.findall(r"```yaml\n(.*?)```", readme, flags=re.DOTALL)
    lines = [line[3:] for line in block.splitlines()]
    probe = Probe.model_validate(yaml.safe_load("\n".join(lines)))
    assert probe.role_names == ["one_way", "other_way"]
