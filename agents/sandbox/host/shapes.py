"""The values of `agents.sandbox.base` as JSON, for the connection with the host. Nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from agents.sandbox.base import BoxFile, Command, Ending, Outcome


def command_as_json(command: Command) -> dict[str, Any]:
    return {"argv": list(command.argv), "env": dict(command.env), "cwd": command.cwd, "wall_s": command.wall_s}


def command_of(value: Mapping[str, Any]) -> Command:
    """Raises KeyError or TypeError for what is none."""
    return Command(
        [str(word) for word in value["argv"]],
        env={str(name): str(text) for name, text in value["env"].items()},
        cwd=str(value["cwd"]),
        wall_s=float(value["wall_s"]),
    )


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "ending": outcome.ending.value,
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "note": outcome.note,
        "seconds": outcome.seconds,
    }


def outcome_of(value: Mapping[str, Any]) -> Outcome:
    return Outcome(
        Ending(value["ending"]),
        value["exit_code"],
        stdout=value["stdout"],
        stderr=value["stderr"],
        note=value["note"],
        seconds=value["seconds"],
    )


def file_as_json(file: BoxFile) -> list[Any]:
    return [file.path, file.size_bytes, file.changed_ns]


def file_of(value: Sequence[Any]) -> BoxFile:
    return BoxFile(str(value[0]), int(value[1]), int(value[2]))


def uuid_of(value: Any) -> UUID | None:
    return UUID(value) if value else None
