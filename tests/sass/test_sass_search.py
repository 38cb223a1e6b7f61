"""The first note's search."""

from probelab.sass import note_search

TEXT = "\n".join(
    ["Function : k", "a", "b", "c", "d", "FFMA R0", "e", "f", "fadd R1", "g", "h", "i"]
)


def test_matches_have_two_lines_of_context_and_overlaps_are_merged() -> None:
    assert note_search(TEXT).splitlines() == [
        "> Function : k",
        "  a",
        "  b",
        "  c",
        "  d",
        "> FFMA R0",
        "  e",
        "  f",
        "> fadd R1",
        "  g",
        "  h",
    ]


def test_separate_matches_are_set_apart() -> None:
    assert note_search("FMUL\n1\n2\n3\n4\n5\nFMUL", context=1) == "> FMUL\n  1\n\n  5\n> FMUL\n"


def test_no_match_is_empty() -> None:
    assert note_search("EXIT\n") == ""
    assert note_search("") == ""
