"""The mail agent: finds and reads mails, and drafts, sends and answers them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agents.craft.briefing import briefing, house_rules, quoted
from agents.craft.exchange import AgentInput, Work
from agents.craft.hearing import with_said
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import ask_small
from agents.craft.stages import stage
from agents.craft.summing_up import summed_up
from agents.mail.answering import addresses_in, forwarded, forwarded_subject, reply_to
from agents.pipeline.recall import format_user_profile
from agents.roster.mail.letter import Letter, told
from agents.roster.mail.plan import NAMED, MailPlan, known_addresses, plan_by_patterns
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec
from agents.tools.tool import ToolError
from agents.tools.values import MailMessage, OutgoingMail
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, Role, Tier

SPEC = AgentSpec(
    name="mail",
    description="Works in the person's mailbox: finds and reads mails, drafts them, sends and answers them.",
    capabilities=(
        "mail search",
        "reading mail",
        "drafting mail",
        "sending mail",
        "answering mail",
        "attachments of mails",
    ),
    typical_use_cases=(
        "Find the mail from Bob about the Q3 report",
        "Do I have unread mails from the bank?",
        "Send the summary to john@example.org",
        "Draft an answer to the last mail from our landlord",
        "What did I write to the agency last week?",
    ),
    tools=(
        "list_mailboxes",
        "list_labels",
        "search_inbox",
        "search_sent",
        "search_drafts",
        "read_message",
        "read_thread",
        "read_attachment",
        "save_attachment",
        "draft_email",
        "send_email",
        "send_draft",
        "reply_to_message",
    ),
    needs=("mailbox",),
    handoffs=False,
    temperature=0.3,
    # An effect may have happened: whoever tries again decides that, not a retry.
    max_retries=0,
    data_fields=("action",),
)

HERE = Path(__file__).parent
TOOLS: Final = {
    "read": "read_message",
    "draft": "draft_email",
    "send": "send_email",
    "reply": "reply_to_message",
    "send_draft": "send_draft",
    "save_attachments": "save_attachment",
}
MAX_RESULTS: Final = 10
NO_RECIPIENT: Final = "I do not know the mail address to send this to, so nothing was sent. Tell me the address."
UNKNOWN: Final = "I do not know the mail address of {names}, so nothing was sent. Tell me the address."
DRAFTED_WITHOUT: Final = "I do not know the mail address of {names}: the draft does not go there yet."
SEEN_AS: Final = "Mails from {name} came from {addresses}."
TOO_LONG: Final = "The head of this mail is too long to go on with it from here. Do it in your mailbox."
NOT_PASSED_ON: Final = "Not all that is attached to the mail can go along, so nothing was written. {troubles}"
GUESSED: Final = "I was not given these mail addresses, so nothing was written to them: {addresses}."
ANSWERED: Final = "## The mail that it answers, with what was written before it\n{mail}"
ABOUT: Final = "## The mail that it is about\n{mail}"
PASSED_ON: Final = "## The mail that is passed on: it will stand below your text, do not repeat it\n{mail}"
NOTHING_ATTACHED: Final = "Nothing is attached to this mail, so there is nothing to save."
MOST_SAVED: Final = 20
MOST_READ: Final = 3
MOST_OF_THREAD: Final = 6
MOST_LOOKED_FOR: Final = 3
# A mail takes some more, for what stands above it.
FORWARDED_CHARS: Final = 80_000
NOTHING_FOUND: Final = "I found no mail for '{query}', so nothing was done."
RESULT_CHARS: Final = 12_000


@dataclass(frozen=True, slots=True)
class Done:
    """What an action came to. `trouble` is for people, `code` for programs; both empty if it went well. `note`: what
    people are told in any case, below what a model says of it."""

    plan: MailPlan
    data: dict[str, Any]
    content: str = ""
    text: str = ""
    """Of the mail that was written."""
    trouble: str = ""
    code: str = ""
    note: str = ""

    @property
    def plainly(self) -> str:
        """In our words."""
        return told(self.plan.action, self.data, self.text)


Writer = Callable[[AgentContext, AgentInput, MailPlan, str], Awaitable[Letter]]
"""Writes the mail of a plan in its parts. The text: what it answers or is about, below a heading, marked as text of
others."""


async def run(context: AgentContext, task: AgentInput) -> Work:
    with stage(context, "plan", "Deciding what to do in the mailbox"):
        plan = await _plan(context, task)
    done = await _do(context, task, plan, _letter)
    if done.trouble:
        return _in_vain(done)
    with stage(context, "summarize", "Saying what was done"):
        text, model = await _summary(context, task, done)
    return _work(done, text, model)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """Plan and summary are ours; the small model only writes what a mail says."""
    with stage(context, "plan", "Deciding what to do in the mailbox"):
        plan = plan_by_patterns(task.task)
    done = await _do(context, task, plan, _short_letter)
    if done.trouble:
        return _in_vain(done)
    with stage(context, "summarize", "Saying what was done"):
        text = done.plainly
    return _work(done, text, None)


async def _plan(context: AgentContext, task: AgentInput) -> MailPlan:
    system = fill(read_prompt(HERE / "plan.md"), rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=briefing(task)))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=0, keeps_temperature=True)
    return await context.structured(await with_said(context, request), MailPlan, stage="analyze")


async def _do(context: AgentContext, task: AgentInput, plan: MailPlan, write: Writer) -> Done:
    with stage(context, plan.action, f"In the mailbox: {plan.action.replace('_', ' ')}"):
        match plan.action:
            case "send" | "draft":
                return await _written(context, task, plan, write)
            case "read" | "reply" | "send_draft" | "save_attachments":
                return await _with_message(context, task, plan, write)
            case _:
                found = {"query": plan.query, "max_results": MAX_RESULTS, **plan.where}
                return _done(plan, await context.tool(plan.action, found))


async def _written(context: AgentContext, task: AgentInput, plan: MailPlan, write: Writer) -> Done:
    known, guessed = known_addresses(plan.addresses, task, said=context.said)
    if guessed:
        return _guessed(plan, guessed)
    if plan.action == "send" and (plan.nameless or not plan.to):
        return await _without_address(context, plan, plan.nameless)
    before = await _before_writing(context, plan) if plan.is_about_a_mail else Before()
    if isinstance(before, Done):
        return before
    letter = await write(context, task, plan, before.told)
    subject = plan.subject or before.subject or letter.subject
    arguments: dict[str, Any] = {
        "to": [address for address in known if address not in (*plan.cc, *plan.bcc)],
        "subject": one_line(subject) or "-",
        "body": f"{letter.text}\n\n{before.below}" if before.below else letter.text,
        **plan.where,
        **_along([*plan.attachments, *before.files]),
    }
    if plan.cc:
        arguments["cc"] = [address for address in known if address in plan.cc and address not in plan.bcc]
    if plan.bcc:
        arguments["bcc"] = [address for address in known if address in plan.bcc]
    reply = await context.tool(TOOLS[plan.action], arguments)
    note = DRAFTED_WITHOUT.format(names=", ".join(plan.nameless)) if plan.nameless else ""
    return replace(_done(plan, reply), text=letter.text, note=note)


def _along(paths: Sequence[str]) -> dict[str, Any]:
    """For each tool that writes a mail: the files of the workspace that go along."""
    return {"attachments": [{"path": path} for path in dict.fromkeys(paths)]} if paths else {}


def _guessed(plan: MailPlan, addresses: Sequence[str]) -> Done:
    trouble = GUESSED.format(addresses=", ".join(addresses))
    return Done(plan, {"action": plan.action}, trouble=trouble, code="unknown_address")


async def _without_address(context: AgentContext, plan: MailPlan, names: Sequence[str]) -> Done:
    """Nothing is sent to the others alone. What the mailbox knows of these people is told: it has to be asked for."""
    told = [UNKNOWN.format(names=", ".join(names)) if names else NO_RECIPIENT]
    for name in names[:MOST_LOOKED_FOR]:
        wanted = name.replace('"', " ")
        query = {"query": f'from:"{wanted}"', "max_results": MAX_RESULTS, **plan.where}
        senders = [str(head.get("from", "")) for head in _heads(await context.tool("search_inbox", query), "messages")]
        seen = addresses_in([sender for sender in senders if name.casefold() in sender.casefold()])
        told += [SEEN_AS.format(name=name, addresses=", ".join(seen[:MOST_LOOKED_FOR]))] if seen else []
    return Done(plan, {"action": plan.action}, trouble=" ".join(told), code="recipient_missing")


@dataclass(frozen=True, slots=True)
class Before:
    """What was read before a mail is written. `told`: for whoever writes it, the mail marked as text of others.
    `below`, `files`, `subject`: of a mail that is passed on as it is."""

    told: str = ""
    below: str = ""
    files: tuple[str, ...] = ()
    subject: str = ""


async def _before_writing(context: AgentContext, plan: MailPlan) -> Before | Done:
    """The mail that one is written about, or that is passed on with all that is attached to it."""
    message_id = await _id_of(context, plan)
    if isinstance(message_id, Done):
        return message_id
    message = await context.tool(TOOLS["read"], {"message_id": message_id, **plan.where})
    if message.is_error:
        return _done(plan, message)
    if not plan.forward:
        return Before(ABOUT.format(mail=message.content))
    try:
        original = _message_in(message)
        below = forwarded(original, limit=FORWARDED_CHARS)
    except ToolError as error:
        return Done(plan, {"action": plan.action}, trouble=f"{error.message} Nothing was sent.", code="mail_failed")
    attached = [one.model_dump(mode="json") for one in original.attachments]
    files, troubles = await _save(context, plan, message_id, attached)
    if len(files) < len(attached):
        trouble = NOT_PASSED_ON.format(troubles=" ".join(troubles)).strip()
        return Done(plan, {"action": plan.action}, trouble=trouble, code="mail_failed")
    paths = tuple(file["path"] for file in files)
    return Before(PASSED_ON.format(mail=message.content), below, paths, forwarded_subject(original))


async def _id_of(context: AgentContext, plan: MailPlan) -> str | Done:
    """The mail that the plan names, or the newest that its query finds; why there is none."""
    return plan.message_id or await _found(context, plan, plan.query)


async def _found(context: AgentContext, plan: MailPlan, query: str) -> str | Done:
    search, named = ("search_drafts", "drafts") if plan.action == "send_draft" else ("search_inbox", "messages")
    found = await context.tool(search, {"query": query, "max_results": 1, **plan.where})
    if found.is_error:
        return _done(plan, found)
    heads = _heads(found, named)
    if not heads:
        trouble = NOTHING_FOUND.format(query=query)
        return Done(plan, {"action": plan.action}, trouble=trouble, code="not_found")
    return str(heads[0]["id"])


def _heads(found: ToolReply, named: str) -> list[Any]:
    """What a search gave."""
    return list(found.data.get(named) or ()) if isinstance(found.data, dict) else []


async def _with_message(context: AgentContext, task: AgentInput, plan: MailPlan, write: Writer) -> Done:
    """Does one thing with one mail, which is looked for if its id is not known."""
    message_id = await _id_of(context, plan)
    if isinstance(message_id, Done):
        return message_id
    if plan.action == "send_draft":
        return _done(plan, await context.tool("send_draft", {"draft_id": message_id, **plan.where}))
    message = await context.tool(TOOLS["read"], {"message_id": message_id, **plan.where})
    if message.is_error or plan.action == "read":
        done = _done(plan, message)
        return await _with_attachments(context, plan, done) if plan.read_attachments and not done.trouble else done
    if plan.action == "save_attachments":
        return await _saved(context, plan, message, message_id)
    return await _answered(context, task, plan, write, message=message, message_id=message_id)


async def _with_attachments(context: AgentContext, plan: MailPlan, done: Done) -> Done:
    """With the text of what is attached, or why it has none."""
    message = done.data.get("message") or {}
    attachments = message.get("attachments") or []
    left = len(attachments) - MOST_READ
    # First, for what is long is cut at its end.
    texts = [f"{left} more files are attached and were not read: at most {MOST_READ} are at once."] if left > 0 else []
    texts.append(done.content)
    for attachment in attachments[:MOST_READ]:
        arguments = {"message_id": message["id"], "attachment": attachment["number"], **plan.where}
        texts.append((await context.tool("read_attachment", arguments)).content)
    return replace(done, content="\n\n".join(texts))


async def _saved(context: AgentContext, plan: MailPlan, message: ToolReply, message_id: str) -> Done:
    """All that is attached to a mail, one by one; what cannot be saved is named."""
    found = message.data.get("message") if isinstance(message.data, dict) else None
    attachments = (found or {}).get("attachments") or []
    if not attachments:
        return Done(plan, {"action": plan.action}, trouble=NOTHING_ATTACHED, code="not_found")
    files, troubles = await _save(context, plan, message_id, attachments)
    data: dict[str, Any] = {"action": plan.action, "files": files, "count": len(files)}
    if len(files) < len(attachments):
        data["not_saved"] = len(attachments) - len(files)
    if not files:
        return Done(plan, data, trouble=" ".join(troubles), code="mail_failed")
    lines = [*(f"Saved: {file['path']} ({file['size_bytes']:,} bytes)" for file in files), *troubles]
    return Done(plan, data, content="\n".join(lines))


async def _save(
    context: AgentContext, plan: MailPlan, message_id: str, attachments: Sequence[Any]
) -> tuple[list[Any], list[str]]:
    """The files that were saved, and why others were not."""
    files: list[Any] = []
    troubles: list[str] = []
    for attachment in attachments[:MOST_SAVED]:
        arguments = {"message_id": message_id, "attachment": attachment["number"], **plan.where}
        reply = await context.tool("save_attachment", arguments)
        if reply.is_error:
            troubles.append(f"{attachment['name']}: {reply.trouble}")
        elif isinstance(reply.data, dict) and "file" in reply.data:
            files.append(reply.data["file"])
    if (left := len(attachments) - MOST_SAVED) > 0:
        troubles.append(f"{left} more were not saved: at most {MOST_SAVED} are at once.")
    return files, troubles


async def _answered(
    context: AgentContext, task: AgentInput, plan: MailPlan, write: Writer, *, message: ToolReply, message_id: str
) -> Done:
    try:
        original = _message_in(message)
        answer = _answer_to(original, plan)
    except ToolError as error:
        return Done(plan, {"action": plan.action}, trouble=error.message, code="recipient_missing")
    known, guessed = known_addresses([*plan.cc, *plan.bcc], task, said=context.said)
    if guessed:
        return _guessed(plan, guessed)
    if nameless := _not_reached(plan.nameless, original, answer):
        return await _without_address(context, plan, nameless)
    about = await _about(context, plan) if plan.about else ""
    if isinstance(about, Done):
        return about
    there = {address.lower() for address in (*answer.to, *answer.cc)}
    copied = [address for address in known if address.lower() not in there]
    answered = message.content
    if answer.references[:-1]:
        # It is itself an answer: whoever writes the next one has to know what was said before.
        thread = {"message_id": message_id, "max_results": MOST_OF_THREAD, **plan.where}
        reply = await context.tool("read_thread", thread)
        answered = answered if reply.is_error else reply.content
    letter = await write(context, task, plan, f"{ANSWERED.format(mail=answered)}\n\n{about}".strip())
    arguments = {
        "message_id": message_id,
        "to": answer.to,
        "cc": (*answer.cc, *(address for address in copied if address not in plan.bcc)),
        "body": letter.text,
        **plan.where,
        **_along(plan.attachments),
    }
    if hidden := [address for address in copied if address in plan.bcc]:
        arguments["bcc"] = hidden
    return replace(_done(plan, await context.tool(TOOLS["reply"], arguments)), text=letter.text)


async def _about(context: AgentContext, plan: MailPlan) -> str | Done:
    """Another mail than the one that is answered, which the answer needs."""
    found = await _found(context, plan, plan.about)
    if isinstance(found, Done):
        return found
    message = await context.tool(TOOLS["read"], {"message_id": found, **plan.where})
    return _done(plan, message) if message.is_error else ABOUT.format(mail=message.content)


def _message_in(message: ToolReply) -> MailMessage:
    """The mail that was read. Raises ToolError for one whose head alone is too long to be kept."""
    found = message.data if isinstance(message.data, dict) else {}
    try:
        return MailMessage.model_validate(found.get("message"))
    except ValidationError:
        raise ToolError(TOO_LONG) from None


def _answer_to(original: MailMessage, plan: MailPlan) -> OutgoingMail:
    """Raises ToolError if the mail names nobody whom an answer could go to."""
    own = [original.account] if original.account else []
    return reply_to(original, "", message_id="", reply_all=plan.reply_all, own=own)


def _not_reached(names: Sequence[str], original: MailMessage, answer: OutgoingMail) -> list[str]:
    """Those of the names that nobody has whom the answer goes to by itself."""
    named = (original.sender, original.reply_to or "", *original.to, *original.cc)
    reached = [one.casefold() for one in named if set(addresses_in((one,))) & {*answer.to, *answer.cc}]
    return [name for name in names if not any(name.casefold() in one for one in reached)]


async def _letter(context: AgentContext, task: AgentInput, plan: MailPlan, read: str) -> Letter:
    parts = [
        briefing(task),
        f"## What the mail has to say\n{plan.say}",
        f"## To\n{', '.join(plan.to)}" if plan.to else "",
        read,
        f"## The person in whose name it is written\n{format_user_profile(task.long_term_memory) or 'not known'}",
    ]
    system = fill(read_prompt(HERE / "compose.md"), rules=house_rules())
    user = "\n\n".join(part for part in parts if part)
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.structured(await with_said(context, request), Letter, stage="outline")


async def _short_letter(context: AgentContext, task: AgentInput, plan: MailPlan, read: str) -> Letter:
    """From what it has to say alone."""
    system = read_prompt(HERE / "prompt_small.md")
    quiet = task.model_copy(update={"speaks": False})
    reply = await ask_small(context, quiet, SPEC, system=system, user=plan.say or task.task, stage="write")
    return Letter(subject=plan.subject, body=reply.text.strip() or plan.say or task.task)


def _done(plan: MailPlan, reply: ToolReply) -> Done:
    found = reply.data if isinstance(reply.data, dict) else {}
    if reply.is_error:
        trouble = str(found.get("told") or reply.trouble)
        reason = str(found.get("reason") or trouble)
        data = {"action": plan.action, "reason": reason, "tools": [TOOLS.get(plan.action, plan.action)]}
        return Done(plan, data, trouble=trouble, code=str(found.get("error") or "mail_failed"))
    return Done(plan, _as_promised(plan, found, reply.content), content=reply.content)


def _as_promised(plan: MailPlan, found: dict[str, Any], content: str) -> dict[str, Any]:
    """S179; also where an effect was found to have happened, and all that is known is that it did."""
    name = NAMED.get(plan.action, "messages")
    if found.get("action"):
        return {**found, "action": plan.action}
    empty: Any = [] if name in ("messages", "drafts") else {"note": content}
    return {"action": plan.action, name: empty}


async def _summary(context: AgentContext, task: AgentInput, done: Done) -> tuple[str, str | None]:
    """In a model's words; in ours where it cannot be reached: what happened has happened."""
    mail = f"\n\n{quoted('the mail as it was written', done.text)}" if done.text else ""
    result = quoted("the mailbox", done.content, limit=RESULT_CHARS)
    user = f"{briefing(task)}\n\n## What was done\n{done.plan.action}\n\n## Its result\n{result}{mail}"
    system = fill(read_prompt(HERE / "summarize.md"), rules=house_rules())
    return await summed_up(context, task, SPEC, system=system, user=user, otherwise=done.plainly, tier=Tier.FLASH)


def _in_vain(done: Done) -> Work:
    return Work(result=done.trouble, done=False, error=done.code, partial_data=done.data, confidence=0)


def _work(done: Done, text: str, model: str | None) -> Work:
    said = f"{text}\n\n{done.note}" if done.note else text
    return Work(result=said, data=done.data, confidence=0.9, model_used=model)
