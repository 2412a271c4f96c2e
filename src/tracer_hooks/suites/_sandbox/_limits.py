"""What tested code may use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from tracer_hooks.errors import ConfigError

MIB: Final = 1024 * 1024
_ABOVE_ZERO: Final = ("wall_s", "cpu_s", "memory_mib", "file_mib", "disk_mib", "open_files")


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What the tested code may use. All of it holds with and without bubblewrap, but for ``disk_mib``."""

    wall_s: float = 10.0
    """Seconds for the code and all tests together; then everything it started is killed."""
    cpu_s: float = 5.0
    """Seconds of processor time, rounded up to whole ones."""
    memory_mib: int = 512
    """Address space, the interpreter's own included; less than 64 does not start."""
    file_mib: int = 4
    """Size of the largest file, and of everything printed."""
    disk_mib: int = 16
    """Size of all files together; without bubblewrap nothing holds the code to it."""
    open_files: int = 32
    """Files open at a time."""
    output_chars: int = 4000
    """Characters of the printed text that are kept."""

    def __post_init__(self) -> None:
        for name in _ABOVE_ZERO:
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise ConfigError(f"{name} must be a number above 0, got {value!r}")
        if self.output_chars < 0:
            raise ConfigError(f"output_chars must be 0 or more, got {self.output_chars!r}")

    def bounds(self) -> dict[str, int]:
        """The limits of the operating system, by their names in the module ``resource``."""
        return {
            "RLIMIT_CPU": math.ceil(self.cpu_s),
            "RLIMIT_AS": math.ceil(self.memory_mib * MIB),
            "RLIMIT_FSIZE": math.ceil(self.file_mib * MIB),
            "RLIMIT_NOFILE": math.ceil(self.open_files),
            "RLIMIT_NPROC": 0,
            "RLIMIT_CORE": 0,
        }
