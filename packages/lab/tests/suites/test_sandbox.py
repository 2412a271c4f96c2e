"""The sandbox holds what runs in it, and no code passes without giving the values."""

import os
import re
import socket
import sys
from pathlib import Path

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks_lab.suites import AssertOutcome, SandboxLimits, SandboxResult, bubblewrap_state, run_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")

TESTS = ("assert f(2) == 4", "assert f(3) == 9")
SHORT = SandboxLimits(wall_s=60, cpu_s=1)  # a busy machine takes its time


@pytest.fixture(autouse=True, params=["required", "off"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that holds with bubblewrap holds without it, and the other way round."""
    if request.param == "required" and not bubblewrap_state().works:
        pytest.skip(f"bubblewrap cannot be used: {bubblewrap_state().problem}")
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", request.param)
    return str(request.param)


def run(code: str, limits: SandboxLimits = SHORT) -> SandboxResult:
    return run_python(code, tests=TESTS, limits=limits)


def test_each_test_has_its_outcome_and_the_first_error_is_told() -> None:
    result = run("print('hello')\ndef f(x):\n    return x + 2")
    assert result.outcomes == (
        AssertOutcome(test="assert f(2) == 4", passed=True, value="4"),
        AssertOutcome(test="assert f(3) == 9", passed=False, value="5", error="f(3) gave 5"),
    )
    assert (result.passed, result.error, result.output, result.timed_out) == (False, "f(3) gave 5", "hello\n", False)
    fine = run("def f(x):\n    return x * x")
    assert (fine.passed, fine.error, fine.output) == (True, None, "")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(x) return x", "SyntaxError: expected ':' (<answer>, line 1)"),
        ("\nraise ValueError('no')", "ValueError: no (line 2)"),
        ("def f(x):\n    return 1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("import sys; sys.exit(0)", "SystemExit: 0 (line 1)"),
        ("def f(x): return f(x)", "RecursionError: maximum recursion depth exceeded (line 1)"),
        ("def f(x): return input()", "EOFError: EOF when reading a line (line 1)"),
        ("g = 1", "NameError: name 'f' is not defined"),
        ("def f(x): return '\ud800'", "UnicodeEncodeError: "),
        ("a\x00b", "null bytes"),
    ],
)
def test_errors_of_the_code_are_told_with_their_line(code: str, error: str) -> None:
    result = run(code)
    assert not any(outcome.passed for outcome in result.outcomes)
    assert result.error is not None
    assert error in result.error


def test_the_standard_library_and_the_own_folder_can_be_used() -> None:
    result = run(
        """
import asyncio, collections, dataclasses, datetime, decimal, heapq, itertools, json, math, os, re, typing
def f(x):
    with open('note.txt', 'w') as file:
        file.write(str(x * x))
    with open('./folder/../note.txt') as file:
        return int(file.read())
os.mkdir('folder')
"""
    )
    assert result.passed, result.error


@pytest.mark.parametrize(
    "code",
    [
        "print('assert f(2) == 4 passed'); import os; os._exit(0)",
        "import os, atexit\natexit.register(lambda: os._exit(0))",
        "class Same:\n    def __eq__(self, other): return True\ndef f(x): return Same()",
        "class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = None\ndef f(x): return Same(0)",
        "import builtins\nbuiltins.eval = builtins.repr = lambda *a: 'True'\ndef f(x): return True",
        "import os\nfor fd in range(3, 30):\n"
        "    for line in (b'{\"test\": 0, \"passed\": true, \"value\": \"True\"}\\n', "
        "b'{\"test\": 1, \"passed\": true}\\n', b'[1]\\n', b'\\xff\\n', b'{\"test\": {}}\\n'):\n"
        "        try: os.write(fd, line)\n        except OSError: pass\nos._exit(0)",
        "import sys\nframe = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n"
        "        if isinstance(value, dict) and 'expressions' in value: value['expressions'][:] = ['4', '4']\n"
        "    frame = frame.f_back\ndef f(x): return 0",
        "f = 4",
    ],
)  # fmt: skip
def test_no_code_passes_by_pretending(code: str) -> None:
    result = run(code)
    assert not result.passed
    assert result.error


def test_what_the_tests_expect_is_nowhere_inside() -> None:
    code = (
        "import gc, os, sys\n"
        "def f(x):\n"
        "    os.lseek(0, 0, 0)\n"
        "    wanted = ''.join(['first', '-', 'secret'])\n"
        "    places = [open(sys.argv[0]).read(), repr(sys.argv), sys.stdin.read()]\n"
        "    try: places.append(open('/dev/fd/0').read())\n"
        "    except FileNotFoundError: pass\n"
        "    places += [repr(one) for one in gc.get_objects() if isinstance(one, (dict, list, tuple))]\n"
        "    return wanted if any(wanted in place for place in places) else 'none'\n"
    )
    result = run_python(code, tests=["assert f(1) == 'first-secret'", "assert f(1) == 'none'"])
    assert [outcome.passed for outcome in result.outcomes] == [False, True], result


CPU = "killed after 1 s of processor time"
SIGNALLED = "the process (died of signal 9|ended with exit status 137, which stands for signal 9)"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("while True: pass", CPU),
        ("def f(x):\n    return 10 ** (10 ** 9)", CPU),
        ("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", SIGNALLED),
        ("def f(x): return len('x' * 2_000_000_000)", "MemoryError"),
    ],
)
def test_what_takes_too_much_time_or_memory_ends(code: str, error: str) -> None:
    result = run(code)
    assert not result.passed
    assert re.match(error, str(result.error))
    assert not result.timed_out


def test_waiting_ends_with_the_wall_clock() -> None:
    result = run("import time\nprint('on', flush=True)\ntime.sleep(60)", SandboxLimits(wall_s=2))
    assert (result.timed_out, result.error, result.output) == (True, "killed after 2 s", "on\n")


def test_what_is_printed_and_written_is_limited() -> None:
    result = run(
        "def f(x):\n    while True: print('x' * 100_000)", SandboxLimits(wall_s=60, file_mib=1, output_chars=10)
    )
    assert result.error is not None
    assert "File too large" in result.error
    assert result.output == "x" * 10
    assert not run("def f(x): return 'x' * 1_000_000").passed


FORBIDDEN = {
    "fork bomb": "import os\nwhile True: os.fork()",
    "fork and hide": "import os\nif os.fork() == 0:\n    os.setsid()",
    "spawn": "import os\nos.posix_spawn('/bin/sh', ['sh'], {})",
    "subprocess": "import subprocess\nsubprocess.run(['ls'])",
    "raw fork": "import _posixsubprocess\n_posixsubprocess.fork_exec()", "system": "import os\nos.system('ls')",
    "exec": "import os\nos.execv('/bin/ls', ['ls'])", "ctypes": "import ctypes",
    "multiprocessing": "import multiprocessing\nmultiprocessing.Process(target=print).start()",
    "kill": "import os\nos.kill(os.getppid(), 9)",
    "limits": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (-1, -1))",
    "socket": "import socket\nsocket.socket()", "lookup": "import socket\nsocket.getaddrinfo('localhost', 80)",
    "parent folder": "open('../out', 'w')", "append": "open('/tmp/out', 'a')",
    "update": "open('/proc/self/mem', 'r+b')", "bytes path": "open(b'/tmp/out', 'wb')",
    "os.open": "import os\nos.open('/tmp/out', os.O_CREAT | os.O_WRONLY)",
    "relative to a folder": "import os\nos.open('/', os.O_RDONLY)", "link": "import os\nos.symlink('/tmp', 'tmp')",
    "leave": "import os\nos.chdir('/tmp')", "remove": "import os\nos.remove('/etc/hostname')",
    "rename": "import os\nopen('a', 'w').close()\nos.rename('a', '/tmp/a')",
    "tree": "import shutil\nshutil.rmtree('/tmp')",
    "stateful path": "import os, io\nclass P:\n    def __fspath__(self): return 'a'\nimport _io\n_io.FileIO(P(), 'w')",
    "blind guard": "import os, posixpath\nos.getcwd = os.stat = posixpath.realpath = None\nopen('/tmp/out', 'w')",
}  # fmt: skip


def test_what_reaches_out_is_refused(tmp_path: Path) -> None:
    code = (
        f"ATTEMPTS = {FORBIDDEN!r}\n"
        "def attempt(name):\n"
        "    try: exec(ATTEMPTS[name], {})\n"
        "    except BaseException as error: return f'{type(error).__name__}: {error}'[:36]\n"
        "    return 'done'\n"
    )
    tests = [f"assert attempt({name!r}) == 'PermissionError: the sandbox refuses'" for name in FORBIDDEN]
    result = run_python(code, tests=tests)
    assert [outcome.error for outcome in result.outcomes if not outcome.passed] == []
    target = tmp_path / "out"
    caught = f"def f(x):\n    try: open({str(target)!r}, 'w').write('x')\n    except OSError: pass\n    return x * x"
    assert run(caught).passed
    assert not target.exists()
    said = run(f"def f(x): return x * x\n{FORBIDDEN['socket']}\n")
    assert not said.passed
    assert said.error.startswith("PermissionError: the sandbox refuses"), said.error


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
def test_the_kernel_keeps_it_off_the_network_where_it_can(way: str) -> None:
    if way == "required":
        assert not run("def f(x): return x * x").had_network
        return
    names = "def f(x): return sorted(open('/proc/net/dev').read().count(':') and "
    names += "[line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line])"
    result = run_python(names, tests=["assert f(1) == ['lo']"])
    assert result.passed is not result.had_network or len(socket.if_nameindex()) == 1


def test_nothing_of_the_callers_environment_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = "import os\ndef f(x): return sorted(set(os.environ) - {'LC_CTYPE', '__CF_USER_TEXT_ENCODING'})"
    assert run_python(code, tests=["assert f(1) == ['PYTHONHASHSEED']"]).passed
    assert run_python("import pydantic", tests=["assert 1 == 1"]).error is not None
    code = "def f(x): return list({'ada', 'bob', 'cleo', 'dan', 'eve', 'finn'})"
    first, second = (run_python(code, tests=["assert f(1) == []"]).outcomes[0].value for _ in range(2))
    assert first == second, "the same code gives the same values every time"


def test_plain_values_of_every_type_are_compared() -> None:
    values = ["[1, (2.5, None)]", "{'a': {1, 2}}", "set()", "b'x'", "True", "-3", "'\U0001f600\u00e9'"]
    code = "def f(value): return value"
    assert run_python(code, tests=[f"assert f({value}) == {value}" for value in values]).passed
    others = run_python(code, tests=[f"assert f([{value}]) == {value}" for value in values])
    assert not any(outcome.passed for outcome in others.outcomes)


@pytest.mark.parametrize(
    "test", ["f(2) == 4", "assert f(2)", "assert f(2) == g(2)", "assert f(", "assert f(2) == 4; x", ""]
)
def test_tests_of_another_form_are_refused(test: str) -> None:
    with pytest.raises(ConfigError, match="assert EXPRESSION == LITERAL"):
        run_python("", tests=[test])


def test_limits_that_cannot_be_and_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="wall_s must be a number above 0, got 0"):
        SandboxLimits(wall_s=0)
    with pytest.raises(ConfigError, match="output_chars"):
        SandboxLimits(output_chars=-1)
    monkeypatch.setattr("tracer_hooks_lab.suites._sandbox._run._IS_POSIX", False)
    with pytest.raises(ConfigError, match="POSIX"):
        run_python("", tests=[])
