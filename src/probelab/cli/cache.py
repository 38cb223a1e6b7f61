"""`probelab cache`: the content-addressed store."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Look after the store of what was built and timed.")

CacheOption = Annotated[
    Path, typer.Option("--cache", help="Root of the store.", file_okay=False, show_default=True)
]
_DEFAULT = Path(".cache")


@app.command()
def stats(cache: CacheOption = _DEFAULT) -> None:
    """What the store holds, by station."""
    from probelab import storekeeping  # noqa: PLC0415
    from probelab.cli.console import show  # noqa: PLC0415
    from probelab.doctor.check import size  # noqa: PLC0415

    found = storekeeping.stats(cache)
    rows = [
        [station, f"{use.entries} entries", f"{use.files} files", size(use.bytes)]
        for station, use in found.items()
    ]
    total = size(sum(use.bytes for use in found.values()))
    entries = sum(use.entries for use in found.values())
    files = sum(use.files for use in found.values())
    rows.append(["all", f"{entries} entries", f"{files} files", total])
    show(["station", "entries", "files", "size"], rows)
    typer.echo(f"work done so far: {storekeeping.work_done(cache)} pieces")


@app.command()
def verify(
    cache: CacheOption = _DEFAULT,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove what is damaged; the next run makes it anew.")
    ] = False,
) -> None:
    """Hold every entry against the digests that were stored with it.

    Exit status 1 if something is damaged and stays.
    """
    from probelab import store, storekeeping  # noqa: PLC0415

    verdict = storekeeping.verify(cache)
    for damage in verdict.damaged:
        typer.echo(f"{damage.entry}: {damage.reason}")
        if remove:
            store.remove_entry(damage.entry)
    unknown = f", {verdict.unknown} without digests" if verdict.unknown else ""
    removed = " and removed" if remove and verdict.damaged else ""
    typer.echo(
        f"{verdict.checked} entries checked, {len(verdict.damaged)} damaged{removed}{unknown}"
    )
    if verdict.damaged and not remove:
        typer.echo(
            "results may hold links to them; remove them with --remove, then run snakemake "
            "--forcerun build"
        )
        raise typer.Exit(1)


@app.command()
def gc(
    keep_days: Annotated[
        float, typer.Option(min=0, help="Keep what a run has used in so many days.")
    ],
    cache: CacheOption = _DEFAULT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove what no run has used for long, and what killed runs left.

    Results keep their files. Don't use --keep-days 0 while a run is under way.
    """
    from probelab import storekeeping  # noqa: PLC0415
    from probelab.doctor.check import size  # noqa: PLC0415

    removal = storekeeping.remove_unused(cache, keep_days, dry_run=dry_run)
    typer.echo(
        f"{'would remove' if dry_run else 'removed'} {removal.entries} entries and "
        f"{removal.leftovers} leftovers, {size(removal.bytes)} of disk"
    )
