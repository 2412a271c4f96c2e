"""What distributions of this project build on, beside the public packages: files, weights, features, the judge's parts.

Stable between the core and the distributions of the same version; others should not rely on it.
"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names as lazy_names

if TYPE_CHECKING:
    from tracer_hooks._files import make_folder as make_folder
    from tracer_hooks._files import seal as seal
    from tracer_hooks._files import write_files as write_files
    from tracer_hooks._folds import grouped_folds as grouped_folds
    from tracer_hooks._guard import warn_once as warn_once
    from tracer_hooks._lazy import cached_property as cached_property
    from tracer_hooks._lazy import require as require
    from tracer_hooks._reading import brief as brief
    from tracer_hooks._reading import first_problem as first_problem
    from tracer_hooks._reading import read_bytes as read_bytes
    from tracer_hooks.datasets._labeled import count_of as count_of
    from tracer_hooks.datasets._labeled import is_clean as is_clean
    from tracer_hooks.datasets._labeled import number_of as number_of
    from tracer_hooks.datasets._labeled import question_groups as question_groups
    from tracer_hooks.datasets._labeled import step_text as step_text
    from tracer_hooks.datasets._labeled import text_of as text_of
    from tracer_hooks.diagnosis._reading import RunReading as RunReading
    from tracer_hooks.diagnosis._reading._roles import Role as Role
    from tracer_hooks.diagnosis._reading._roles import fold as fold
    from tracer_hooks.diagnosis._reading._roles import roles_of as roles_of
    from tracer_hooks.diagnosis._reading._run import EXACT_STEPS as EXACT_STEPS
    from tracer_hooks.diagnosis._reading._run import text_limit as text_limit
    from tracer_hooks.diagnosis._weight_files import finite as finite
    from tracer_hooks.diagnosis._weight_files import read_saved as read_saved
    from tracer_hooks.diagnosis._weight_files import read_weights as read_weights
    from tracer_hooks.diagnosis._weight_files import reason_of as reason_of
    from tracer_hooks.diagnosis._weight_files import write_saved as write_saved
    from tracer_hooks.diagnosis.judge._attributor import JUDGE as JUDGE
    from tracer_hooks.diagnosis.judge._attributor import header_chars as header_chars
    from tracer_hooks.diagnosis.judge._attributor import options_as_json as options_as_json
    from tracer_hooks.diagnosis.judge._calls import JudgeResources as JudgeResources
    from tracer_hooks.diagnosis.judge._calls import JudgeSession as JudgeSession
    from tracer_hooks.diagnosis.judge._calls import Meter as Meter
    from tracer_hooks.diagnosis.judge._calls import ReplyCache as ReplyCache
    from tracer_hooks.diagnosis.judge._prompts import find_quote as find_quote
    from tracer_hooks.diagnosis.judge._prompts import opening as opening
    from tracer_hooks.diagnosis.judge._protocols import ALL_AT_ONCE as ALL_AT_ONCE
    from tracer_hooks.diagnosis.judge._protocols import SHORTLIST as SHORTLIST
    from tracer_hooks.diagnosis.judge._protocols import first_of as first_of
    from tracer_hooks.diagnosis.judge._protocols import labels_for as labels_for
    from tracer_hooks.diagnosis.judge._protocols import orders as orders
    from tracer_hooks.diagnosis.judge._protocols import shortlist_choice as shortlist_choice
    from tracer_hooks.diagnosis.judge._protocols import values_of as values_of
    from tracer_hooks.diagnosis.judge._protocols import whole_run as whole_run
    from tracer_hooks.diagnosis.judge._replies import ChoiceReply as ChoiceReply
    from tracer_hooks.diagnosis.judge._replies import JudgeCase as JudgeCase
    from tracer_hooks.diagnosis.judge._replies import ReplyError as ReplyError
    from tracer_hooks.diagnosis.judge._replies import VerdictReply as VerdictReply
    from tracer_hooks.diagnosis.judge._replies import parse_reply as parse_reply
    from tracer_hooks.diagnosis.judge._replies import verdict_of as verdict_of
    from tracer_hooks.diagnosis.ranking._answers import INCOMPLETE as INCOMPLETE
    from tracer_hooks.diagnosis.ranking._answers import Refusal as Refusal
    from tracer_hooks.diagnosis.ranking._answers import has_content as has_content
    from tracer_hooks.diagnosis.ranking._answers import refusal_of as refusal_of
    from tracer_hooks.diagnosis.ranking._attributor import AgentHead as AgentHead
    from tracer_hooks.diagnosis.ranking._fit import question_of as question_of
    from tracer_hooks.diagnosis.ranking._table import FeatureTable as FeatureTable
    from tracer_hooks.diagnosis.ranking._table import features_of as features_of
    from tracer_hooks.evaluation._cases import fold_name as fold_name
    from tracer_hooks.evaluation._report import Array as Array
    from tracer_hooks.evaluation._report import Resampling as Resampling
    from tracer_hooks.evaluation._scores import ranked_steps as ranked_steps
    from tracer_hooks.rerun._targets import check_for as check_for
    from tracer_hooks.rerun._targets import is_judged as is_judged
    from tracer_hooks.runtime import Check as Check
    from tracer_hooks.runtime import Expected as Expected
    from tracer_hooks.runtime import TeamCard as TeamCard
    from tracer_hooks.runtime import attributors_folder as attributors_folder
    from tracer_hooks.runtime import forget_calibrated as forget_calibrated
    from tracer_hooks.runtime import save_calibrated as save_calibrated
    from tracer_hooks.runtime import team_card as team_card

__all__ = lazy_names(__name__, eager=["lazy_names"])
