"""Which samples may be set against each other: roles under the same settings."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from probelab.analyse.samples import Sample, Source
from probelab.canonical import digest
from probelab.schema.plan import Chunk, Launch, Variant
from probelab.schema.tidy import Evidence, launches


def settings_columns(variant: Variant, launch: Launch) -> dict[str, Any]:
    """The columns that name a launch's settings."""
    return {
        "probe": variant.probe,
        "arch": variant.arch,
        "placement": variant.placement,
        "dispatch": variant.dispatch,
        "threads_per_block": launch.threads_per_block,
        "blocks": launch.blocks,
        "warps_per_sub_core": launch.warps_per_sub_core,
        "clock_budget_cycles": launch.clock_budget_cycles,
        "seed": launch.seed,
    }


def source_columns(source: Source | None) -> dict[str, str]:
    """The columns that name a source; empty texts for none."""
    return {
        "backend": source.backend if source else "",
        "recording": source.recording if source else "",
        "device": source.device if source else "",
        "device_uuid": source.device_uuid if source else "",
    }


def group_of(variant: Variant, launch: Launch) -> str:
    """Name of the group that a launch's roles are compared in.

    Roles of a coresident launch are compared within it, isolated roles with the other isolated
    launches of the same kernel file, flags and settings.
    """
    if variant.placement == "coresident":
        return launch.id
    settings = {
        **settings_columns(variant, launch),
        "kernel": variant.kernel,
        "flags": variant.flags,
        "defines": variant.defines,
    }
    return f"{variant.probe}-isolated-{digest(settings)[:12]}"


def same_source(left: Sample, right: Sample) -> str:
    """Why two samples may not be compared for where they come from; empty if they may."""
    if left.source == right.source:
        return ""
    if left.source.predicted != right.source.predicted:
        return "one of the two is measured and the other predicted"
    return "the two were measured in different runs"


@dataclass(frozen=True)
class Group:
    """All launches whose roles are compared with each other, timed or not."""

    name: str
    variants: list[Variant]
    launches: list[Launch]

    @cached_property
    def launch_of(self) -> dict[str, Launch]:
        """The launch that has a role (of several the first), in the variants' order of roles."""
        found: dict[str, Launch] = {}
        for variant, launch in zip(self.variants, self.launches, strict=True):
            for role in variant.roles:
                found.setdefault(role, launch)
        return found

    @property
    def roles(self) -> list[str]:
        """All roles, in the variants' order."""
        return list(self.launch_of)


class Groups:
    """The samples of a plan and the groups that they fall into."""

    def __init__(
        self, plan: Sequence[Chunk], samples: dict[tuple[str, str], Sample], evidence: Evidence
    ) -> None:
        self.plan = plan
        self.samples = samples
        self._evidence = evidence
        self._group_of: dict[str, str] = {}
        members: dict[str, list[tuple[Variant, Launch]]] = defaultdict(list)
        for variant, launch in launches(plan):
            name = group_of(variant, launch)
            self._group_of[launch.id] = name
            members[name].append((variant, launch))
        self.groups = {
            name: Group(name, [variant for variant, _ in pairs], [launch for _, launch in pairs])
            for name, pairs in members.items()
        }

    def broken(self, sample: Sample) -> bool:
        """Whether the sample's kernel is not what was meant."""
        return self._evidence.shape_status(sample.variant.id) == "broken"

    def sample(self, group: Group, role: str) -> Sample | None:
        """What `role` did in a group; None if the group hasn't it or it has no time."""
        launch = group.launch_of.get(role)
        return self.samples.get((launch.id, role)) if launch else None

    def companion(self, sample: Sample, role: str) -> Sample | None:
        """What `role` did in the group of `sample`."""
        return self.sample(self.groups[self._group_of[sample.launch.id]], role)

    def comparable(self, group: Group) -> dict[Source, list[Sample]]:
        """The usable samples of a group whose shape isn't broken, by source."""
        found: dict[Source, list[Sample]] = defaultdict(list)
        for role in group.roles:
            sample = self.sample(group, role)
            if sample is not None and sample.usable and not self.broken(sample):
                found[sample.source].append(sample)
        return dict(found)
