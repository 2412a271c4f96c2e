"""The sandbox holds every attack of the table with bubblewrap, and says so where it holds fewer."""

import logging
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks import _guard
from tracer_hooks_lab.suites import SandboxLimits, SandboxResult, bubblewrap_state, run_python

from ._attacks import ATTACKS, DEAD, DISARM, ESCAPED, FORGERY, NETWORK, PROCESSES, READING, WRITING, Attack

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")

WITH_US = {**os.environ, "PYTHONPATH": str(Path(tracer_hooks.__file__).parents[1])}
LIMITS = SandboxLimits(wall_s=30, cpu_s=1)  # a busy machine takes its time
WAITING = SandboxLimits(wall_s=3, cpu_s=1)
needs_bubblewrap = pytest.mark.skipif(
    not bubblewrap_state().works, reason=f"bubblewrap cannot be used: {bubblewrap_state().problem}"
)
every = {"argvalues": [pytest.param(attack, id=attack.name) for attack in ATTACKS], "argnames": "attack"}


@dataclass
class Scene:
    """What an attack may aim at, all of it the test's own."""

    folder: Path
    decoy: subprocess.Popen[bytes]
    listener: socket.socket
    secret: str
    began: float = field(default_factory=time.monotonic)

    @property
    def names(self) -> str:
        """The names in capitals, as code."""
        values = {
            "SECRET": str(self.folder / "secret.py"), "TARGET": str(self.folder / "target"),
            "FOLDER": str(self.folder), "DECOY": self.decoy.pid, "PORT": self.listener.getsockname()[1],
            "SITE": os.path.dirname(os.path.dirname(pytest.__file__)), "HOST": socket.gethostname(),
        }  # fmt: skip
        return "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def escapes(self, shown: str) -> list[str]:
        """What shows that an attack succeeded; ``shown`` is all that came out of it."""
        found = [f"{ESCAPED!r} is said"] if re.search(rf"(?m)^'?{ESCAPED}", shown) else []
        if self.secret in shown:
            found.append("the secret is said")
        if sorted(os.listdir(self.folder)) != ["secret.py"]:
            found.append(f"the folder has {sorted(os.listdir(self.folder))}")
        else:
            status = os.stat(self.folder / "secret.py")
            if status.st_mode & 0o777 != 0o600 or status.st_mtime < 2 or self.text not in self.kept:
                found.append("the file is not as it was")
        if self.decoy.poll() is not None:
            found.append("the decoy is dead")
        try:
            self.listener.accept()[0].close()
            found.append("the listener is reached")
        except BlockingIOError:
            pass
        return found

    @property
    def kept(self) -> str:
        """What the secret's file holds now."""
        return (self.folder / "secret.py").read_text()

    @property
    def text(self) -> str:
        """What the secret's file held."""
        return f"secret = {self.secret!r}"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    folder, secret = tmp_path / "outside", secrets.token_hex(12)
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        decoy = subprocess.Popen(
            [sys.executable, "-S", "-c", "import time; time.sleep(600)", secret],
            env={"SECRET_KEY": secret},
            start_new_session=True,
        )
        made = Scene(folder=folder, decoy=decoy, listener=listener, secret=secret)
        (folder / "secret.py").write_text(made.text)
        (folder / "secret.py").chmod(0o600)
        yield made
        decoy.kill()
        decoy.wait()


def everything_said(result: SandboxResult) -> str:
    values = [str(outcome.value) for outcome in result.outcomes]
    return "\n".join([*values, result.output, *(outcome.error or "" for outcome in result.outcomes)])


def attacked(attack: Attack, scene: Scene, how: str, before: str = "") -> SandboxResult:
    limits = WAITING if attack.name.startswith("wall clock") else LIMITS
    code = scene.names + before + attack.code
    return run_python(code, tests=["assert f() == [True]"], limits=limits, bubblewrap=how)  # type: ignore[arg-type]


@needs_bubblewrap
@pytest.mark.parametrize(
    "before", [pytest.param(DISARM, id="no hook"), pytest.param("", id="hook", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(**every)  # type: ignore[arg-type]
def test_bubblewrap_holds(attack: Attack, before: str, scene: Scene) -> None:
    result = attacked(attack, scene, "required", before)
    assert scene.escapes(everything_said(result)) == [], (attack.seen, result)
    assert not result.passed
    assert (result.isolation, result.had_network) == ("bubblewrap", False)
    assert time.monotonic() - scene.began < 60, "the process is not ended"
    assert bubblewrap_state().works, "the weaker way is taken from now on"


@pytest.mark.slow
@pytest.mark.parametrize("attack", [pytest.param(one, id=one.name) for one in ATTACKS if one.without == "held"])
def test_limits_and_the_hook_hold(attack: Attack, scene: Scene) -> None:
    result = attacked(attack, scene, "off")
    assert scene.escapes(everything_said(result)) == [], (attack.seen, result)
    assert not result.passed
    assert result.isolation == "process"


@pytest.mark.slow
@pytest.mark.parametrize("attack", [pytest.param(one, id=one.name) for one in ATTACKS if one.bare])
def test_the_attack_is_one(attack: Attack, scene: Scene, tmp_path: Path) -> None:
    """Where nothing holds it, it is seen to succeed: the tests above can fail."""
    box = tmp_path / "box"
    box.mkdir()
    program = f"{scene.names}{attack.code}print(repr(f()))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=box, capture_output=True, text=True, timeout=60, check=False
    )
    if attack.seen == DEAD:  # it takes the system a moment
        with suppress(subprocess.TimeoutExpired):
            scene.decoy.wait(20)
    assert scene.escapes(done.stdout) != [], done.stderr


def test_the_table_is_long_and_says_what_is_not_held() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 44
    open_parts = {
        part
        for part, attacks in (("read", READING), ("write", WRITING), ("process", PROCESSES), ("network", NETWORK))
        if any(attack.without == "open" for attack in attacks)
    }
    assert open_parts == {"read", "write", "process"}
    assert all(attack.without == "held" for attack in FORGERY)


def test_what_is_not_held_is_announced(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the weaker way does not hold is not run in it here; whoever takes that way is told, and told once."""
    monkeypatch.setattr(_guard, "_warned", set())
    with caplog.at_level(logging.WARNING, logger="tracer_hooks"):
        results = [run_python("", tests=["assert 1 == 1"], bubblewrap="off") for _ in range(2)]
    assert [result.isolation for result in results] == ["process", "process"]
    (said,) = caplog.messages
    assert "without bubblewrap (it is switched off)" in said
    assert "not code that sets out to break in" in said


@needs_bubblewrap
def test_the_hook_can_be_done_away_with() -> None:
    """The prefix that the attacks are also run with really leaves the kernel alone."""
    code = f"{DISARM}\nimport os\ndef f():\n    try: os.fork()\n    except OSError as error: return error.errno"
    armed = run_python(code.replace(DISARM, ""), tests=["assert f() == None"], bubblewrap="required")
    assert armed.passed, "the hook's error has no number"
    assert run_python(code, tests=["assert f() == 1"], bubblewrap="required").passed, "EPERM is the kernel's"


CALLER = """
from tracer_hooks_lab.suites import run_python
code = '''import os, signal
def f():
    for signalled in (os.getppid(), 1, -1):
        try: signal.pidfd_send_signal(os.pidfd_open(signalled), signal.SIGKILL)
        except (OSError, OverflowError): pass
        try: os.kill(signalled, signal.SIGKILL)
        except OSError: pass
'''
print(run_python({before!r} + code, tests=["assert f() == 1"], bubblewrap="required").isolation)
"""


@needs_bubblewrap
def test_the_caller_outlives_what_it_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLER.replace("{before!r}", repr(DISARM))],
        env=WITH_US, capture_output=True, text=True, timeout=120, check=False, start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "bubblewrap\n"), done.stderr


@needs_bubblewrap
def test_what_runs_inside_ends_with_the_caller() -> None:
    program = (
        "from tracer_hooks_lab.suites import SandboxLimits, run_python\n"
        "run_python('import time; time.sleep(600)', tests=[], limits=SandboxLimits(wall_s=500), "
        "bubblewrap='required')"
    )
    caller = subprocess.Popen([sys.executable, "-c", program], env=WITH_US, start_new_session=True)
    try:
        assert eventually(lambda: bool(descendants(caller.pid))), "nothing was started"
        assert eventually(lambda: any("child.py" in command for _, command in descendants(caller.pid)))
        inside = [pid for pid, _ in descendants(caller.pid)]
    finally:
        caller.kill()
        caller.wait()
    assert eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside)), "they outlive the caller"


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def descendants(pid: int) -> list[tuple[int, str]]:
    """Processes below ``pid``, with their command lines."""
    found: list[tuple[int, str]] = []
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
            found += [(int(child), command), *descendants(int(child))]
    except OSError:
        pass
    return found


@needs_bubblewrap
def test_nothing_of_the_machine_is_inside_but_the_interpreter() -> None:
    code = """
import os, sys
def f():
    files = []
    for folder, names, leaves in os.walk('/'):
        files += [os.path.join(folder, leaf) for leaf in leaves]
    stdlib = os.path.dirname(os.__file__) + '/'
    return sorted(path for path in files if not path.startswith(stdlib))
def site():
    return [path for path in sys.path if os.path.isdir(path + '/site-packages') and os.listdir(path + '/site-packages')]
"""
    result = run_python(code, tests=["assert f() == 1", "assert site() == []"], bubblewrap="required")
    assert result.outcomes[1].passed, result
    others = [
        path
        for path in re.findall(r"'([^']+)'", str(result.outcomes[0].value))
        if not re.search(r"\.so(\.[\d.]+)?$", path) and path not in ("/etc/ld.so.cache", "/sandbox/child.py")
    ]
    assert [path for path in others if not path.startswith("/dev/")] == [os.path.realpath(sys._base_executable)]  # type: ignore[attr-defined]
    assert {path for path in others if path.startswith("/dev/")} == {
        "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
    }  # fmt: skip
