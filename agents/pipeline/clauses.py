"""A question cut into the pieces of work that it names, in their order. Pure; knows words, no agents.

English and German. Cutting is generous: whoever asks folds back what turns out not to be a piece of work.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

READ_CHARS: Final = 2_000
_HEAD_CHARS: Final = 1_400


class Join(StrEnum):
    """How a clause is tied to the one before it."""

    START = "start"
    AND = "and"
    """Beside it: "and", a comma, a new sentence."""
    THEN = "then"
    """After it: "then", "finally", "step 2"."""
    ITEM = "item"
    """The next item of a list."""


@dataclass(frozen=True, slots=True)
class Clause:
    text: str
    join: Join


_VERBS_EN = (
    r"add|analy[sz]e|answer|ask|book|build|calculate|check|classify|clean|collect|combine|compare|compile|compose|"
    r"compute|convert|create|debug|delete|describe|design|develop|draft|draw|evaluate|execute|explain|explore|export|"
    r"extract|fetch|figure\s+out|fill|find|fix|format|forward|gather|generate|get|give|google|identify|implement|"
    r"investigate|list|load|locate|look|make|measure|merge|notify|open|organi[sz]e|outline|parse|pick|plan|prepare|produce|"
    r"proofread|pull|put|rank|read|recommend|refactor|remove|rephrase|reply|report\s+back|respond|retrieve|review|"
    r"rewrite|run|save|scan|schedule|score|see|select|send|share|shorten|show|simulate|solve|sort|sum|summari[sz]e|suggest|"
    r"take|tell|test|train|translate|turn|update|use|validate|verify|visuali[sz]e|work\s+out|write|"
    r"search(?!\s+(?:engines?|results?|terms?)\b)|"
    r"research(?!\s+(?:papers?|articles?|on|reports?|results?|findings|questions?|and|or)\b)|"
    r"(?:chart|graph|plot)(?=\s+(?:it|them|the|this|that|these|a|an|both|how|monthly|yearly)\b)|"
    r"e-?mail(?!\s+(?:address(?:es)?|servers?|clients?|marketing|providers?|accounts?|templates?)\b)|"
    r"mail(?=\s+(?:it|them|that|this|the|me|him|her|us|my|our|everyone|a|an|both)\b)"
)
_VERBS_DE = (
    r"analysiere?|antworte|baue?|beantworte?|bereinige?|berechne?|beschreibe?|bewerte?|brich|durchsuche?|entwickle|"
    r"entwirf|erkläre?|ermittle|erstelle?|erzeuge?|extrahiere?|fasse?|finde?|formuliere?|frage?|fülle?|führe?|gib|hol|hole|"
    r"implementiere?|informiere?|kombiniere?|korrigiere?|kürze?|lade?|leite?|lies|liste?|lösche?|mache?|maile?|nenne?|ordne|plane(?!\s+(?:tickets?|rides?)\b)|"
    r"plotte?|programmiere?|prüfe?|rechne|recherchiere?|sag|sammle|schaue?|schicke?|schlage?|schreibe?|sende?|sieh|"
    r"simuliere?|sortiere?|speichere?|stelle?|suche|such(?!\s+(?:as|a|an|that|things?)\b)|teste?|übersetze?|überarbeite?|überprüfe?|vergleiche?|verfasse?|"
    r"verschicke?|versende?|visualisiere?|wandle|werte(?=\b.{0,80}\baus\b)|zähle?|zeichne?|zeige?"
)
_POLITE = (
    r"(?:please|kindly|bitte|also|auch|now|jetzt|use\s+(?:it|that|this|the\s+results?)\s+to|"
    r"(?:can|could|would|will)\s+you|you\s+(?:should|must|can)|i(?:'d|\s+would)\s+like\s+you\s+to|i\s+want\s+you\s+to|"
    r"i\s+need\s+you\s+to|let(?:'s|\s+us)|kannst\s+du|könntest\s+du|würdest\s+du|können\s+sie|könnten\s+sie)\s*,?\s+"
)
VERB: Final = rf"(?:{_POLITE}){{0,3}}(?:(?:{_VERBS_EN})\b|(?:{_VERBS_DE})(?:n\s+sie)?\b)"
_SOURCE = (
    r"(?:the\s+)?(?:web|internet)\s+for\b|(?:my|our|the)\s+(?:inbox|mails?|e-?mails?|docs?|documents|files)\s+for\b|"
    r"(?:im\s+(?:internet|web|netz)|in\s+(?:meinen|unseren|den)\s+\w+)\s+nach\b"
)
_THEN = (
    r"(?:then|after\s+that|afterwards?|after\s+which|thereafter|subsequently|once\s+(?:that|this|it)(?:'s|\s+is)\s+done|"
    r"next|finally|lastly|at\s+the\s+end|dann|danach|anschlie(?:ß|ss)end|hinterher|im\s+anschluss|daraufhin|"
    r"zum\s+schluss|am\s+ende|schlie(?:ß|ss)lich|zuletzt|abschlie(?:ß|ss)end)"
)
_AND = r"(?:and|und|plus|sowie|as\s+well\s+as|&)"
# One pass finds every place where a new clause may begin. The gaps in it are bounded.
_JOINT = re.compile(
    rf"(?P<item>(?:^|\n)[ \t\n]{{0,9}}(?:[-*•]|\(?\d{{1,2}}[.)])[ \t]+)"
    rf"|(?P<step>(?:^|(?<=\s)|(?<=,))(?:and\s+|und\s+)?(?:step|schritt)\s+\d{{1,2}}\s?[:.)–-]?\s+)"
    rf"|(?P<then>(?:(?:[,;.!]\s{{0,3}}|^|\n\s{{0,3}})(?:{_AND}\s+)?|\s{{1,3}}{_AND}\s+){_THEN}\b,?\s+(?:{_THEN}\b,?\s+)?)"
    rf"|(?P<next>\s{{1,3}}{_THEN}\b,?\s+(?={VERB}))"
    rf"|(?P<and>(?:,\s{{0,3}}|\s{{1,3}}){_AND}\s+(?:also\s+|auch\s+)?(?={VERB}|{_SOURCE}))"
    rf"|(?P<comma>[,:]\s{{1,3}}(?:also\s+|auch\s+)?(?={VERB}))"
    r"|(?P<end>[.;!?]\s{1,3}|\n{1,3})",
    re.IGNORECASE,
)
_INLINE_ITEM = re.compile(r"(?:(?<=\s)|(?<=:)|^)\(?(\d)[.)]\s+(?=\w)")
_FIRST = re.compile(
    rf"^\W{{0,3}}(?:{_POLITE}){{0,3}}"
    r"(?:first(?:\s+of\s+all)?|firstly|to\s+begin|to\s+start|zuerst|zunächst|als\s+erstes|erst)\b,?(?:\s+|$)",
    re.IGNORECASE,
)
_STARTS_WITH_SOURCE = re.compile(rf"(?P<german>(?=im\s|in\s))?(?:{_SOURCE})", re.IGNORECASE)
_STARTS_WITH_VERB = re.compile(rf"\W{{0,3}}(?:{VERB})", re.IGNORECASE)
_ASKS = re.compile(
    r"^\W{0,3}(?:what|which|who|where|when|how|why|is|are|do|does|can|was|welche\w?|wer|wo|wann|wie|warum|ist|sind|gibt)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def readable(question: str) -> str:
    """What of a question is read for words: its beginning and its end, without the code that is pasted into it."""
    if len(question) > READ_CHARS:
        question = f"{question[:_HEAD_CHARS]}\n{question[_HEAD_CHARS - READ_CHARS :]}"
    question = _FENCE.sub(" ", question)
    return question.replace("’", "'").replace("‘", "'").replace("\u00a0", " ").strip()


def clauses_of(text: str) -> list[Clause]:
    """Every clause that may be a piece of work. `text` is `readable`."""
    text = _with_items_on_lines(text)
    found: list[Clause] = []
    begin, join = 0, Join.START
    for joint in _JOINT.finditer(text):
        _keep(found, text[begin : joint.start()], join)
        begin, join = joint.end(), _JOINS[joint.lastgroup or "end"]
    _keep(found, text[begin:], join)
    return found


def begins_with_verb(text: str) -> bool:
    """Whether it reads like a command."""
    return _STARTS_WITH_VERB.match(text) is not None


def asks(text: str) -> bool:
    """Whether it reads like a question."""
    return _ASKS.match(text) is not None


def is_lone_word(text: str) -> bool:
    return len(text.split()) == 1


def says_first(text: str) -> bool:
    return _FIRST.match(text) is not None


def without_first(text: str) -> str:
    return _FIRST.sub("", text)


_JOINS = {
    "item": Join.ITEM,
    "step": Join.THEN,
    "then": Join.THEN,
    "next": Join.THEN,
    "and": Join.AND,
    "comma": Join.AND,
    "end": Join.AND,
}


def _keep(found: list[Clause], piece: str, join: Join) -> None:
    piece = piece.strip(" \t\n,;:")
    if not piece:
        return
    source = _STARTS_WITH_SOURCE.match(piece)
    if source:
        piece = f"{'search' if source['german'] is None else 'suche'} {piece}"
    if found and not without_first(found[-1].text):
        # "First, translate it": the comma ends no clause.
        found[-1] = Clause(f"{found[-1].text}, {piece}", found[-1].join)
    else:
        found.append(Clause(piece, join if found or join is Join.ITEM else Join.START))


def _with_items_on_lines(text: str) -> str:
    """A list that is written in one line, `1. … 2. …`, as lines. One number alone is no list."""
    numbers = [match[1] for match in _INLINE_ITEM.finditer(text)]
    if "1" not in numbers or "2" not in numbers[numbers.index("1") :]:
        return text
    return _INLINE_ITEM.sub(lambda match: f"\n{match[1]}. ", text)
