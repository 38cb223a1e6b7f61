"""Does the machine code have the shape that a role declares?"""

from probelab.shape.verdict import check

__all__ = ["check"]
