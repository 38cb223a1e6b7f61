"""Check the variants of a chunk against the intents of their roles."""

import json

from probelab.errors import DataError
from probelab.schema.intent import Intent
from probelab.schema.manifests import BuildManifest, SassManifest
from probelab.script import Options, parser, run, tell
from probelab.shape.station import shape_chunk
from probelab.store import Store


def intents(text: str) -> dict[str, Intent]:
    """Role → intent, from JSON."""
    return {role: Intent.model_validate(intent) for role, intent in json.loads(text).items()}


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    store = Store(options.cache)
    manifest = shape_chunk(
        options.plan,
        options.intents,
        BuildManifest.read(options.build),
        SassManifest.read(options.sass),
        options.out.parents[1],
        store,
    )
    broken = [row for row in manifest.rows if row.status == "broken"]
    if options.strict and broken:
        raise DataError(
            f"shape broken: {broken[0].reason}",
            where=broken[0].id,
            hint=f"{len(broken)} variant(s) of this chunk; `strict: true` makes this an error",
        )
    manifest.write(options.out)
    tell(manifest.chunk, "kernel(s) haven't the intended shape", [row.reason for row in broken])
    return store


if __name__ == "__main__":
    arguments = parser(__doc__, "--plan", "--build", "--sass", "--cache", "--out")
    arguments.add_argument("--intents", type=intents, required=True, help="role → intent, as JSON")
    arguments.add_argument("--strict", action="store_true", help="a broken shape is an error")
    run(main, arguments)
