"""Read machine code: listings, control words, registers that an instruction uses, timed loops."""

from probelab.sass.control import Control, decode_control
from probelab.sass.flow import Loop, loops, timed_loop, timed_loops
from probelab.sass.kernel import Instruction, Kernel
from probelab.sass.listing import parse_listing, split_listing
from probelab.sass.registers import Access, access
from probelab.sass.search import note_search

__all__ = [
    "Access",
    "Control",
    "Instruction",
    "Kernel",
    "Loop",
    "access",
    "decode_control",
    "loops",
    "note_search",
    "parse_listing",
    "split_listing",
    "timed_loop",
    "timed_loops",
]
