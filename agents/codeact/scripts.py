"""The provider `Scripts` of the tools: a script in the box of its conversation, with its door to the gateway open.

A script that is run again finds the folder as it was before it: the workspace is the truth of what lies there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from agents.runtime.driven import About
from agents.sandbox.base import BoxFile, BoxGone, Command, Ending, Outcome, SandboxError
from agents.sandbox.comparing import VERSION_OF, in_home, is_kept
from agents.sandbox.host.client import HostedBox, SandboxHost
from agents.sandbox.programs import PROGRAMS, argv_of
from agents.sandbox.provider import LOST
from agents.sandbox.syncing import Home, MayReplace, Put, joined, put_files, take_all, take_files
from agents.sandbox.telling import note_of
from agents.tools.providers import ScriptRun, Workspace
from agents.tools.tool import ToolError
from agents.tools.values import CodeRun
from hyperagent.lib.text import clean_text

SCRIPT: Final = f"{PROGRAMS}/current_script.py"
"""A copy of the newest, for whoever looks (S200). What is run lies at a path of its own: another process may be about
to run a script in the same box."""
HELD_AS: Final = "script "
"""Before its seed."""
_NAME_CHARS: Final = 12
PUT_BACK_S: Final = 60.0
_BEFORE: Final = "script:"
_ARGUMENTS: Final = 200
MOST_NOTED: Final = 16
"""One that runs again is among the newest."""


class HostedScripts:
    """One for each process. `host`: whoever holds the boxes of this machine."""

    def __init__(self, host: Callable[[], SandboxHost], workspace: Workspace) -> None:
        self._host = host
        self._workspace = workspace

    async def why_not_for(self, about: About) -> str:
        return await self._host().why_not()

    async def run_script(self, about: About, script: ScriptRun) -> CodeRun:
        try:
            home = Home(await self._host().box(about), about, self._workspace)
            name = f"{HELD_AS}{script.seed}"
            hold = await home.box.hold(name)
            # One of the same seed is this script, of a driver that has lost the run and ends.
            is_alone = not any(other.startswith(HELD_AS) and other != name for other in hold.others)
            try:
                return await _ran(home, script, is_alone=is_alone)
            finally:
                await hold.let_go()
        except BoxGone as error:
            raise ToolError(LOST) from error
        except SandboxError as error:
            raise ToolError(clean_text(error.message)) from error


async def _ran(home: Home, script: ScriptRun, *, is_alone: bool) -> CodeRun:
    box = home.box
    before = await _prepared(home, script, is_alone=is_alone)
    path = f"{PROGRAMS}/script_{script.seed[:_NAME_CHARS]}.py"
    for place in (path, SCRIPT):
        await box.write(place, clean_text(script.code).encode())
    env = {"HYPERAGENT_SEED": script.seed, "PYTHONHASHSEED": "0"}
    command = Command(argv_of("python", path), env=env, wall_s=script.wall_s)
    outcome = await _until(script.stopped, box.run(command, heard=script.heard, answer=script.answer))
    if outcome is not None and outcome.ending is Ending.LOST:
        raise BoxGone(outcome.note or LOST)
    run = CodeRun(
        code=script.code,
        stdout=clean_text(outcome.stdout) if outcome else "",
        stderr=clean_text(outcome.stderr) if outcome else "",
        exit_code=outcome.exit_code if outcome else None,
        sandbox_id=box.session_id,
    )
    take = take_files if outcome is None else take_all
    taken = await take(home, before, MayReplace(script.only_over))
    note = joined(box.note, before.note, note_of(outcome) if outcome else "", taken.note)
    files = {"created_files": taken.paths, "stored_files": taken.stored, "removed_files": taken.removed}
    return run.model_copy(update={**files, "note": note})


async def _prepared(home: Home, script: ScriptRun, *, is_alone: bool) -> Put:
    """The home folder as it was before the script first ran; where another runs beside it, what that makes stays."""
    if script.again and is_alone:
        await _put_back(home.box, script.seed)
    before = await put_files(home)
    if not script.again:
        await _note(home.box, script.seed, before.files)
    return before


async def _until(stopped: asyncio.Future[Any] | None, running: Coroutine[Any, Any, Outcome]) -> Outcome | None:
    """None where it was stopped before it ended."""
    task = asyncio.ensure_future(running)
    try:
        await asyncio.wait([task, *([] if stopped is None else [stopped])], return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _note(box: HostedBox, seed: str, files: Sequence[BoxFile]) -> None:
    """What lay there before it, for `_put_back`. Those of scripts that ended long ago go: with many files they would
    be more than a host can tell of."""
    kept = [[file.path, file.size_bytes, file.changed_ns] for file in files if is_kept(in_home(file))]
    noted = [name for name in await box.remembered() if name.startswith(_BEFORE)]
    await box.remember({**dict.fromkeys(noted[:-MOST_NOTED]), f"{_BEFORE}{seed}": kept})


async def _put_back(box: HostedBox, seed: str) -> None:
    """What the run before made is taken away, and what it changed has to come from the workspace once more."""
    remembered = await box.remembered()
    noted = remembered.get(f"{_BEFORE}{seed}")
    if noted is None:
        return  # another box: it was made of what was kept
    before = [BoxFile(str(path), int(size), int(changed)) for path, size, changed in noted]
    known = {file.path for file in before}
    stored = {name.removeprefix(VERSION_OF) for name in remembered if name.startswith(VERSION_OF)}
    stale = left_by(before, await box.files())
    made = [file.path for file in stale if file.path not in known and in_home(file) not in stored]
    for start in range(0, len(made), _ARGUMENTS):
        await box.run(Command(("/bin/rm", "-f", "--", *made[start : start + _ARGUMENTS]), wall_s=PUT_BACK_S))
    await box.remember({f"{VERSION_OF}{in_home(file)}": None for file in stale if in_home(file) in stored})


def left_by(before: list[BoxFile], now: tuple[BoxFile, ...]) -> list[BoxFile]:
    """The files for people that are new, other than before, or gone."""
    known, here = {file.path: file for file in before}, {file.path: file for file in now}
    found = [file for path, file in here.items() if known.get(path) != file]
    found += [file for path, file in known.items() if path not in here]
    return [file for file in found if is_kept(in_home(file))]
