"""Names of architectures: sm_86, sm_90a."""


def base_arch(arch: str) -> str:
    """`sm_90` for `sm_90` and `sm_90a`: the part that a device's compute capability decides."""
    return arch.rstrip("af")


def arch_order(arch: str) -> tuple[int, str]:
    """Sort key: sm_75 before sm_100."""
    digits = "".join(character for character in arch if character.isdigit())
    return int(digits or 0), arch
