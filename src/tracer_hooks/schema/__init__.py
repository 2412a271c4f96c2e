"""The records of tracer-hooks: what happened in a run, what was wrong with it, and how we know."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.schema._attribution import ENVIRONMENT_FAULT as ENVIRONMENT_FAULT
    from tracer_hooks.schema._attribution import LIKELY_FROM as LIKELY_FROM
    from tracer_hooks.schema._attribution import MAX_FINDING_QUOTE as MAX_FINDING_QUOTE
    from tracer_hooks.schema._attribution import AgentFault as AgentFault
    from tracer_hooks.schema._attribution import Attribution as Attribution
    from tracer_hooks.schema._attribution import Candidate as Candidate
    from tracer_hooks.schema._attribution import Certainty as Certainty
    from tracer_hooks.schema._attribution import DecisiveStep as DecisiveStep
    from tracer_hooks.schema._attribution import ErrorMode as ErrorMode
    from tracer_hooks.schema._attribution import Evidence as Evidence
    from tracer_hooks.schema._attribution import EvidenceKind as EvidenceKind
    from tracer_hooks.schema._attribution import Explanation as Explanation
    from tracer_hooks.schema._attribution import ExplanationLine as ExplanationLine
    from tracer_hooks.schema._attribution import ExplanationQuote as ExplanationQuote
    from tracer_hooks.schema._attribution import Finding as Finding
    from tracer_hooks.schema._attribution import FindingKind as FindingKind
    from tracer_hooks.schema._attribution import FindingValues as FindingValues
    from tracer_hooks.schema._attribution import LabeledTrajectory as LabeledTrajectory
    from tracer_hooks.schema._attribution import LabelSource as LabelSource
    from tracer_hooks.schema._attribution import ValueLink as ValueLink
    from tracer_hooks.schema._attribution import ValueOrigin as ValueOrigin
    from tracer_hooks.schema._attribution import blames_environment as blames_environment
    from tracer_hooks.schema._attribution import explanation as explanation
    from tracer_hooks.schema._codec import KEPT_BESIDE as KEPT_BESIDE
    from tracer_hooks.schema._codec import from_dict as from_dict
    from tracer_hooks.schema._codec import from_json as from_json
    from tracer_hooks.schema._codec import load_jsonl as load_jsonl
    from tracer_hooks.schema._codec import save_jsonl as save_jsonl
    from tracer_hooks.schema._codec import to_json as to_json
    from tracer_hooks.schema._trajectory import SCHEMA_VERSION as SCHEMA_VERSION
    from tracer_hooks.schema._trajectory import AgentSpec as AgentSpec
    from tracer_hooks.schema._trajectory import Json as Json
    from tracer_hooks.schema._trajectory import Record as Record
    from tracer_hooks.schema._trajectory import RunKind as RunKind
    from tracer_hooks.schema._trajectory import RunOutcome as RunOutcome
    from tracer_hooks.schema._trajectory import Step as Step
    from tracer_hooks.schema._trajectory import StepInput as StepInput
    from tracer_hooks.schema._trajectory import StepKind as StepKind
    from tracer_hooks.schema._trajectory import Text as Text
    from tracer_hooks.schema._trajectory import ToolCall as ToolCall
    from tracer_hooks.schema._trajectory import Trajectory as Trajectory
    from tracer_hooks.schema._trajectory import Usage as Usage
    from tracer_hooks.schema._trajectory import to_json_value as to_json_value
    from tracer_hooks.schema._trajectory import to_text as to_text

__all__ = lazy_names(__name__)
