"""``tracer-hooks report``: a folder of pages on all stored runs, which opens without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracer_hooks._text import counted
from tracer_hooks.cli._options import Json, Since, Store, Tag, since_of, store_to_read, tags_of
from tracer_hooks.cli.console import ProgressDisplay, err, out, print_json, writing_page
from tracer_hooks.errors import ConfigError


def report_command(
    out_folder: Annotated[Path, typer.Option("--out", "-o", help="The folder; what was there before is replaced.")],
    since: Since = None,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    tag: Tag = None,
    limit: Annotated[
        int, typer.Option(help="How many runs are listed and have a page, the newest first.", min=1)
    ] = 1_000,
    input_price: Annotated[float, typer.Option(help="Price of a million tokens read.", min=0)] = 0.0,
    output_price: Annotated[float, typer.Option(help="Price of a million tokens written.", min=0)] = 0.0,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write pages on all stored runs: overview, runs, issues, prompts, a page for each failed run.

    The folder opens from the disk, and as an artefact of a CI job: open index.html. A folder that this command did not
    write is left alone.
    """
    from tracer_hooks.report import RunFilter, TokenPrices, write_site

    chosen = RunFilter(team=team, since=since_of(since), tags=tags_of(tag))
    prices = TokenPrices(input_price, output_price) if input_price or output_price else None
    with (
        store_to_read(store) as kept,
        ProgressDisplay(err(), transient=True, on_terminals_only=True, hidden=as_json) as bars,
        writing_page(out_folder, option="--out", kind=ConfigError),
    ):
        site = write_site(
            out_folder, kept, chosen, limit=limit, prices=prices,
            on_page=lambda what, done, total: bars.update(what, what, done, total),
        )  # fmt: skip
    if as_json:
        told = {"pages": site.pages, "written": site.written, "removed": site.removed, "notes": list(site.notes)}
        print_json({"index": str(site.index), **told})
        return
    for note in site.notes:
        err().print(note, soft_wrap=True)
    unchanged = f", {site.pages - site.written} of them unchanged" if site.written < site.pages else ""
    out().print(f"{counted(site.pages, 'page')} of runs{unchanged}; open {site.index}", soft_wrap=True)
