"""What was run, one JSON object a line, so that a run that was broken off goes on where it stopped."""

from __future__ import annotations

import json
import lzma
import threading
from pathlib import Path
from typing import Any, Final, TextIO

Row = dict[str, Any]

_TEXTS: Final = ("trajectory", "attribution", "rewrite", "said", "turns", "feedback")


def _text_of(path: Path) -> str:
    if not path.exists():
        return ""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode("utf-8")
    return path.read_text(encoding="utf-8")


def _bare(row: Row) -> Row:
    """A row without texts; of the turns and the rewrite what arms depend on is kept."""
    bare = {key: value for key, value in row.items() if key not in _TEXTS}
    if row["kind"] == "first" and not row["passed"]:
        bare["turns"] = [{"agent": turn["agent"]} for turn in row["turns"]]
        bare["rewrite"] = row["rewrite"] and {"agent": row["rewrite"]["agent"]}
    return bare


class Journal:
    """First attempts by their id, trials by failure, action and number, and the rounds that arms were run to.

    A line that was cut off by a crash is passed over, and the next one begins on a line of its own.

    Args:
        path: The file; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.firsts: dict[str, Row] = {}
        self.trials: dict[tuple[str, str, int], Row] = {}
        self.finished: dict[str, dict[str, int]] = {}
        self.searched: dict[str, dict[str, Row]] = {}
        text = _text_of(path)
        for line in text.split("\n"):
            self._take(line)
        self._file: TextIO | None = None
        self._is_cut = bool(text) and not text.endswith("\n")

    def add(self, row: Row) -> None:
        """Keep one row, on the disk before it counts."""
        with self._lock:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("a", encoding="utf-8")
                self._file.write("\n" if self._is_cut else "")
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self._file.flush()
            self._index(row)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def save_outcomes(self, path: Path) -> None:
        """Write what the report needs, without the texts of the runs, to a compressed file that can be read again."""
        searched = [row for arm in self.searched.values() for row in arm.values()]
        done = [
            {"kind": "finished", "failure": one, "arms": [arm], "rounds": rounds} for one, arm, rounds in self._done()
        ]
        rows = [*map(_bare, [*self.firsts.values(), *self.trials.values()]), *done, *searched]
        path.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _done(self) -> list[tuple[str, str, int]]:
        return [(one, arm, rounds) for one, arms in self.finished.items() for arm, rounds in arms.items()]

    def failures(self, suite: str) -> list[Row]:
        """The first attempts that failed, in the order of their runs."""
        return [row for row in list(self.firsts.values()) if row["suite"] == suite and not row["passed"]]

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        try:
            row = json.loads(line)
        except ValueError:
            return
        self._index(row)

    def _index(self, row: Row) -> None:
        if row["kind"] == "first":
            self.firsts[row["id"]] = row
        elif row["kind"] == "searched":
            self.searched.setdefault(row["arm"], {})[row["failure"]] = row
        elif row["kind"] == "finished":
            known = self.finished.setdefault(row["failure"], {})
            known |= {arm: max(row["rounds"], known.get(arm, 0)) for arm in row["arms"]}
        else:
            self.trials[row["failure"], row["action"], row["draw"]] = row
