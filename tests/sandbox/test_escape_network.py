"""What contained commands cannot reach over a network. Each attack works outside."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest
from contained_world import fails_inside, needs_bubblewrap, needs_python, python, works_outside

from redraft.sandbox import BubblewrapSandbox, Sandbox

pytestmark = [needs_bubblewrap, needs_python]

T = TypeVar("T")


@pytest.fixture
def service() -> Iterator[int]:
    """The port of a service on this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield from serving(server, server.getsockname()[1])


@pytest.fixture
def abstract() -> Iterator[str]:
    """The name of an abstract socket, which belongs to a network and not to the file system."""
    name = f"redraft-test-{id(object())}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        yield from serving(server, name)


def serving(server: socket.socket, where: T) -> Iterator[T]:
    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    client.sendall(b"BREACH\n")

    threading.Thread(target=serve, daemon=True).start()
    yield where
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


def open_box(workdir: Path) -> Sandbox:
    return BubblewrapSandbox(workdir, network=True, timeout=30)


def tcp(port: int) -> str:
    return python(
        f"import socket; print(socket.create_connection(('127.0.0.1', {port}), 5).recv(9).decode())"
    )


def unix(name: str) -> str:
    return python(
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}')\n"
        "print(s.recv(9).decode())"
    )


def test_services_on_the_loopback_are_not_there(
    service: int, box: BubblewrapSandbox, workdir: Path
) -> None:
    assert works_outside(workdir, tcp(service))
    assert fails_inside(box, tcp(service))


def test_services_are_there_if_the_network_is_asked_for(service: int, workdir: Path) -> None:
    with open_box(workdir) as box:
        assert "BREACH" in box.run(tcp(service)).output


def test_abstract_sockets_are_not_there(
    abstract: str, box: BubblewrapSandbox, workdir: Path
) -> None:
    assert works_outside(workdir, unix(abstract))
    assert fails_inside(box, unix(abstract))


def test_abstract_sockets_come_with_the_network(abstract: str, workdir: Path) -> None:
    with open_box(workdir) as box:
        assert "BREACH" in box.run(unix(abstract)).output


def test_no_packet_gets_out(box: BubblewrapSandbox, workdir: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        # As a look-up of a name would be sent to a resolver on this machine.
        send = python(
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"s.sendto(b'q', ('127.0.0.1', {listener.getsockname()[1]})); print('BREACH')"
        )
        assert works_outside(workdir, send)
        listener.settimeout(5)
        assert listener.recv(9) == b"q"
        box.run(send)
        listener.settimeout(0.3)
        with pytest.raises(TimeoutError):
            listener.recv(9)


def test_there_is_no_way_to_another_machine(box: BubblewrapSandbox) -> None:
    reached = box.run(
        python(
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "s.connect(('192.0.2.1', 53))"
        )
    )
    assert "Network is unreachable" in reached.output
    asked = box.run(python("import socket; socket.getaddrinfo('example.org', 80)"))
    assert "gaierror" in asked.output
    assert (
        box.run("ls /proc/self/net/; cut -d: -f1 /proc/net/dev | tail -n +3").output.split()[-1]
        == "lo"
    )


def test_a_server_and_its_client_may_meet_in_one_command(box: BubblewrapSandbox) -> None:
    outcome = box.run(
        python(
            "import socket, threading\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "threading.Thread(target=lambda: server.accept()[0].sendall(b'met'), daemon=True).start()\n"
            "print(socket.create_connection(server.getsockname(), 5).recv(9).decode())"
        )
    )
    assert outcome.output == "met\n"
