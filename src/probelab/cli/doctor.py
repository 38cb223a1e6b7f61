"""`probelab doctor`."""

from pathlib import Path
from typing import Annotated

import typer

_STYLES = {"ok": "green", "warning": "yellow", "missing": "red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead.")] = False,
) -> None:
    """What this machine has and lacks, and what to do about each.

    Exit status 0 when the reproduction can run; it needs no GPU.
    """
    from probelab.cli.console import show  # noqa: PLC0415
    from probelab.doctor import diagnose  # noqa: PLC0415
    from probelab.doctor.diagnose import project_root  # noqa: PLC0415

    root = project_root(Path.cwd())
    diagnosis = diagnose(root)
    if as_json:
        from probelab.canonical import canonical_json  # noqa: PLC0415

        typer.echo(
            canonical_json(
                {
                    "ready": diagnosis.ready,
                    "gpu_ready": diagnosis.gpu_ready,
                    "checks": [check.model_dump() for check in diagnosis.checks],
                }
            )
        )
    else:
        rows, styles = [], []
        for check in diagnosis.checks:
            rows.append([check.status, check.name, check.found])
            styles.append(_STYLES[check.status])
            if check.hint:
                rows.append(["", "", f"→ {check.hint}"])
                styles.append("")
        show(["", "what", "found"], rows, styles)
        typer.echo("")
        typer.echo(
            "The reproduction can run here."
            if diagnosis.ready
            else "The reproduction can't run here yet: see what is missing."
        )
        typer.echo(
            "Kernels can be timed on this machine's GPU."
            if diagnosis.gpu_ready
            else "No timing on a GPU here: recordings and predictions are shown instead."
        )
    raise typer.Exit(0 if diagnosis.ready else 1)
