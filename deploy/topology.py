"""`make topology`: what compose.yaml describes as plain processes on one machine, and a hand that breaks it.

    python -m deploy.topology up [--isolated]          two web servers, two workers, Postgres, Valkey, nginx
    python -m deploy.topology status                   what runs, where, under which number
    python -m deploy.topology kill web1                and the other verbs, while it is up

With `--isolated` each part has a network namespace of its own and can be cut off the others. It owns the command, the
log and the verbs; what runs is in `topology_running`.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deploy import topology_network, topology_parts
from deploy.topology_network import NoNetwork
from deploy.topology_parts import BadDeployment
from deploy.topology_running import Plan, Topology
from hyperagent.embedded import files, instance
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.leftovers import Ledger
from hyperagent.lib.supervisor import Log, StartFailed, Supervisor

VERB_TIMEOUT_S: Final = 240.0
SOCKET: Final = "control.sock"


async def serve(plan: Plan) -> int:
    """Starts everything, carries out the verbs until SIGTERM or Ctrl-C, stops in reverse order. The exit status."""
    log = Log(sys.stdout)
    ledger = Ledger(plan.data_dir / "run" / "topology.json")
    supervisor = Supervisor(log, ledger=ledger)
    supervisor.stop_on_signals()
    topology = Topology(plan, supervisor)
    for name in await asyncio.to_thread(ledger.end_leftovers):
        topology.say(f"stopped what an earlier run had left: {name}")
    starting = asyncio.create_task(_start_and_listen(topology))
    try:
        await supervisor.first_of(starting)
        return 0
    except (StartFailed, NoNetwork, BadDeployment) as failure:
        topology.say(f"does not start: {failure}")
        return 1
    finally:
        starting.cancel()
        await topology.stop()


async def _start_and_listen(topology: Topology) -> None:
    await topology.start()
    path = _socket_path(topology.plan.data_dir)
    path.unlink(missing_ok=True)
    async with await asyncio.start_unix_server(lambda *ends: _heed(topology, *ends), path):
        path.chmod(0o600)
        topology.say(f"ready: {topology.env['SITE_URL']}   (Ctrl-C stops everything)")
        await topology.supervisor.asked_to_stop.wait()


async def _heed(topology: Topology, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One line of JSON in, one out."""
    with suppress(ConnectionError):
        try:
            asked = json.loads(await reader.readline())
            answer = await _carry_out(topology, asked["verb"], asked.get("name", ""))
        except (NoNetwork, StartFailed, KeyError, ValueError) as error:
            answer = {"error": str(error)}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    writer.close()


async def _carry_out(topology: Topology, verb: str, name: str) -> dict[str, Any]:
    if verb != "status":
        if verb not in VERBS:
            raise ValueError(f"there is no verb {verb!r}; there are: {', '.join(VERBS)}, status")
        if verb not in ("roll", "deploy") and name not in topology.programs:
            raise ValueError(f"there is no part {name!r}; there are: {', '.join(topology.programs)}")
        topology.say(f"{verb} {name}".strip())
        await VERBS[verb](topology, name)
    return topology.status()


VERBS: Final[dict[str, Callable[[Topology, str], Awaitable[None]]]] = {
    "kill": Topology.kill_part,
    "stop": Topology.stop_part,
    "start": Topology.start_part,
    "restart": Topology.restart_part,
    "partition": Topology.partition_part,
    "rejoin": Topology.rejoin_part,
    "roll": Topology.roll,
    "deploy": Topology.deploy,
}


def ask(data_dir: Path, verb: str, name: str = "") -> dict[str, Any]:
    """Has a running topology carry out a verb; returns its status after it. Raises RuntimeError in its words."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(VERB_TIMEOUT_S)
        try:
            line.connect(str(_socket_path(data_dir)))
        except OSError as error:
            raise RuntimeError(f"no topology is up on {data_dir}: start one with `make topology`") from error
        line.sendall(json.dumps({"verb": verb, "name": name}).encode() + b"\n")
        with line.makefile("rb") as answers:
            answer: dict[str, Any] = json.loads(answers.readline() or b'{"error": "it ended meanwhile"}')
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def _socket_path(data_dir: Path) -> Path:
    return files.socket_folder(data_dir / "run" / "topology", longest_name=SOCKET) / SOCKET


def main() -> None:
    parser = argparse.ArgumentParser(prog="topology", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=["up", "status", *VERBS])
    parser.add_argument("name", nargs="?", default="", help="of the part: web1, worker2, postgres …; deploy: a folder")
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("TOPOLOGY_DIR") or "var/topology"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 8080), help="of nginx on 127.0.0.1")
    parser.add_argument("--web", type=int, default=2, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--worker-options", default="", help="for `manage.py worker`, such as '--runners 1'")
    parser.add_argument("--isolated", action="store_true", help="a network namespace for each part (needs root)")
    said = parser.parse_args()
    data_dir = said.data_dir if said.data_dir.is_absolute() else BASE_DIR / said.data_dir
    try:
        if said.verb != "up":
            name = str(Path(said.name).resolve()) if said.verb == "deploy" else said.name
            print(json.dumps(ask(data_dir, said.verb, name), indent=1))
            return
        sys.exit(_up(said, data_dir))
    except (RuntimeError, NoNetwork) as refusal:
        sys.exit(str(refusal))


def _up(said: argparse.Namespace, data_dir: Path) -> int:
    if not topology_parts.nginx_program():
        sys.exit("nginx is not installed: `sh deploy/install-apt.sh` does it on Debian, or your package manager")
    if said.isolated:
        topology_network.refuse_where_impossible()
    try:
        held = instance.lock(instance.make_data_dir(data_dir))
    except (instance.BadDataDir, instance.AlreadyRunning) as refusal:
        sys.exit(str(refusal))
    plan = Plan(
        data_dir,
        said.port,
        said.web,
        said.workers,
        said.isolated,
        tuple(said.worker_options.split()),
        dict(os.environ),
    )
    try:
        return asyncio.run(serve(plan))
    finally:
        os.close(held)


if __name__ == "__main__":
    main()
