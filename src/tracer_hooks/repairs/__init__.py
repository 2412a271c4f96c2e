"""The seam of all repairs: what is known of a failed run and may be told, and what a trial to recover it changes."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.endpoint import Chat as Chat
    from tracer_hooks.endpoint import ask as ask
    from tracer_hooks.repairs._failure import Failure as Failure
    from tracer_hooks.repairs._guidance import written_guidance as written_guidance
    from tracer_hooks.repairs._leaks import leaks as leaks
    from tracer_hooks.repairs._log import RepairLog as RepairLog
    from tracer_hooks.repairs._masking import HIDDEN as HIDDEN
    from tracer_hooks.repairs._masking import NOT_RIGHT as NOT_RIGHT
    from tracer_hooks.repairs._masking import FeedbackMode as FeedbackMode
    from tracer_hooks.repairs._masking import MaskedFeedback as MaskedFeedback
    from tracer_hooks.repairs._masking import feedback_of as feedback_of
    from tracer_hooks.repairs._masking import masked_feedback as masked_feedback
    from tracer_hooks.repairs._masking import shortened as shortened
    from tracer_hooks.repairs._past_trial import PastTrial as PastTrial
    from tracer_hooks.repairs._prompt_text import for_prompt as for_prompt
    from tracer_hooks.repairs._repair import Repair as Repair
    from tracer_hooks.repairs._repair import RepairScope as RepairScope
    from tracer_hooks.repairs._repair import RepairTarget as RepairTarget
    from tracer_hooks.repairs._run_text import cut as cut
    from tracer_hooks.repairs._run_text import error_mode_at as error_mode_at
    from tracer_hooks.repairs._run_text import notes_on as notes_on
    from tracer_hooks.repairs._run_text import steps_as_text as steps_as_text
    from tracer_hooks.repairs._run_text import tools_as_text as tools_as_text
    from tracer_hooks.repairs._secrets import Secrets as Secrets
    from tracer_hooks.repairs._strategy import RepairStrategy as RepairStrategy
    from tracer_hooks.repairs._telling import attempt_failed as attempt_failed

__all__ = lazy_names(__name__)
