"""What the topology takes from the files of deploy/, and what it leaves behind on the machine: nothing."""

import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy import topology_network, topology_parts
from deploy.topology_parts import BadDeployment
from hyperagent.embedded import files, instance
from hyperagent.lib.conf import BASE_DIR
from tests.house.waiting import until

needs_namespaces = pytest.mark.skipif(bool(topology_network.why_impossible()), reason=topology_network.why_impossible())
needs_nginx = pytest.mark.skipif(not topology_parts.nginx_program(), reason="nginx is not installed (deploy/apt.txt)")
_MAKES_A_NETWORK = """
import os, signal
from deploy import topology_network
topology_network.make(["one", "two"], aliases={"both": ["one", "two"]})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_units_and_compose_file_start_what_is_there() -> None:
    services = topology_parts.compose()["services"]

    commands = [
        topology_parts.unit("hyperagent-prepare.service")[0],
        topology_parts.unit("hyperagent-web@.service", "8001")[0],
        topology_parts.unit("hyperagent-worker.service")[0],
        *(topology_parts.service_command(services, name) for name in ("prepare", "web", "worker")),
    ]

    for command in commands:
        assert command[0] == sys.executable
        assert command[1] == "-m" or (BASE_DIR / command[1]).is_file(), command
    assert "8001" in commands[1]
    assert topology_parts.unit("hyperagent-web@.service", "8001")[1]["HYPERAGENT_PROCESS"] == "web"
    assert Path(topology_parts.redis_command(services)[0]).is_file()


def test_the_compose_file_says_what_is_missing_and_fills_in_what_is_given() -> None:
    services = topology_parts.compose()["services"]
    given = {"SECRET_KEY": "k" * 40, "POSTGRES_PASSWORD": "hidden"}

    env = topology_parts.service_env(services, "web", given)

    assert env["DATABASE_URL"] == "postgresql://hyperagent:hidden@postgres:5432/hyperagent"
    assert env["HYPERAGENT_PROCESS"] == "web"
    with pytest.raises(BadDeployment, match="needs POSTGRES_PASSWORD"):
        topology_parts.service_env(services, "web", {})


@needs_nginx
def test_nginx_takes_the_file_for_web_servers_at_other_addresses(tmp_path: Path) -> None:
    site = topology_parts.nginx_site(port=18080, webs=["127.0.0.1:18001", "127.0.0.1:18002"])
    topology_parts.write_nginx_conf(tmp_path, site)

    tested = subprocess.run(
        (topology_parts.nginx_program(), "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "test is successful" in tested.stderr, tested.stderr
    assert site.count("max_fails=") == 2


@pytest.mark.slow
@needs_nginx
@pytest.mark.parametrize(("said", "told"), [(None, "http"), ("https", "https"), ("ftp", "http")])
def test_nginx_passes_on_what_a_load_balancer_before_it_says_of_tls(
    tmp_path: Path, said: str | None, told: str
) -> None:
    port = instance.free_port()
    with _echo() as upstream:
        topology_parts.write_nginx_conf(tmp_path, topology_parts.nginx_site(port=port, webs=[upstream]))
        if os.geteuid() == 0:
            files.let_pass(tmp_path / "nginx.conf")
        proxy = subprocess.Popen(topology_parts.nginx_command(tmp_path), cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/")
            if said is not None:
                asked.add_header("X-Forwarded-Proto", said)
            until(lambda: _listens(port), what="nginx")
            with urllib.request.urlopen(asked) as answer:
                heard = answer.read().decode()
        finally:
            proxy.terminate()
            proxy.wait()

    assert heard == told


@contextmanager
def _echo() -> Iterator[str]:
    """A web server that answers with the X-Forwarded-Proto that it was told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.headers["X-Forwarded-Proto"].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not in the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_the_parts_wait_for_a_database_that_is_starting() -> None:
    services = topology_parts.compose()["services"]

    commands = [
        topology_parts.unit("hyperagent-prepare.service")[0],
        topology_parts.service_command(services, "prepare"),
    ]

    assert all("--wait" in command for command in commands)
    # Nothing waits for one that is only being made: over TCP it answers once it is whole.
    assert "-h" in services["postgres"]["healthcheck"]["test"]


@needs_namespaces
def test_what_a_killed_process_left_is_recognised_and_removed() -> None:
    done = subprocess.run((sys.executable, "-c", _MAKES_A_NETWORK), cwd=BASE_DIR, env=dict(os.environ), check=False)

    gone = topology_network.sweep()

    assert done.returncode == -9
    assert sum(name.endswith(("-one", "-two", "br")) for name in gone) >= 3
    assert topology_network.sweep() == []
    assert not [name for name in gone if (topology_network.HOSTS_FOLDER / name).exists()]


@needs_namespaces
def test_who_is_cut_off_reaches_nobody_until_it_is_back() -> None:
    network = topology_network.make(["one", "two"], aliases={"both": ["one", "two"]})
    try:
        reached = [_reaches(network, "one", "two")]
        network.partition("two")
        reached.append(_reaches(network, "one", "two"))
        network.rejoin("two")
        reached.append(_reaches(network, "one", "two"))
    finally:
        network.remove()

    assert reached == [True, False, True]
    assert not [name for name in topology_network._namespaces() if name.startswith(f"ha{os.getpid()}-")]


def _reaches(network: topology_network.Network, here: str, there: str) -> bool:
    """Whether a port that nobody listens on is refused, by name: somebody is there to refuse it."""
    knock = (
        "import socket, sys\ntry: socket.create_connection((sys.argv[1], 9), timeout=0.5)\n"
        "except ConnectionRefusedError: sys.exit(0)\nexcept OSError: sys.exit(1)"
    )
    command = network.inside(here, (sys.executable, "-I", "-c", knock, there))
    return subprocess.run(command, check=False).returncode == 0
