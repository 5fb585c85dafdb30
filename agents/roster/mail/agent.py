"""The mail agent: finds and reads mails, and drafts, sends and answers them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agents.briefing import briefing, house_rules, quoted
from agents.exchange import AgentInput, Work
from agents.hearing import with_said
from agents.mail.answering import reply_to
from agents.pipeline.recall import format_user_profile
from agents.prompts import fill, read_prompt
from agents.roster.mail.letter import Letter, told
from agents.roster.mail.plan import NAMED, MailPlan, known_addresses, plan_by_patterns
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.small import ask_small
from agents.spec import AgentSpec
from agents.stages import stage
from agents.summing_up import summed_up
from agents.tools.tool import ToolError
from agents.tools.values import MailMessage, OutgoingMail
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
GUESSED: Final = "I was not given these mail addresses, so nothing was written to them: {addresses}."
NOTHING_ATTACHED: Final = "Nothing is attached to this mail, so there is nothing to save."
MOST_SAVED: Final = 20
MOST_READ: Final = 3
MOST_OF_THREAD: Final = 6
NOTHING_FOUND: Final = "I found no mail for '{query}', so nothing was done."
RESULT_CHARS: Final = 12_000


@dataclass(frozen=True, slots=True)
class Done:
    """What an action came to. `trouble` is for people, `code` for programs; both empty if it went well."""

    plan: MailPlan
    data: dict[str, Any]
    content: str = ""
    text: str = ""
    """Of the mail that was written."""
    trouble: str = ""
    code: str = ""


async def run(context: AgentContext, task: AgentInput) -> Work:
    with stage(context, "plan", "Deciding what to do in the mailbox"):
        plan = await _plan(context, task)
    with stage(context, plan.action, f"In the mailbox: {plan.action.replace('_', ' ')}"):
        done = await _do(context, task, plan)
    if done.trouble:
        return Work(result=done.trouble, done=False, error=done.code, partial_data=done.data, confidence=0)
    with stage(context, "summarize", "Saying what was done"):
        text, model = await _summary(context, task, done)
    return Work(result=text, data=done.data, confidence=0.9, model_used=model)


async def _plan(context: AgentContext, task: AgentInput) -> MailPlan:
    if not task.capable:
        return plan_by_patterns(task.task)
    today = (await context.now()).date().isoformat()
    system = fill(read_prompt(HERE / "plan.md"), today=today, rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=briefing(task)))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=0, keeps_temperature=True)
    return await context.structured(await with_said(context, request), MailPlan, stage="analyze")


async def _do(context: AgentContext, task: AgentInput, plan: MailPlan) -> Done:
    match plan.action:
        case "send" | "draft":
            return await _write(context, task, plan)
        case "read" | "reply" | "send_draft" | "save_attachments":
            return await _with_message(context, task, plan)
        case _:
            found = {"query": plan.query, "max_results": MAX_RESULTS, **plan.where}
            return _done(plan, await context.tool(plan.action, found))


async def _write(context: AgentContext, task: AgentInput, plan: MailPlan) -> Done:
    known, guessed = known_addresses(plan.addresses, task, said=context.said)
    if guessed:
        return _guessed(plan, guessed)
    if plan.action == "send" and not plan.to:
        return Done(plan, {"action": plan.action}, trouble=NO_RECIPIENT, code="recipient_missing")
    letter = await _letter(context, task, plan, "")
    arguments: dict[str, Any] = {
        "to": [address for address in known if address not in (*plan.cc, *plan.bcc)],
        "subject": " ".join((plan.subject or letter.subject).split()) or "-",
        "body": letter.text,
        **plan.where,
        **plan.along,
    }
    if plan.cc:
        arguments["cc"] = [address for address in known if address in plan.cc and address not in plan.bcc]
    if plan.bcc:
        arguments["bcc"] = [address for address in known if address in plan.bcc]
    reply = await context.tool(TOOLS[plan.action], arguments)
    return replace(_done(plan, reply), text=letter.text)


def _guessed(plan: MailPlan, addresses: Sequence[str]) -> Done:
    trouble = GUESSED.format(addresses=", ".join(addresses))
    return Done(plan, {"action": plan.action}, trouble=trouble, code="unknown_address")


async def _with_message(context: AgentContext, task: AgentInput, plan: MailPlan) -> Done:
    """Does one thing with one mail, which is looked for if its id is not known."""
    message_id = plan.message_id
    if not message_id:
        search, named = ("search_drafts", "drafts") if plan.action == "send_draft" else ("search_inbox", "messages")
        found = await context.tool(search, {"query": plan.query, "max_results": 1, **plan.where})
        if found.is_error:
            return _done(plan, found)
        heads = found.data.get(named) if isinstance(found.data, dict) else None
        if not heads:
            trouble = NOTHING_FOUND.format(query=plan.query)
            return Done(plan, {"action": plan.action}, trouble=trouble, code="not_found")
        message_id = heads[0]["id"]
    if plan.action == "send_draft":
        return _done(plan, await context.tool("send_draft", {"draft_id": message_id, **plan.where}))
    message = await context.tool(TOOLS["read"], {"message_id": message_id, **plan.where})
    if message.is_error or plan.action == "read":
        done = _done(plan, message)
        return await _with_attachments(context, plan, done) if plan.read_attachments and not done.trouble else done
    if plan.action == "save_attachments":
        return await _saved(context, plan, message, message_id)
    return await _answered(context, task, plan, message, message_id)


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
    files: list[Any] = []
    troubles: list[str] = []
    for attachment in attachments[:MOST_SAVED]:
        arguments = {"message_id": message_id, "attachment": attachment["number"], **plan.where}
        reply = await context.tool("save_attachment", arguments)
        if reply.is_error:
            troubles.append(f"{attachment['name']}: {reply.content.removeprefix('Error: ')}")
        elif isinstance(reply.data, dict) and "file" in reply.data:
            files.append(reply.data["file"])
    if (left := len(attachments) - MOST_SAVED) > 0:
        troubles.append(f"{left} more were not saved: at most {MOST_SAVED} are at once.")
    data: dict[str, Any] = {"action": plan.action, "files": files, "count": len(files)}
    if len(files) < len(attachments):
        data["not_saved"] = len(attachments) - len(files)
    if not files:
        return Done(plan, data, trouble=" ".join(troubles), code="mail_failed")
    lines = [*(f"Saved: {file['path']} ({file['size_bytes']:,} bytes)" for file in files), *troubles]
    return Done(plan, data, content="\n".join(lines))


async def _answered(
    context: AgentContext, task: AgentInput, plan: MailPlan, message: ToolReply, message_id: str
) -> Done:
    try:
        answer = _addressed(message, plan)
    except ToolError as error:
        return Done(plan, {"action": plan.action}, trouble=error.message, code="recipient_missing")
    known, guessed = known_addresses([*plan.cc, *plan.bcc], task, said=context.said)
    if guessed:
        return _guessed(plan, guessed)
    there = {address.lower() for address in (*answer.to, *answer.cc)}
    copied = [address for address in known if address.lower() not in there]
    answered = message.content
    if answer.references[:-1]:
        # It is itself an answer: whoever writes the next one has to know what was said before.
        thread = {"message_id": message_id, "max_results": MOST_OF_THREAD, **plan.where}
        reply = await context.tool("read_thread", thread)
        answered = answered if reply.is_error else reply.content
    letter = await _letter(context, task, plan, answered)
    arguments = {
        "message_id": message_id,
        "to": answer.to,
        "cc": (*answer.cc, *(address for address in copied if address not in plan.bcc)),
        "body": letter.text,
        **plan.where,
        **plan.along,
    }
    if hidden := [address for address in copied if address in plan.bcc]:
        arguments["bcc"] = hidden
    return replace(_done(plan, await context.tool(TOOLS["reply"], arguments)), text=letter.text)


def _addressed(message: ToolReply, plan: MailPlan) -> OutgoingMail:
    """Whom the answer to a mail that was read goes to. Raises ToolError if it names nobody."""
    found = message.data if isinstance(message.data, dict) else {}
    try:
        original = MailMessage.model_validate(found.get("message"))
    except ValidationError:
        raise ToolError(
            "The head of this mail is too long to answer it from here. Answer it in your mailbox."
        ) from None
    own = [original.account] if original.account else []
    return reply_to(original, "", message_id="", reply_all=plan.reply_all, own=own)


async def _letter(context: AgentContext, task: AgentInput, plan: MailPlan, answers: str) -> Letter:
    """The mail in its parts. `answers`: the mail that it answers, marked as text of others."""
    if not task.capable:
        system = read_prompt(HERE / "prompt_small.md")
        quiet = task.model_copy(update={"speaks": False})
        reply = await ask_small(context, quiet, SPEC, system=system, user=plan.say or task.task, stage="write")
        return Letter(subject=plan.subject, body=reply.text.strip() or plan.say or task.task)
    parts = [
        briefing(task),
        f"## What the mail has to say\n{plan.say}",
        f"## To\n{', '.join(plan.to)}" if plan.to else "",
        f"## The mail that it answers, with what was written before it\n{answers}" if answers else "",
        f"## The person in whose name it is written\n{format_user_profile(task.long_term_memory) or 'not known'}",
    ]
    system = fill(read_prompt(HERE / "compose.md"), rules=house_rules())
    user = "\n\n".join(part for part in parts if part)
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.structured(await with_said(context, request), Letter, stage="outline")


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
    """In a model's words; in ours for the small one, or where a model cannot be reached: what happened has happened."""
    plainly = told(done.plan.action, done.data, done.text)
    if not task.capable:
        return plainly, None
    mail = f"\n\n{quoted('the mail as it was written', done.text)}" if done.text else ""
    result = quoted("the mailbox", done.content, limit=RESULT_CHARS)
    user = f"{briefing(task)}\n\n## What was done\n{done.plan.action}\n\n## Its result\n{result}{mail}"
    system = fill(read_prompt(HERE / "summarize.md"), rules=house_rules())
    return await summed_up(context, task, SPEC, system=system, user=user, otherwise=plainly, tier=Tier.FLASH)
