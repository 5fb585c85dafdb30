"""Programs of agents in real boxes: what they print, what they leave, how they end (S139, S177, S195, S201)."""

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agents.sandbox.base import HOME
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.runtime import INSTALLED
from agents.sandbox.models import SandboxSession
from agents.tools.catalogue.original_tools import use_file
from agents.tools.tool import ToolError
from agents.workspace import place_of
from hyperagent.lib.threads import in_thread
from memory.workspaces import files
from tests.sandbox.sessions.working import handed_on, local, needs_walls, sleepers

pytestmark = needs_walls


class Noting:
    """Notes which boxes are opened."""

    name = "local"

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self.boxes: list[Any] = []

    async def why_not(self) -> str:
        why: str = await self.provider.why_not()
        return why

    async def open(self, spec: Any) -> Any:
        self.boxes.append(await self.provider.open(spec))
        return self.boxes[-1]


async def _workspace(agent: Any) -> dict[str, bytes]:
    files = await agent.workspace.list_files(agent.about, scope="conversation")
    return {file.path: await agent.workspace.read_bytes(agent.about, file.path) for file in files}


@pytest.mark.slow
@pytest.mark.spec("S54", "S139", "S177", "S195")
async def test_a_program_works_on_the_workspace_and_is_seen_while_it_runs(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "data/sales.csv", "a,b\n1,2\n3,4\n")

    run = await alice.runs(
        "import csv, pathlib, sys, helper_of_mine\n"
        "rows = list(csv.DictReader(open('data/sales.csv')))\n"
        "print(sum(int(row['b']) for row in rows))\n"
        "print('careful', file=sys.stderr)\n"
        "pathlib.Path('out').mkdir(); pathlib.Path('out/sum.txt').write_text('6')\n"
        "pathlib.Path('data/sales.csv').write_text('a,b\\n')\n"
        "pathlib.Path('.hidden').write_text('x'); pathlib.Path('node_modules').mkdir()\n"
        "pathlib.Path('node_modules/x.js').write_text('x')\n"
        if await alice.file("write", "helper_of_mine.py", "x = 1\n")
        else ""
    )

    assert (run.exit_code, run.stdout, run.stderr, run.note) == (0, "6\n", "careful\n", "")
    assert run.created_files == ("data/sales.csv", "out/sum.txt")
    assert run.sandbox_id == str(await in_thread(SandboxSession.objects.values_list("pk", flat=True).get)())
    assert await _workspace(alice) == {
        "data/sales.csv": b"a,b\n",
        "helper_of_mine.py": b"x = 1\n",
        "out/sum.txt": b"6",
    }
    kinds = [event.type for event in alice.events]
    assert kinds[:2] == ["workspace_update", "terminal_command"]
    assert kinds[-4:] == ["terminal_complete", "workspace_update", "workspace_update", "code_result"]
    assert "".join(event.content for event in alice.told("terminal_output")) == "6\n"
    assert "".join(event.content for event in alice.told("terminal_error")) == "careful\n"
    (result,) = alice.told("code_result")
    assert (result.stdout, result.stderr, result.exit_code) == ("6\n", "careful\n", 0)
    assert {event.id for event in alice.events if event.type.startswith("terminal")} == {result.id}


@pytest.mark.slow
async def test_a_file_that_took_the_name_of_another_is_what_the_next_program_reads(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "a.txt", "one")
    await alice.workspace.write_file(alice.about, "b.txt", "two")
    await alice.runs("pass")
    place = place_of(alice.about, "conversation")
    await in_thread(files.delete)(alice.about.user_id, place, "a.txt")
    await in_thread(files.move)(alice.about.user_id, place, "b.txt", "a.txt")

    run = await alice.runs("print(open('a.txt').read())")

    assert run.stdout == "two\n"


@pytest.mark.slow
async def test_what_people_deleted_or_renamed_is_not_there_for_the_next_program_and_does_not_come_back(
    working: Any,
) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "data/secret.csv", "hers")
    await alice.workspace.write_file(alice.about, "old.txt", "one")
    await alice.runs("open('made.txt', 'w').write('x')")
    place = place_of(alice.about, "conversation")
    for path in ("data/secret.csv", "made.txt"):
        await in_thread(files.delete)(alice.about.user_id, place, path)
    await in_thread(files.move)(alice.about.user_id, place, "old.txt", "new.txt")

    run = await alice.runs("import glob; print(sorted(glob.glob('**/*.*', recursive=True)))")
    await alice.call.providers.sandbox.collect_artifacts(alice.about, ("*",), max_files=9, max_size_mb=9)

    assert run.stdout == "['new.txt']\n"
    assert await _workspace(alice) == {"new.txt": b"one"}


@pytest.mark.slow
async def test_what_a_program_removed_is_in_the_workspace_no_more_but_in_its_bin(working: Any) -> None:
    alice = await working("alice")
    for path in ("old/a.csv", "old/b.csv", "kept.txt", ".hyperagent/todo.md", "linked.txt"):
        await alice.workspace.write_file(alice.about, path, path)

    run = await alice.runs(
        "import os, shutil\n"
        "shutil.rmtree('old'); shutil.rmtree('.hyperagent')\n"
        "os.rename('kept.txt', 'renamed.txt')\n"
        "os.rename('linked.txt', 'real.txt'); os.symlink('real.txt', 'linked.txt')"
    )

    assert run.stderr == ""
    assert sorted(await _workspace(alice)) == [".hyperagent/todo.md", "linked.txt", "real.txt", "renamed.txt"]
    assert run.note.startswith("These files were removed from the workspace as well")
    assert "kept.txt, old/a.csv, old/b.csv" in run.note
    told = [(event.path, event.operation) for event in alice.told("workspace_update")]
    assert [path for path, operation in told if operation == "deleted"] == ["kept.txt", "old/a.csv", "old/b.csv"]
    place = place_of(alice.about, "conversation")
    await in_thread(files.restore)(alice.about.user_id, place, "old/a.csv", 1)
    again = await alice.runs("print(open('old/a.csv').read())")
    assert again.stdout == "old/a.csv\n"


@pytest.mark.slow
async def test_what_came_with_a_handoff_and_was_made_anew_goes_like_any_when_a_program_removes_it(
    working: Any,
) -> None:
    alice = await working("alice")
    await alice.runs("open('given.csv', 'w').write('1')")
    sandbox = alice.call.providers.sandbox
    await sandbox.cleanup_artifacts(alice.about, ("given.csv",))
    await sandbox.restore_artifacts(alice.about, ("given.csv",))

    kept = await alice.runs("import os; os.remove('given.csv')")
    await sandbox.restore_artifacts(alice.about, ("given.csv",))
    await alice.runs("open('given.csv', 'w').write('anew')")
    there = await _workspace(alice)
    run = await alice.runs("import os; os.remove('given.csv')")

    assert kept.note == ""
    assert there == {"given.csv": b"anew"}
    assert await _workspace(alice) == {}
    assert "removed from the workspace as well" in run.note


@pytest.mark.slow
async def test_what_somebody_wrote_while_a_program_removed_it_stays(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "a.txt", "one")
    await alice.runs("pass")
    running = asyncio.create_task(
        alice.runs("import os, time\nos.remove('a.txt')\nwhile not os.path.exists('go.txt'): time.sleep(0.01)")
    )
    async with asyncio.timeout(20):
        while not (found := await alice.client.existing(alice.about.user_id, alice.about.conversation_id)):
            await asyncio.sleep(0.02)
        while f"{HOME}/a.txt" in {file.path for file in await found.files()}:
            await asyncio.sleep(0.02)
    await alice.workspace.write_file(alice.about, "a.txt", "two")
    await found.write(f"{HOME}/go.txt", b"")

    run = await running
    after = await alice.runs("print(open('a.txt').read())")

    assert run.note == ""
    assert (await _workspace(alice))["a.txt"] == b"two"
    assert after.stdout == "two\n"


@pytest.mark.slow
async def test_what_somebody_changed_while_a_program_worked_on_it_is_not_replaced(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "budget.csv", "one")
    running = asyncio.create_task(
        alice.runs(
            "import os, time\nfound = open('budget.csv').read()\nopen('has-read.txt', 'w').close()\n"
            "while not os.path.exists('go.txt'): time.sleep(0.01)\nopen('budget.csv', 'w').write(found + ' summed up')"
        )
    )
    async with asyncio.timeout(20):
        while not (found := await alice.client.existing(alice.about.user_id, alice.about.conversation_id)):
            await asyncio.sleep(0.02)
        while f"{HOME}/has-read.txt" not in {file.path for file in await found.files()}:
            await asyncio.sleep(0.02)
    await alice.workspace.write_file(alice.about, "budget.csv", "corrected")
    await found.write(f"{HOME}/go.txt", b"")

    run = await running
    there = await _workspace(alice)
    after = await alice.runs("print(open('budget.csv').read(), open('budget-2.csv').read())")
    await alice.runs("open('budget.csv', 'w').write('again')")

    assert (there["budget.csv"], there["budget-2.csv"]) == (b"corrected", b"one summed up")
    assert "changed in the workspace meanwhile" in run.note
    assert "budget.csv (what the program wrote is budget-2.csv)" in run.note
    assert "budget-2.csv" in run.created_files
    assert after.stdout == "corrected one summed up\n"
    assert (await _workspace(alice))["budget.csv"] == b"again"


@pytest.mark.slow
async def test_a_file_that_a_program_names_as_on_a_mac_is_found_by_the_name_that_is_told(working: Any) -> None:
    alice = await working("alice")

    run = await alice.runs("open('Mu\u0308ller.csv', 'w').write('one')")
    told = await alice.runs("print(open('M\u00fcller.csv').read())")
    await alice.runs("open('Mu\u0308ller.csv', 'w').write('two')")
    after = await alice.runs("print(open('M\u00fcller.csv').read())")
    written = await alice.file("write", "O\u0308l.txt", "x")

    assert (run.created_files, run.note) == (("M\u00fcller.csv",), "")
    assert (told.stdout, after.stdout) == ("one\n", "two\n")
    assert await _workspace(alice) == {"M\u00fcller.csv": b"two", "\u00d6l.txt": b"x"}
    assert (written.path, written.version) == ("\u00d6l.txt", 1)


@pytest.mark.slow
async def test_a_run_that_has_read_text_of_others_removes_only_what_it_wrote_itself(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(replace(alice.about, execution_id=uuid4()), "hers.txt", "hers")
    alice.has_read_others = True

    made = await alice.runs("open('mine.txt', 'w').write('x')")
    run = await alice.runs("import os; os.remove('hers.txt'); os.remove('mine.txt')")
    after = await alice.runs("import os; print(sorted(os.listdir()))")

    assert made.note == ""
    assert await _workspace(alice) == {"hers.txt": b"hers"}
    assert "hers.txt (this run has read text of others and did not write it itself)" in run.note
    assert "hers.txt" in after.stdout


@pytest.mark.slow
async def test_what_people_deleted_does_not_come_back_with_what_was_kept_of_a_box(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, "secret.csv", "hers")
    await alice.workspace.write_file(alice.about, "a.txt", "one")
    await alice.runs("open('.own', 'w').write('x'); open('a.txt', 'w').write('changed')")
    await handed_on(alice.client, alice.about)
    place = place_of(alice.about, "conversation")
    await in_thread(files.delete)(alice.about.user_id, place, "secret.csv")

    run = await alice.runs("import os; print(sorted({'secret.csv', 'a.txt', '.own'} & set(os.listdir())))")
    await alice.call.providers.sandbox.collect_artifacts(alice.about, ("*",), max_files=9, max_size_mb=9)

    assert run.stdout == "['.own', 'a.txt']\n"
    assert "put back" in run.note
    assert await _workspace(alice) == {"a.txt": b"changed"}


@pytest.mark.slow
async def test_what_people_change_in_the_workspace_is_what_the_next_program_reads(working: Any) -> None:
    alice, bob = await working("alice"), await working("bob")
    await alice.workspace.write_file(alice.about, "a.txt", "one")
    first = await alice.runs("print(open('a.txt').read())")
    await alice.workspace.write_file(alice.about, "a.txt", "two")

    second = await alice.runs("print(open('a.txt').read())")
    others = await bob.runs("import os; print(os.listdir())")

    assert (first.stdout, second.stdout) == ("one\n", "two\n")
    assert second.created_files == ()
    assert "a.txt" not in others.stdout
    assert await _workspace(bob) == {}


@pytest.mark.slow
@pytest.mark.spec("S81")
async def test_files_of_the_person_are_used_by_programs_once_they_were_copied_into_the_conversation(
    working: Any, tmp_path: Path
) -> None:
    alice = await working("alice", provider=LocalSandbox(libraries=INSTALLED, runtime=tmp_path / "boxes"))
    made = await alice.runs(
        "import pandas as pd\n"
        "pd.DataFrame({'month': ['Jan', 'Feb', 'Mar'], 'sold': [120, 135.5, 99]}).to_excel('made.xlsx', index=False)"
    )
    if "No module named" in made.stderr:
        pytest.skip("the sandbox's packages are not installed")
    table = await alice.workspace.read_bytes(alice.about, "made.xlsx")
    await alice.workspace.write_bytes(alice.about, "books/sales.xlsx", table, scope="user")
    await alice.workspace.write_file(
        alice.about, "people.json", '[{"name": "Ada", "age": 36}, {"name": "Bo", "age": 41}]'
    )
    reading = (
        "import pandas as pd\n"
        "print(pd.read_excel('books/sales.xlsx').sold.sum(), pd.read_json('people.json').age.mean())"
    )

    without = await alice.runs(reading)
    refused = await alice.fails(alice.workspace.read_file(alice.about, "books/sales.xlsx", scope="user"))
    reply = await use_file.function(alice.call, path="books/sales.xlsx", scope="user")
    run = await alice.runs(reading)

    assert "No such file" in without.stderr
    assert "use_file with scope user" in refused
    assert reply.data == {"path": "books/sales.xlsx", "size_bytes": len(table)}
    assert (run.stdout, run.exit_code) == ("354.5 38.5\n", 0), run.stderr
    assert alice.told("workspace_update")[-1].path == "books/sales.xlsx"
    assert await alice.workspace.read_bytes(alice.about, "books/sales.xlsx", scope="user") == table
    assert "There is no file" in await alice.fails(use_file.function(alice.call, path="none.csv", scope="user"))


@pytest.mark.slow
@pytest.mark.spec("S62")
async def test_a_program_reads_the_checklist_of_its_run_and_not_what_the_browser_showed(working: Any) -> None:
    alice = await working("alice")
    await alice.workspace.write_file(alice.about, ".hyperagent/todo.md", "- [x] a\n")
    await alice.workspace.write_bytes(alice.about, ".browser/000001.jpg", b"\xff\xd8picture")

    run = await alice.runs("import os; print(sorted(os.listdir())); print(open('.hyperagent/todo.md').read())")

    assert run.stdout == "['.hyperagent', '.npmrc']\n- [x] a\n\n"
    assert run.note == ""


@pytest.mark.slow
@pytest.mark.spec("S201")
async def test_every_language_runs(working: Any) -> None:
    alice = await working("alice")

    runs = [
        await alice.runs("print(1 + 1)"),
        await alice.runs("console.log([1, 2].map((x) => x * 2).join())", "javascript"),
        await alice.runs("const x: number = 4; interface A { b: string }\nconsole.log(x as number)", "typescript"),
        await alice.runs("echo $((2 + 4)) && pwd", "bash"),
    ]

    assert [run.stdout for run in runs] == ["2\n", "2,4\n", "4\n", f"6\n{HOME}\n"], runs
    failed = await alice.runs("import os; os._exit(3)")
    assert (failed.exit_code, failed.note) == (3, "")


@pytest.mark.slow
async def test_modules_of_the_folder_are_found_and_no_file_of_it_runs_before_a_program(working: Any) -> None:
    alice = await working("alice")
    for name in ("sitecustomize", "usercustomize", "json"):
        await alice.file("write", f"{name}.py", "print('planted')")
    await alice.file("write", "figures.py", "TOTAL = 8065")

    run = await alice.runs("import json, figures\nprint(figures.TOTAL, json.dumps([1]))")

    assert run.stdout == "8065 [1]\n"


@pytest.mark.slow
@pytest.mark.spec("B11")
async def test_output_of_any_kind_is_inert_bounded_text(working: Any) -> None:
    alice = await working("alice")

    binary = await alice.runs(
        "import sys\n"
        "sys.stdout.buffer.write(bytes(range(256)) + b'\\xed\\xb0\\x80\\n' + b'\\x1b]0;owned\\x07\\x1b[31mred')"
    )
    long_line = await alice.runs("print('x' * 1_000_000)")
    endless = await alice.runs("while True: print('y' * 1000)")

    assert "\0" not in binary.stdout
    binary.stdout.encode()
    assert binary.exit_code == 0
    assert len(long_line.stdout) < 300_000
    assert endless.exit_code is None
    assert endless.note
    assert len(endless.stdout) < 300_000
    for event in alice.told("terminal_output"):
        assert len(event.content) <= 4_200
        event.content.encode()
    shown = sum(len(event.content) for event in alice.told("terminal_output"))
    assert shown < 3 * 70_000
    json.dumps([run.model_dump(mode="json") for run in (binary, long_line, endless)]).encode()


@pytest.mark.slow
@pytest.mark.spec("B11")
async def test_files_that_are_too_many_or_too_large_stay_behind_and_the_model_is_told(
    working: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    from agents.sandbox import comparing

    monkeypatch.setattr(comparing, "MOST_FILES_BACK", 3)
    settings.CONFIG = settings.CONFIG.model_copy(update={"workspace_file_max_bytes": 5_000})
    alice = await working("alice")

    run = await alice.runs(
        "import pathlib\n"
        "for number in range(5): pathlib.Path(f'{number}.txt').write_text('x')\n"
        "pathlib.Path('0.txt').write_text('x' * 6000)\n"
        "pathlib.Path('1.txt').symlink_to('/etc/passwd') if not pathlib.Path('1.txt').unlink() else 0\n"
    )

    assert run.exit_code == 0, run
    assert sorted(await _workspace(alice)) == ["2.txt", "3.txt"]
    assert "stay in the sandbox" in run.note
    assert "0.txt (The file is larger than 5,000 bytes" in run.note
    assert "4.txt (more than 3 files at once)" in run.note
    assert "1.txt" not in run.created_files


@pytest.mark.spec("F19")
async def test_a_full_box_and_a_full_workspace_fail_in_words_and_the_next_program_runs(
    working: Any, settings: Any
) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"workspace_quota_bytes": 100_000})
    alice = await working("alice")

    full = await alice.runs(
        "try:\n"
        "    with open('big', 'wb') as file:\n"
        "        for _ in range(2000): file.write(bytes(1 << 20))\n"
        "except OSError as error: print(error.strerror)\n"
    )
    quota = await alice.runs("import os; os.remove('big'); open('some.bin', 'wb').write(os.urandom(200_000))")
    after = await alice.runs("print('still here')")

    assert full.exit_code == 0
    assert full.stdout.strip() in ("No space left on device", "File too large")
    assert "big (" in full.note
    assert "no room" in quota.note
    assert quota.created_files == ("some.bin",)
    assert after.stdout == "still here\n"
    assert await _workspace(alice) == {}


@pytest.mark.slow
async def test_a_box_that_goes_away_in_mid_run_is_told_in_words_and_the_next_call_works(working: Any) -> None:
    provider = Noting(local())
    boxes = provider.boxes
    alice = await working("alice", provider=provider)
    running = asyncio.create_task(alice.fails(alice.runs("print('begun', flush=True); import time; time.sleep(60)")))
    async with asyncio.timeout(20):
        while not alice.told("terminal_output"):
            await asyncio.sleep(0.02)

    await boxes[0].close()
    said = await running
    again = await alice.runs("print('anew')")

    assert "went away while the program ran" in said
    assert alice.told("terminal_complete")[0].exit_code is None
    assert again.stdout == "anew\n"


@pytest.mark.spec("F23")
async def test_a_cancelled_call_leaves_no_process_within_a_second(working: Any) -> None:
    alice = await working("alice")
    await alice.runs("print('warm')")
    code = (
        "import os, time, subprocess\nsubprocess.Popen(['sleep', '4711'])\nprint('begun', flush=True)\ntime.sleep(4711)"
    )
    running = asyncio.create_task(alice.runs(code))
    async with asyncio.timeout(20):
        while len(alice.told("terminal_output")) < 2:
            await asyncio.sleep(0.02)
    assert sleepers(4711)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    async with asyncio.timeout(1):
        while sleepers(4711):
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.spec("S195")
@pytest.mark.threat("T22")
async def test_files_of_the_sandbox_are_read_written_and_listed_by_path_and_nothing_outside_is(working: Any) -> None:
    alice = await working("alice")

    written = await alice.file("write", "notes/a.md", "# Hi")
    read = await alice.file("read", f"{HOME}/notes/a.md")
    listed = await alice.file("list", "notes")
    await alice.runs(
        "import os, base64\n"
        "os.symlink('/etc', 'etc'); os.symlink('/etc/passwd', 'passwd'); os.mkfifo('pipe')\n"
        f"open('b.png', 'wb').write(base64.b64decode('{base64.b64encode(bytes(range(256))).decode()}'))"
    )
    refused = [
        await alice.fails(alice.file("read", path))
        for path in ("../../etc/passwd", "/etc/passwd", "passwd", "etc/passwd", "pipe", "none.txt", "b.png")
    ]
    not_written = [await alice.fails(alice.file("write", path, "x")) for path in ("/usr/x", "etc/x", "../x", "passwd")]

    assert (written.path, written.version) == ("notes/a.md", 1)
    assert read.text == "# Hi"
    assert [file["path"] if isinstance(file, dict) else file.path for file in listed] == ["notes/a.md"]
    assert all(refused)
    assert not any("root:" in said for said in refused)
    assert all(not_written)
    assert sorted(await _workspace(alice)) == ["b.png", "notes/a.md"]


async def test_without_a_conversation_a_program_runs_and_its_files_stay_with_it(working: Any, people: Any) -> None:
    alice = await working("alice")
    alice.about = replace(alice.about, conversation_id=None)

    run = await alice.runs("open('a.txt', 'w').write('x'); print(1)")
    again = await alice.runs("print(open('a.txt').read())")

    assert (run.stdout, run.created_files, run.note) == ("1\n", ("a.txt",), "")
    assert again.stdout == "x\n"


async def test_a_program_whose_workspace_is_gone_runs_and_says_what_was_not_there(working: Any) -> None:
    from conversations.models import Conversation

    alice = await working("alice")
    await in_thread(Conversation.objects.filter(pk=alice.about.conversation_id).delete)()

    run = await alice.runs("open('a.txt', 'w').write('x'); print(1)")

    assert run.stdout == "1\n"
    assert "could not be read" in run.note
    assert "a.txt" in run.note


@pytest.mark.slow
@pytest.mark.spec("S47", "S48", "S49")
async def test_what_goes_along_with_a_handoff_is_kept_and_lies_in_the_next_box(working: Any) -> None:
    from agents.sandbox import artifacts

    alice, bob = await working("alice"), await working("bob")
    await alice.runs(
        "import pathlib\n"
        "for name in ('a.py', 'b.csv', 'c.png', 'big.txt', '.secret.md'): pathlib.Path(name).write_text(name)\n"
        "pathlib.Path('big.txt').write_text('x' * 3_000_000)\n"
    )
    sandbox = alice.call.providers.sandbox
    box = await alice.client.box(alice.about)

    found = await sandbox.collect_artifacts(
        alice.about, ("*.py", "*.csv", "*.txt", "*.md"), max_files=10, max_size_mb=1
    )
    few = await artifacts.collect_artifacts(box, alice.about, alice.workspace, max_files=1)
    await box.close()
    restored = await sandbox.restore_artifacts(alice.about, ("a.py", "b.csv", "none.md"))
    listed = [file.path for file in await sandbox.list_files(alice.about, ".")]
    await sandbox.cleanup_artifacts(alice.about, ("a.py", ".secret.md"))
    left = [file.path for file in await sandbox.list_files(alice.about, ".")]
    there = await sandbox.lying_there(alice.about, ("a.py", "b.csv"))

    assert sorted(file.path for file in found.files) == ["a.py", "b.csv"]
    assert found.left_out == ("big.txt (more than 1 MB together)",)
    assert len(few.files) == 1
    assert sorted(file.path for file in restored.files) == ["a.py", "b.csv"]
    assert restored.left_out == ("none.md",)
    assert ([file.path for file in there.files], there.left_out) == (["b.csv"], ("a.py",))
    assert {"a.py", "b.csv"} <= set(listed)
    assert "a.py" not in left
    assert "a.py" in await _workspace(alice)
    assert (
        await bob.call.providers.sandbox.collect_artifacts(bob.about, ("*",), max_files=9, max_size_mb=9)
    ).files == ()


async def _in_a_later_run_that_reads_others(working: Any) -> Any:
    """Alice at work where two files of hers lie, which an earlier run wrote."""
    alice = await working("alice")
    for path in ("mine.md", "other.md"):
        await alice.workspace.write_file(alice.about, path, "hers")
    alice.about = replace(alice.about, execution_id=uuid4())
    alice.has_read_others = True
    return alice


@pytest.mark.slow
@pytest.mark.threat("T16")
async def test_in_a_run_that_has_read_others_a_program_replaces_no_file_that_was_there_before(working: Any) -> None:
    alice = await _in_a_later_run_that_reads_others(working)

    first = await alice.runs("open('mine.md', 'w').write('OVERWRITTEN'); open('new.md', 'w').write('one')")
    told = await alice.runs("print(open('mine.md').read(), open('mine-2.md').read())")
    await alice.runs(
        "import os; os.remove('other.md'); [open(name, 'w').write('two') for name in ('mine.md', 'new.md')]"
    )

    assert first.created_files == ("mine-2.md", "new.md")
    assert "they were not replaced: mine.md (what the program wrote is mine-2.md)." in first.note
    assert [event.path for event in alice.told("workspace_update")][:2] == ["mine-2.md", "new.md"]
    assert told.stdout == "hers OVERWRITTEN\n"
    assert await _workspace(alice) == {"mine.md": b"hers", "other.md": b"hers", "mine-2.md": b"two", "new.md": b"two"}


@pytest.mark.slow
@pytest.mark.threat("T16")
async def test_in_a_run_that_has_read_others_no_other_spelling_of_a_name_replaces_a_file_either(working: Any) -> None:
    alice = await _in_a_later_run_that_reads_others(working)
    await alice.workspace.write_file(replace(alice.about, execution_id=uuid4()), "\u00fc.md", "hers")

    run = await alice.runs(
        "import os; os.mkdir('~')\nfor name in ('u\u0308.md', '~/mine.md'): open(name, 'w').write('OVERWRITTEN')"
    )

    there = await _workspace(alice)
    assert (there["\u00fc.md"], there["mine.md"]) == (b"hers", b"hers")
    assert (there["\u00fc-2.md"], there["mine-2.md"]) == (b"OVERWRITTEN", b"OVERWRITTEN")
    assert "were not replaced" in run.note


@pytest.mark.slow
@pytest.mark.threat("T16")
async def test_a_file_of_the_sandbox_is_replaced_by_the_path_that_was_asked_about_and_by_no_other_way(
    working: Any,
) -> None:
    alice = await _in_a_later_run_that_reads_others(working)
    await alice.runs("import os; os.symlink('mine.md', 'link.md'); os.mkdir('folder')")

    for path in ("folder/../mine.md", " mine.md", "link.md", "././mine.md"):
        try:
            await alice.file("write", path, "OVERWRITTEN")
        except ToolError:
            continue
    before = (await _workspace(alice))["mine.md"]
    asked = await alice.file("write", "./other.md", "agreed to")

    assert before == b"hers"
    assert (asked.path, asked.version) == ("other.md", 2)
    assert (await _workspace(alice))["other.md"] == b"agreed to"


@pytest.mark.threat("T16")
async def test_what_goes_along_with_a_handoff_replaces_no_file_that_was_there_before_either(working: Any) -> None:
    alice = await _in_a_later_run_that_reads_others(working)
    sandbox = alice.call.providers.sandbox
    await alice.runs("open('mine.md', 'w').write('OVERWRITTEN')")

    found = await sandbox.collect_artifacts(
        alice.about, ("*.md",), max_files=9, max_size_mb=1, only_over=alice.only_over
    )

    assert "mine.md" in [file.path for file in found.files]
    assert (await _workspace(alice))["mine.md"] == b"hers"


@pytest.mark.slow
@pytest.mark.spec("S48", "S107")
async def test_what_was_put_into_a_box_for_a_run_that_left_it_there_can_be_cleared_away(working: Any) -> None:
    alice = await working("alice")
    await alice.runs("for name in ('given.csv', 'own.csv'): open(name, 'w').write('1')")
    sandbox, another = alice.call.providers.sandbox, replace(alice.about, execution_id=uuid4())
    await sandbox.cleanup_artifacts(alice.about, ("given.csv",))

    await sandbox.restore_artifacts(alice.about, ("given.csv", "own.csv"))
    await sandbox.clear_given(another)
    before = [file.path for file in await sandbox.list_files(alice.about, ".")]
    await sandbox.clear_given(alice.about)
    await sandbox.clear_given(alice.about)
    after = [file.path for file in await sandbox.list_files(alice.about, ".")]

    assert {"given.csv", "own.csv"} <= set(before)
    assert "given.csv" not in after
    assert "own.csv" in after
    assert "given.csv" in await _workspace(alice)


async def test_where_there_is_no_box_nothing_is_opened_to_clear_it(working: Any) -> None:
    alice = await working("alice")

    await alice.call.providers.sandbox.clear_given(alice.about)

    assert await alice.client.existing(alice.about.user_id, alice.about.conversation_id) is None
