"""Made-up data: mock, sample, assumed, simulated or placeholder data that an agent goes on with.

Two signs: the agent's own words or code say that a value is made up, or an agent types values into code that nothing
before gives, and the code, which reads nothing from outside, is run.
Silent where the task asks for a simulation or an example, in a formal assumption of a proof, in tests of code, and
where the words only speak of somebody's placeholder as a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage, find_value, is_number, numbers_in, quoted_in
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._code import CodeCell, cells_of, output_of, rounds_to, typed_values
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.diagnosis.findings._rows import OddRow, unsourced_rows
from tracer_hooks.schema import ErrorMode, Finding, FindingKind

_THING = (
    r"(?:data(?:set|base)?|values?|numbers?|results?|responses?|figures?|prices?|pricing|costs?|rates?|urls?|files?"
    r"|ids?|keys?|records?|entries|contents?|pdf|document|address(?:es)?|links?|amounts?|statistics|coordinates)"
)
_SAID = re.compile(
    rf"\b(?:mock(?:ed|-up|up)?|dummy|fake|simulated|made-up|fabricated|synthetic|placeholder|hypothetical|fictional)"
    rf"(?:[ -]\w{{1,20}}){{0,2}}?[ _-]{_THING}\b"
    rf"|\bsample (?:data(?:set)?|values)\b|\ban example [a-z]{{1,12}} {_THING}\b"
    r"|\bfor (?:the sake of |purposes of )?(?:demonstration|illustration)\b"
    r"|\b(?:let(?:'s| us)|(?:i|we)(?:'ll| will| can| could| must| shall)?(?: hypothetically)?) "
    r"(?:hypothetically )?(?:assume|pretend|suppose|imagine|simulate|consider) (?:that )?(?:we|i|you|it) "
    r"(?:now |already )?(?:have|had|obtained|downloaded|found|got)\b"
    r"|\bassum(?:e|ing) (?:that )?(?:we have |the following |some |typical |average ){1,2}"
    rf"(?:\w{{1,20}} ){{0,2}}{_THING}\b"
    r"|\b(?:the|an|these|those|our|my) assumed (?:\w{1,20} ){0,2}"
    r"(?:data(?:set)?|prices?|pricing|costs?|rates?|figures|amounts?|statistics)\b"
    r"|\blet(?:'s| us) simulate\b"
    rf"|\blet(?:'s| us) assume (?:that )?(?:the|this|these|some) (?:[\w()]{{1,20}} ){{0,3}}?{_THING}\b"
    rf"|\b(?:I|we)(?:'ll| will| can| could| need to| must| have to)? estimate (?:some |the )?"
    rf"(?:standard|typical|average|reasonable|plausible) (?:\w{{1,20}} ){{0,2}}?{_THING}\b"
    r"|\b(?:these|some|the following) (?:are )?(?:\w{1,12} )?(?:reasonable|plausible|rough) (?:estimates|guesses)\b",
    re.IGNORECASE,
)
_SAYS = (
    *("mock", "dummy", "fake", "simulat", "made-up", "fabricated", "synthetic", "placeholder", "hypothetical"),
    *("fictional", "assum", "sample", "example", "demonstration", "illustration", "pretend", "suppose", "imagine"),
    *("consider", "estimat", "guess"),
)
"""Every match of :data:`_SAID` has one of these, in lower case."""
_IN_CODE = re.compile(
    r"\bYOUR_[A-Z_]{3,}|(?i:your_?(?:api_?)?key|[\"'/]path[_/]to[_/][\w./-]{1,40}|['\"](?:example|sample|dummy|fake|mock|test)[_-]\w*id\b)"
    r"|['\"][\w.-]{0,12}X{4,}|\b(?:mock|dummy|fake|simulated|synthetic)_\w{2,30}\s{0,2}="
    r"|#[^\n]{0,30}(?i:\b(?:mock|dummy|fake|hypothetical|simulat\w{1,5}|placeholder)\b(?: [\w-]{1,20}){0,3}? "
    rf"{_THING}\b)"
    rf"|#\s{{0,2}}(?i:(?:example|sample)\b(?: \w{{1,20}}){{0,3}}? {_THING}\b)|\(assuming \d[^)\n]{{0,40}}"
    r"|(?<![\w.])(?:np\.)?random\.(?:rand|uniform|choice|normal|gauss|sample)\w{0,8}\("
)
_CODE_SAYS = (
    *("your", "path", "xxxx", "mock", "dummy", "fake", "simulat", "synthetic", "placeholder", "hypothet", "example"),
    *("sample", "assum", "random."),
)
"""Every match of :data:`_IN_CODE` has one of these, in lower case."""
_QUOTES = "'\""
_DENIED = re.compile(
    r"(?:\b(?:no|not|never|without|avoid|instead of|than|replac\w{1,3}|due to|because of|remov\w{1,3}|caused by|any)"
    r"|n't)(?: \S{1,20}){0,3}\s?$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:simulat\w*|assum\w*|suppose|hypothetical\w*|mock|dummy|sample|synthetic|random\w*|placeholder|fictional"
    r"|probabilit\w*|imagine|monte)\b|\b(?:write|implement|design|build|develop|prove|create|program|function)\b"
    r"|^\s*(?:def|import|from) \w",
    re.IGNORECASE,
)


def find(run: RunReading) -> Iterator[Finding]:
    """The first step that says so, and the first one that types its data into code."""
    for odd in unsourced_rows(run):
        yield _invented(run, odd)
    if _ASKED.search(run.trajectory.task[:20_000]):
        return
    said = next(_said(run), None)
    if said is not None:
        yield said
    typed = next(_typed(run), None)
    if typed is not None and (said is None or typed.step != said.step):
        yield typed


def _said(run: RunReading) -> Iterator[Finding]:
    for step in run.acts:
        if run.is_brief(step):
            continue
        passage = run.content(step)
        found = _words(passage) if passage is not None else None
        if passage is not None and found is not None:
            quote = passage.quote_at(found.start(), found.end())
            says = f"{run.steps[step].agent!r} goes on in step {step} with something assumed or made up:"
            yield _made(run, step, f"{says} {one_line(found.group())!r}", quote)
            continue
        for cell in cells_of(run, step):
            marked = _mark_in(cell)
            if marked is not None:
                says = f"The code of {run.steps[step].agent!r} in step {step} has a stand-in where data belongs:"
                quote = cell.quote(marked.start(), marked.end())
                yield _made(run, step, f"{says} {one_line(marked.group().strip(_QUOTES))!r}", quote)
                break


def _made(run: RunReading, step: int, text: str, quote: str) -> Finding:
    return finding(run, FindingKind.MADE_UP_DATA, text, step=step, quote=quote, leads_to_answer=_is_answered(run, step))


def _words(passage: StepPassage) -> re.Match[str] | None:
    lower = passage.prose.lower()
    if not any(word in lower for word in _SAYS):
        return None
    for match in _SAID.finditer(passage.prose):
        if _DENIED.search(passage.prose[max(0, match.start() - 60) : match.start()]) is None:
            return match
    return None


def _mark_in(cell: CodeCell) -> re.Match[str] | None:
    lower = cell.text.lower()
    if "assert" in lower or "unittest" in lower or not any(word in lower for word in _CODE_SAYS):
        return None
    return _IN_CODE.search(cell.text)


def _typed(run: RunReading) -> Iterator[Finding]:
    for step in run.acts:
        for cell in () if run.is_brief(step) else cells_of(run, step):
            if cell.reads_outside or "assert" in cell.text or output_of(run, step) is None:
                continue
            values = typed_values(run, step, cell, by_agents=True)
            if len(values) < 2:
                continue
            at = max(0, cell.text.find(values[0]))
            yield finding(
                run,
                FindingKind.MADE_UP_DATA,
                f"{run.steps[step].agent!r} types {values[0]!r} and {values[1]!r} into its code in step {step}, "
                "and nothing before gives them",
                step=step,
                detail="typed_in",
                quote=cell.quote(at, at + len(values[0])),
                claimed=values[0],
                leads_to_answer=_is_answered(run, step),
            )
            return


def _invented(run: RunReading, odd: OddRow) -> Finding:
    agent = run.steps[odd.step].agent
    spec = next((each for each in run.trajectory.agents if each.name == agent), None)
    is_example = spec is not None and find_value(spec.instructions or "", odd.row.label) >= 0
    example = f"; it is an example in the instructions of {agent!r}" if is_example else ""
    return finding(
        run,
        FindingKind.MADE_UP_DATA,
        f"{agent!r} lists {odd.row.label!r} with {odd.row.number}, which no task or tool gave{example}",
        step=odd.step,
        detail="row",
        quote=odd.row.line,
        claimed=odd.row.number,
        leads_to_answer=odd.leads_to_answer,
    )


def _is_answered(run: RunReading, step: int) -> bool:
    """Tell whether the answer takes a value from the step or from what its code printed, or the run ended there."""
    if step == run.last_speaker:
        return True
    texts = [passage.raw for passage in run.passages(step)]
    printed = output_of(run, step)
    if printed is not None:
        texts.append(printed[1].raw)
        if any(is_number(value) and rounds_to(printed[1].raw[: run.limit], value) for value in _stated(run)):
            return True
    return any(_is_in(texts, value) and not _is_earlier(run, step, value) for value in _stated(run))


def _stated(run: RunReading) -> list[str]:
    """Values of the answer that say something."""
    final = run.answer.whole
    stated = [match.group() for match in numbers_in(final)][:20] + [text for text, _ in quoted_in(final)][:20]
    stated += [run.answer.text] if len(run.answer.text) <= 60 else []
    return [value for value in stated if len(value.strip()) > 1]


def _is_in(texts: Iterable[str], value: str) -> bool:
    return any(find_value(text, value) >= 0 for text in texts)


def _is_earlier(run: RunReading, step: int, value: str) -> bool:
    if find_value(run.trajectory.task, value) >= 0:
        return True
    return any(_is_in((passage.raw for passage in run.passages(index)), value) for index in range(step))


def _advice(found: Finding) -> str:
    what = "say so and stop" if found.detail != "typed_in" else "take every value in its code from a tool's result"
    return f"Tell {found.agent!r} to {what} when it has no source, instead of going on with made-up values."


KIND = KindOfFinding(
    kind=FindingKind.MADE_UP_DATA,
    definition="Mock, sample, assumed, simulated or placeholder data, or values typed into code that nothing before "
    "gives; silent where the task asks for such.",
    find=find,
    mode=ErrorMode.FM_2_2,
    advice=_advice,
)
