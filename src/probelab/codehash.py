"""Which code a station consists of, as a digest: an edit of it redoes the station."""

import ast
from functools import cache
from pathlib import Path

from probelab.canonical import digest, digest_bytes

PACKAGE = Path(__file__).resolve().parent


def _file_of(module: str) -> Path | None:
    """The file of a module of this package, None for others."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts[1:])
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


@cache
def _parsed(path: Path) -> tuple[str, frozenset[str]]:
    """Digest of a file, and the modules of this package that it imports."""
    source = path.read_bytes()
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    own = frozenset(module for module in modules if module.split(".")[0] == PACKAGE.name)
    return digest_bytes(source), own


def closure(module: str) -> dict[str, str]:
    """Digest of each file that `module` runs or reads: its imports, and its packages' data.

    Keys are paths relative to the package, so that moving the project changes nothing.
    """
    found: dict[str, str] = {}
    waiting = [module]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _file_of(name)
        if path is None:
            continue
        content, imports = _parsed(path)
        found[path.relative_to(PACKAGE).as_posix()] = content
        # A package's data files (tables, templates) count as its code.
        if path.name == "__init__.py" and path.parent != PACKAGE:
            for data in sorted(path.parent.rglob("*")):
                if data.is_file() and data.suffix in (".yaml", ".j2"):
                    found[data.relative_to(PACKAGE).as_posix()] = digest_bytes(data.read_bytes())
        waiting += sorted(imports)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return found


def code_hash(*modules: str) -> str:
    """16 hex digits that stand for all code of `modules` and of what they import."""
    files: dict[str, str] = {}
    for module in modules:
        files |= closure(module)
    return digest(files)[:16]
