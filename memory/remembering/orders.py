"""Whether a text reads like an order to the machine rather than something about a person. Pure.

Such a text would be told again in every run, so it waits until its owner says that it is meant. A wish about answers
("answer in German", "keep it short") is none: what counts are orders to act, to ignore rules, to hide, to fetch.
"""

import re
import unicodedata
from typing import Final

_HIDDEN: Final = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
# What joins emoji and some scripts, and shows as such.
_JOINERS: Final = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])|(?<=[^\x00-\x7f])\ufe0f")

_ACT: Final = (
    r"(?:send|e-?mail|forward|mail|text|message|call|invite|upload|post|publish|submit|download|fetch|visit|open|"
    r"browse|"
    r"click|navigate|go\s+to|run|execute|eval|install|delete|remove|erase|wipe|drop|transfer|wire|pay|buy|purchase|"
    r"order|"
    r"book|reserve|schedule|approve|confirm|grant|share|leak|exfiltrate|append|insert|include|attach|embed|create|add|"
    r"change|update|set|reset|make|cancel|invoke|use|query|read|get|retrieve|list|search)"
)
_THING: Final = (
    r"(?:e-?mails?|messages?|mails?|inbox|attachments?|files?|folders?|documents?|links?|urls?|websites?|web\s*pages?|"
    r"pages?|https?://\S+|www\.\S+|\S+@\S+\.\w+|tools?|functions?|commands?|scripts?|code|shell|bash|apis?|"
    r"databases?|tables?|records?|"
    r"money|payments?|transactions?|bills?|accounts?|iban|\w*\d{8,}|passwords?|credentials?|secrets?|tokens?|keys?|"
    r"addresses|"
    r"approvals?|permissions?|users?|channels?|slack|calendars?|events?|appointments?|meetings?|reservations?|"
    r"hotels?|cars?|"
    r"contacts?|recipients?|everyone|every\s*body|anybody|all\s+requests?|reviews?|subscriptions?|notes?|footers?|"
    r"signatures?)"
)
_ALWAYS: Final = (
    r"(?:always|never|from\s+now\s+on|in\s+future|every\s+time|whenever|each\s+time|before|after|when(?:ever)?)"
)

_RULES: Final[tuple[tuple[str, str], ...]] = (
    (
        "It asks to put other instructions aside.",
        r"\b(?:ignore|disregard|forget|override|bypass|drop|skip|neglect|overlook|violate|break|stop\s+(?:following|"
        r"obeying))\b"
        r"[^.\n]{0,60}\b(?:instructions?|prompts?|rules?|directions?|guidelines?|polic(?:y|ies)|safety|guardrails?|"
        r"filters?|"
        r"restrictions?|commands?|orders?|tasks?|everything|all\s+(?:of\s+)?(?:the\s+)?(?:above|previous|prior)|"
        r"(?:the\s+|what\s+\w+\s+)?(?:above|previous(?:ly)?|before|prior|preceding)|approvals?|confirmations?)\b",
    ),
    (
        "It asks to put other instructions aside.",
        r"\b(?:ignorier\w*|vergiss|vergessen\s+sie|missachte\w*|umgeh\w*|überschreib\w*|lass\w*\s+alle)\b[^.\n]{0,60}"
        r"\b(?:anweisung\w*|regel\w*|instruktion\w*|befehl\w*|vorgabe\w*|richtlinie\w*|aufgabe\w*|alles|bisherige\w*|"
        r"obige\w*|"
        r"vorherige\w*|zuvor|davor)\b",
    ),
    (
        "It speaks of the system's own instructions.",
        r"\b(?:system\s*(?:prompt|message|instruction\w*|override)|developer\s+(?:mode|message)|jail\s*break|"
        r"(?:your|the)\s+(?:hidden|initial|original|secret|internal)\s+(?:instructions?|prompt|rules)|"
        r"prompt\s+injection|"
        r"new\s+(?:instructions?|task|rules?)\s*(?::|follow|are|is\b)|important\s+(?:instructions?|message\s+from)|"
        r"neue\s+(?:anweisung\w*|aufgabe\w*|instruktion\w*))\b",
    ),
    (
        "It gives the assistant another part to play.",
        r"\b(?:you\s+are\s+now|you\s+(?:must|will|shall|should)\s+now|from\s+now\s+on,?\s+you\s+(?:are|will\s+(?:act|"
        r"be|play|pretend))|act\s+as|pretend\s+(?:to\s+be|that\s+you|you)|"
        r"roleplay\s+as|simulate\s+being|you\s+have\s+no\s+(?:rules|restrictions|limits)|do\s+anything\s+now|"
        r"du\s+bist\s+(?:jetzt|nun)|sie\s+sind\s+(?:jetzt|nun)|(?:tu|tun\s+sie)\s+so,?\s+als)\b",
    ),
    (
        "It imitates a message of the system or of a tool.",
        r"<\s*/?\s*(?:system|assistant|user|information|instructions?|tool\w*|im_start|im_end|untrusted|script|"
        r"important)\b[^>]*>|"
        r"<\|[a-z_]+\|>|\[/?INST\]|^\s*#{1,6}\s*(?:system|instructions?|assistant)\b|^\s*(?:system|assistant)\s*:|"
        r"!\[[^\]]*\]\(|\{\{.*?\}\}|\{%.*?%\}",
    ),
    (
        "It asks to hide something, or to get round a person's yes.",
        r"\b(?:(?:do\s+not|don['’]?t|never|without)\s+(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|ask(?:ing)?|"
        r"reveal(?:ing)?\s+this|notify(?:ing)?|warn(?:ing)?|show(?:ing)?)\s+"
        r"(?:the\s+)?(?:user|owner|person|anyone|anybody|me|them|for\s+(?:an?\s+)?(?:approval|confirmation|"
        r"permission))|"
        r"without\s+(?:an?y?\s+)?(?:approval|confirmation|permission|asking)|(?:skip|auto-?)\s*approv\w+|"
        r"approve\s+(?:all|every|any)|"
        r"ohne\s+(?:zu\s+fragen|nachfrage|freigabe|bestätigung|genehmigung))\b",
    ),
    (
        "It asks to give away secrets.",
        r"\b(?:reveal|print|show|repeat|output|tell\s+me|give\s+me|send|leak|spell\s+out|return|display|write\s+out|"
        r"nenne|zeige?|verrate|gib)\b[^.\n]{0,40}\b"
        r"(?:passwords?|passwort|credentials?|api[\s-]?keys?|access\s+tokens?|secret\s+(?:keys?|codes?)|"
        r"security\s+codes?|system\s+prompt|"
        r"(?:your|all|these|the|previous|above|initial)\s+(?:\w+\s+){0,2}(?:instructions?|prompts?)|"
        r"deine\s+(?:anweisung\w*|instruktion\w*))\b",
    ),
    (
        "It asks to fetch an address.",
        r"\b(?:visit|open|fetch|load|download|go\s+to|navigate\s+to|click|browse|request|get|call|curl|wget|read|"
        r"besuche?|öffne|lade|rufe?)\b"
        r"[^.\n]{0,50}(?:https?://|www\.|[\w-]+\.(?:com|net|org|io|example|ru|cn|xyz|info|biz)\b)",
    ),
    (
        "It is a standing order to do something with mails, files, tools or money.",
        rf"\b{_ALWAYS}\b[^\n]{{0,80}}\b{_ACT}\b[^.\n]{{0,60}}(?<![\w@]){_THING}(?!\w)",
    ),
    (
        "It is an order to do something with mails, files, tools or money.",
        rf"(?:^|[.!?:\n]\s*|\bplease\s+|\b(?:you|assistant|ai|agent)\s+(?:must|should|shall|need\s+to|have\s+to|will|"
        rf"can)\s+|\bdo\s+)"
        r"(?:please\s+|also\s+|then\s+|first\s+|just\s+)?"
        r"(?:send|e-?mail|forward|upload|post|publish|download|visit|run|execute|install|delete|remove|erase|wipe|"
        r"transfer|wire|pay|buy|purchase|"
        r"book|reserve|approve|grant|share|leak|exfiltrate|attach|invite|cancel|invoke|change|update|reset|schedule|"
        r"call)\b"
        rf"[^.\n]{{0,80}}(?<![\w@]){_THING}(?!\w)",
    ),
    (
        "It is an order to do something with mails, files, tools or money.",
        r"(?:^|[.!?:\n]\s*|\bplease\s+|\band\s+)(?:create|add|make|set\s+up|modify|"
        r"concatenate)\b[^.\n]{0,80}\b(?:calendar|appointments?|"
        r"reservations?|payments?|transactions?|channels?|messages?\s+(?:from|sent)|slack|"
        r"(?:new\s+)?users?\s+\w*@?\w+\s+to)\b",
    ),
    (
        "It is an order to do something with mails, files, tools or money.",
        r"\b(?:sende|schicke?|leite|lösche|überweise|bezahle|kaufe|installiere|führe|lade|veröffentliche|teile|"
        r"genehmige|buche)\w*\b"
        r"[^.\n]{0,80}\b(?:e-?mails?|mails?|nachrichten?|dateien?|anhänge?|konto|konten|geld|\d+\s*(?:euro|eur|€)|"
        r"skript\w*|befehle?|passw\w+|"
        r"anfragen?|freigaben?|alle\w*|weiter|aus|hoch|herunter)\b",
    ),
)
_COMPILED: Final = tuple((why, re.compile(rule, re.IGNORECASE | re.MULTILINE)) for why, rule in _RULES)


def reads_like_an_order(text: str) -> str:
    """Why, in a sentence for people; empty if it does not."""
    if _HIDDEN.search(_JOINERS.sub("", text)):
        return "It has characters that nobody sees."
    plain = unicodedata.normalize("NFKC", text)
    return next((why for why, rule in _COMPILED if rule.search(plain)), "")
