"""What models are trained on: types of rows, and their builders from labelled trajectories.

=====================  ==============================================================================================
row                    what it holds
=====================  ==============================================================================================
``LabeledRow``         a labelled trajectory, its label checked against its own log
``SFTRow``             a question as the attributor ``judge`` asks it, and the reply that it should give
``PromptRow``          such a question with the label that replies are rewarded by
``ContrastiveBag``     a failed run as a bag of steps, one or several of which show the fault
``ContrastivePair``    a bag and the passing run of the same team on the same task
=====================  ==============================================================================================
"""

from tracer_hooks_models.training.data._judge_rows import (
    Candidates,
    JudgeRows,
    JudgeTask,
    JudgeTaskOptions,
    prompt_rows,
    sft_rows,
)
from tracer_hooks_models.training.data._rows import (
    BadRows,
    ContrastiveBag,
    ContrastivePair,
    Gold,
    LabeledRow,
    LabeledRows,
    PromptRow,
    SFTRow,
    SplitOptions,
    Splits,
    bags_of,
    pairs_of,
    read_labeled,
    split_rows,
)

__all__ = [
    "BadRows",
    "Candidates",
    "ContrastiveBag",
    "ContrastivePair",
    "Gold",
    "JudgeRows",
    "JudgeTask",
    "JudgeTaskOptions",
    "LabeledRow",
    "LabeledRows",
    "PromptRow",
    "SFTRow",
    "SplitOptions",
    "Splits",
    "bags_of",
    "pairs_of",
    "prompt_rows",
    "read_labeled",
    "sft_rows",
    "split_rows",
]
