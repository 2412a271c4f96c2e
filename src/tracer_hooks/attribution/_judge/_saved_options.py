"""How a trained judge is asked: ``judge.json`` beside its weights."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracer_hooks.attribution._judge._options import JudgeOptions, variable_of
from tracer_hooks.attribution._weight_files import read_weights

JUDGE = "judge.json"
ASKED = ("protocol", "proposer", "top_k", "context_tokens", "reply_tokens", "step_chars")
"""The options that decide what a prompt looks like; a model is used as it was trained only with the same ones."""


def options_as_json(options: JudgeOptions) -> bytes:
    """What ``judge.json`` holds."""
    asked = {name: getattr(options, name) for name in ASKED}
    return (json.dumps({"attributor": "judge", "version": 1, "model": asked}, indent=1) + "\n").encode()


def saved_options(directory: Path) -> JudgeOptions:
    """The options of a folder with ``judge.json``; variables of the environment go before them.

    Raises:
        AttributionError: The file is missing, damaged, or of another version.
        ConfigError: A variable holds a value that cannot be used.
    """

    def made(document: dict[str, Any]) -> JudgeOptions:
        if document["version"] != 1:
            raise ValueError("it is of another version than 1")
        asked = {name: document["model"][name] for name in ASKED}
        JudgeOptions(**asked)
        return _under_environment(asked, str(directory))

    again = "train the judge again with `tracer-hooks train sft` or `train grpo`"
    return read_weights(directory / JUDGE, made, what="trained judge", again=again)


def _under_environment(asked: dict[str, Any], model: str) -> JudgeOptions:
    own = {name: value for name, value in asked.items() if not os.environ.get(variable_of(name), "").strip()}
    return replace(JudgeOptions.from_env(), model=model, base_url=None, **own)
