"""What the Snakefile asks while it is parsed: a pure function of config, code and tools.

Each station's parameters are canonical JSON of exactly what it reads, so that neither the
order of keys nor `1` for `1.0` nor a moved folder is a change.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probelab.architectures import arch_order
from probelab.build.sources import source_files
from probelab.canonical import canonical_json, digest, digest_file
from probelab.codehash import code_hash
from probelab.config.load import Configuration, load, probe_file
from probelab.config.models import Probe
from probelab.errors import ConfigError
from probelab.plan import plan, timing_settings
from probelab.schema.plan import Chunk
from probelab.toolchain import Toolchain

#: Folders of data that comes with the project, relative to the root.
RECORDINGS = Path("data/recordings")
PUBLISHED = Path("data/published")

#: Stations that work chunk by chunk, in the order of the data.
STATIONS = ("build", "sass", "shape", "predict", "timing")


def own_python_first() -> None:
    """Make `python` in the jobs' commands the one that runs Snakemake.

    The commands can't name its path: they would then differ from machine to machine, and a
    changed command is a reason to run again.
    """
    os.environ["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    )


@dataclass(frozen=True)
class Workflow:
    """The plan of a run, in the words of the rules."""

    root: Path
    configuration: Configuration
    toolchain: Toolchain
    chunks: Mapping[str, Chunk]

    @classmethod
    def prepare(cls, config: Mapping[str, Any], root: Path) -> "Workflow":
        """Check the configuration and plan the run.

        Raises:
            ConfigError: with one line on the first thing that is wrong.
            ToolError: if the compiler is missing.
        """
        configuration = load(config, root)
        toolchain = Toolchain.find(configuration.lab.toolchain)
        for arch in configuration.lab.architectures:
            if arch not in toolchain.architectures:
                raise ConfigError(
                    f"architectures: nvcc {toolchain.nvcc_version} can't build {arch}",
                    where="config",
                    hint=f"it builds {', '.join(sorted(toolchain.architectures, key=arch_order))}",
                )
        return cls(root, configuration, toolchain, {c.id: c for c in plan(configuration)})

    def probe(self, chunk: str) -> Probe:
        """The probe that a chunk belongs to."""
        name = self.chunks[chunk].probe
        return next(probe for probe in self.configuration.probes if probe.name == name)

    def sources(self, chunk: str) -> list[str]:
        """The kernel's source files, relative to the root."""
        kernel = self.root / "kernels" / self.probe(chunk).kernel
        return [path.relative_to(self.root).as_posix() for path in source_files(kernel)]

    def manifests(self, station: str) -> list[str]:
        """Paths of a station's manifests, all chunks."""
        return [f"results/{station}/{chunk}.json" for chunk in self.chunks]

    @property
    def probe_files(self) -> list[str]:
        """The probes' configuration files, relative to the root where they lie in it."""
        paths = [probe_file(name, self.root) for name in self.configuration.lab.probes]
        return [
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
            for path in paths
        ]

    @property
    def tools(self) -> str:
        """Identity of the compiler and the disassembler."""
        return (
            f"nvcc {self.toolchain.nvcc_version}, cuobjdump {self.toolchain.disassembler_version}"
        )

    @staticmethod
    def code(station: str) -> str:
        """Identity of a station's code.

        For timing it decides only which jobs start: measurements in the store are identified by
        the harness version, so that an edited library voids none of them.
        """
        return code_hash(f"probelab.{station}.station")

    def build_plan(self, chunk: str) -> str:
        """What *build* is to do: the variants."""
        return canonical_json(self.chunks[chunk].model_copy(update={"launches": []}).model_dump())

    def intents(self, chunk: str) -> str:
        """What *shape* holds the variants against: role → intent."""
        names = {role for variant in self.chunks[chunk].variants for role in variant.roles}
        return canonical_json(
            {
                role.name: role.intent.model_dump()
                for role in self.probe(chunk).roles
                if role.name in names and role.intent is not None
            }
        )

    def launch_plan(self, chunk: str) -> str:
        """What *predict*, and after it *timing*, is to do: variants and launches."""
        return canonical_json(self.chunks[chunk].model_dump())

    def timing_settings(self) -> str:
        """How *timing* measures."""
        return canonical_json(timing_settings(self.configuration.lab).model_dump())

    def recorded(self) -> str:
        """Identity of the recordings that *timing* may take from."""
        files = sorted((self.root / RECORDINGS).glob("*.parquet"))
        return digest([[path.name, digest_file(path)] for path in files])

    @property
    def published(self) -> list[str]:
        """The published figures that *report* shows, relative to the root."""
        return [
            (PUBLISHED / probe.published.file).as_posix()
            for probe in self.configuration.probes
            if probe.published is not None
        ]

    def references(self) -> str:
        """What *analyse* reads of the probes: reference roles and claims."""
        return digest(
            {
                probe.name: [
                    {role.name: role.reference for role in probe.roles},
                    [claim.model_dump() for claim in probe.claims],
                ]
                for probe in self.configuration.probes
            }
        )

    def descriptions(self) -> str:
        """What *report* reads of the probes, which is all of it."""
        return digest([probe.model_dump() for probe in self.configuration.probes])
