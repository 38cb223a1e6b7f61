"""Make the synthetic lab of tests/aggregate importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "aggregate"))
