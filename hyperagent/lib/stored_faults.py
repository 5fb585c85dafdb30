"""Why a document, a connector, a mailbox, a server or a webhook of somebody's failed, in sentences of ours: stored in
English with what failed, said in the reader's language where a server writes them. What a stranger said stays as it is,
and so does what is not known here.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from django.utils.formats import number_format
from django.utils.translation import get_language, gettext, gettext_noop

from hyperagent.lib.languages import ENGLISH, known
from hyperagent.lib.stored_sentences import MOST_CHARS, in_our_words

SENTENCES: Final = (
    # Why a file is not read: memory/reading/reasons.py, memory/reading/kinds.py, memory/reading/images.py.
    gettext_noop("The file is empty: it has no bytes."),
    gettext_noop("Save it again and give it once more."),
    gettext_noop("The PDF has no pages."),
    gettext_noop("Export it anew and give that."),
    gettext_noop("The PDF is locked with a password."),
    gettext_noop("The workbook is locked with a password."),
    gettext_noop("The file is locked with a password."),
    gettext_noop("Save it without the password first."),
    gettext_noop("There is no text in the file."),
    gettext_noop("Give one that has some."),
    gettext_noop("The PDF has no text, only pictures of it (a scan)."),
    gettext_noop("Texts in pictures are not recognised here: run it through an OCR program first and give its result."),
    gettext_noop("The PDF is damaged or cut off."),
    gettext_noop("The workbook is damaged or cut off."),
    gettext_noop("The document is damaged or cut off."),
    gettext_noop("The presentation is damaged or cut off."),
    gettext_noop("The picture is damaged or cut off."),
    gettext_noop("The mail is damaged or cut off."),
    gettext_noop("The file is damaged or cut off."),
    gettext_noop("Open it in {opener}, save it anew and give that."),
    gettext_noop("The file is no table that can be read: {detail}."),
    gettext_noop("Save it as CSV anew and give that."),
    gettext_noop("The file could not be read: it is damaged, or hides something that the reader does not survive."),
    gettext_noop(
        "The file declares XML entities, which Office programs never do: it may be an attack, and is not read."
    ),
    gettext_noop("Save it anew in an Office program and give that."),
    gettext_noop("The file has {count} MB, and {most} MB can be read."),
    gettext_noop("Split it and give its parts."),
    gettext_noop("Reading the file took more memory than a file may take."),
    gettext_noop(
        "Unpacked, the file would be many times its size (more than {count} MB, or over {most} times as much): it is "
        "not read, for it may be a “zip bomb”."
    ),
    gettext_noop("A part of the file is larger than {count} MB unpacked."),
    gettext_noop("Reading the file took too long."),
    gettext_noop("Split it, or save it in a simpler format, and give that."),
    gettext_noop("The file is a zip archive, but no .{ending}: nothing in it is what such a file must have."),
    gettext_noop("Unpack it and give what is inside."),
    gettext_noop("This is a picture ({kind}): it has no text that could be searched."),
    gettext_noop("This is a picture ({kind}) though its name ends in {ending}: it has no text that could be searched."),
    gettext_noop("Attach it to a question to have it looked at."),
    gettext_noop("This is {what}, and is not read."),
    gettext_noop("This is {what} though its name ends in {ending}, and is not read."),
    gettext_noop("Save it as .{ending} and give that."),
    gettext_noop("Save it in today's format and give that."),
    gettext_noop("Unpack it and give that."),
    gettext_noop(
        "PDF, Word (.docx), Excel (.xlsx, .xls), OpenDocument sheets (.ods), PowerPoint (.pptx), CSV, HTML, mails "
        "(.eml), Markdown and plain text can be read."
    ),
    gettext_noop("Files of the kind “{kind}” are not read."),
    gettext_noop("There is no text in this file."),
    gettext_noop("If it is a scan, give it with its text recognised."),
    gettext_noop("The file of this document is gone from the storage."),
    gettext_noop("Give it again."),
    gettext_noop("The machine that reads documents could not read it just now."),
    gettext_noop("It crashed the reader {count} times."),
    gettext_noop("Save the file in another format and give that."),
    gettext_noop("Something went wrong while it was read."),
    gettext_noop("Tell an administrator this number: {number}."),
    # What of a file is missing: memory/reading/decoding.py, memory/reading/paging.py, memory/reading/parsers.
    gettext_noop("Partly read: the first {count} MB; the rest is left out."),
    gettext_noop("Partly read: the first {count} rows; the rest is left out."),
    gettext_noop("Partly read: the first {count} of {total} columns."),
    gettext_noop("Partly read: of each cell the first {count} characters; the rest is left out."),
    gettext_noop("Partly read: a sheet is too large, and its last rows are left out."),
    gettext_noop("Partly read: the first {count} of {total} rows of the sheet “{name}”."),
    gettext_noop("Partly read: the first {count} of {total} columns of the sheet “{name}”."),
    gettext_noop("Partly read: the first {count} of {total} pages; the rest is left out."),
    gettext_noop("Partly read: the first {count} pages; the rest is left out."),
    gettext_noop("{count} page has no text, only pictures or nothing: {numbers}."),
    gettext_noop("{count} pages have no text, only pictures or nothing: {numbers}."),
    # Looks of connectors: memory/connecting.
    gettext_noop("{count} file: {changes}."),
    gettext_noop("{count} files: {changes}."),
    gettext_noop("{count} page: {changes}."),
    gettext_noop("{count} pages: {changes}."),
    gettext_noop("There is more; the next look goes on in a minute."),
    gettext_noop("Not readable: {names}."),
    gettext_noop("Not read: {problems}."),
    gettext_noop("Only administrators may watch folders, and its owner is none any more."),
    gettext_noop("No folder may be watched here."),
    gettext_noop("An administrator of the machine names them by WATCH_ROOTS."),
    gettext_noop("Allowed are {names}, and what is within."),
    gettext_noop("Give the folder's absolute path."),
    gettext_noop("There is no folder {name}, or it cannot be read."),
    gettext_noop("{name} is not among the folders that may be watched."),
    gettext_noop("{name} is no folder."),
    gettext_noop("The folder cannot be read: {detail}."),
    gettext_noop("The folder has more than {count} files."),
    gettext_noop("Watch smaller ones within it."),
    gettext_noop("The folder is empty, where {count} file was known."),
    gettext_noop("The folder is empty, where {count} files were known."),
    gettext_noop("Is its disk away?"),
    gettext_noop("Their documents stay."),
    gettext_noop("If it was emptied on purpose, delete this connector with its documents."),
    gettext_noop("Another disk is at this folder, with nothing of what was there: {count} file was known."),
    gettext_noop("Another disk is at this folder, with nothing of what was there: {count} files were known."),
    gettext_noop("If this is meant, delete this connector, and add it anew."),
    gettext_noop("Its newer version cannot be read, so the former one stays."),
    gettext_noop("it cannot be opened: {detail}."),
    gettext_noop("More than {count} pages are listed; the first {most} are kept."),
    gettext_noop("None of its {count} pages can be read: {problem}."),
    gettext_noop("The sitemap names no page of {host}."),
    gettext_noop("The sitemap {name} cannot be read: its site answered {status}."),
    gettext_noop("It is no sitemap: it begins with <{name}>."),
    gettext_noop("It is no sitemap: its XML is broken in line {count}."),
    gettext_noop("It is no sitemap: its encoding is not known."),
    gettext_noop("It is packed, and cannot be unpacked."),
    gettext_noop("It declares a document type, which no sitemap needs."),
    gettext_noop("It is not there: its site answered {status}."),
    gettext_noop("Its site answered {status}."),
    gettext_noop("It redirects to another site, {host}."),
    gettext_noop("It is of the kind {kind}, in which there is no text."),
    gettext_noop("Its site asks programs not to read it (robots.txt)."),
    gettext_noop("The robots.txt of {name} is too long to be read."),
    gettext_noop("{name} could not be read: it answered {status} for its robots.txt."),
    gettext_noop("{name} could not be read: {fault}"),
    gettext_noop("Something went wrong here; an administrator finds it in the log."),
    gettext_noop("It is tried again."),
    gettext_noop("There is no room left to keep the file."),
    gettext_noop("Ask an administrator to make some, then give it again."),
    gettext_noop("The file is larger than {count} bytes."),
    gettext_noop("Split it, or ask for a higher {setting}."),
    # Addresses of the web: hyperagent/lib/outside.
    gettext_noop("The address may have {count} printable characters, without spaces or backslashes."),
    gettext_noop("This is not a web address."),
    gettext_noop("Write it like {example}"),
    gettext_noop("Only addresses with http:// or https:// can be used."),
    gettext_noop("The address may not contain a user name or password."),
    gettext_noop("Leave out what stands before the @."),
    gettext_noop("This host is a number in an unusual form."),
    gettext_noop("Write the name, or all four parts of the IP address."),
    gettext_noop("This address leads into a private network, which is not reached from here."),
    gettext_noop("Use a public one."),
    gettext_noop("Port {number} is not used here."),
    gettext_noop("Allowed are {names}."),
    gettext_noop("The host {host} is not among those that this installation lets its agents reach."),
    gettext_noop("An administrator can add it to EGRESS_ALLOW."),
    gettext_noop("No answer within {seconds} seconds."),
    gettext_noop("It redirects more than {count} times."),
    gettext_noop("It has more than {count} bytes."),
    gettext_noop("It is packed as '{kind}', which was not asked for."),
    gettext_noop("What it sends cannot be unpacked: {detail}."),
    gettext_noop("The certificate is not valid: {detail}"),
    gettext_noop("No encrypted connection can be made: {detail}"),
    gettext_noop("The name {host} cannot be resolved."),
    gettext_noop("No connection to {host}: {detail}."),
    gettext_noop("The connection was closed without an answer."),
    gettext_noop("The connection broke: {detail}."),
    # Webhooks: hyperagent/notices, hyperagent/lib/outside/posting.py, hyperagent/backups/installation.py.
    gettext_noop("Answered {status}, a redirect."),
    gettext_noop("Redirects are not followed; enter the address that it leads to."),
    gettext_noop("Answered {status}."),
    gettext_noop("Any status from 200 to 299 counts as delivered."),
    gettext_noop("The secret of this endpoint cannot be read, because SECRET_KEY was changed."),
    gettext_noop("Delete it and add it anew."),
    gettext_noop("What it is about is not shown to this webhook's owner any more."),
    gettext_noop("The webhook was switched off before this was delivered."),
    gettext_noop("The webhook was deleted before this was delivered."),
    gettext_noop("It waited when the backup was taken that was restored since, and may have been sent meanwhile."),
    gettext_noop("It answered 410 Gone: it wants no more."),
    gettext_noop("Nothing could be delivered for {count} days."),
    gettext_noop("The last error: {fault}"),
    # Mailboxes: agents/mail.
    gettext_noop("The mailbox at {name} {trouble}"),
    gettext_noop("The mail server {name} {trouble}"),
    gettext_noop("did not accept user and password."),
    gettext_noop("could not sign us in just now."),
    gettext_noop("offers no TLS."),
    gettext_noop("does not offer TLS, or no way to sign in that is known."),
    gettext_noop("has no valid certificate, or speaks no TLS here."),
    gettext_noop("leads into a private network, which is not reached from here."),
    gettext_noop("cannot be given this text."),
    gettext_noop("gave no answer for {seconds} s."),
    gettext_noop("cannot be reached, or hung up."),
    gettext_noop("gave an answer that makes no sense, or one too long."),
    gettext_noop("gave an answer that makes no sense."),
    gettext_noop("Use a public server."),
    gettext_noop("Search for less."),
    gettext_noop("Try again later."),
    gettext_noop("If it stays so: {fault}"),
    gettext_noop("Connect the mailbox again at /mail/."),
    gettext_noop("Check what you entered."),
    gettext_noop("An administrator has to correct {setting}."),
    gettext_noop("Connect it again at /mail/."),
    gettext_noop("Google does not let us into this mailbox any more: the leave has ended or was taken back."),
    gettext_noop("Google cannot be reached just now."),
    gettext_noop("Google does not know this installation."),
    gettext_noop("An administrator has to correct GMAIL_CLIENT_ID and GMAIL_CLIENT_SECRET."),
    gettext_noop("Google was not given leave for all that is needed."),
    gettext_noop("Connect again, and tick reading and composing mails."),
    gettext_noop("Google gave leave for an hour only."),
    gettext_noop("Take HyperAgent out of your Google account, and connect again."),
    gettext_noop("Google was not given leave for this."),
    gettext_noop("Google did not say which mailbox this is."),
    gettext_noop("Gmail has no such mail any more: search for it again."),
    gettext_noop("The Gmail API is not switched on for this installation."),
    gettext_noop("An administrator has to do that at Google."),
    gettext_noop("The administrators of this Google account do not allow it."),
    gettext_noop("Ask them."),
    gettext_noop("Gmail has had too many requests for this mailbox."),
    gettext_noop("Try again in a few minutes."),
    gettext_noop("The connection to Gmail broke while it took the mail: it may have been sent."),
    gettext_noop("The connection to the mail server broke while it took the mail: it may have been sent."),
    gettext_noop("Gmail cannot be reached just now."),
    gettext_noop("Gmail gave an answer that makes no sense."),
    gettext_noop("Gmail has trouble of its own just now."),
    gettext_noop("Nothing was sent."),
    gettext_noop("This installation is not registered at Google any more."),
    gettext_noop("Ask an administrator."),
    gettext_noop("An administrator has to set GMAIL_CLIENT_ID and GMAIL_CLIENT_SECRET."),
    gettext_noop("The password of {name} cannot be read any more, because the installation's SECRET_KEY was changed."),
    gettext_noop("Its password cannot be read any more, because SECRET_KEY was changed."),
    gettext_noop("Connect it again."),
    # Servers of the Model Context Protocol: agents/mcp.
    gettext_noop("The server wants to know who you are."),
    gettext_noop("Sign in to it, or enter the header that it expects."),
    gettext_noop("Signing in did not work."),
    gettext_noop("Signing in did not work: {detail}"),
    gettext_noop("'{name}' did not answer in time."),
    gettext_noop("'{name}' answered with the status {status}: is the address right?"),
    gettext_noop("'{name}' could not renew its sign-in just now ({status}). Try again in a moment."),
    gettext_noop("'{name}' does not answer as a server of the Model Context Protocol."),
    gettext_noop("'{name}' does not tell its tools: it gave no reason"),
    gettext_noop("'{name}' does not tell its tools: {detail}"),
    gettext_noop("'{name}' connected, and then did not tell its tools."),
    gettext_noop("What it answered is no answer by the protocol."),
    gettext_noop("The connection broke."),
    gettext_noop("The connection could not be opened."),
    gettext_noop("The program of '{name}' ended."),
    gettext_noop("The program of '{name}' ended: {detail}"),
    gettext_noop("The program cannot be run: {detail}"),
    gettext_noop("The program does not speak any more."),
    gettext_noop("The stored secrets of this server cannot be read, because SECRET_KEY was changed."),
    gettext_noop("Enter them, or sign in, again."),
    gettext_noop("It has more tools than the {count} that are looked at."),
    gettext_noop("It describes its tools in more than the {count} characters that are looked at."),
    gettext_noop("There are two tools called '{name}'."),
    gettext_noop("A tool's name is not usable: {name}."),
    gettext_noop("The arguments of '{name}' are not described as an object."),
    gettext_noop("The arguments of '{name}' are described in more than {count} characters."),
    gettext_noop("The arguments of '{name}' are described by what is no JSON schema."),
    gettext_noop("The arguments of '{name}' are described at too great a length."),
    gettext_noop("The arguments of '{name}' are described by a reference to elsewhere."),
    gettext_noop("The arguments of '{name}' are described by a reference to what is not there."),
    gettext_noop("The server sends more than {count} bytes at once."),
    gettext_noop("The server sends more than {count} values at once."),
    gettext_noop("The server sends packed data though it was asked not to."),
    gettext_noop("No answer from {host} in time."),
)
# Within the sentences above, by the place that they stand at.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "what": (
        gettext_noop("a Windows program"),
        gettext_noop("a Linux program"),
        gettext_noop("a macOS program"),
        gettext_noop("a file in Rich Text Format"),
        gettext_noop("a zip archive without an Office document in it"),
        gettext_noop("a text of OpenDocument"),
        gettext_noop("a presentation of OpenDocument"),
        gettext_noop("a mail of Outlook"),
        gettext_noop("a file of an old {program}"),
        gettext_noop("an old Office file of an unknown kind"),
        gettext_noop("a file of the kind “{kind}”"),
        gettext_noop("a binary file of an unknown kind"),
    ),
    "opener": (
        gettext_noop("the program that made it"),
        gettext_noop("a PDF viewer"),
        gettext_noop("a mail program"),
    ),
    "changes": (
        gettext_noop("nothing new"),
        gettext_noop("{count} new"),
        gettext_noop("{count} changed"),
        gettext_noop("{count} gone"),
    ),
    "problems": (gettext_noop("and {count} more"),),
}
_NOT_READ: Final = "Not read: "
_FIGURES: Final = frozenset({"count", "total", "most"})
_PLACE: Final = re.compile(r"\\\{(\w+)\\\}")
_FILLED: Final = re.compile(r"\{(\w+)\}")
# A file or an address, and what is the matter with it.
_AT: Final = re.compile(r"(\S+): (.+)", re.DOTALL)


def fault_in_our_words(text: str) -> str:
    """Line by line; of what happened at several places, place by place."""
    if not text or len(text) > MOST_CHARS or known(get_language() or ENGLISH) == ENGLISH:
        return text
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    before, mark, problems = line.partition(_NOT_READ)
    if not mark or (before and not before.endswith(" ")):
        return _sentences(line)
    return f"{_sentences(before.rstrip())} {_sentence(mark + problems) or mark + problems}".strip()


def _sentences(text: str) -> str:
    """Each for itself if all are ours, else the whole if that is one of ours, else what of them is."""
    parts = re.split(r"(?<=[.?!]) ", text)
    told = [_sentence(part) for part in parts]
    if all(told):
        return " ".join(told)
    return _sentence(text) or " ".join(said or part for part, said in zip(parts, told, strict=True))


def _sentence(text: str) -> str:
    """In the reader's language; empty for what is not ours."""
    if told := _matched(text, SENTENCES):
        return told
    if (own := in_our_words(text)) != text:
        return own
    at = _AT.fullmatch(text)
    told = _matched(at[2], SENTENCES) if at else ""
    return f"{at[1]}: {told}" if at and told else ""


def _matched(text: str, sentences: tuple[str, ...]) -> str:
    for original, pattern in _patterns(sentences):
        if found := pattern.fullmatch(text):
            return _filled(gettext(original), found.groupdict())
    return ""


def _filled(text: str, values: Mapping[str, str]) -> str:
    shown = {name: _shown(name, value) for name, value in values.items()}
    return _FILLED.sub(lambda place: shown.get(place[1], place[0]), text)


def _shown(name: str, value: str) -> str:
    if name in _FIGURES:
        return number_format(int(value.replace(",", "")), force_grouping=True)
    shown = _SHOWN.get(name)
    return shown(value) if shown is not None else value


def _part(place: str, text: str) -> str:
    return _matched(text, _PARTS[place]) or text


def _problem(text: str) -> str:
    """A place, and what is the matter with it, without its last full stop."""
    place, mark, fault = text.partition(": ")
    return f"{place}{mark}{_sentences(f'{fault}.').removesuffix('.')}"


_SHOWN: Final[Mapping[str, Callable[[str], str]]] = {
    "fault": _sentences,
    "trouble": _sentences,
    "problem": _problem,
    "problems": lambda text: "; ".join(_matched(one, _PARTS["problems"]) or _problem(one) for one in text.split("; ")),
    "changes": lambda text: ", ".join(_part("changes", one) for one in text.split(", ")),
    "what": lambda text: _part("what", text),
    "opener": lambda text: _part("opener", text),
}


@cache
def _patterns(sentences: tuple[str, ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The one with the most words of its own first: "Answered {status}." fits "Answered 307, a redirect." as well."""
    ordered = sorted(sentences, key=lambda one: len(_FILLED.sub("", one)), reverse=True)
    return tuple((one, re.compile(_PLACE.sub(_group, re.escape(one)), re.DOTALL)) for one in ordered)


def _group(place: re.Match[str]) -> str:
    return rf"(?P<{place[1]}>\d[\d,]*)" if place[1] in _FIGURES else f"(?P<{place[1]}>.+?)"
