"""The file behind a segment: made whole or not at all, opened only when it is safely ours, removed only when nobody lives in it.

Locks are on single bytes and belong to the open file: the kernel drops them when their holder dies, however it dies.
"""

import errno
import fcntl
import os
import stat
import struct
import time

from . import wire
from .wire import WireError

SHM = "/dev/shm"
PREFIX = "horizonserve-"
_LOCK = struct.Struct("hhqqi4x")
_OFD_GETLK, _OFD_SETLK = 36, 37


def segment_path(name):
    """Where the segment of this name lies. A name, not a path: it may not leave the folder."""
    if not name or "/" in name or name.startswith(".") or len(name) > 64:
        raise WireError(f"the name of a segment is 1 to 64 characters without '/', got {name!r}")
    return f"{SHM}/{PREFIX}{name}"


def try_lock(fd, offset):
    try:
        fcntl.fcntl(fd, _OFD_SETLK, _LOCK.pack(fcntl.F_WRLCK, 0, offset, 1, 0))
        return True
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise


def is_locked(fd, offset, length=1):
    answer = fcntl.fcntl(fd, _OFD_GETLK, _LOCK.pack(fcntl.F_WRLCK, 0, offset, length, 0))
    return _LOCK.unpack(answer)[0] != fcntl.F_UNLCK


def open_checked(path):
    """A descriptor of an existing segment: a plain file of this user that nobody else may write, no link followed."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise WireError(f"{path} is a link, and links are not followed") from None
        raise
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        os.close(fd)
        raise WireError(f"{path} must be a file of user {os.geteuid()} with mode 0600, got user {info.st_uid}, mode {info.st_mode & 0o7777:o}")
    return fd


def remove_if_dead(path):
    """Removes the segment when no stage holds it; True when it is gone. Two that try at once do not harm each other."""
    try:
        fd = open_checked(path)
    except FileNotFoundError:
        return True
    try:
        if not try_lock(fd, wire.LOCK_JANITOR) or is_locked(fd, wire.LOCK_STAGE0, wire.MAX_STAGES):
            return False
        # Somebody may have put another file there between opening and locking.
        if os.fstat(fd).st_ino == os.stat(path, follow_symlinks=False).st_ino:
            os.unlink(path)
        return True
    except FileNotFoundError:
        return True
    finally:
        os.close(fd)


def create(path, stage, num_stages, ring_slots):
    total = wire.RINGS_OFFSET + num_stages * ring_slots * wire.EVENT_BYTES
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, total)
        header = wire.encode_header(num_stages, ring_slots, os.getpid(), int.from_bytes(os.urandom(8), "big"), time.monotonic_ns())
        wire.check_header(header, total)
        os.pwrite(fd, header, 0)
        try_lock(fd, wire.LOCK_STAGE0 + stage)
        os.link(draft, path)
        return fd
    except BaseException:
        os.close(fd)
        raise
    finally:
        os.unlink(draft)
