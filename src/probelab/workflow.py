"""What the Snakefile asks while it is parsed: a pure function of config, code and tools.

Each station's parameters are canonical JSON of exactly what it reads, so that neither the
order of keys nor `1` for `1.0` nor a moved folder is a change.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from probelab.architectures import arch_order, base_arch
from probelab.build.sources import source_digest, source_files
from probelab.canonical import canonical_json, digest, digest_file
from probelab.codehash import code_hash
from probelab.config.load import Configuration, check_files, config_file, load
from probelab.config.models import Probe
from probelab.errors import ConfigError
from probelab.plan import plan, timing_settings
from probelab.schema.plan import Chunk
from probelab.timing.devices import pycuda_present, visible_gpus
from probelab.toolchain import Toolchain

#: Folders of data that comes with the project, relative to the root.
RECORDINGS = Path("data/recordings")
PUBLISHED = Path("data/published")

#: What the codegen station leaves in the results.
CODEGEN_FILES = (
    "cost_points.parquet",
    "cost_model.parquet",
    "regret.parquet",
    "verdicts.parquet",
    "rule.json",
    "probelab_accumulators.hpp",
)

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


def _shown(path: Path, root: Path) -> str:
    """`path` relative to the root where it lies in it, so that a moved project changes nothing."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


@dataclass(frozen=True)
class Workflow:
    """The plan of a run, in the words of the rules."""

    root: Path
    configuration: Configuration
    toolchain: Toolchain
    chunks: Mapping[str, Chunk]
    kernel_sources: Mapping[str, list[str]]
    #: Digests of the files that jobs read beside their input, as of when this was planned.
    files: Mapping[str, str]

    @classmethod
    def prepare(
        cls, config: Mapping[str, Any], root: Path, files: Iterable[Path] = ()
    ) -> "Workflow":
        """Check the configuration and plan the run.

        Args:
            config: the settings as Snakemake merged them.
            root: the project's root.
            files: the configuration files that they come from.

        Raises:
            ConfigError: with one line on the first thing that is wrong.
            ToolError: if the compiler is missing.
        """
        check_files(files, root)
        configuration = load(config, root)
        toolchain = Toolchain.find(configuration.lab.toolchain)
        for arch in configuration.lab.architectures:
            if arch not in toolchain.architectures:
                raise ConfigError(
                    f"architectures: nvcc {toolchain.nvcc_version} can't build {arch}",
                    where="config",
                    hint=f"it builds {', '.join(sorted(toolchain.architectures, key=arch_order))}",
                )
        # Now, where a fault ends the run with its line; Snakemake swallows what fails later.
        sources = {
            name: [_shown(path, root) for path in source_files(root / "kernels" / name)]
            for name in sorted({probe.kernel for probe in configuration.everything})
        }
        chunks = {chunk.id: chunk for chunk in plan(configuration)}
        digests = _file_digests(root, sources)
        return cls(root, configuration, toolchain, chunks, sources, digests)

    def probe(self, chunk: str) -> Probe:
        """The probe that a chunk belongs to."""
        name = self.chunks[chunk].probe
        return next(probe for probe in self.configuration.everything if probe.name == name)

    def sources(self, chunk: str) -> list[str]:
        """The kernel's source files, relative to the root where they lie in it."""
        return self.kernel_sources[self.probe(chunk).kernel]

    def manifests(self, station: str) -> list[str]:
        """Paths of a station's manifests, all chunks."""
        return [f"results/{station}/{chunk}.json" for chunk in self.chunks]

    @property
    def probe_files(self) -> list[str]:
        """The probes' configuration files, relative to the root where they lie in it."""
        paths = [config_file("probes", name, self.root) for name in self.configuration.lab.probes]
        return [_shown(path, self.root) for path in paths]

    @property
    def sweep_files(self) -> list[str]:
        """The sweeps' configuration files, relative to the root where they lie in it."""
        paths = [config_file("sweeps", name, self.root) for name in self.configuration.lab.sweeps]
        return [_shown(path, self.root) for path in paths]

    @property
    def tools(self) -> str:
        """Identity of the compiler and the disassembler."""
        own = self.toolchain
        environment = "".join(f", {name}={value}" for name, value in own.environment.items())
        return f"nvcc {own.nvcc_version}, cuobjdump {own.disassembler_version}{environment}"

    @staticmethod
    @cache
    def code(station: str) -> str:
        """Identity of a station's code.

        For timing it decides only which jobs start: measurements in the store are identified by
        the harness version, so that an edited library voids none of them.
        """
        return code_hash(f"probelab.{station}.station")

    def depends_on(self, station: str, chunk: str) -> dict[str, str]:
        """What a job depends on beside its input: digests by names for people."""
        rule, script = f"workflow/rules/{station}.smk", f"scripts/{station}.py"
        code = [self.code(station), self.files[rule], self.files[script]]
        kernel = f"kernels/{self.probe(chunk).kernel}"
        parts = {f"the code of {station}": digest(code), kernel: self.files[kernel]}
        if station in ("build", "sass"):
            parts["the compiler"] = digest([self.tools, self.configuration.lab.toolchain])
            asked: list[object] = [self.build_plan(chunk)]
        elif station == "shape":
            asked = [self.build_plan(chunk), self.intents(chunk), self.configuration.lab.strict]
        else:
            asked = [self.launch_plan(chunk)]
        if station == "timing":
            asked.append(self.timing_settings())
            parts[RECORDINGS.as_posix()] = self.recorded()
        return parts | {f"the configuration ({station} {chunk})": digest(asked)}

    def build_plan(self, chunk: str) -> str:
        """What *build* is to do: the variants."""
        return self.chunks[chunk].model_copy(update={"launches": []}).packed()

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
        return self.chunks[chunk].packed()

    def timing_settings(self) -> str:
        """How *timing* measures."""
        return canonical_json(timing_settings(self.configuration.lab).model_dump())

    def machine(self, chunk: str, *, here: bool = True, results: Path = Path("results")) -> str:
        """The GPUs that could time a chunk here, so that a new one is a reason to.

        A machine without one keeps what stands in the last result: measurements that were
        brought here are not to be made again as predictions.

        Args:
            chunk: its id.
            here: whether the job runs on this machine; on a cluster neither the run nor a job of
                it goes by the GPUs that happen to be on its own machine.
            results: where the last result is.
        """
        if self.configuration.lab.backend in ("recorded", "model"):
            return "[]"
        arch = base_arch(self.chunks[chunk].arch)
        gpus = [gpu for gpu in visible_gpus() if gpu.arch == arch] if here else []
        if gpus and pycuda_present():
            return canonical_json(sorted([gpu.uuid, gpu.driver_version] for gpu in gpus))
        try:
            last = json.loads((results / "timing" / f"{chunk}.json").read_bytes())
            known = str(last["machine"])
        except (OSError, ValueError, KeyError, TypeError):
            known = "[]"
        return canonical_json("cluster") if known == "[]" and not here else known

    def recorded(self) -> str:
        """Identity of the recordings that *timing* may take from."""
        return self.files[RECORDINGS.as_posix()]

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
                for probe in self.configuration.everything
            }
        )

    def descriptions(self) -> str:
        """What *report* reads of probes and sweeps, which is all of it."""
        return digest(
            [
                [probe.model_dump() for probe in self.configuration.probes],
                [
                    [one.sweep.model_dump(), [point.role for point in one.points]]
                    for one in self.configuration.sweeps
                ],
            ]
        )


def _file_digests(root: Path, kernels: Iterable[str]) -> dict[str, str]:
    """Digests of kernels with what they include, of rules, commands and recordings."""
    digests = {f"kernels/{name}": source_digest(root / "kernels" / name) for name in kernels}
    for station in STATIONS:
        for name in (f"workflow/rules/{station}.smk", f"scripts/{station}.py"):
            digests[name] = digest_file(root / name)
    recordings = sorted((root / RECORDINGS).glob("*.*"))
    digests[RECORDINGS.as_posix()] = digest([[path.name, digest_file(path)] for path in recordings])
    return digests
