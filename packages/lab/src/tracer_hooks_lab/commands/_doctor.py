"""Findings of the lab for ``tracer-hooks doctor``."""

from tracer_hooks.cli.plugin import DoctorFinding
from tracer_hooks.config import bubblewrap_use
from tracer_hooks.errors import TracerHooksError
from tracer_hooks_lab.suites import bubblewrap_state


def sandbox_findings() -> list[DoctorFinding]:
    """The sandbox for the code of answers to the suite ``code``."""
    try:
        if bubblewrap_use() == "off":
            detail = "switched off by TRACER_HOOKS_BUBBLEWRAP: code of the suites runs in a process with limits"
            return [DoctorFinding(kind="sandbox", name="bubblewrap", works=True, detail=detail)]
    except TracerHooksError as error:
        return [DoctorFinding(kind="sandbox", name="bubblewrap", works=False, detail=str(error))]
    state = bubblewrap_state()
    if state.bubblewrap is not None:
        detail = f"{state.bubblewrap.version}, code of the suites runs in it"
        return [DoctorFinding(kind="sandbox", name="bubblewrap", works=True, detail=detail)]
    detail = f"{state.problem}: code of the suites runs in a process with limits"
    return [DoctorFinding(kind="sandbox", name="bubblewrap", works=False, detail=detail, advice=state.advice)]
