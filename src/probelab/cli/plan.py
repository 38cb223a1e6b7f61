"""`probelab plan`: what a run would consist of, before it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

_ROOT = Path()


def plan(
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-C", help="key=value, as Snakemake's; may be repeated."),
    ] = None,
    configfile: Annotated[
        Path | None, typer.Option(help="Keys that differ from config/config.yaml.", dir_okay=False)
    ] = None,
    root: Annotated[Path, typer.Option(help="The project.", file_okay=False)] = _ROOT,
    variants: Annotated[bool, typer.Option("--list", help="Also every variant.")] = False,
) -> None:
    """Count variants, launches and jobs, and estimate their time from earlier runs."""
    from probelab import pace  # noqa: PLC0415
    from probelab.cli.console import show  # noqa: PLC0415
    from probelab.config.load import load  # noqa: PLC0415
    from probelab.plan import plan as planned  # noqa: PLC0415

    configuration = load(_settings(root, config or [], configfile), root.resolve())
    chunks = planned(configuration)
    known = pace.paces(root / configuration.lab.cache)
    rows = []
    total = [0, 0, 0]
    for probe, arch in dict.fromkeys((chunk.probe, chunk.arch) for chunk in chunks):
        own = [chunk for chunk in chunks if (chunk.probe, chunk.arch) == (probe, arch)]
        counts = [
            sum(len(chunk.variants) for chunk in own),
            sum(len(chunk.launches) for chunk in own),
            len(own),
        ]
        total = [sum(pair) for pair in zip(total, counts, strict=True)]
        rows.append([probe, arch, *(f"{count:,}" for count in counts), _time(known, *counts)])
    rows.append(["all", "", *(f"{count:,}" for count in total), _time(known, *total)])
    show(["probe", "arch", "variants", "launches", "chunks", "from nothing, one core"], rows)
    if variants:
        for chunk in chunks:
            for variant in chunk.variants:
                typer.echo(f"{variant.id}  {chunk.id}  {', '.join(variant.roles)}")


def _settings(root: Path, config: list[str], configfile: Path | None) -> dict[str, Any]:
    """The lab's settings, in Snakemake's order of precedence."""
    import yaml  # noqa: PLC0415

    from probelab.config.load import read_yaml  # noqa: PLC0415
    from probelab.errors import ConfigError  # noqa: PLC0415

    settings = dict(read_yaml(root / "config" / "config.yaml"))
    if configfile is not None:
        settings |= read_yaml(configfile)
    for item in config:
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"{item!r} is not of the form key=value", where="--config")
        settings[key] = yaml.safe_load(value) if value else ""
    return settings


def _time(known: dict[str, Any], variants: int, launches: int, chunks: int) -> str:
    """The estimate in words; it leaves out what is already in the store."""
    if not known:
        return "no earlier run"
    pieces = {"timing": launches}
    seconds = sum(
        pace.seconds(chunks, pieces.get(station, variants)) for station, pace in known.items()
    )
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
