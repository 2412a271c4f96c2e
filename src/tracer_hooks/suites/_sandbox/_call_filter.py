"""The system calls that the kernel refuses to code inside bubblewrap, as a program for seccomp.

Limits of the operating system bind no processes of the superuser, so that processes are refused here, threads with
them (without bubblewrap the limit on processes refuses both to everybody but the superuser). The other calls have no
use in an answer's code, and a history of holes in the kernel, or take memory that no limit counts.

The format is https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html; the numbers are those of
``asm/unistd.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_X32_FROM: Final = 0x40000000
"""Numbers from here on are the x32 writing of the same calls, which only x86_64 has."""

_SAME: Final[Mapping[str, int]] = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
}  # fmt: skip
_X86_64: Final[Mapping[str, int]] = {
    **_SAME, "clone": 56, "fork": 57, "vfork": 58, "socket": 41, "ptrace": 101, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166,
    "pivot_root": 155, "chroot": 161, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250,
    "add_key": 248, "request_key": 249, "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168,
    "personality": 135, "acct": 163, "syslog": 103, "quotactl": 179, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "clock_adjtime": 305, "iopl": 172, "ioperm": 173, "modify_ldt": 154, "vhangup": 153,
}  # fmt: skip
_AARCH64: Final[Mapping[str, int]] = {
    **_SAME, "clone": 220, "socket": 198, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218,
    "shmget": 194, "shmat": 196, "msgget": 186, "semget": 190, "name_to_handle_at": 264, "open_by_handle_at": 265,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294,
    "reboot": 142, "swapon": 224, "swapoff": 225, "personality": 92, "acct": 89, "syslog": 116, "quotactl": 60,
    "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "vhangup": 58,
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """How the kernel of one kind of processor calls itself and its calls."""

    audit_number: int
    refused: Mapping[str, int]
    has_x32: bool = False


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(0xC000003E, _X86_64, has_x32=True),
    "aarch64": Machine(0xC00000B7, _AARCH64),
}
"""By ``platform.machine()``; elsewhere there is no filter, and bubblewrap is not used."""


def call_filter(machine: Machine) -> bytes:
    """The filter's program. A refused call gives EPERM; one in another kind of processor's writing kills."""
    numbers = sorted(machine.refused.values())
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, machine.audit_number, if_true=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine.has_x32:
        program.append(_step(_AT_LEAST, _X32_FROM, if_true=len(numbers) + 1))
    program += [_step(_EQUAL, number, if_true=len(numbers) - place) for place, number in enumerate(numbers)]
    return b"".join([*program, _step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE)])


def _step(code: int, value: int, *, if_true: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, 0, value)
