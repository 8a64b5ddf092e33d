"""Starts a program in a session of its own without holding Python's lock: posix_spawn by ctypes.

`os.posix_spawn` keeps the interpreter's lock until the new program has been loaded, which takes
many milliseconds on a busy machine and would hold the event loop. A ctypes call gives the lock up.
"""

import ctypes
import os
from collections.abc import Mapping, Sequence

_SETSIGDEF = 0x04
_SETSIGMASK = 0x08
_SETSID = 0x80
# Larger than the opaque structures of any libc: 336, 80 and 128 bytes in glibc on x86-64.
_STRUCTURE_BYTES = 1024

_libc = ctypes.CDLL(None, use_errno=True)


def spawn_session(program: str, arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Start a program as leader of a new session; its pid. Blocks, so call it in a thread.

    Its input and output are /dev/null, all signals have their default action, none is blocked.

    Raises:
        OSError: the system refused.
        ValueError: an argument or a variable has a NUL in it.
    """
    attributes = ctypes.create_string_buffer(_STRUCTURE_BYTES)
    actions = ctypes.create_string_buffer(_STRUCTURE_BYTES)
    signals = ctypes.create_string_buffer(_STRUCTURE_BYTES)
    pid = ctypes.c_int()
    argv = _strings(arguments)
    envp = _strings([f"{name}={value}" for name, value in env.items()])
    _check(_libc.posix_spawnattr_init(attributes))
    _check(_libc.posix_spawn_file_actions_init(actions))
    try:
        flags = ctypes.c_short(_SETSIGDEF | _SETSIGMASK | _SETSID)
        _check(_libc.posix_spawnattr_setflags(attributes, flags))
        _libc.sigemptyset(signals)
        _check(_libc.posix_spawnattr_setsigmask(attributes, signals))
        _libc.sigfillset(signals)
        _check(_libc.posix_spawnattr_setsigdefault(attributes, signals))
        null = os.devnull.encode()
        for descriptor in (0, 1, 2):
            _check(
                _libc.posix_spawn_file_actions_addopen(
                    actions, descriptor, null, os.O_RDWR, ctypes.c_uint(0)
                )
            )
        path = os.fsencode(program)
        _check(_libc.posix_spawn(ctypes.byref(pid), path, actions, attributes, argv, envp))
    finally:
        _libc.posix_spawn_file_actions_destroy(actions)
        _libc.posix_spawnattr_destroy(attributes)
    return pid.value


def _strings(texts: Sequence[str]) -> "ctypes.Array[ctypes.c_char_p]":
    """A NULL-terminated array of C strings."""
    encoded = [os.fsencode(text) for text in texts]
    if any(b"\0" in text for text in encoded):
        raise ValueError("an argument or a variable has a NUL character in it")
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def _check(number: int) -> None:
    """These functions return the error's number instead of setting it."""
    if number:
        raise OSError(number, os.strerror(number))
