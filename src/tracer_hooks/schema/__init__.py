"""The records of tracer-hooks: what happened in a run, what was wrong with it, and how we know."""

from tracer_hooks.schema._attribution import (
    AgentFault,
    Attribution,
    Candidate,
    Certainty,
    Evidence,
    EvidenceKind,
    ValueLink,
    ValueOrigin,
)
from tracer_hooks.schema._codec import from_dict, from_json, load_jsonl, save_jsonl, to_json
from tracer_hooks.schema._error_modes import ErrorMode
from tracer_hooks.schema._json import Json, Text, to_json_value, to_text
from tracer_hooks.schema._labels import DecisiveStep, LabeledTrajectory, LabelSource
from tracer_hooks.schema._trajectory import (
    SCHEMA_VERSION,
    AgentSpec,
    Record,
    RunKind,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
    Usage,
)

__all__ = [
    "SCHEMA_VERSION",
    "AgentFault",
    "AgentSpec",
    "Attribution",
    "Candidate",
    "Certainty",
    "DecisiveStep",
    "ErrorMode",
    "Evidence",
    "EvidenceKind",
    "Json",
    "LabelSource",
    "LabeledTrajectory",
    "Record",
    "RunKind",
    "RunOutcome",
    "Step",
    "StepInput",
    "StepKind",
    "Text",
    "ToolCall",
    "Trajectory",
    "Usage",
    "ValueLink",
    "ValueOrigin",
    "from_dict",
    "from_json",
    "load_jsonl",
    "save_jsonl",
    "to_json",
    "to_json_value",
    "to_text",
]
