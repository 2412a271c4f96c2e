"""Whether bubblewrap works is found out by trying, once; what is not there is said, and demanded where it is wanted."""

import logging
import os
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tracer_hooks import _guard
from tracer_hooks.config import bubblewrap_use
from tracer_hooks.errors import ConfigError
from tracer_hooks_lab.suites import bubblewrap_state, check_of, get_suite, isolation_in_words, run_python
from tracer_hooks_lab.suites._sandbox import _bubblewrap
from tracer_hooks_lab.suites._sandbox._bubblewrap import MACHINES, Machine, call_filter, interpreter_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap needs Linux")

REFUSING = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACER_HOOKS_BUBBLEWRAP", raising=False)
    monkeypatch.setattr(_guard, "_warned", set())
    monkeypatch.setattr(_bubblewrap, "_known", [])
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """A ``bwrap`` of our own, first on the path."""
    folder.mkdir(exist_ok=True)
    (folder / "bwrap").write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo bubblewrap 9.9; exit 0; }}\n{program}\n')
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@on_linux
def test_a_kernel_that_refuses_is_found_out_and_said_once(tmp_path, monkeypatch, caplog) -> None:
    install(tmp_path, monkeypatch, f"echo start >> {tmp_path}/starts; echo '{REFUSING}' >&2; exit 1")
    with caplog.at_level(logging.WARNING, logger="tracer_hooks"):
        results = [run_python("", tests=["assert 1 == 1"]) for _ in range(3)]
    assert [(result.isolation, result.passed) for result in results] == [("process", True)] * 3
    (said,) = caplog.messages
    assert f"without bubblewrap ({REFUSING})" in said
    assert "where the kernel and the container allow user namespaces" in said
    tries = (tmp_path / "starts").read_text().count("start")
    assert 1 <= tries <= 2, "it is tried again with the loader's list, and never after that"
    assert not bubblewrap_state().works
    assert isolation_in_words() == f"a process with limits, without bubblewrap ({REFUSING})"


@on_linux
@pytest.mark.parametrize(
    ("program", "problem"),
    [("exit 3", "its exit status is 3"), ("echo Segmentation fault; exit 139", "Segmentation fault"), ("exit 0", "0")],
)
def test_a_trial_that_gives_nothing_is_a_failure(tmp_path, monkeypatch, program: str, problem: str) -> None:
    install(tmp_path, monkeypatch, program)
    state = bubblewrap_state()
    assert (state.works, state.bubblewrap) == (False, None)
    assert problem in str(state.problem)


@pytest.mark.parametrize(
    ("platform", "machine", "problem"),
    [
        ("darwin", "arm64", "bubblewrap needs Linux, this is darwin"),
        ("linux", "riscv64", "written for x86_64 and aarch64, this is riscv64"),
        ("linux", "x86_64", "bubblewrap is not installed"),
    ],
)
def test_where_it_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch, platform: str, machine: str, problem: str) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setenv("PATH", "")
    assert problem in str(bubblewrap_state().problem)


def test_without_it_nothing_runs_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "required")
    with pytest.raises(ConfigError, match=r"required here and does not work: .*Next: apt-get install bubblewrap"):
        run_python("raise SystemExit", tests=[])
    (task,) = get_suite("code").tasks(1)
    with pytest.raises(ConfigError, match="required here"):  # before a team has worked for nothing
        check_of(task)
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "auto")
    check_of(task)


@on_linux
def test_what_stops_working_is_left_and_the_answer_graded_all_the_same(tmp_path, monkeypatch, caplog) -> None:
    state = bubblewrap_state()
    if state.bubblewrap is None:
        pytest.skip(f"bubblewrap cannot be used: {state.problem}")
    assert run_python("", tests=["assert 1 == 1"]).isolation == "bubblewrap"
    install(tmp_path, monkeypatch, f"echo '{REFUSING}' >&2; exit 1")
    _bubblewrap.forget()
    broken = replace(state.bubblewrap, path=str(tmp_path / "bwrap"))
    monkeypatch.setattr(_bubblewrap, "_known", [_bubblewrap.BubblewrapState(bubblewrap=broken, problem=None)])
    with caplog.at_level(logging.WARNING, logger="tracer_hooks"):
        result = run_python("def f(): return 1", tests=["assert f() == 1"])
    assert (result.isolation, result.passed) == ("process", True)
    assert REFUSING in caplog.text
    with pytest.raises(ConfigError, match="No permissions"):
        run_python("", tests=[], bubblewrap="required")


def test_the_setting_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bubblewrap_use() == "auto"
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "Required")
    assert (bubblewrap_use(), bubblewrap_use("off")) == ("required", "off")
    with pytest.raises(ConfigError, match="is 'maybe', expected 'auto', 'required' or 'off'"):
        bubblewrap_use("maybe")
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "off")
    assert isolation_in_words() == "a process with limits, without bubblewrap (switched off)"


@on_linux
def test_the_interpreter_is_shown_without_the_packages_of_others() -> None:
    files = interpreter_files()
    assert os.path.realpath(files.executable) == files.executable
    assert files.executable in files.shown
    stdlib = os.path.dirname(os.__file__)
    assert os.path.realpath(stdlib) in {os.path.realpath(path) for path in files.shown}
    assert all(os.path.exists(path) for path in (*files.shown, *files.hidden))
    assert any("libc." in path or "musl" in path for path in files.shown)
    for site in (os.path.join(stdlib, name) for name in ("site-packages", "dist-packages")):
        assert not os.path.isdir(site) or os.path.realpath(site) in {os.path.realpath(path) for path in files.hidden}
    homes = {"/", "/home", "/usr", "/usr/lib", "/lib", "/etc", os.path.expanduser("~"), sys.prefix, sys.base_prefix}
    assert not homes & set(files.shown)


def decided(program: bytes, architecture: int, number: int) -> int:
    """What the kernel would do with a call: the classic packet filter, as far as our programs use it."""
    steps = [struct.unpack("=HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    place, value = 0, 0
    while True:
        code, if_true, if_false, operand = steps[place]
        place += 1
        if code == 0x20:
            value = {0: number, 4: architecture}[operand]
        elif code in (0x15, 0x35):
            holds = value == operand if code == 0x15 else value >= operand
            place += if_true if holds else if_false
        else:
            assert code == 0x06
            return int(operand)


@pytest.mark.parametrize("machine", [pytest.param(machine, id=name) for name, machine in MACHINES.items()])
def test_the_filter_refuses_its_calls_and_no_others(machine: Machine) -> None:
    program, allow, refuse = call_filter(machine), 0x7FFF0000, 0x00050001
    refused = set(machine.refused.values())
    assert {decided(program, machine.audit_number, number) for number in refused} == {refuse}
    assert {decided(program, machine.audit_number, n) for n in range(500) if n not in refused} == {allow}
    assert decided(program, 0x40000003, 0) == 0x80000000, "another kind of processor's writing"
    assert decided(program, machine.audit_number, 0x40000000) == (refuse if machine.has_x32 else allow)
    assert len(refused) == len(machine.refused)
    assert {"clone", "clone3", "socket", "ptrace", "unshare", "setns", "pidfd_getfd"} <= set(machine.refused)
