"""Text of people, models and files is text: no template engine, no `str.format` and no shell ever reads it. What is put
in anywhere comes out again sign by sign; and names of files are names, nothing else.
"""

import ast
import html
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from agents.craft.prompts import fill
from agents.engine.events import Complete
from agents.guardrails.settings import GuardSettings
from agents.runtime.driven import PipelineSettings
from conversations import actions
from conversations.models import Conversation
from hitl.models import Rule
from hyperagent.accounts.archive import Archive
from hyperagent.lib.conf import BASE_DIR
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.mailing import message_of
from hyperagent.notices.models import Mail
from memory import projects
from memory.models import Document, Memory
from tests.faces.conftest import _quick_hashes, api_of, client_of
from tests.faces.runs import append, make_agent
from tests.faces.test_admin_pages import Elements
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, start
from tests.scripted.fixtures import echo_server
from tests.scripted.server import ScriptedServer

__all__ = ["_quick_hashes", "api_of", "client_of", "echo_server", "make_runner"]

PRODUCT = ("agents", "conversations", "hitl", "hyperagent", "memory")
OWN = {
    "ssti": [
        "{{7*7}}",
        "${7*7}",
        "{% debug %}",
        "{0.__class__}",
        "%(password)s %s",
        "{rules} {{rules}} {{ task }}",
        "#{7*7}",
    ],
    "names": [
        "../../etc/passwd",
        '"><img src=x onerror=alert(1)>.pdf',
        "{{7*7}}.txt",
        "a\r\nSet-Cookie: x=1.txt",
        "=cmd|'/c calc'!A0.csv",
        "-rf",
        "..",
        " ",
        "CON",
        "\u202egpj.exe",
    ],
}
# What reads a text as a template.
ENGINES = {"format", "format_map", "from_string", "Template", "safe_substitute", "substitute"}
# Which template it is, is chosen among constants; and two that read none.
CHOSEN = {
    "agents/sandbox/local/box.py": {"NOTES.get(over.ending, '').format"},
    "agents/slides/powerpoint.py": {"RGBColor.from_string"},
    "agents/tuning/faults.py": {"words.format"},
    "agents/usage/reading.py": {"statement.format"},
    "hyperagent/accounts/budgets.py": {"str(sentences[limit.whose]).format"},
    "hyperagent/accounts/quotas.py": {"said.format", "str(_WORDS[quota]).format"},
    "hyperagent/lib/api.py": {"str(self.no_such).format"},
    "hyperagent/lib/llm/errors.py": {"sentence.format"},
    "hyperagent/lib/log.py": {"super().format"},
    "memory/rows.py": {"words.format"},
    "memory/workspaces/files.py": {"there.format"},
}


def collection(name: str, key: str, own: list[str]) -> list[str]:
    folder = os.environ.get("BENCH_DATA")
    if not folder:
        return own
    lines = Path(folder, "security", name, "data.jsonl").read_text().splitlines()
    return own + [json.loads(line)[key] for line in lines]


def payloads() -> list[str]:
    found = (text.replace("\x00", "").strip() for text in collection("ssti_and_traversal", "text", OWN["ssti"]))
    return list(dict.fromkeys(text for text in found if text))


def names() -> list[str]:
    return list(dict.fromkeys(collection("hostile_filenames", "name", OWN["names"])))


# ── the code ──


def templates_in(path: Path) -> Iterator[str]:
    """Calls of what reads templates whose template is no constant, nor a translated one."""
    text = path.read_text()
    nodes = list(ast.walk(ast.parse(text))) if any(engine in text for engine in ENGINES) else []
    bound: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
    ours = {name for name, values in bound.items() if all(_is_ours(value) for value in values)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ENGINES:
            if not _is_ours(node.func.value, ours):
                yield ast.unparse(node.func)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Template":
            yield ast.unparse(node.func)


def _is_ours(template: ast.expr, ours: Collection[str] = ()) -> bool:
    match template:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_").isupper() or name in ours
        case ast.Subscript(value=value):
            return _is_ours(value, ours)
        case ast.Dict(values=values):
            return all(_is_ours(value) for value in values)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sql"), attr="SQL"), args=[ast.Constant()]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in {"_", "gettext", "ngettext", "pgettext"}
        case ast.IfExp(body=body, orelse=orelse):
            return _is_ours(body) and _is_ours(orelse)
        case ast.BinOp(left=left, right=right):
            return _is_ours(left) and _is_ours(right)
    return False


@pytest.mark.threat("T28")
def test_only_constants_of_ours_are_ever_read_as_templates() -> None:
    found: dict[str, set[str]] = {}
    for app in PRODUCT:
        for path in Path(BASE_DIR, app).rglob("*.py"):
            name = str(path.relative_to(BASE_DIR))
            if calls := set(templates_in(path)) - CHOSEN.get(name, set()):
                found[name] = calls

    assert found == {}


@pytest.mark.threat("T28")
def test_what_fills_a_prompt_is_not_filled_itself() -> None:
    filled = fill("Rules: {{rules}}. Task: {{task}}", rules="{{task}} {task}", task="{{rules}} %s \\1 \\g<0>")

    assert filled == "Rules: {{task}} {task}. Task: {{rules}} %s \\1 \\g<0>"


# ── everything that a person can name ──


def live_in(page: Any) -> list[str]:
    """What of it would run; values for scripts of ours stand in it as JSON."""
    return [one for one in Elements(page.content.decode()).live if not one.lstrip().startswith(("{", "["))]


def keep(user: Any, text: str) -> None:
    """In each place that shows what somebody wrote."""
    conversation = actions.create(user, title=text[:200])
    with transaction.atomic():
        said = actions.say(user, conversation.id, actions.Question(text))
        make_agent(said.execution, task=text, status="completed")
        append(said.execution, Complete(answer=text))
    Rule.objects.create(user=user, effect="allow", scope="rule", tool="t", text=text)


@pytest.mark.threat("T28", "T11")
def test_what_is_written_anywhere_is_shown_sign_by_sign(
    alice: Any, bob: Any, api_of: Callable[..., Any], client_of: Callable[[Any], Client], settings: Any
) -> None:
    """A page at a time, and not a payload at a time: all of them stand in one conversation, list or project."""
    settings.CONFIG = settings.CONFIG.model_copy(update={"runs_at_once": 0, "runs_per_hour": 0, "runs_per_day": 0})
    wanted = payloads()
    everything = "\n\n".join(wanted)
    for number, text in enumerate(wanted):
        Memory.objects.create(user=alice, kind="fact", text=text, origin_key=f"m{number}")
    keep(alice, everything)
    project = projects.create(alice, name=wanted[0])
    projects.change(alice, project.id, instructions=everything[:4000])
    notices.tell_people(
        [alice.pk],
        MailKind.REQUEST_WAITING,
        subject_id=project.id,
        title=wanted[0],
        path="/inbox/",
        facts={"Text": wanted[1]},
    )
    bob.is_superuser = True
    bob.save()
    conversation = Conversation.objects.get(user=alice)
    api, browser, staff = api_of(alice), client_of(alice), client_of(bob)

    said = api.get(f"/api/v1/conversations/{conversation.id}/messages").json()["results"]
    assert [message["text"] for message in said] == [everything, everything]
    assert everything in api.get(f"/api/v1/conversations/{conversation.id}/export").content.decode()
    exported = api.get(f"/api/v1/conversations/{conversation.id}/export?as=json").json()
    assert everything in json.dumps(exported, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"').replace(
        "\\\\", "\\"
    )
    assert {one["text"] for one in api.get("/api/v1/memory").json()["memories"]} == set(wanted)
    assert api.get(f"/api/v1/projects/{project.id}").json()["instructions"] == everything[:4000].strip()
    for page in (f"/projects/{project.id}/", "/memory/", "/rules/"):
        shown = html.unescape(browser.get(page).content.decode())
        assert wanted[0] in shown, page
    for page in ("agents/execution", "conversations/conversation", "hitl/rule", "memory/project"):
        listed = staff.get(f"/admin/{page}/")
        if listed.status_code == 200:
            assert live_in(listed) == [], page
    mail = message_of(Mail.objects.get(user=alice))
    assert wanted[0] in mail.subject
    assert wanted[1] in mail.body
    assert wanted[1] in html.unescape(str(mail.alternatives[0][0]))


@pytest.mark.threat("T28")
async def test_a_model_gets_and_gives_it_sign_by_sign(
    alice: Any, transactional_db: None, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    # What the guards make of it is another matter.
    await make_runner(echo_server.url, pipeline=PipelineSettings(guards=GuardSettings(enabled=False)))
    texts = payloads()
    question = "Say it: " + "\n".join(texts)[:1500]

    run = await ended(await start(alice, question, mode="chat"))

    assert run.status == "completed"
    assert question in echo_server.calls[-1].last_user
    assert question in run.answer


# ── names of files ──


def sent(name: str, content: bytes) -> dict[str, Any]:
    """A form with the name as a hostile client would write it."""
    plain = re.sub(r'[\x00-\x1f"\\]', "_", name) or "_"
    coded = "".join(f"%{byte:02X}" for byte in name.encode("utf-8", "replace"))
    head = f'Content-Disposition: form-data; name="file"; filename="{plain}"; filename*=UTF-8\'\'{coded}\r\n'
    body = b"--B\r\n" + head.encode() + b"Content-Type: text/plain\r\n\r\n" + content + b"\r\n--B--\r\n"
    return {"data": body, "content_type": "multipart/form-data; boundary=B"}


@pytest.mark.slow
@pytest.mark.threat("T11", "T27")
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
def test_a_hostile_name_of_a_file_is_a_name_and_nothing_else(
    alice: Any, bob: Any, api_of: Callable[..., Any], client_of: Callable[[Any], Client], settings: Any
) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"uploads_per_hour": 0, "uploads_per_day": 0})
    api = api_of(alice)
    bob.is_superuser = True
    bob.save()
    archive = io.BytesIO()
    packed = Archive(archive)
    for number, name in enumerate(names()):
        answer = api.post("/api/v1/documents", **sent(name, f"Words of {number}.".encode()))
        if answer.status_code == 400:
            assert answer.json()["error"]["message"], name
            continue
        assert answer.status_code == 201, (name, answer.content)
        kept = Document.objects.get(id=answer.json()["doc_id"])
        saved = api.get(f"/api/v1/documents/{kept.pk}/file")
        head = saved["Content-Disposition"]
        b"".join(saved)
        assert not re.search(r"[\x00-\x1f\x7f/\\]", kept.filename), (name, kept.filename)
        assert head.startswith("attachment;"), name
        assert not re.search(r"[\x00-\x1f\x7f]", head), name
        assert kept.filename not in (".", "..", ""), name
        assert re.fullmatch(r"[\w./-]+", kept.stored_as), "a key of our own"
        assert ".." not in kept.stored_as
        packed.text(f"documents/{kept.filename}", "x")
    packed.close()

    listed = {row["filename"] for row in api.get("/api/v1/documents?page_size=200").json()["results"]}
    assert listed == set(Document.objects.values_list("filename", flat=True))
    for page in (client_of(alice).get("/documents/"), client_of(bob).get("/admin/memory/document/")):
        assert page.status_code == 200
        assert live_in(page) == []
    for member in zipfile.ZipFile(archive).namelist():
        assert member.startswith("documents/")
        assert not re.search(r"(^|/)\.\.(/|$)|[\x00-\x1f\\]", member)
