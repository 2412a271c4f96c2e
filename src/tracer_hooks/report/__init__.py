"""Reports of runs for people: a self-contained web page; a diagnosis and its repair for the terminal."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.report._counts import RunFilter as RunFilter
    from tracer_hooks.report._counts import RunTable as RunTable
    from tracer_hooks.report._counts import TokenPrices as TokenPrices
    from tracer_hooks.report._diagnosis import diagnosis_text as diagnosis_text
    from tracer_hooks.report._diagnosis import suggestion as suggestion
    from tracer_hooks.report._improvement import ReportComparison as ReportComparison
    from tracer_hooks.report._improvement import ReportImprovement as ReportImprovement
    from tracer_hooks.report._improvement import ReportRefused as ReportRefused
    from tracer_hooks.report._improvement import render_improvement as render_improvement
    from tracer_hooks.report._improvement import write_improvement as write_improvement
    from tracer_hooks.report._overview import SiteLinks as SiteLinks
    from tracer_hooks.report._overview import overview_of as overview_of
    from tracer_hooks.report._overview import prompts_of as prompts_of
    from tracer_hooks.report._overview import render_page as render_page
    from tracer_hooks.report._overview import runs_of as runs_of
    from tracer_hooks.report._overview import site_nav as site_nav
    from tracer_hooks.report._page import asset as asset
    from tracer_hooks.report._page import draw as draw
    from tracer_hooks.report._page import environment as environment
    from tracer_hooks.report._page import render_html as render_html
    from tracer_hooks.report._page import write_html as write_html
    from tracer_hooks.report._page import write_index as write_index
    from tracer_hooks.report._page import write_page as write_page
    from tracer_hooks.report._run import ReportAttempt as ReportAttempt
    from tracer_hooks.report._run import ReportFork as ReportFork
    from tracer_hooks.report._run import ReportRun as ReportRun
    from tracer_hooks.report._run import stored_forks as stored_forks
    from tracer_hooks.report._site import WrittenSite as WrittenSite
    from tracer_hooks.report._site import write_site as write_site
    from tracer_hooks.report._trials import repair_line as repair_line
    from tracer_hooks.report._trials import repair_text as repair_text

__all__ = lazy_names(__name__)
