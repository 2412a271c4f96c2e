"""What our log lines say in each mode, however the logger was set up before."""

from __future__ import annotations

import pytest

from tracer_hooks._guard import logger
from tracer_hooks.config import ContentCapture
from tracer_hooks.telemetry import Content, hold_logs
from tracer_hooks.telemetry._capture import ContentPolicy
from tracer_hooks.telemetry._redact import Redactor


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (ContentCapture.FULL, "a check said password=hunter2hunter of KeyError: 'password=hunter2hunter'"),
        (ContentCapture.REDACTED, "a check said password=[redacted] of KeyError: 'password=[redacted]'"),
        (ContentCapture.OFF, "a check said [withheld] of KeyError: KeyError"),
    ],
)
def test_a_message_is_looked_at_while_it_has_its_arguments(
    mode: ContentCapture, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = ContentPolicy(mode, Redactor())
    hold_logs(gate)
    secret = "password=hunter2hunter"
    logger.warning("a check said %s of %s: %s", Content(secret), "KeyError", KeyError(secret))
    assert caplog.messages == [said]
    assert gate is not None, "it holds for as long as it is in use"
