"""Every attribute key that tracer-hooks reads or writes, once.

OpenTelemetry's GenAI conventions are in development and have moved to a repository of their own
(open-telemetry/semantic-conventions-genai); the constants in ``opentelemetry-semantic-conventions`` are deprecated. So
the names are kept here, pinned to ``GENAI_VERSION``. OpenInference keys stand beside them for Phoenix and other
readers.
"""

from __future__ import annotations

from typing import Final

GENAI_VERSION: Final = "1.42.0-dev"
"""The edition of the GenAI conventions that these names follow."""
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/gen-ai-dev/{GENAI_VERSION}"
"""What our spans name as their schema, so that a reader knows the edition."""

# --- GenAI: operations ---------------------------------------------------------------------------------------------
OP_INVOKE_WORKFLOW: Final = "invoke_workflow"
OP_INVOKE_AGENT: Final = "invoke_agent"
OP_CREATE_AGENT: Final = "create_agent"
OP_CHAT: Final = "chat"
OP_GENERATE_CONTENT: Final = "generate_content"
OP_TEXT_COMPLETION: Final = "text_completion"
OP_EXECUTE_TOOL: Final = "execute_tool"
OP_PLAN: Final = "plan"
OP_EMBEDDINGS: Final = "embeddings"
OP_RETRIEVAL: Final = "retrieval"
OP_SEARCH_MEMORY: Final = "search_memory"
MEMORY_OPERATIONS: Final = (
    OP_SEARCH_MEMORY,
    "create_memory",
    "update_memory",
    "upsert_memory",
    "delete_memory",
    "create_memory_store",
    "delete_memory_store",
)
OP_DIAGNOSE: Final = "diagnose"
"""Ours; the conventions have no operation for judging a run."""

# --- GenAI: attributes ---------------------------------------------------------------------------------------------
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
SYSTEM: Final = "gen_ai.system"
"""Deprecated name of :data:`PROVIDER_NAME`; read, never written."""
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_DESCRIPTION: Final = "gen_ai.agent.description"
CALLER_TYPE: Final = "gen_ai.caller.type"
"""``agent`` or ``workflow``."""
CALLER_NAME: Final = "gen_ai.caller.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
CONVERSATION_COMPACTED: Final = "gen_ai.conversation.compacted"
"""Whether a summary stands in place of earlier messages."""
PROMPT_NAME: Final = "gen_ai.prompt.name"
PROMPT_VERSION: Final = "gen_ai.prompt.version"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_STREAM: Final = "gen_ai.request.stream"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_PROMPT_TOKENS: Final = "gen_ai.usage.prompt_tokens"
"""Old name of :data:`USAGE_INPUT_TOKENS`; read, never written."""
USAGE_COMPLETION_TOKENS: Final = "gen_ai.usage.completion_tokens"
"""Old name of :data:`USAGE_OUTPUT_TOKENS`; read, never written."""
USAGE_CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
"""Old name of :data:`USAGE_CACHE_WRITE_TOKENS`; read, never written."""
USAGE_REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
RETRIEVAL_DOCUMENTS: Final = "gen_ai.retrieval.documents"
MEMORY_QUERY: Final = "gen_ai.memory.query.text"
MEMORY_RECORDS: Final = "gen_ai.memory.records"
MEMORY_RECORD_ID: Final = "gen_ai.memory.record.id"
TRANSFER_MODE: Final = "gen_ai.transfer.mode"
TRANSFER_TARGET: Final = "gen_ai.transfer.target.name"
ERROR_TYPE: Final = "error.type"

MCP_METHOD: Final = "mcp.method.name"
MCP_CALL_TOOL: Final = "tools/call"

TRANSFER_PASS_CONTROL: Final = "pass_control"
TRANSFER_RETURN: Final = "return_to_caller"

# --- GenAI: evaluation event ---------------------------------------------------------------------------------------
EVENT_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# --- OpenTelemetry: exception event --------------------------------------------------------------------------------
EVENT_EXCEPTION: Final = "exception"
EVENT_OPERATION_EXCEPTION: Final = "gen_ai.client.operation.exception"
"""The exception of a model call; an event of the log, which some write on the span."""
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"

# --- OpenInference -------------------------------------------------------------------------------------------------
OI_SPAN_KIND: Final = "openinference.span.kind"
OI_KIND_CHAIN: Final = "CHAIN"
OI_KIND_AGENT: Final = "AGENT"
OI_KIND_LLM: Final = "LLM"
OI_KIND_TOOL: Final = "TOOL"
OI_KIND_RETRIEVER: Final = "RETRIEVER"
OI_KIND_EVALUATOR: Final = "EVALUATOR"
OI_INPUT_VALUE: Final = "input.value"
OI_INPUT_MIME: Final = "input.mime_type"
OI_OUTPUT_VALUE: Final = "output.value"
OI_OUTPUT_MIME: Final = "output.mime_type"
OI_AGENT_NAME: Final = "agent.name"
OI_GRAPH_NODE_ID: Final = "graph.node.id"
OI_GRAPH_NODE_PARENT_ID: Final = "graph.node.parent_id"
OI_LLM_MODEL: Final = "llm.model_name"
OI_LLM_PROVIDER: Final = "llm.provider"
OI_LLM_INPUT_MESSAGES: Final = "llm.input_messages"
OI_LLM_OUTPUT_MESSAGES: Final = "llm.output_messages"
OI_LLM_TOKENS_PROMPT: Final = "llm.token_count.prompt"
OI_LLM_TOKENS_COMPLETION: Final = "llm.token_count.completion"
OI_LLM_TOKENS_CACHE_READ: Final = "llm.token_count.prompt_details.cache_read"
OI_LLM_TOKENS_CACHE_WRITE: Final = "llm.token_count.prompt_details.cache_write"
OI_LLM_TOKENS_REASONING: Final = "llm.token_count.completion_details.reasoning"
OI_RETRIEVAL_DOCUMENTS: Final = "retrieval.documents"
OI_TOOL_NAME: Final = "tool.name"
OI_TOOL_DESCRIPTION: Final = "tool.description"
OI_TOOL_ID: Final = "tool.id"
OI_TOOL_PARAMETERS: Final = "tool.parameters"
OI_SESSION_ID: Final = "session.id"
OI_EVALUATION_NAME: Final = "evaluations.0.evaluation.name"
OI_EVALUATION_SCORE: Final = "evaluations.0.evaluation.score"
OI_EVALUATION_LABEL: Final = "evaluations.0.evaluation.label"
OI_EVALUATION_EXPLANATION: Final = "evaluations.0.evaluation.explanation"
OI_EVALUATION_ANNOTATOR_KIND: Final = "evaluations.0.evaluation.annotator_kind"
OI_EVALUATION_IDENTIFIER: Final = "evaluations.0.evaluation.identifier"
OI_EVALUATION_METADATA: Final = "evaluations.0.evaluation.metadata"
"""A JSON object as a string."""
OI_ANNOTATOR_CODE: Final = "CODE"
OI_ANNOTATOR_LLM: Final = "LLM"

MIME_TEXT: Final = "text/plain"
MIME_JSON: Final = "application/json"

# --- Logfire -------------------------------------------------------------------------------------------------------
LOGFIRE_FEEDBACK_NAME: Final = "logfire.feedback.name"
"""Makes a span feedback on its parent; the value stands under the key that this names."""
LOGFIRE_FEEDBACK_COMMENT: Final = "logfire.feedback.comment"

# --- our own -------------------------------------------------------------------------------------------------------
RUN_ID: Final = "tracer_hooks.run.id"
RUN_KIND: Final = "tracer_hooks.run.kind"
"""``live``, ``retry`` or ``replay``."""
RUN_ATTEMPT: Final = "tracer_hooks.run.attempt"
"""1 for the first run, 2 for the first retry."""
REPAIR_STRATEGY: Final = "tracer_hooks.repair.strategy"
"""What a retry tries: the name of the strategy."""
REPAIR_TARGET: Final = "tracer_hooks.repair.target"
REPAIR_AGENT: Final = "tracer_hooks.repair.agent"
REPAIR_RESUME_FROM: Final = "tracer_hooks.repair.resume_from"
"""The first live step of a retry that keeps those before it; their spans show what was recorded, tokens included."""
REPAIR_KEPT_INPUT_TOKENS: Final = "tracer_hooks.repair.kept_input_tokens"
"""Tokens of the kept steps, which the run's totals hold and nobody paid again."""
REPAIR_KEPT_OUTPUT_TOKENS: Final = "tracer_hooks.repair.kept_output_tokens"
PROMPTS_VERSION: Final = "tracer_hooks.prompts.version"
"""The accepted version of the team's prompts that a run counts for or against."""
PROMPTS_ARM: Final = "tracer_hooks.prompts.arm"
"""``new`` where the agents were told that version's texts, ``old`` where they were told what was current before it."""
TAG: Final = "tracer_hooks.tag"
"""What a user says of the run: each tag is an attribute of the run's own span, its key behind this and a full stop."""
RUN_TASK: Final = "tracer_hooks.run.task"
RUN_OUTCOME: Final = "tracer_hooks.run.outcome"
RUN_OUTCOME_REASON: Final = "tracer_hooks.run.outcome_reason"
RUN_STOP_REASON: Final = "tracer_hooks.run.stop_reason"
RUN_FINAL_OUTPUT: Final = "tracer_hooks.run.final_output"
RUN_AGENTS: Final = "tracer_hooks.run.agents"
"""The roster: JSON list of ``{name, instructions, tools}``."""
RUN_USAGE_INPUT_TOKENS: Final = "tracer_hooks.usage.input_tokens"
"""Totals of a run. Not under ``gen_ai.usage``, so that no backend counts the tokens of the chat spans again."""
RUN_USAGE_OUTPUT_TOKENS: Final = "tracer_hooks.usage.output_tokens"
FRAMEWORK: Final = "tracer_hooks.framework"
FRAMEWORK_VERSION: Final = "tracer_hooks.framework_version"
SCHEMA_VERSION: Final = "tracer_hooks.schema_version"
STEP_INDEX: Final = "tracer_hooks.step.index"
STEP_RECIPIENT: Final = "tracer_hooks.step.recipient"
STEP_ATTEMPT: Final = "tracer_hooks.step.attempt"
PROMPT_ID: Final = "tracer_hooks.prompt.id"
"""First 16 hex digits of the SHA-256 of an agent's instructions."""
ABANDONED: Final = "tracer_hooks.abandoned"
"""Set on a span that was still open when its run ended."""
DIAGNOSIS_AGENT: Final = "tracer_hooks.diagnosis.agent"
DIAGNOSIS_STEP: Final = "tracer_hooks.diagnosis.step"
DIAGNOSIS_CERTAINTY: Final = "tracer_hooks.diagnosis.certainty"
DIAGNOSIS_FINDINGS: Final = "tracer_hooks.diagnosis.findings"
DIAGNOSIS_ERROR_MODE: Final = "tracer_hooks.diagnosis.error_mode"
DIAGNOSIS_ATTRIBUTOR: Final = "tracer_hooks.diagnosis.attributor"
DIAGNOSIS_ABSTAINED: Final = "tracer_hooks.diagnosis.abstained"
DIAGNOSIS_ABSTAINED_REASON: Final = "tracer_hooks.diagnosis.abstained_reason"

WITHHELD: Final = "tracer_hooks.withheld"
"""On an exception's event: the attributes that content capture keeps back."""

TRUNCATED_SUFFIX: Final = ".truncated"
ORIGINAL_SIZE_SUFFIX: Final = ".original_size_bytes"

CONTENT_KEYS: Final = frozenset(
    {
        INPUT_MESSAGES,
        OUTPUT_MESSAGES,
        SYSTEM_INSTRUCTIONS,
        AGENT_DESCRIPTION,
        TOOL_DEFINITIONS,
        TOOL_DESCRIPTION,
        OI_TOOL_DESCRIPTION,
        TOOL_CALL_ARGUMENTS,
        TOOL_CALL_RESULT,
        RETRIEVAL_QUERY,
        RETRIEVAL_DOCUMENTS,
        MEMORY_QUERY,
        MEMORY_RECORDS,
        OI_INPUT_VALUE,
        OI_OUTPUT_VALUE,
        EVALUATION_EXPLANATION,
        OI_EVALUATION_EXPLANATION,
        LOGFIRE_FEEDBACK_COMMENT,
        RUN_TASK,
        RUN_FINAL_OUTPUT,
        RUN_AGENTS,
        RUN_OUTCOME_REASON,
        RUN_STOP_REASON,
        EXCEPTION_MESSAGE,
        EXCEPTION_STACKTRACE,
    }
)
"""Attributes that hold what people or models wrote; governed by content capture."""
