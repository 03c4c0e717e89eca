"""Stand-ins for `docker exec -i`, `podman run --rm -i` and `ssh`, for machines that have none of them.

Each is a client that carries three streams to a shell in another session and back, like the real one,
and shares nothing else with it:

- exec: the shell lives on when the client is killed, and sees its input end;
- run: everything ends with the shell, and with the client;
- ssh: greets on standard error, and stays as long as anybody holds the output open.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

from redraft.sandbox.processes import signal_session

CLEAN = {"PATH": os.defpath, "HOME": "/", "IMAGE": "from the image"}


def carry(source: int, target: int) -> None:
    with suppress(OSError):
        while chunk := os.read(source, 4096):
            view = memoryview(chunk)
            while view:
                view = view[os.write(target, view) :]
    if target > 2:
        os.close(target)


def main(kind: str, *words: str) -> int:
    if kind == "ssh":
        os.write(2, b"Welcome to the machine.\n** Your activity is monitored **\n")
    pipes = [os.pipe() for _ in range(3)]
    shell = subprocess.Popen(
        words,
        stdin=pipes[0][0],
        stdout=pipes[1][1],
        stderr=pipes[2][1],
        env=CLEAN,
        cwd="/",
        start_new_session=True,
    )
    for end in (pipes[0][0], pipes[1][1], pipes[2][1]):
        os.close(end)
    threading.Thread(target=carry, args=(0, pipes[0][1]), daemon=True).start()
    outputs = [threading.Thread(target=carry, args=(pipes[n][0], n), daemon=True) for n in (1, 2)]
    for output in outputs:
        output.start()
    if kind == "run":
        signal.signal(signal.SIGTERM, lambda *_: signal_session(shell.pid, signal.SIGKILL))
    code = shell.wait()
    if kind == "run":
        signal_session(shell.pid, signal.SIGKILL)
    for output in outputs:
        output.join(None if kind == "ssh" else 0.2)
    os.write(2, b"Connection to box closed.\n" if kind == "ssh" else b"")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    os._exit(code)
