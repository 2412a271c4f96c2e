"""What is known of an injected fault: how often the run failed with it, and succeeded without it."""

from __future__ import annotations

from pydantic import ValidationError

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Record, Usage


class VerificationRule(Record):
    """When an injected fault counts as verified.

    Raises:
        ConfigError: The numbers do not go together.
    """

    trials: int = 3
    """Runs with the fault at most."""
    failures: int = 2
    """How many of them have to fail."""
    controls: int = 3
    """Runs without it; all of them have to succeed."""

    def __init__(self, **fields: object) -> None:
        """Refuse rules that every fault, or none, would pass."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigError(
                f"VerificationRule: {error.errors(include_url=False)[0]['msg']}, got {fields!r}"
            ) from error
        if not 1 <= self.failures <= self.trials:
            raise ConfigError(
                f"{self.failures} failures of {self.trials} trials cannot be asked for, expected 1 up to the trials"
            )
        if self.controls < 0:
            raise ConfigError(f"controls is {self.controls}, expected 0 or more")


class Verification(Record):
    """Runs with the fault, and runs without it."""

    faulty_runs: int = 0
    """Runs with the fault."""
    faulty_failures: int = 0
    """How many of them failed, the agent acting otherwise at the step than without the fault."""
    control_runs: int = 0
    """Runs in which nothing was changed, with the same steps fixed."""
    control_passes: int = 0
    """How many of them succeeded."""
    runs: int = 0
    """Runs of the team that it took."""
    usage: Usage = Usage()
    """Tokens of their live model calls."""
    seconds: float = 0.0
    """Wall-clock time."""

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.usage.total

    def is_harmless(self, rule: VerificationRule) -> bool:
        """Whether too many runs with the fault succeeded for the rest to make up for it."""
        successes = self.faulty_runs - self.faulty_failures
        return successes > rule.trials - rule.failures

    def is_harmful(self, rule: VerificationRule) -> bool:
        """Whether enough runs with the fault failed."""
        return self.faulty_failures >= rule.failures
