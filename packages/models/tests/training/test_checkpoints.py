from tracer_hooks_models.training import _run


def checkpoint(out, step, *, whole=True):
    folder = out / _run.FOLDER / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "state").mkdir()
    (folder / "state" / "optimizer.pt").write_bytes(b"moments")
    if whole:
        _run.mark_whole(folder)
    return folder


def test_the_last_whole_checkpoint_is_found_by_its_number(tmp_path):
    assert _run.last_whole(tmp_path) is None
    checkpoint(tmp_path, 9)
    newest = checkpoint(tmp_path, 10)
    checkpoint(tmp_path, 11, whole=False)
    assert _run.last_whole(tmp_path) == newest


def test_a_file_that_is_cut_or_gone_makes_a_checkpoint_broken(tmp_path):
    before = checkpoint(tmp_path, 1)
    cut, gone = checkpoint(tmp_path, 2), checkpoint(tmp_path, 3)
    (cut / "model.safetensors").write_bytes(b"wei")
    (gone / "state" / "optimizer.pt").unlink()
    assert _run.last_whole(tmp_path) == before
    assert _run.clear_broken(tmp_path) == [cut, gone]
    assert [one.name for one in (tmp_path / _run.FOLDER).iterdir()] == ["checkpoint-1"]
    for text in ("", "[]", "{}", '{"model.safetensors": "x"}', "null"):
        (before / "whole.json").write_text(text)
        assert not _run.is_whole(before), "a damaged mark counts as none"
