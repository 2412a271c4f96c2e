"""What is fuzzed: for each format how a damaged input is made, and what must hold when it is read."""

import gzip
import io
import json
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tracer_hooks.telemetry import read_otlp, write_otlp_protobuf

from . import _reading, _seeds
from ._mutation import changed, changed_bytes

Files = Mapping[str, bytes]
"""The files of one input, by name."""
_Make = Callable[[Random], Any]


@dataclass(frozen=True)
class Format:
    """One kind of input."""

    name: str
    make: Callable[[Random], Files]
    """A damaged input, the same for the same state of the generator."""
    check: Callable[[Path], None]
    """Reads the folder with the files; raises where that does not hold what it should."""


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _one_file(seeds: tuple[Callable[[], Any], ...], chance: Random) -> Files:
    """A changed record as a document, as lines, as a list, or packed; at times with changed bytes."""
    value, shape = changed(chance.choice(seeds)(), chance), chance.random()
    if shape < 0.1:
        other = changed(chance.choice(seeds)(), chance)
        return {"input.jsonl": _json(value) + b"\n" + _json(other) + b"\n"}
    if shape < 0.15:
        return {"input.json": _json([value, changed(value, chance)])}
    if shape < 0.3:
        return {"input.json": changed_bytes(_json(chance.choice((value, chance.choice(seeds)()))), chance)}
    if shape < 0.34:
        pack = chance.choice((gzip.compress, partial(lzma.compress, preset=0)))
        return {"input.json.gz": changed_bytes(pack(_json(value)), chance)}
    if shape < 0.4:
        return {"input.json": json.dumps(value, indent=1, ensure_ascii=True).encode()}
    return {"input.json": _json(value)}


def _pair(run: Callable[[], Any], annotation: Callable[[], Any], chance: Random) -> Files:
    values = [run(), annotation()]
    at = chance.randrange(2)
    values[at] = changed(values[at], chance)
    files = {"run.json": _json(values[0]), "annotation.json": _json(values[1])}
    if chance.random() < 0.1:
        name = chance.choice(("run.json", "annotation.json"))
        files[name] = changed_bytes(files[name], chance)
    return files


def _labelled_folder(chance: Random) -> Files:
    clean = {"trajectory": _seeds.trajectory(), "label_source": "human"}
    values = [_seeds.labelled(), clean, {"reason": "x", "question_id": "q"}]
    at = chance.randrange(3)
    values[at] = changed(values[at], chance)
    files = dict(zip(("labeled.jsonl", "clean.jsonl", "discarded.jsonl"), map(_json, values), strict=True))
    if chance.random() < 0.2:
        name = chance.choice(sorted(files))
        files[name] = changed_bytes(files[name], chance)
    return files


@cache
def _protobuf_seeds() -> tuple[bytes, ...]:
    found = []
    with TemporaryDirectory() as folder:
        for make in (_seeds.otlp, _seeds.openinference):
            path = Path(folder) / "seed"
            path.write_bytes(_json(make()))
            write_otlp_protobuf(path, read_otlp(path))
            found.append(path.read_bytes())
    return tuple(found)


def _protobuf(chance: Random) -> Files:
    data = chance.choice(_protobuf_seeds())
    if chance.random() < 0.2:
        data = len(data).to_bytes(4, "big") + data
    return {"input.pb": changed_bytes(data, chance)}


def _parquet(chance: Random) -> Files:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [json.dumps(changed(_seeds.labelled(), chance)), json.dumps(_seeds.labelled())]
    buffer = io.BytesIO()
    pq.write_table(pa.table({chance.choice(("record", "record", "record", "other")): rows}), buffer)
    data = buffer.getvalue()
    return {"input.parquet": changed_bytes(data, chance) if chance.random() < 0.5 else data}


def _tape(chance: Random) -> Files:
    return {"tape.json": _json(changed(_seeds.tape(), chance))}


def _packed(chance: Random) -> Files:
    from tracer_hooks.store._packing import pack

    return {"packed.bin": changed_bytes(pack(json.dumps(_seeds.trajectory()) * chance.choice((1, 9))), chance)}


def _loaded(name: str, make: Callable[[Random], Files]) -> Format:
    own = {"agentrx-pair": "agentrx", "trail-pair": "trail", "otlp-protobuf": "otlp", "parquet": "auto"}.get(name, name)
    return Format(name, make, partial(_reading.check_load, format=own))


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        _loaded("trajectory", partial(_one_file, (_seeds.trajectory, _seeds.labelled))),
        _loaded("whowhen", partial(_one_file, (_seeds.whowhen,))),
        _loaded("aegis", partial(_one_file, (_seeds.aegis_nested, _seeds.aegis_flat))),
        _loaded("agentrx", partial(_one_file, (_seeds.agentrx,))),
        _loaded("agentrx-pair", partial(_pair, _seeds.agentrx_run, _seeds.agentrx_annotation)),
        _loaded("trail", partial(_one_file, (_seeds.trail_run, _seeds.trail_row))),
        _loaded("trail-pair", partial(_pair, _seeds.trail_run, _seeds.trail_annotation)),
        _loaded("otlp", partial(_one_file, (_seeds.otlp, _seeds.openinference, _seeds.console_span))),
        _loaded("otlp-protobuf", _protobuf),
        _loaded("parquet", _parquet),
        Format("labelled-folder", _labelled_folder, _reading.check_labelled_folder),
        Format("tape", _tape, _reading.check_tape),
        Format("packed-record", _packed, _reading.check_packed),
    )
}
"""Every format by name."""
