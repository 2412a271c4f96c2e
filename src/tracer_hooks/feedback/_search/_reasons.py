"""Why a repair was chosen, in a sentence."""

from __future__ import annotations

from tracer_hooks.feedback._search._features import RESAMPLE, SearchAction


def reason_for(action: SearchAction, *, success: float, plain: float, others: int, allowed: int, outside: bool) -> str:
    """One plain, true sentence.

    Args:
        action: What was chosen.
        success: How probable its success is, by all that is known.
        plain: The same of a plain retry.
        others: How many other things could be done.
        allowed: How many of them might be tried.
        outside: Whether the run failed on something outside the team.
    """
    if outside:
        return "the run failed on something outside the team, so the same is asked again"
    if action.is_plain:
        return _plain_reason(plain, others, allowed)
    kept = "" if action.step is None else _kept_reason(action)
    if action.strategy == RESAMPLE:
        return kept
    return f"{kept}; {_text_reason(action, success, plain)}" if kept else _text_reason(action, success, plain)


def _plain_reason(plain: float, others: int, allowed: int) -> str:
    if not others:
        return "the whole run is tried again, since nothing else can be tried"
    if not allowed:
        return "the whole run is tried again: trying other repairs of this team has cost enough already"
    return f"the whole run is tried again, which is expected to succeed with {_percent(plain)}"


def _kept_reason(action: SearchAction) -> str:
    steps = "step 0 is" if action.step == 1 else f"the steps before {action.step} are"
    which = "it is" if action.step == 1 else "they are"
    return f"{steps} kept: with {_percent(action.holds)} {which} not at fault"


def _text_reason(action: SearchAction, success: float, plain: float) -> str:
    expected = f"{_percent(success)} expected, {_percent(plain)} for a plain retry"
    if success > plain:
        return f"{action.strategy!r} promises more than a plain retry: {expected}"
    return f"{action.strategy!r} is tried since it may well be better than it looks: {expected}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
