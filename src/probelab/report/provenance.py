"""Where everything comes from: tools, flags, devices, dates, digests, settings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from probelab.report import naming
from probelab.report.data import ProbeData, ReportData, Row
from probelab.report.markdown import code, first_line, table
from probelab.report.naming import listed
from probelab.report.sass import variant_label
from probelab.schema.tidy import Evidence


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
    settings = report.settings
    dispatches = [row["dispatch"] for row in rows if row["dispatch"] != "none"]
    cells = [
        ["probe", code(data.probe.name)],
        ["kernel", code(data.probe.kernel)],
        ["threads_per_block", per_block],
        ["warps_per_block", warps],
        ["blocks", _texts(row["blocks"] for row in rows)],
        ["repeat", str(settings.repeats) if settings else _repeats(rows)],
        ["warm-up", str(settings.warmup) if settings else ""],
        ["clock_budget_cycles", listed(_numbers(row["clock_budget_cycles"] for row in rows))],
        ["seed", listed(f"{value:g}" for value in sorted({row["seed"] for row in rows}))],
        ["focus", focus],
        ["placement", listed(dict.fromkeys(row["placement"] for row in rows))],
        ["dispatch (coresident)", listed(sorted(set(dispatches), reverse=True))],
        ["arch", listed(sorted(data.archs))],
        ["compile flags", code(" ".join(data.probe.flags)) or "none beside the lab's own"],
        ["backend", _backends(rows)],
    ]
    return table(["setting", "value"], cells)


def _numbers(values: Iterable[int]) -> list[str]:
    return [naming.whole(value) for value in sorted(set(values))]


def _repeats(rows: Sequence[Row]) -> str:
    return _texts(row["repeats"] for row in rows if naming.is_measured(row)) or "none measured"


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
            flags[" ".join(row.flags) or "none"].add(row.id.rpartition("-")[0])
    for own, probes in sorted(flags.items()):
        found.append(f"nvcc flags {code(own)}: {listed(sorted(probes))}.")
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
        f"{text} ({naming.count(number, 'launch', 'launches')})"
        for text, number in sorted(counted.items())
    ]


def kernels_table(data: ProbeData, evidence: Evidence) -> str:
    """A row per kernel: digests and resources."""
    cells = []
    for variant in data.variants:
        row = evidence.build.get(variant.id)
        roles = listed(variant.roles) if len(variant.roles) == 1 else f"{len(variant.roles)} roles"
        cells.append(
            [
                code(variant.id),
                roles,
                variant.arch,
                variant_label(variant),
                row.kernel_digest[:16] if row else "",
                row.source_digest[:16] if row else "",
                str(row.registers) if row and row.registers else "",
                str(row.spill_store_bytes + row.spill_load_bytes) if row else "",
                row.status if row else "missing",
            ]
        )
    cells.sort(key=lambda row: (row[2], row[3], row[0]))
    header = [
        "variant",
        "roles",
        "arch",
        "form",
        "kernel digest",
        "source digest",
        "registers",
        "spill bytes",
        "build",
    ]
    return table(header, cells, right=(6, 7))


def failed_builds(report: ReportData) -> list[str]:
    """Each failed build with its first error line."""
    found: dict[str, list[str]] = defaultdict(list)
    for probe in report.probes:
        for variant in probe.variants:
            row = report.evidence.build.get(variant.id)
            if row is not None and row.status != "ok":
                found[first_line(row.reason) or "no reason given"].append(variant.id)
    return [
        f"{text} ({listed([code(name) for name in names[:3]])}"
        f"{f' and {len(names) - 3} more' if len(names) > 3 else ''})"
        for text, names in sorted(found.items())
    ]
