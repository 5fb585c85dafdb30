"""What a person plainly says of themselves, found by patterns: English and German. Rather nothing than something wrong.

For installations without a capable model, for a model that fails, and for what a person asks of the memory itself
("remember that …", "forget …"). Pure.
"""

import re
from collections.abc import Iterator
from typing import Final

from memory.kinds import MemoryKind, ProfileField
from memory.remembering.profile import kind_of
from memory.remembering.values import Finding, Wishes

READ_CHARS: Final = 4_000
_NAME: Final = (
    r"(?P<v>[A-ZÀ-ÖØ-Þ][\w'’-]+(?:\s+(?:van|von|de|der|den|del|la|le|da|di|bin|al|[A-ZÀ-ÖØ-Þ][\w'’.-]*)){0,3})"
)
_FIRM: Final = r"(?P<v>[A-ZÀ-ÖØ-Þ0-9][\w&'’.-]*(?:\s+(?:&|and|und|of|[A-ZÀ-ÖØ-Þ0-9][\w&'’.-]*)){0,4})"
# "Sales", "Research and Development"; of "and" in small letters nobody knows whether it goes on with the title.
_DEPARTMENT: Final = (
    r"(?!the\b)\w{2,}(?:\s+and\s+(?-i:[A-Z]\w+)|"
    r"\s+(?!(?:and|but|so|who|at|for|from|in|by|with|where|since|because|now|last|this|today|yesterday)\b)"
    r"\w{2,}){0,3}"
)
_JOB: Final = (
    r"(?P<v>(?:[\w/&+-]+\s+){0,4}?(?:\w*engineer|\w*developer|designer|manager|analyst|teacher|nurse|doctor|"
    r"physician|lawyer|attorney|accountant|"
    r"consultant|scientist|researcher|student|professor|director|founder|co-founder|ceo|cto|cfo|coo|writer|editor|"
    r"journalist|architect|"
    r"officer|assistant|administrator|specialist|technician|mechanic|electrician|chef|cook|pharmacist|dentist|"
    r"surgeon|psychologist|"
    r"economist|biologist|chemist|physicist|mathematician|statistician|programmer|tester|buyer|controller|planner|"
    r"recruiter|librarian|"
    r"translator|photographer|pilot|judge|clerk|secretary|president|partner|lead|"
    rf"head\s+of\s+{_DEPARTMENT}|vp(?:\s+of\s+{_DEPARTMENT})?))"
)
_BERUF: Final = (
    r"(?P<v>(?:[\w/&-]+\s+){0,2}?[\wÄÖÜäöüß-]*(?:entwickler|ingenieur|lehrer|arzt|ärzt|berater|leiter|analyst|"
    r"designer|architekt|anwält|anwalt|"
    r"student|professor|forscher|wissenschaftler|manager|buchhalter|techniker|mechaniker|elektriker|koch|köch|"
    r"apotheker|psycholog|"
    r"redakteur|journalist|übersetzer|geschäftsführer|controller|einkäufer|assistent|referent|direktor|gründer|"
    r"physiker|chemiker|biolog|"
    r"programmierer|sekretär|verkäufer|pfleger|schwester)(?:in|e|er)?)"
)
_END: Final = (
    r"(?=\s*(?:[.,;:!?\n)]|$|\b(?:and|but|so|who|working|und|aber|at|for|from|in|by|bei|aus|with|where|since|"
    r"because)\b))"
)
_F = ProfileField
_RULES: Final[tuple[tuple[ProfileField, str], ...]] = (
    (
        _F.USER_NAME,
        rf"\b(?i:my\s+name\s+is|my\s+name['’]s|call\s+me|mein\s+name\s+ist|ich\s+heiße|ich\s+heisse|nenn(?:e|"
        rf"en\s+sie)?\s+mich)\s+{_NAME}{_END}",
    ),
    (
        _F.USER_NAME,
        rf"\b(?i:i\s+am|i['’]m|this\s+is|ich\s+bin)\s+(?!\w+(?:an|ish|ese|ch|sh)\b){_NAME}(?=,?\s+(?:working|"
        rf"and\s+[Ii]\s+work|und\s+arbeite|here\b))",
    ),
    (_F.RECENT_PROJECTS, rf"\b(?i:i\s+am|i['’]m)\s+[A-ZÀ-Þ]\w+\s+working\s+on(?:\s+the)?\s+{_FIRM}{_END}"),
    (
        _F.COMPANY_NAME,
        rf"\b(?i:i\s+am|i['’]m)\b[^.,;]{{0,60}}?\bworking\s+(?:on\s+[^.,;]{{1,50}}?\s+)?(?:at|for)\s+{_FIRM}{_END}",
    ),
    (
        _F.COMPANY_NAME,
        rf"\b(?i:i\s+(?:currently\s+|now\s+)?work\s+(?:at|for)|i['’]?\s*a?m\s+(?:now\s+)?working\s+(?:at|for)|"
        rf"i(?:['’]ve|\s+have)?\s+(?:just\s+)?(?:joined|started\s+(?:at|working\s+(?:at|for))))\s+{_FIRM}{_END}",
    ),
    (_F.COMPANY_NAME, rf"\b(?i:ich\s+arbeite\s+(?:jetzt\s+|derzeit\s+)?(?:bei|für)(?:\s+der|\s+dem)?)\s+{_FIRM}{_END}"),
    (_F.COMPANY_NAME, rf"\b(?i:i\s*(?:am|['’]m)\s+(?:an?|the)\s+(?:[\w/&+-]+\s+){{1,5}}(?:at|for))\s+{_FIRM}{_END}"),
    (_F.COMPANY_NAME, rf"\b(?i:ich\s+bin\s+(?:[\wÄÖÜäöüß/&-]+\s+){{1,4}}bei(?:\s+der|\s+dem)?)\s+{_FIRM}{_END}"),
    (
        _F.JOB_TITLE,
        rf"\b(?i:i\s*(?:am|['’]m)\s+(?:now\s+|currently\s+)?(?:an?|the)|i\s+work\s+as\s+(?:an?|the)|i\s+(?:became|"
        rf"was\s+promoted\s+to)(?:\s+an?|\s+the)?|my\s+job(?:\s+title)?\s+is(?:\s+an?|\s+the)?|my\s+(?:role|title|"
        rf"position)\s+is(?:\s+an?|\s+the)?)\s+(?i:{_JOB})\b{_END}",
    ),
    (
        _F.JOB_TITLE,
        rf"\b(?i:ich\s+bin(?:\s+jetzt|\s+nun)?(?:\s+eine?)?|ich\s+arbeite\s+(?:jetzt\s+)?als|"
        rf"von\s+beruf\s+bin\s+ich)\s+(?i:{_BERUF})\b{_END}",
    ),
    (
        _F.RECENT_PROJECTS,
        rf"\b(?i:i\s*(?:am|['’]m)\s+(?:currently\s+|now\s+)?working\s+on(?:\s+the|\s+a\s+project\s+called)?|"
        rf"my\s+(?:current|new)\s+project\s+is(?:\s+called)?|ich\s+arbeite\s+(?:gerade\s+|derzeit\s+)?an(?:\s+dem|"
        rf"\s+der)?|mein\s+(?:aktuelles\s+|neues\s+)?projekt\s+(?:heißt|ist))\s+{_FIRM}{_END}",
    ),
    (
        _F.LANGUAGE,
        r"\b(?i:(?:please\s+)?(?:always\s+)?(?:answer|reply|respond|write|speak)(?:\s+(?:to\s+)?me)?(?:\s+only|"
        r"\s+always)?\s+in|i\s+prefer\s+(?:answers|replies)\s+in|"
        r"antworte?n?(?:\s+sie)?(?:\s+mir)?(?:\s+bitte)?(?:\s+immer|\s+nur)?\s+auf|bitte\s+auf)\s+(?P<v>(?i:english|"
        r"german|french|spanish|italian|dutch|portuguese|polish|turkish|russian|chinese|japanese|korean|arabic|"
        r"hindi|swedish|danish|norwegian|finnish|czech|greek|englisch|deutsch|französisch|spanisch|italienisch|"
        r"niederländisch|portugiesisch|polnisch|türkisch|russisch))\b",
    ),
    (
        _F.DETAIL_LEVEL,
        r"\b(?i:(?:please\s+)?(?:always\s+)?(?:keep|make|give)(?:\s+me)?\s+(?:your\s+|the\s+|all\s+)?(?:answers?|"
        r"replies|responses?|it)\s+(?:as\s+)?(?P<v>short|brief|concise|detailed|thorough|long)|(?:i\s+(?:prefer|"
        r"like|want)|always\s+give\s+me|give\s+me)\s+(?P<v2>short|brief|concise|detailed|thorough|long|"
        r"in-depth)\s+(?:and\s+\w+\s+)?(?:answers|replies|responses|explanations))\b",
    ),
    (
        _F.DETAIL_LEVEL,
        r"\b(?i:(?:antworte?n?(?:\s+sie)?(?:\s+mir)?(?:\s+bitte)?(?:\s+immer)?|halte?n?(?:\s+sie)?\s+(?:deine\s+|"
        r"die\s+|ihre\s+)?antworten|fasse?n?(?:\s+sie)?\s+dich)\s+(?P<v>kurz|knapp|ausführlich|detailliert)|"
        r"ich\s+(?:mag|bevorzuge|möchte|will)\s+(?P<v2>kurze|knappe|ausführliche|detaillierte)\s+(?:antworten|"
        r"erklärungen))\b",
    ),
    (
        _F.TONE,
        r"\b(?i:(?:keep|make)\s+(?:your\s+|the\s+|all\s+)?(?:answers?|replies|responses?|tone|"
        r"it)\s+(?:[\w-]+\s+and\s+)?(?P<v>casual|formal|friendly|informal|professional|neutral|playful)|"
        r"(?:i\s+(?:prefer|like|want)|use)\s+(?:an?\s+)?(?P<v2>casual|formal|friendly|informal|professional|neutral|"
        r"playful)\s+(?:tone|style|answers|replies))\b",
    ),
    (
        _F.TONE,
        r"\b(?i:(?P<v>duze|sieze|duzen|siezen)\s+(?:sie\s+)?mich|sei\s+(?:bitte\s+)?(?P<v2>locker|förmlich|"
        r"freundlich|sachlich)|(?:in\s+einem\s+)?(?P<v3>lockeren|förmlichen|freundlichen|sachlichen)\s+ton)\b",
    ),
)  # fmt: skip
_COMPILED: Final = tuple((field, re.compile(rule)) for field, rule in _RULES)
# What stands there of somebody else, of what is not, or only in a question.
_OTHERWISE: Final = re.compile(
    r"(?i)\b(?:if|when|suppose|imagine|pretend|unless|would|could|say\s+that|he\s+said|she\s+said|they\s+said|"
    r"write\s+(?:an?|the|me)|"
    r"translate|story|character|example|wenn|falls|angenommen|stell\s+dir|übersetze|geschichte|beispiel)\b"
)
_QUOTE: Final = re.compile(r"[\"“”„«»`]")
_NOT_NAMES: Final = """here not sorry sure glad happy afraid ready back new just also still interested looking trying
    going working using tired fine good ok okay well it that this what when there you later tomorrow today maybe"""
_FILLER: Final = frozenset(_NOT_NAMES.split())

_REMEMBER: Final = re.compile(
    r"(?im)(?:^|(?<=[.!?;\n])\s*|\b(?:please|can\s+you|could\s+you|and|bitte)\s+)"
    r"(?:please\s+|bitte\s+)?(?:remember|keep\s+in\s+mind|note|don['’]?t\s+forget|make\s+a\s+note|merk(?:e|"
    r"en\s+sie)?\s+(?:dir|sich)|"
    r"vergiss\s+nicht|behalte?\s+im\s+kopf|denk\s+daran)\s*(?:,|:)?\s*(?:that\s+)?(?!\s*(?:to\b|you\b|you['’]|when\b|"
    r"how\b|the\s+following))(?P<v>[^\n]{3,400})"
)
_ALSO: Final = re.compile(r"(?i)(?:,|;|\b(?:and|but|und|aber))\s+(?:i|my|we|our|ich|mein\w*|wir|unser\w*)\b")
_FORGET: Final = re.compile(
    r"(?im)(?:^|(?<=[.!?;\n])\s*|\b(?:please|can\s+you|could\s+you|and|bitte)\s+)"
    r"(?:please\s+|bitte\s+)?(?:forget|vergiss|vergessen\s+sie)(?!\s+(?:nicht|nun|jetzt|now|it\b|everything|"
    r"alle?s?\b|about\s+(?:all|everything|it)\b|the\s+above|what\s+(?:i|you)|was\b))\s*(?:,|:)?\s*"
    r"(?:that\s+|about\s+|dass\s+|,\s*dass\s+)?(?P<v>[^\n.!?]{3,200})"
)
_FIELD_NAMES: Final[tuple[tuple[ProfileField, str], ...]] = (
    (_F.USER_NAME, r"(?:my\s+)?name|(?:meinen\s+)?namen?|how\s+i\s+am\s+called"),
    (
        _F.COMPANY_NAME,
        r"(?:my\s+)?(?:company|employer)|where\s+i\s+work|(?:meine\s+)?firma|(?:meinen\s+)?arbeitgeber|"
        r"wo\s+ich\s+arbeite",
    ),
    (
        _F.JOB_TITLE,
        r"(?:my\s+)?(?:job|job\s+title|role|position|profession)|(?:meinen\s+)?beruf|(?:meine\s+)?(?:rolle|position|"
        r"stelle)",
    ),
    (_F.RECENT_PROJECTS, r"(?:my\s+)?(?:recent\s+)?projects?|(?:meine\s+)?projekte?"),
    (_F.TONE, r"(?:my\s+)?(?:preferred\s+)?tone|(?:den\s+)?ton"),
    (_F.LANGUAGE, r"(?:my\s+)?(?:preferred\s+)?language|(?:meine\s+)?sprache"),
    (_F.DETAIL_LEVEL, r"(?:my\s+)?(?:preferred\s+)?(?:detail\s+level|level\s+of\s+detail)"),
)
# Words of people who speak of themselves, or of how they want answers. Not "me" and "us": every other request has them.
_PERSONAL: Final = re.compile(
    r"(?i)\b(?:i|i['’]\w+|my|mine|myself|we|we['’]\w+|our|ours|ich|mein\w*|wir|unser\w*|je|j['’]\w+|moi|mon|ma|mes|"
    r"nous|"
    r"notre|yo|mis|soy|tengo|nosotros|io|mio|mia|sono|noi|eu|meu|minha|sou|ik|mijn|wij|remember|forget|prefer\w*|"
    r"always|"
    r"answers|replies|tone|concise|casual|formal|merk\w*|vergiss|immer|antworten|kurz|ausführlich|"
    r"(?:call|know)\s+me|nenn\w*\s+mich|(?:answer|reply|respond|antworte)\b[^.?!]{0,20}\b(?:in|auf))\b"
)
# "Who am I?", "What is my name?": what people ask of themselves tells nothing of them.
_ASKS: Final = re.compile(
    r"(?i)\s*(?:who|what|where|when|why|how|which|whose|do|does|did|am|is|are|can|could|will|would|should|may|shall|"
    r"wer|wo|wann|warum|wie|welche\w*|kann|soll\w*|darf|bin|habe?)\b[^.!?\n]{0,60}\?\s*"
)
# "Can you remember that my dog is called Rex?" asks for something to be kept.
_OF_MEMORY: Final = re.compile(r"(?i)\b(?:remember|forget|in\s+mind|note|merken?|vergiss|vergessen)\b")
# One sign each, for the patterns look along it from each of its signs: 4,000 lines without a word took minutes.
_SPACE: Final = re.compile(r"\s+")
_OTHER_SCRIPT: Final = re.compile("[\u0370-\u1fff\u2c00-\ud7ff\uf900-\ufdff\ufe70-\ufeff]")


def may_say_something(text: str) -> bool:
    """Whether it is worth asking a model what a person says of themselves here; false for plain questions."""
    if _ASKS.fullmatch(text) and not _OF_MEMORY.search(text):
        return False
    return bool(_PERSONAL.search(text) or _OTHER_SCRIPT.search(text))


def found_in(text: str) -> list[Finding]:
    """What is plainly said, in the order of the fields; the first of each that holds one value."""
    found: dict[tuple[ProfileField, str], Finding] = {}
    for sentence in _sentences(text):
        for field, rule in _COMPILED:
            for match in rule.finditer(sentence):
                value = _value_of(field, match, sentence)
                if value:
                    found.setdefault(
                        (field, "" if field is not _F.RECENT_PROJECTS else value), _finding(field, value, sentence)
                    )
    return list(found.values())


def wishes_in(text: str) -> Wishes:
    """What is asked of the memory itself, however the rest of the text is to be answered."""
    text = _SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", text[:READ_CHARS])
    remember: list[Finding] = []
    for match in _REMEMBER.finditer(text):
        said = _said(match["v"])
        if said and not said.endswith("?"):
            found = found_in(said)
            # One sentence may tell several things. Of "my name is Ann and I live in Rome" no field holds the second.
            if len(found) <= len(_ALSO.findall(said)):
                found = [*found, Finding(MemoryKind.FACT, said, evidence=match.group().strip())]
            remember += found
    forget = [_forgotten(match["v"]) for match in _FORGET.finditer(text)]
    return Wishes(tuple(remember), tuple(forget))


def _sentences(text: str) -> Iterator[str]:
    """Those that tell: a question, a quotation, a condition says nothing of whoever writes it."""
    for line in text[:READ_CHARS].splitlines():
        if line.lstrip().startswith((">", "```", "    ")):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+", line):
            if not sentence.rstrip().endswith("?") and not _QUOTE.search(sentence) and not _OTHERWISE.search(sentence):
                yield sentence.strip()


def _value_of(field: ProfileField, match: re.Match[str], sentence: str) -> str:
    value = next((found for found in match.groups() if found), "").strip(" .,'’-")
    first = value.split(" ")[0].lower()
    if not value or first in _FILLER:
        return ""
    if field in (_F.COMPANY_NAME, _F.RECENT_PROJECTS) and value == sentence:
        return ""
    if field is _F.LANGUAGE:
        return value.capitalize()
    return value.lower() if field in (_F.TONE, _F.DETAIL_LEVEL) else value


def _finding(field: ProfileField, value: str, sentence: str) -> Finding:
    return Finding(kind_of(field), value, field=field, evidence=sentence)


def _said(text: str) -> str:
    """The first sentence of what is to be remembered, as it was written."""
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ])", text.strip())[0].strip()
    return sentence[:1].upper() + sentence[1:] if sentence else ""


def _forgotten(text: str) -> ProfileField | str:
    said = text.strip(" .,;:")
    for field, names in _FIELD_NAMES:
        if re.fullmatch(names, said, re.IGNORECASE):
            return field
    return said
