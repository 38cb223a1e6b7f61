"""The one kind of error that reaches a user as a line instead of a traceback."""


class ProbelabError(Exception):
    """Something outside of the code is wrong: a config, a file, a tool, a machine.

    Args:
        what: what is wrong, one line.
        where: the file, key, kernel or tool that it is about.
        hint: what the user can do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = " ".join(what.split())
        self.where = where
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.what}{hint}"


class ConfigError(ProbelabError):
    """The configuration asks for something that can't be."""


class ToolError(ProbelabError):
    """A tool that the lab calls is missing or failed."""


class DataError(ProbelabError):
    """A file that the lab reads is missing, damaged or not what it should be."""
