"""gpu-probing-lab: what an instruction sequence costs on a GPU, and why."""

__version__ = "0.1.0"
