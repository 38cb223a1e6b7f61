"""Timing: what each launch took on a GPU, in a recording, or by prediction."""

#: Version of what a stored measurement means: how a launch is set up, started and read back.
#: Raise it when a change makes new measurements not comparable with stored ones (kernel
#: arguments, warm-up, the record's layout, what lies between the launches). A raised version
#: measures everything again, so don't raise it for a refactoring, for another way to judge
#: records (stored records are judged anew each time) or for another form of the raw JSON.
HARNESS_VERSION = 1

__all__ = ["HARNESS_VERSION"]
