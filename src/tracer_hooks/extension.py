"""What distributions of this project build on, beside the public packages: files, weights, features, the judge's parts.

Stable between the core and the distributions of the same version; others should not rely on it.
"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._files import make_folder, opener, seal, write_files
    from tracer_hooks._folds import grouped_folds
    from tracer_hooks._guard import warn_once
    from tracer_hooks._lazy import cached_property, require
    from tracer_hooks._reading import brief, first_problem, read_bytes
    from tracer_hooks.attribution._abstaining import INCOMPLETE, Refusal, refusal_of
    from tracer_hooks.attribution._answering import has_content
    from tracer_hooks.attribution._features import FeatureTable, features_of
    from tracer_hooks.attribution._judge._attributor import header_chars
    from tracer_hooks.attribution._judge._calls import CallLog, JudgeResources, JudgeSession, Meter, ReplyCache
    from tracer_hooks.attribution._judge._case import JudgeCase, verdict_of
    from tracer_hooks.attribution._judge._options import JUDGE, options_as_json
    from tracer_hooks.attribution._judge._prompts import find_quote, opening
    from tracer_hooks.attribution._judge._protocols import ALL_AT_ONCE, whole_run
    from tracer_hooks.attribution._judge._replies import ChoiceReply, ReplyError, VerdictReply, parse_reply
    from tracer_hooks.attribution._judge._shortlist import (
        SHORTLIST,
        first_of,
        labels_for,
        orders,
        shortlist_choice,
        values_of,
    )
    from tracer_hooks.attribution._reading import Trace
    from tracer_hooks.attribution._reading._roles import Role, fold, roles_of
    from tracer_hooks.attribution._reading._trace import EXACT_STEPS, text_limit
    from tracer_hooks.attribution._structural._attributor import AgentHead
    from tracer_hooks.attribution._weight_files import (
        finite,
        pin_weights,
        read_saved,
        read_weights,
        reason_of,
        refuse_changed,
        write_saved,
    )
    from tracer_hooks.datasets._labeled import count_of, is_clean, number_of, question_groups, step_text, text_of
    from tracer_hooks.datasets._near_duplicates import clusters
    from tracer_hooks.rerun._targets import check_for, is_judged
    from tracer_hooks.runtime import (
        Check,
        Expected,
        TeamCard,
        attributors_folder,
        forget_calibrated,
        save_calibrated,
        team_card,
    )

__all__ = [
    "ALL_AT_ONCE",
    "EXACT_STEPS",
    "INCOMPLETE",
    "JUDGE",
    "SHORTLIST",
    "AgentHead",
    "CallLog",
    "Check",
    "ChoiceReply",
    "Expected",
    "FeatureTable",
    "JudgeCase",
    "JudgeResources",
    "JudgeSession",
    "Meter",
    "Refusal",
    "ReplyCache",
    "ReplyError",
    "Role",
    "TeamCard",
    "Trace",
    "VerdictReply",
    "attributors_folder",
    "brief",
    "cached_property",
    "check_for",
    "clusters",
    "count_of",
    "features_of",
    "find_quote",
    "finite",
    "first_of",
    "first_problem",
    "fold",
    "forget_calibrated",
    "grouped_folds",
    "has_content",
    "header_chars",
    "is_clean",
    "is_judged",
    "labels_for",
    "lazy_names",
    "make_folder",
    "number_of",
    "opener",
    "opening",
    "options_as_json",
    "orders",
    "parse_reply",
    "pin_weights",
    "question_groups",
    "read_bytes",
    "read_saved",
    "read_weights",
    "reason_of",
    "refusal_of",
    "refuse_changed",
    "require",
    "roles_of",
    "save_calibrated",
    "seal",
    "shortlist_choice",
    "step_text",
    "team_card",
    "text_limit",
    "text_of",
    "values_of",
    "verdict_of",
    "warn_once",
    "whole_run",
    "write_files",
    "write_saved",
]

lazy_names(
    __name__,
    {
        "tracer_hooks._files": (
            "make_folder",
            "opener",
            "seal",
            "write_files",
        ),
        "tracer_hooks._folds": ("grouped_folds",),
        "tracer_hooks._guard": ("warn_once",),
        "tracer_hooks._lazy": (
            "cached_property",
            "require",
        ),
        "tracer_hooks._reading": (
            "brief",
            "first_problem",
            "read_bytes",
        ),
        "tracer_hooks.attribution._abstaining": (
            "INCOMPLETE",
            "Refusal",
            "refusal_of",
        ),
        "tracer_hooks.attribution._answering": ("has_content",),
        "tracer_hooks.attribution._features": (
            "FeatureTable",
            "features_of",
        ),
        "tracer_hooks.attribution._judge._attributor": ("header_chars",),
        "tracer_hooks.attribution._judge._calls": (
            "CallLog",
            "JudgeResources",
            "JudgeSession",
            "Meter",
            "ReplyCache",
        ),
        "tracer_hooks.attribution._judge._case": (
            "JudgeCase",
            "verdict_of",
        ),
        "tracer_hooks.attribution._judge._options": (
            "JUDGE",
            "options_as_json",
        ),
        "tracer_hooks.attribution._judge._prompts": (
            "find_quote",
            "opening",
        ),
        "tracer_hooks.attribution._judge._protocols": (
            "ALL_AT_ONCE",
            "whole_run",
        ),
        "tracer_hooks.attribution._judge._replies": (
            "ChoiceReply",
            "ReplyError",
            "VerdictReply",
            "parse_reply",
        ),
        "tracer_hooks.attribution._judge._shortlist": (
            "SHORTLIST",
            "first_of",
            "labels_for",
            "orders",
            "shortlist_choice",
            "values_of",
        ),
        "tracer_hooks.attribution._reading": ("Trace",),
        "tracer_hooks.attribution._reading._roles": (
            "Role",
            "fold",
            "roles_of",
        ),
        "tracer_hooks.attribution._reading._trace": (
            "EXACT_STEPS",
            "text_limit",
        ),
        "tracer_hooks.attribution._structural._attributor": ("AgentHead",),
        "tracer_hooks.attribution._weight_files": (
            "finite",
            "pin_weights",
            "read_saved",
            "read_weights",
            "reason_of",
            "refuse_changed",
            "write_saved",
        ),
        "tracer_hooks.datasets._labeled": (
            "count_of",
            "is_clean",
            "number_of",
            "question_groups",
            "step_text",
            "text_of",
        ),
        "tracer_hooks.datasets._near_duplicates": ("clusters",),
        "tracer_hooks.rerun._targets": (
            "check_for",
            "is_judged",
        ),
        "tracer_hooks.runtime": (
            "Check",
            "Expected",
            "TeamCard",
            "attributors_folder",
            "forget_calibrated",
            "save_calibrated",
            "team_card",
        ),
    },
)
