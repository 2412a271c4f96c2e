"""Whole records through the gate: what may be kept of a trajectory, and of a diagnosis."""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from tracer_hooks.schema import AgentSpec, Attribution, Evidence, Step, ToolCall, Trajectory
from tracer_hooks.telemetry._content_gate import ContentGate


def gated_trajectory(trajectory: Trajectory, gate: ContentGate) -> Trajectory:
    """``trajectory`` as ``gate`` lets it through: its own mode decides how much of it there is."""
    if gate.is_open:
        return trajectory
    return trajectory.model_copy(
        update={
            "team": gate.name(trajectory.team),
            "task": gate.text(trajectory.task),
            "agents": tuple(_agent(one, gate) for one in trajectory.agents),
            "steps": tuple(_step(one, gate) for one in trajectory.steps),
            "outcome_reason": gate.optional(trajectory.outcome_reason),
            "final_output": gate.optional(trajectory.final_output),
            "reference": gate.optional(trajectory.reference),
        }
    )


def gated_attribution(attribution: Attribution, gate: ContentGate) -> Attribution:
    """``attribution`` as ``gate`` lets it through; in the mode ``off`` without evidence, which quotes."""
    if gate.is_open:
        return attribution
    names = {"agent": _name(attribution.agent, gate), "abstained_reason": _name(attribution.abstained_reason, gate)}
    return attribution.model_copy(
        update={
            **names,
            "candidates": tuple(
                one.model_copy(update={"agent": gate.name(one.agent)}) for one in attribution.candidates
            ),
            "faults": tuple(one.model_copy(update={"agent": gate.name(one.agent)}) for one in attribution.faults),
            "evidence": _evidence(attribution.evidence, gate),
            "spread": _evidence(attribution.spread, gate),
            "provenance": ()
            if gate.is_shut
            else tuple(
                one.model_copy(update={"value": gate.text(one.value), "note": gate.text(one.note)})
                for one in attribution.provenance
            ),
        }
    )


def _evidence(found: tuple[Evidence, ...], gate: ContentGate) -> tuple[Evidence, ...]:
    if gate.is_shut:
        return ()
    return tuple(one.model_copy(update={"quote": gate.text(one.quote), "why": gate.text(one.why)}) for one in found)


def _agent(spec: AgentSpec, gate: ContentGate) -> AgentSpec:
    tools = tuple(gate.name(tool) for tool in spec.tools)
    instructions = gate.optional(spec.instructions)
    return spec.model_copy(update={"name": gate.name(spec.name), "instructions": instructions, "tools": tools})


def _step(step: Step, gate: ContentGate) -> Step:
    inputs = tuple(
        one.model_copy(update={"source": gate.name(one.source), "text": gate.optional(one.text)}) for one in step.inputs
    )
    return step.model_copy(
        update={
            "agent": gate.name(step.agent),
            "content": gate.text(step.content),
            "inputs": inputs,
            "tool_calls": tuple(_call(one, gate) for one in step.tool_calls),
            "recipient": _name(step.recipient, gate),
            "error": None if step.error is None else gate.needed(step.error),
        }
    )


def _call(call: ToolCall, gate: ContentGate) -> ToolCall:
    return call.model_copy(
        update={
            "name": gate.name(call.name),
            "arguments": cast(JsonValue, gate.value(call.arguments)),
            "result": gate.optional(call.result),
            "error": None if call.error is None else gate.needed(call.error),
        }
    )


def _name(name: str | None, gate: ContentGate) -> str | None:
    return None if name is None else gate.name(name)
