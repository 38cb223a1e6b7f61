"""Where everything comes from: tools, flags, devices, dates, digests, settings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from probelab.report import naming
from probelab.report.data import ProbeData, ReportData, Row
from probelab.report.markdown import code, first_line, table
from probelab.report.naming import listed
from probelab.report.wording import quoted
from probelab.schema.plan import SUB_CORES, TimingSettings


def _texts(values: Iterable[object]) -> str:
    return ", ".join(sorted({str(value) for value in values if value not in ("", None)}))


def settings_table(data: ProbeData, report: ReportData) -> str:
    """The probe's settings under the names that the notes use."""
    rows = data.rows
    threads = sorted({(row["placement"], row["threads_per_block"]) for row in rows})
    per_block = "; ".join(
        f"{placement}: {listed([str(number) for own, number in threads if own == placement])}"
        for placement in dict.fromkeys(placement for placement, _ in threads)
    )
    warps = "; ".join(
        f"{placement}: {listed([str(number // 32) for own, number in threads if own == placement])}"
        for placement in dict.fromkeys(placement for placement, _ in threads)
    )
    references = list(dict.fromkeys(role.reference for role in data.probe.roles if role.reference))
    compared = sum(1 for role in data.probe.roles if role.reference)
    focus = f"progress of {naming.count(len(data.probe.roles), 'role')}"
    if references:
        named = [code(name) for name in references[:3]]
        more = [f"{len(references) - 3} more"] if len(references) > 3 else []
        focus += f"; {compared} of them against {listed([*named, *more])}"
    dispatches = [row["dispatch"] for row in rows if row["dispatch"] != "none"]
    cells = [
        ["probe", code(data.probe.name)],
        ["kernel", code(data.probe.kernel)],
        ["threads_per_block", per_block],
        ["warps_per_block", warps],
        ["blocks", _texts(row["blocks"] for row in rows)],
        ["repeat", _repeats(rows, report.settings)],
        ["warm-up", _warmup(rows, report.settings)],
        ["clock_budget_cycles", listed(_numbers(row["clock_budget_cycles"] for row in rows))],
        ["seed", listed(f"{value:g}" for value in sorted({row["seed"] for row in rows}))],
        ["focus", focus],
        ["placement", listed(dict.fromkeys(row["placement"] for row in rows))],
        ["dispatch (coresident)", listed(sorted(set(dispatches), reverse=True))],
        ["arch", listed(sorted(data.archs))],
        ["compile flags", code(" ".join(data.probe.flags)) or "none beside the lab's own"],
        ["backend", _backends(rows)],
        *_role_maps(data),
    ]
    return table(["setting", "value"], cells)


def _numbers(values: Iterable[int]) -> list[str]:
    return [naming.whole(value) for value in sorted(set(values))]


def _repeats(rows: Sequence[Row], settings: TimingSettings | None) -> str:
    """The repeats that were asked for, and those that there are where the two differ."""
    found: dict[str, set[int]] = {"in the recording": set(), "run": set()}
    for row in rows:
        if naming.is_measured(row):
            where = "in the recording" if row["backend"] == "recorded" else "run"
            found[where].add(row["repeats"])
    parts = [
        f"{listed(str(number) for number in sorted(numbers))} {where}"
        for where, numbers in found.items()
        if numbers
    ]
    known = found["in the recording"] | found["run"]
    if settings is None:
        return listed(str(number) for number in sorted(known)) or "none measured"
    if known == {settings.repeats}:
        return str(settings.repeats)
    return f"{settings.repeats} asked for; {listed(parts) or 'none measured'}"


def _warmup(rows: Sequence[Row], settings: TimingSettings | None) -> str:
    """The warm-up launches of what was run here; a recording doesn't say how many it had."""
    if settings is None:
        return ""
    backends = {row["backend"] for row in rows if naming.is_measured(row)}
    if not backends:
        return f"{settings.warmup} asked for; none measured"
    if "recorded" not in backends:
        return str(settings.warmup)
    return f"{settings.warmup} asked for; the recording doesn't say how many it had"


def _role_maps(data: ProbeData) -> list[list[str]]:
    """A row per sub-core of each coresident form: which roles share it, in which warp slots."""
    maps: dict[tuple[int, int], dict[int, str]] = {}
    for row in data.rows:
        if row["placement"] == "coresident":
            own = maps.setdefault((row["threads_per_block"], data.set_of(row["variant"])), {})
            own.update(dict.fromkeys(row["warp_slots"], row["role"]))
    several = {
        "threads": len({threads for threads, _ in maps}) > 1,
        "set": len({group for _, group in maps}) > 1,
    }
    found = []
    for (threads, group), slots in sorted(maps.items()):
        name = "role map"
        name += f", {threads} threads" if several["threads"] else ""
        name += f", set {group}" if several["set"] else ""
        for core in range(SUB_CORES):
            members: dict[str, list[str]] = defaultdict(list)
            for slot in sorted(slots):
                if slot % SUB_CORES == core:
                    members[slots[slot]].append(str(slot))
            shown = [f"{code(role)} in {_slots(own)}" for role, own in members.items()]
            if shown:
                found.append([f"{name}, sub-core {core}", "; ".join(shown)])
    return found


def _slots(numbers: Sequence[str]) -> str:
    return f"warp {'slot' if len(numbers) == 1 else 'slots'} {listed(numbers)}"


def _backends(rows: Sequence[Row]) -> str:
    """Which backends gave figures, by architecture."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row["arch"]].add(row["backend"] or "none")
    return "; ".join(
        f"{arch}: {listed(sorted(backends))}" for arch, backends in sorted(found.items())
    )


def sources_table(report: ReportData) -> str:
    """A row per architecture and source: device, driver, tools, dates."""
    grouped: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for run in report.runs:
        key = ("arch", "backend", "recording", "device", "device_uuid", "driver_version")
        grouped[tuple(run[name] for name in key)].append(run)
    cells = []
    for (arch, backend, recording, device, uuid, driver), runs in sorted(grouped.items()):
        dates = sorted(run["measured_at"] for run in runs if run["measured_at"])
        when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else ""
        cells.append(
            [
                arch,
                backend,
                recording,
                str(len(runs)),
                device,
                _texts(run["compute_capability"] for run in runs),
                uuid,
                driver,
                when,
                _texts(run["nvcc_version"] for run in runs),
                _texts(run["harness_version"] for run in runs),
            ]
        )
    header = [
        "arch",
        "backend",
        "recording",
        "launches",
        "device",
        "compute capability",
        "UUID",
        "driver",
        "measured (UTC)",
        "nvcc",
        "harness version",
    ]
    return table(header, cells, right=(3,))


def facts(report: ReportData) -> list[str]:
    """Clocks, throttling, flags, and what the model assumed for predicted launches."""
    found = []
    if report.clocks:
        low, high = report.clocks
        text = f"{low}" if low == high else f"{low} to {high}"
        found.append(f"SM clock of accepted repeats: {text} MHz.")
    if any(naming.is_measured(run) for run in report.runs):
        reasons = listed(report.throttle_reasons) or "none"
        found.append(f"Throttle reasons that the driver reported: {reasons}.")
    disassemblers = {row.disassembler_version for row in report.evidence.sass.values()}
    if disassemblers - {""}:
        found.append(f"Disassembler (cuobjdump): {_texts(disassemblers)}.")
    flags: dict[str, set[str]] = defaultdict(set)
    for row in report.evidence.build.values():
        if row.flags or row.status == "ok":
            flags[" ".join(row.flags)].add(row.id.rpartition("-")[0])
    for own, probes in sorted(flags.items()):
        given = f"nvcc flags {code(own)}" if own else "No nvcc flags beside the lab's own"
        found.append(f"{given}: {listed(sorted(probes))}.")
    for text in sorted({run["model_reason"] for run in report.runs if run["model_reason"]}):
        found.append(f"Predictions: {text.rstrip('.')}.")
    return found


def remarks(report: ReportData) -> list[str]:
    """What the timing station remarked on launches that have figures, with their number."""
    counted: dict[str, int] = defaultdict(int)
    for row in report.launches:
        if row["progress_mean"] is not None and row["shape_status"] != "broken" and row["reason"]:
            counted[first_line(row["reason"])] += 1
    return [
        f"{quoted(text)} ({naming.count(number, 'launch', 'launches')})"
        for text, number in sorted(counted.items())
    ]


def kernels_table(report: ReportData) -> str:
    """A row per probe and architecture: kernels, source digests, resources."""
    cells = []
    for data in report.probes:
        for arch in sorted(data.archs):
            variants = [variant for variant in data.variants if variant.arch == arch]
            found = [report.evidence.build.get(variant.id) for variant in variants]
            built = [row for row in found if row is not None and row.status == "ok"]
            cells.append(
                [
                    data.probe.name,
                    arch,
                    str(len(variants)),
                    str(len(built)),
                    _texts(row.source_digest[:16] for row in built),
                    _span([row.registers for row in built]),
                    _span([row.spill_store_bytes + row.spill_load_bytes for row in built]),
                ]
            )
    header = ["probe", "arch", "kernels", "built", "source digest", "registers", "spill bytes"]
    return table(header, cells, right=(2, 3, 5, 6))


def _span(values: Sequence[int]) -> str:
    return (
        "–".join(str(value) for value in dict.fromkeys((min(values), max(values))))
        if values
        else ""
    )
