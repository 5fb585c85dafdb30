"""The tools of the catalogue against providers in memory, and what each says while its provider is not configured."""

from itertools import accumulate
from typing import Any

import pytest

from agents.craft.exchange import AgentInput, Options
from agents.mail.answering import reply_to
from agents.mail.files import AttachedFile
from agents.runtime.context import AgentContext
from agents.tools.gateway import Gateway
from agents.tools.providers import OriginalFile, Providers
from agents.tools.registry import tools
from agents.tools.tool import ANY_AGENT
from agents.tools.values import CodeRun, DocumentFilters, DocumentText, FetchedPage, MailMessage, OutgoingMail
from agents.workspace import within
from memory.workspaces.paths import clean_path
from tests.doubles.memory_journal import Death, Killed
from tests.tools.doubles import (
    APPROVE_ALL,
    FakeDocuments,
    FakeImages,
    FakeMailbox,
    FakePages,
    FakeSandbox,
    FakeWeb,
    FakeWorkspace,
    fake_providers,
)
from tests.tools.driving import call_once, case_of, seen

MESSAGE = MailMessage(
    id="m1",
    sender="Bob <bob@example.org>",
    to=("alice@example.org", "Dora <dora@example.org>"),
    cc=("evil\r\nBcc: x@example.org",),
    subject="Q3\r\nBcc: everybody@example.org",
    date="2026-01-15",
    snippet="The figures",
    body="The figures are attached.",
    message_id="<1@example.org>",
    references=("<0@example.org>",),
    thread_id="t1",
)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "web_search": {"query": "x"},
    "web_search_news": {"query": "x"},
    "web_search_deep": {"query": "x"},
    "fetch_url": {"url": "https://example.org"},
    "search_documents": {"query": "x"},
    "read_document": {"document_id": "d1"},
    "list_documents": {},
    "use_document": {"document_id": "d1"},
    "use_file": {"path": "a.txt", "scope": "user"},
    "execute_code": {"code": "print(1)"},
    "execute_script": {"code": "print(1)"},
    "sandbox_file": {"operation": "list"},
    "collect_artifacts": {},
    "restore_artifacts": {"paths": ["a.py"]},
    "cleanup_artifacts": {"paths": ["a.py"]},
    "list_mailboxes": {},
    "list_labels": {},
    "search_inbox": {},
    "search_sent": {},
    "search_drafts": {},
    "read_message": {"message_id": "m1"},
    "read_thread": {"message_id": "m1"},
    "read_attachment": {"message_id": "m1"},
    "save_attachment": {"message_id": "m1"},
    "draft_email": {"to": [], "subject": "x", "body": "y"},
    "send_draft": {"draft_id": "draft-1"},
    "send_email": {"to": ["bob@example.org"], "subject": "x", "body": "y"},
    "reply_to_message": {"message_id": "m1", "to": ["bob@example.org"], "body": "y"},
    "generate_image": {"prompt": "a bicycle"},
    "analyze_image": {"image": "a.png"},
    "list_files": {},
    "read_file": {"path": "a.txt"},
    "write_file": {"path": "a.txt", "content": "x"},
    "edit_file": {"path": "a.txt", "old": "hello", "new": "x"},
    "generate_slides": {"title": "Talk", "slides": [{"kind": "title", "title": "Talk"}]},
    "create_app_project": {},
    "app_write_file": {"path": "a.js", "content": "x"},
    "app_install_packages": {"packages": ["left-pad"]},
    "app_start_server": {"title": "Shop", "command": "node server.js"},
    "delete_file": {"path": "a.txt"},
    "browser_navigate": {"url": "https://example.org"},
    "browser_screenshot": {},
    "browser_scroll": {},
    "browser_click": {"target": "e1"},
    "browser_type": {"target": "e1", "text": "x"},
    "browser_press_key": {"key": "Enter"},
    "browser_get_stream_url": {},
}


async def used(name: str, arguments: dict[str, Any], *, task: AgentInput | None = None, **fakes: Any) -> Any:
    """One call of a catalogue tool by an agent that may."""
    gateway = Gateway(fake_providers(**fakes), checks=APPROVE_ALL)
    found = tools()[name]
    agent = "chat" if found.agents == ANY_AGENT else found.agents[0]
    return await call_once(gateway, name, arguments, agent=agent, task=task)


def in_its_mode(name: str) -> AgentInput | None:
    mode = tools()[name].only_in
    options = Options(execution_mode=mode)
    return AgentInput(agent_id="a", agent_name="a", task="?", options=options) if mode else None


# --- while nothing is configured


@pytest.mark.spec("S182")
def test_every_tool_that_needs_a_provider_is_in_the_list_below() -> None:
    assert {name for name, found in tools().items() if found.needs} == set(ARGUMENTS)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
async def test_each_tool_refuses_clearly_while_its_provider_is_not_configured(name: str) -> None:
    agents = tools()[name].agents
    agent = "chat" if agents == ANY_AGENT else agents[0]

    reply = await call_once(Gateway(Providers()), name, ARGUMENTS[name], agent=agent, task=in_its_mode(name))

    assert reply["is_error"]
    assert reply["data"] == {"error": "not_configured"}
    assert "not configured: set " in reply["content"]
    assert reply["content"].endswith(f"Until then, do without {name}.")


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
async def test_each_tool_works_with_its_provider(name: str) -> None:
    fakes: dict[str, Any] = {
        "pages": FakePages({"https://example.org": FetchedPage(url="https://example.org", text="Hello")}),
        "mailbox": FakeMailbox(
            inbox=(MESSAGE,),
            drafts=[OutgoingMail(message_id="<d@x>", to=("bob@example.org",), subject="x", body="y")],
            attached={1: AttachedFile("a.txt", "text/plain", b"Hello")},
        ),
        "workspace": FakeWorkspace(files={"a.txt": "hello"}),
        "documents": FakeDocuments(originals={"d1": OriginalFile("sales.csv", b"month,revenue\nJan,10\n")}),
    }

    reply = await used(name, ARGUMENTS[name], task=in_its_mode(name), **fakes)

    assert not reply["is_error"], reply
    assert reply["data"] is not None
    assert reply["content"]


# --- the web


@pytest.mark.spec("S180", "S181", "S195")
@pytest.mark.parametrize(
    ("name", "search_type"), [("web_search", "basic"), ("web_search_news", "news"), ("web_search_deep", "deep")]
)
async def test_a_search_gives_answer_results_and_sources(name: str, search_type: str) -> None:
    web = FakeWeb()

    reply = await used(name, {"query": "acme revenue", "max_results": 1}, web=web)

    assert web.asked == [("acme revenue", search_type, 1)]
    assert reply["data"]["search_type"] == search_type
    assert reply["data"]["results"] == [
        {
            "title": "Acme grows",
            "url": "https://news.example.org/acme",
            "snippet": "Revenue rose by 12 %.",
            "score": 0.9,
            "published": None,
            "raw_content": None,
        }
    ]
    assert reply["sources"] == [
        {
            "type": "web",
            "source": "Acme grows",
            "url": "https://news.example.org/acme",
            "excerpt": "Revenue rose by 12 %.",
            "relevance_score": 0.9,
        }
    ]
    assert "Answer of the search service: Acme grew." in reply["content"]
    assert "1. Acme grows\nhttps://news.example.org/acme" in reply["content"]


async def test_a_search_that_finds_nothing_says_what_to_try() -> None:
    reply = await used("web_search", {"query": "zzz"}, web=FakeWeb(results=(), answer=""))

    assert "Nothing was found for 'zzz'. Try other or fewer words." in reply["content"]


@pytest.mark.spec("S180")
async def test_a_page_is_read_with_its_title_as_a_source() -> None:
    page = FetchedPage(url="https://example.org/end", title="The end", text="All of it.")

    reply = await used("fetch_url", {"url": "https://example.org"}, pages=FakePages({"https://example.org": page}))

    assert reply["content"] == (
        '<untrusted source="fetch_url">\nThe end\nhttps://example.org/end\n\nAll of it.\n</untrusted>'
    )
    assert reply["sources"][0]["source"] == "The end"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "example.org", "javascript:alert(1)", "https://", "ftp://x/y"])
async def test_what_is_no_web_address_is_not_fetched(url: str) -> None:
    pages = FakePages()

    reply = await used("fetch_url", {"url": url}, pages=pages)

    assert "is no web address" in reply["content"]
    assert pages.asked == []


# --- documents


@pytest.mark.spec("S174", "S173")
async def test_passages_are_given_with_the_sources_that_they_come_from() -> None:
    reply = await used("search_documents", {"query": "Q3 revenue"})

    assert reply["data"]["query"] == "Q3 revenue"
    assert reply["data"]["chunks"][0]["metadata"]["page"] == 3
    assert "1. report.pdf, page 3, Revenue, document d1\nRevenue in Q3 was 42 million." in reply["content"]
    assert reply["sources"] == [
        {
            "type": "document",
            "source": "report.pdf",
            "page": 3,
            "section": "Revenue",
            "excerpt": "Revenue in Q3 was 42 million.",
            "relevance_score": 0.92,
            "document_id": "d1",
            "chunk_id": "c1",
        }
    ]


async def test_the_documents_that_were_chosen_for_a_run_are_searched_unless_the_call_names_others() -> None:
    documents = FakeDocuments()
    task = AgentInput(agent_id="a", agent_name="rag", task="t", options=Options(document_ids=("d7",)))

    await used("search_documents", {"query": "x"}, task=task, documents=documents)
    await used(
        "search_documents",
        {"query": "x", "top_k": 3, "document_ids": ["d8"], "filters": {"doc_type": "pdf"}},
        task=task,
        documents=documents,
    )

    assert [asked[1:] for asked in documents.asked] == [
        (8, ("d7",), DocumentFilters()),
        (3, ("d8",), DocumentFilters(doc_type="pdf")),
    ]


async def test_a_picture_that_was_attached_does_not_narrow_a_search() -> None:
    documents = FakeDocuments()
    options = Options(attachment_ids=("p1",), image_attachments=("p1",))
    both = options.model_copy(update={"attachment_ids": ("p1", "d7")})

    for chosen in (options, both):
        task = AgentInput(agent_id="a", agent_name="rag", task="t", options=chosen)
        await used("search_documents", {"query": "x"}, task=task, documents=documents)

    assert [asked[2] for asked in documents.asked] == [(), ("d7",)]


async def test_pages_of_a_document_are_read_in_portions() -> None:
    reply = await used("read_document", {"document_id": "d1", "first_page": 25})
    too_many = await used("read_document", {"document_id": "d1", "first_page": 1, "last_page": 30})

    assert "report.pdf, pages 25 to 30 of 30" in reply["content"]
    assert too_many["content"].startswith("Error: Pages 1 to 30 cannot be read at once")


async def test_of_a_long_document_whole_pages_are_read_and_where_to_read_on_is_said() -> None:
    class Long(FakeDocuments):
        async def read(self, about: Any, document_id: str, *, first_page: int, last_page: int) -> DocumentText:
            pages = [
                f"[page {number}]\n{str(number % 10) * 5_000}" for number in range(first_page, min(last_page, 30) + 1)
            ]
            ends = tuple(accumulate(pages, lambda end, page: end + 2 + len(page), initial=-2))[1:]
            found = await super().read(about, document_id, first_page=first_page, last_page=last_page)
            return found.model_copy(update={"text": "\n\n".join(pages), "page_ends": ends})

    first = await used("read_document", {"document_id": "d1"}, documents=Long())
    last = await used("read_document", {"document_id": "d1", "first_page": 28}, documents=Long())

    assert "report.pdf, pages 1 to 3 of 30\n" in first["content"]
    assert first["content"].endswith("333\n\n[Read on with first_page=4.]\n</untrusted>")
    assert "left out" not in first["content"]
    assert len(first["data"]["text"]) > 60_000  # programs get all of it
    assert "report.pdf, pages 28 to 30 of 30\n" in last["content"]
    assert last["content"].endswith("000\n</untrusted>")


# --- code


@pytest.mark.spec("S177", "S195", "S200")
async def test_code_gives_what_it_printed_and_people_see_the_run() -> None:
    run = CodeRun(code="print(1)", stdout="1\n", stderr="careful", exit_code=0, created_files=("a.csv",))
    gateway = Gateway(fake_providers(sandbox=FakeSandbox(outputs={"print(1)": run})), checks=APPROVE_ALL)

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("execute_code", {"code": "print(1)"}))

    case = case_of(program, gateway, agent="code")
    reply = (await case.drive()).value

    assert {key: reply["data"][key] for key in ("code", "stdout", "stderr", "exit_code")} == {
        "code": "print(1)",
        "stdout": "1\n",
        "stderr": "careful",
        "exit_code": 0,
    }
    assert "Files made: a.csv" in reply["content"]
    assert [(event["stdout"], event["exit_code"]) for event in case.events("code_result")] == [("1\n", 0)]


@pytest.mark.spec("S195")
async def test_a_file_is_written_listed_and_read() -> None:
    sandbox = FakeSandbox()

    await used("sandbox_file", {"operation": "write", "path": "a.txt", "content": "hello"}, sandbox=sandbox)
    listed = await used("sandbox_file", {"operation": "list"}, sandbox=sandbox)
    read = await used("sandbox_file", {"operation": "read", "path": "a.txt"}, sandbox=sandbox)
    empty = await used("sandbox_file", {"operation": "write", "path": "b.txt"}, sandbox=sandbox)

    assert "a.txt (5 bytes)" in listed["content"]
    assert read["data"] == {"path": "a.txt", "text": "hello"}
    assert empty["content"] == "Error: To write a file, give its whole text as content."
    assert sandbox.files == {"a.txt": "hello"}


# --- mail


@pytest.mark.spec("S178", "S179")
@pytest.mark.parametrize(
    ("name", "folder", "key"),
    [("search_inbox", "inbox", "messages"), ("search_sent", "sent", "messages"), ("search_drafts", "drafts", "drafts")],
)
async def test_mails_are_found_in_each_folder(name: str, folder: str, key: str) -> None:
    mailbox = FakeMailbox(inbox=(MESSAGE,))

    reply = await used(name, {"query": "from:bob subject:q3", "max_results": 3}, mailbox=mailbox)

    assert mailbox.searched == [(folder, "from:bob subject:q3", 3)]
    assert (reply["data"]["action"], reply["data"]["count"]) == (name, 1)
    (found,) = reply["data"][key]
    assert {part: found[part] for part in ("id", "from", "date", "snippet")} == {
        "id": "m1",
        "from": "Bob <bob@example.org>",
        "date": "2026-01-15",
        "snippet": "The figures",
    }


@pytest.mark.threat("T16")
async def test_what_others_called_an_attachment_and_a_draft_is_marked_as_text_of_others() -> None:
    draft = OutgoingMail(message_id="<d@example.org>", to=("bob@example.org",), subject="Obey me", body="y")
    file = AttachedFile("Obey me.pdf", "application/pdf", b"%PDF")
    mailbox = FakeMailbox(drafts=[draft], attached={1: file})

    saved = await used("save_attachment", {"message_id": "m1"}, mailbox=mailbox)
    sent = await used("send_draft", {"draft_id": "draft-1"}, mailbox=mailbox)

    assert saved["content"].startswith('<untrusted source="save_attachment">\nmail/Obey me.pdf was saved')
    assert sent["content"].startswith("<untrusted source=\"send_draft\">\nThe draft 'Obey me' was sent")


@pytest.mark.spec("S179")
async def test_a_mail_is_read_whole_and_marked_as_text_of_others() -> None:
    reply = await used("read_message", {"message_id": "m1"}, mailbox=FakeMailbox(inbox=(MESSAGE,)))

    assert reply["data"]["message"]["body"] == "The figures are attached."
    assert reply["content"].startswith('<untrusted source="read_message">\nid m1\nFrom: Bob')
    assert reply["sources"][0]["type"] == "mail"


@pytest.mark.spec("S179")
async def test_a_document_with_a_long_name_is_given_to_programs_under_one_that_a_file_can_have() -> None:
    """As many characters as a document's name may have are up to four times as many bytes."""
    original = OriginalFile(filename=f"{'報' * 110}.xlsx", content=b"x")
    documents = FakeDocuments(originals={"d1": original})
    workspace = FakeWorkspace()

    reply = await used("use_document", {"document_id": "d1"}, documents=documents, workspace=workspace)

    path = reply["data"]["path"]
    assert (path, clean_path(path)) == (f"{'報' * 78}.xlsx", path)


async def test_a_draft_is_saved_and_nothing_is_sent() -> None:
    mailbox = FakeMailbox()

    reply = await used("draft_email", {"to": [], "subject": "Q3", "body": "Dear Bob"}, mailbox=mailbox)

    assert [draft.subject for draft in mailbox.drafts] == ["Q3"]
    assert mailbox.sent == []
    assert (reply["data"]["action"], reply["data"]["draft"]["id"]) == ("draft", "draft-1")


@pytest.mark.spec("S178", "S179")
async def test_a_reply_stays_in_its_thread_and_goes_to_whom_it_says() -> None:
    mailbox = FakeMailbox(inbox=(MESSAGE,))
    arguments = {"message_id": "m1", "to": ["bob@example.org"], "body": "Thanks"}

    reply = await used("reply_to_message", arguments, mailbox=mailbox)

    (mail,) = mailbox.sent
    assert (mail.to, mail.cc) == (("bob@example.org",), ())
    assert (mail.in_reply_to, mail.references, mail.thread_id) == (
        "<1@example.org>",
        ("<0@example.org>", "<1@example.org>"),
        "t1",
    )
    assert mail.subject == "Re: Q3 Bcc: everybody@example.org", "one line, whatever stands in the original"
    assert reply["data"]["reply"]["message_id"] == mail.message_id


@pytest.mark.spec("B5")
async def test_whom_a_mail_names_for_answers_is_not_whom_an_answer_goes_to_but_what_was_approved() -> None:
    lured = MESSAGE.model_copy(update={"reply_to": "eve@evil.example"})
    mailbox = FakeMailbox(inbox=(lured,))
    arguments = {"message_id": "m1", "to": ["bob@example.org"], "cc": ["dora@example.org"], "body": "Thanks"}

    await used("reply_to_message", arguments, mailbox=mailbox)

    (mail,) = mailbox.sent
    assert (mail.to, mail.cc, mail.bcc) == (("bob@example.org",), ("dora@example.org",), ())
    shown = tools()["reply_to_message"].preview(arguments)
    assert (shown["to"], shown["cc"], shown["in_reply_to"]) == (["bob@example.org"], ["dora@example.org"], "m1")


async def test_a_mail_that_names_no_sender_is_answered_where_the_user_says_whom_that_goes_to() -> None:
    mailbox = FakeMailbox(inbox=(MESSAGE.model_copy(update={"sender": "MAILER-DAEMON"}),))
    arguments = {"message_id": "m1", "to": ["bob@example.org"], "body": "Thanks"}

    await used("reply_to_message", arguments, mailbox=mailbox)

    assert [(mail.to, mail.in_reply_to) for mail in mailbox.sent] == [(("bob@example.org",), "<1@example.org>")]


def test_an_answer_to_all_is_for_addresses_only() -> None:
    assert reply_to(MESSAGE, "Thanks", message_id="<k@h>", reply_all=True).cc == (
        "alice@example.org",
        "dora@example.org",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": ["bob@example.org\r\nBcc: eve@example.org"]},
        {"to": ["bob@example.org, eve@example.org"]},
        {"to": []},
        {"to": ["bob"]},
        {"cc": ["Eve <eve@example.org>"]},
        {"subject": "x\nBcc: eve@example.org"},
        {"subject": ""},
        {"body": ""},
        {"to": "bob@example.org"},
    ],
)
async def test_headers_cannot_be_smuggled_into_a_mail(wrong: dict[str, Any]) -> None:
    mailbox = FakeMailbox()
    whole = {"to": ["bob@example.org"], "subject": "x", "body": "y"}

    reply = await used("send_email", {**whole, **wrong}, mailbox=mailbox)

    assert reply["data"] == {"error": "bad_arguments"}
    assert mailbox.sent == []


@pytest.mark.spec("S185")
@pytest.mark.parametrize("agent", ["chat", "web", "rag", "research", "code", "data", "writing"])
async def test_only_the_mail_agent_reaches_the_mailbox(agent: str) -> None:
    mailbox = FakeMailbox(inbox=(MESSAGE,))
    gateway = Gateway(fake_providers(mailbox=mailbox), checks=APPROVE_ALL)

    for name in ("send_email", "search_inbox", "read_message"):
        reply = await call_once(gateway, name, ARGUMENTS[name], agent=agent)
        assert reply["data"] == {"error": "not_allowed"}

    assert (mailbox.sent, mailbox.searched) == ([], [])


# --- images


@pytest.mark.spec("S34", "S195")
async def test_an_image_is_made_and_shown_and_can_be_looked_at() -> None:
    images = FakeImages()
    gateway = Gateway(fake_providers(images=images))

    async def program(context: AgentContext) -> Any:
        made = await context.tool("generate_image", {"prompt": "a red bicycle", "shape": "landscape"})
        return [made.data["path"], (await context.tool("analyze_image", {"image": made.data["path"]})).data["text"]]

    case = case_of(program, gateway)
    end = await case.drive()

    assert end.value == ["images/1.png", "A red bicycle."]
    assert [(event["path"], event["alt"]) for event in case.events("image")] == [("images/1.png", "a red bicycle")]


# --- the workspace


async def test_a_saved_attachment_is_told_as_a_file_that_was_written() -> None:
    mailbox = FakeMailbox(attached={1: AttachedFile("offer.pdf", "application/pdf", b"%PDF")})

    async def program(context: AgentContext) -> Any:
        return (await context.tool("save_attachment", {"message_id": "m1"})).is_error

    case = case_of(program, Gateway(fake_providers(mailbox=mailbox)), agent="mail")
    end = await case.drive()

    assert end.value is False
    [told] = case.events("workspace_update")
    assert (told["path"], told["operation"], told["size_bytes"]) == ("mail/offer.pdf", "written", 4)


@pytest.mark.spec("B2")
@pytest.mark.parametrize("death", list(Death))
async def test_attachments_of_the_same_name_are_saved_beside_each_other_and_each_once(death: Death) -> None:
    files = {number: AttachedFile("scan.pdf", "application/pdf", f"%PDF {number}".encode()) for number in (1, 2)}

    async def program(context: AgentContext) -> Any:
        for number in (1, 2):
            await context.tool("save_attachment", {"message_id": "m1", "attachment": number})

    for at in range(1, 20):
        workspace = FakeWorkspace(files={"mail/scan.pdf": "mine"})
        fakes = {"mailbox": FakeMailbox(attached=files), "workspace": workspace}
        case = case_of(program, Gateway(fake_providers(**fakes)), agent="mail")
        end = await case.drive(death=death, at=at)
        while end.how == "killed":
            end = await case.drive()
        assert case.open_requests == []
        assert workspace.files == {"mail/scan.pdf": "mine", "mail/scan-2.pdf": "%PDF 1", "mail/scan-3.pdf": "%PDF 2"}
        assert [len(written) for written in workspace.written.values()] == [1, 1]


@pytest.mark.spec("S81")
async def test_files_of_the_workspace_are_written_listed_and_read_and_people_see_the_change() -> None:
    workspace = FakeWorkspace()

    async def program(context: AgentContext) -> Any:
        await context.tool("write_file", {"path": "report.md", "content": "# Q3"})
        return [
            [file["path"] for file in (await context.tool("list_files", {"prefix": "rep"})).data],
            (await context.tool("read_file", {"path": "report.md"})).data["text"],
        ]

    case = case_of(program, Gateway(fake_providers(workspace=workspace)))
    end = await case.drive()

    assert end.value == [["report.md"], "# Q3"]
    assert [(event["path"], event["operation"], event["size_bytes"]) for event in case.events("workspace_update")] == [
        ("report.md", "written", 4)
    ]


async def test_lines_that_end_before_they_begin_are_told_so() -> None:
    reply = await used(
        "read_file",
        {"path": "a.txt", "first_line": 3, "last_line": 2},
        workspace=FakeWorkspace(files={"a.txt": "1\n2\n3\n4\n"}),
    )

    assert reply["content"] == "Error: last_line is 2 and first_line 3: it has to be 3 or more, or left out."


@pytest.mark.spec("B2")
@pytest.mark.parametrize("path", ["a.md", "./a.md", "~/a.md"])
async def test_a_file_that_still_stands_was_not_deleted_however_its_path_was_written(path: str) -> None:
    class Own(FakeWorkspace):
        """Knows these spellings, as that of the product does."""

        async def stood_before(self, about: Any, path: str, **more: Any) -> bool:
            return await super().stood_before(about, within(path), **more)

        async def list_files(self, about: Any, *, scope: str, prefix: str) -> Any:
            return await super().list_files(about, scope=scope, prefix=within(prefix))

        async def delete_file(self, about: Any, path: str, *, scope: str, only: Any = None) -> Any:
            if not self.may_delete:
                raise Killed
            return await super().delete_file(about, within(path), scope=scope, only=only)

        may_delete = False

    workspace = Own(files={"a.md": "x"})

    async def program(context: AgentContext) -> Any:
        return (await context.tool("delete_file", {"path": path})).content

    case = case_of(program, Gateway(fake_providers(workspace=workspace)))
    assert (await case.drive()).how == "killed"
    workspace.may_delete = True

    end = await case.drive()

    assert (workspace.files, case.open_requests) == ({}, [])
    assert end.value == "a.md was deleted."


@pytest.mark.spec("B2")
@pytest.mark.parametrize("death", list(Death))
async def test_a_file_whose_writing_was_interrupted_is_looked_at_and_nobody_is_asked(death: Death) -> None:
    async def program(context: AgentContext) -> Any:
        return (await context.tool("write_file", {"path": "a.md", "content": "x"})).is_error

    for at in range(1, 9):
        workspace = FakeWorkspace()
        case = case_of(program, Gateway(fake_providers(workspace=workspace)))
        end = await case.drive(death=death, at=at)
        while end.how == "killed":
            end = await case.drive()
        assert (end.value, workspace.files, case.open_requests) == (False, {"a.md": "x"}, [])


@pytest.mark.parametrize("name", ["draft_email", "reply_to_message"])
def test_a_call_without_hidden_recipients_is_the_same_as_before_there_were_any(name: str) -> None:
    given = {"message_id": "1", "subject": "Re", "to": ["bob@example.org"], "body": "Yes"}
    wanted = tools()[name].arguments
    known = {field: value for field, value in given.items() if field in wanted.model_fields}

    without, hidden = (wanted.model_validate({**known, **more}) for more in ({}, {"bcc": ["ann@example.org"]}))

    assert "bcc" not in without.model_dump(mode="json")
    assert hidden.model_dump(mode="json")["bcc"] == ["ann@example.org"]
