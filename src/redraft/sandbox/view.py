"""What a contained command sees of this machine's files: found out anew before each command."""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox.concealed import bound_sockets, is_key_file, secret_paths
from redraft.sandbox.launcher import EXCHANGE
from redraft.sandbox.mounts import Kind, Place, Plan, Point, nearest, plan
from redraft.sandbox.places import Credentials, check_directory

__all__ = ["View"]

_ROOT = PurePosixPath("/")
# In a /proc of its own a command that runs as root outside could still write to these, for they ask
# for the user and not for a privilege: /proc/sys/kernel/core_pattern names a program that the kernel
# starts outside of everything.
_KERNEL_FILES = tuple(
    f"/proc/{name}"
    for name in (
        "sys",
        "sysrq-trigger",
        "irq",
        "bus",
        "acpi",
        "mtrr",
        "scsi",
        "fs",
        "pressure",
        "asound",
    )
)
# NixOS keeps its programs under /run, which is hidden for its sockets.
_PROGRAMS = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")


class View:
    """The files of one sandbox.

    Args:
        private: a directory of ours, for what replaces things of the machine.
        workdir: can be written to.
        context_dir: can be written to as well, once it is there; or None.
        writable: further directories that can be written to.
        hidden: files and directories that cannot be seen.
        network: whether names of other machines must be found.
        memory: bytes that /dev/shm may hold; None where directories in memory cannot be given a size.

    Raises:
        SandboxError: one of them cannot be used.
        SettingsError: they contradict each other.
    """

    def __init__(
        self,
        private: Path,
        *,
        workdir: Path,
        context_dir: Path | None,
        writable: Sequence[Path],
        hidden: Sequence[Path],
        network: bool,
        memory: int | None,
    ) -> None:
        self._private = private
        self._credentials = Credentials()
        self._network = network
        self._memory = memory
        self._homes = _homes()
        self._secret = [str(path) for path in secret_paths(self._homes)]
        self._temporary = _real(Path(tempfile.gettempdir()))
        self.workdir = _real(workdir)
        self._writable = [self.workdir, *map(_real, writable)]
        for directory in self._writable:
            self._check_writable(directory)
        self._context_dir = None if context_dir is None else _real(context_dir)
        names = [path for path in (workdir, context_dir, *writable) if path is not None]
        self._names = {PurePosixPath(Path(name).absolute()): _real(name) for name in names}
        self._hidden = [_real(path) for path in hidden]
        for path in self._hidden:
            if path in (*self._writable, self._context_dir):
                raise SettingsError(
                    f"{path} is to be hidden and to be written to. Give it in one place only."
                )
            self._check_findable(path)
        self._make_private()

    def now(self) -> Plan:
        """The mounts for a command that starts now; what they need has been made.

        Raises:
            SandboxError: something that a command must see, or must not see, is gone.
        """
        check_directory(Path(self.workdir))
        places = self._base() | self._secrets()
        shared = self._shared()
        places |= shared
        places |= self._other_names(places, shared)
        for path in self._hidden:
            self._check_findable(path)
            if self._credentials.reach(Path(path)):
                places[path] = self._mask(path)
        for path in self._sockets():
            if nearest(path, places) == _ROOT:
                places[path] = self._mask(path)
        made = plan(places)
        for point in made.points:
            self._make(point)
        return made

    def written(self) -> list[Path]:
        """The directories of this machine that a command can write to now."""
        return [Path(path) for path in self._shared()]

    # -- what stands where ---------------------------------------------------------------------

    def _base(self) -> dict[PurePosixPath, Place]:
        places = {
            _ROOT: Place(Kind.READ_ONLY, _ROOT),
            PurePosixPath("/dev"): Place(Kind.DEVICES),
            PurePosixPath("/dev/shm"): Place(Kind.SCRATCH, size=self._memory),
            PurePosixPath("/proc"): Place(Kind.PROCESSES),
        }
        for name in _KERNEL_FILES:
            if os.path.lexists(name):
                places[PurePosixPath(name)] = Place(Kind.READ_ONLY, PurePosixPath(name))
        # The temporary directory holds other sessions' context files.
        for path in (_real("/run"), _real("/var/run"), self._temporary):
            if path != _ROOT and Path(path).is_dir():
                places[path] = Place(Kind.EMPTY)
        for path, name in ((_real("/tmp"), "tmp"), (_real("/var/tmp"), "var-tmp")):
            if Path(path).is_dir():
                places[path] = Place(Kind.WRITABLE, self._own(name))
        return places | self._needed() | self._exchange()

    def _needed(self) -> dict[PurePosixPath, Place]:
        """What programs need from places that are hidden otherwise."""
        paths = [_real(name) for name in _PROGRAMS if Path(name).is_dir()]
        # It is a link into /run where systemd resolves names.
        resolver = _real("/etc/resolv.conf")
        if self._network and resolver.is_relative_to("/run") and Path(resolver).is_file():
            paths.append(resolver)
        return {path: Place(Kind.READ_ONLY, path) for path in paths if path.is_relative_to("/run")}

    def _exchange(self) -> dict[PurePosixPath, Place]:
        there = PurePosixPath(EXCHANGE)
        state = Place(Kind.WRITABLE, self._own("state"), file=True)
        return {there: Place(Kind.READ_ONLY, self._own("in")), there / "state": state}

    def _secrets(self) -> dict[PurePosixPath, Place]:
        paths = {_real(path) for path in self._secret if os.path.lexists(path)}
        with suppress(OSError):
            paths |= {
                PurePosixPath(entry)
                for entry in Path("/etc/ssh").iterdir()
                if is_key_file(entry.name)
            }
        return {path: self._mask(path) for path in paths if self._readable(Path(path))}

    def _shared(self) -> dict[PurePosixPath, Place]:
        paths = list(self._writable)
        if self._context_dir is not None and Path(self._context_dir).is_dir():
            paths.append(self._context_dir)
        return {path: Place(Kind.WRITABLE, path) for path in paths}

    def _other_names(
        self, places: Mapping[PurePosixPath, Place], shared: Mapping[PurePosixPath, Place]
    ) -> dict[PurePosixPath, Place]:
        """The names by which directories were given that lead over links which commands do not see."""
        others = {}
        for name, real in self._names.items():
            above = nearest(name, places)
            if name != real and real in shared and above and self._is_replaced(places[above]):
                others[name] = shared[real]
        return others

    def _is_replaced(self, place: Place) -> bool:
        """Whether something else stands at a place than on this machine."""
        private = PurePosixPath(self._private)
        return place.kind in (Kind.EMPTY, Kind.SCRATCH) or (
            place.source is not None and private in place.source.parents
        )

    def _sockets(self) -> Iterator[PurePosixPath]:
        with suppress(OSError):
            table = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
            for path in bound_sockets(table):
                with suppress(OSError):
                    real = _real(path)
                    if stat.S_ISSOCK(Path(real).stat().st_mode) and self._credentials.reach(
                        Path(real)
                    ):
                        yield real

    def _readable(self, path: Path) -> bool:
        """Whether a command could look into it. What it cannot needs no mask."""
        if not self._credentials.reach(path):
            return False
        status = path.lstat()
        return any(self._credentials.allow(status, wanted) for wanted in (os.R_OK, os.X_OK))

    def _mask(self, path: PurePosixPath) -> Place:
        if Path(path).is_dir():
            return Place(Kind.EMPTY)
        return Place(Kind.READ_ONLY, self._own("empty"), file=True)

    # -- what must hold ------------------------------------------------------------------------

    def _check_writable(self, directory: PurePosixPath) -> None:
        path = Path(directory)
        check_directory(path)
        for kept in (*self._homes, self._temporary, _real("/tmp"), _ROOT):
            if kept == directory or (directory in kept.parents and kept != self._temporary):
                raise SandboxError(
                    f"{directory} holds {kept if kept != directory else 'too much'}: a sandbox in which "
                    "all of that can be written to protects nothing. Name a directory of the project's "
                    "own, or use `--sandbox local`."
                )
        wanted = os.R_OK | os.X_OK | (os.W_OK if os.geteuid() == 0 else 0)
        if not (self._credentials.reach(path) and self._credentials.allow(path.stat(), wanted)):
            raise SandboxError(
                f"{directory} cannot be used without the privileges of root, which a sandbox has not. "
                f"Run redraft as the directory's owner, or run `chown -R $(id -u) {directory}`."
            )

    def _check_findable(self, path: PurePosixPath) -> None:
        """What does not exist yet could be made by a command, and then not be hidden from it."""
        in_reach = any(directory in path.parents for directory in self._writable)
        if in_reach and not os.path.lexists(path):
            raise SandboxError(
                f"{path} is to be hidden, but is not there. Create it, or make a sandbox without it."
            )

    # -- what has to be there ------------------------------------------------------------------

    def _own(self, name: str) -> PurePosixPath:
        return PurePosixPath(self._private / name)

    def _make_private(self) -> None:
        for name in ("in", "tmp", "var-tmp"):
            (self._private / name).mkdir()
        for name in ("tmp", "var-tmp"):
            (self._private / name).chmod(0o1777)
        for name in ("empty", "state", "in/state"):
            (self._private / name).touch(mode=0o600)
        (self._private / "empty").chmod(0o444)

    def _make(self, point: Point) -> None:
        """Make sure that a mount point stands in a directory that commands write to.

        Nothing of the sandbox runs now, so what is found stays.
        """
        ours = PurePosixPath(self._private) in point.root.parents
        steps = [point.root / step for step in (*reversed(point.path.parents[:-1]), point.path)]
        for step in steps:
            file = point.file and step == steps[-1]
            fits = stat.S_ISREG if file else stat.S_ISDIR
            path = Path(step)
            if os.path.lexists(path) and fits(path.lstat().st_mode):
                continue
            if not ours:
                raise SandboxError(
                    f"{path} is gone or was replaced, and what lies there must stay out of reach or in "
                    "place. Put it back, or make a new sandbox without it."
                )
            with suppress(FileNotFoundError):
                path.unlink()
            path.touch() if file else path.mkdir()


def _real(path: Path | PurePosixPath | str) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(path))


def _homes() -> list[PurePosixPath]:
    """The home directories that this user has by name and by the environment."""
    homes = []
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    homes.append(os.environ.get("HOME", ""))
    real = {_real(home) for home in homes if home.startswith("/")}
    return sorted(real - {_ROOT})
