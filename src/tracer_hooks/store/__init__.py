"""The store: runs with diagnoses and repairs, and versions of prompts, in a SQLite file or a PostgreSQL database."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.store._attributor_store import AttributorStore as AttributorStore
    from tracer_hooks.store._copying import CopyCounts as CopyCounts
    from tracer_hooks.store._copying import copy_store as copy_store
    from tracer_hooks.store._place import default_place as default_place
    from tracer_hooks.store._prompt_records import PromptArm as PromptArm
    from tracer_hooks.store._prompt_records import PromptEvent as PromptEvent
    from tracer_hooks.store._prompt_records import PromptOutcome as PromptOutcome
    from tracer_hooks.store._prompt_records import PromptPhase as PromptPhase
    from tracer_hooks.store._prompt_records import PromptState as PromptState
    from tracer_hooks.store._prompt_records import PromptTally as PromptTally
    from tracer_hooks.store._prompt_records import PromptVersion as PromptVersion
    from tracer_hooks.store._prompt_records import prompt_diff as prompt_diff
    from tracer_hooks.store._prompt_store import PromptStore as PromptStore
    from tracer_hooks.store._records import ForkedFrom as ForkedFrom
    from tracer_hooks.store._records import PackedRun as PackedRun
    from tracer_hooks.store._records import RunCount as RunCount
    from tracer_hooks.store._records import RunPrompts as RunPrompts
    from tracer_hooks.store._records import RunSummary as RunSummary
    from tracer_hooks.store._records import StoredRun as StoredRun
    from tracer_hooks.store._records import TeamOrigin as TeamOrigin
    from tracer_hooks.store._records import fingerprint as fingerprint
    from tracer_hooks.store._run_store import RunStore as RunStore
    from tracer_hooks.store._run_store import Writing as Writing

__all__ = lazy_names(__name__)
