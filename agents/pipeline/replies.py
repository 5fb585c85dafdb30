"""Short replies: small talk, and what can only be understood by what was said before. Pure; English and German.

A reply that begins like small talk and goes on is none.
"""

import re
from typing import Final

from agents.pipeline.clauses import asks, begins_with_verb

# So few words tell the router no more than they tell the patterns, unless something was said before.
FEW_WORDS: Final = 2
SMALL_TALK_CHARS: Final = 120
READ_CHARS: Final = 500

_YES_OR_NO = r"yes|yeah|yep|yup|nope|nah|no|ja|jo|nein|nö|doch"
_OK = (
    r"ok(?:ay)?|k|sure|all\s?right|of\s+course|i\s+see|got\s+it|understood|makes\s+sense|exactly|correct|right|"
    r"klar|alles\s+klar|genau|richtig|stimmt|natürlich|verstanden|in\s+ordnung|einverstanden|gerne?|passt"
)
_THANKS = (
    r"(?:many\s+)?thank(?:s|\s+you)?|thx|cheers|danke\w*|(?:vielen|besten|herzlichen)\s+(?:lieben\s+)?dank|merci|gracias|"
    r"grazie"
)
_HELLO = (
    r"hi|hiya|hello|hey|yo|good\s+(?:morning|afternoon|evening|night|day)|hallo|moin|servus|"
    r"guten\s+(?:morgen|tag|abend)|gute\s+nacht|bonjour|salut|hola|ciao"
)
_FINE = (
    r"great|good|nice|fine|cool|perfect|excellent|awesome|amazing|brilliant|lovely|wonderful|fantastic|helpful|useful|"
    r"clear|kind|interesting|super|gut|prima|klasse|toll|perfekt|spitze|wunderbar|hilfreich|nett|interessant"
)
_VERY = r"(?:(?:so|very|really|quite|sehr|wirklich|echt|ganz)\s+)?"
# Whom it is said to: a name has a capital, and nobody asks it.
_TO_WHOM = (
    r"(?:[\s,]+(?:there|again|all|everyone|everybody|team|zusammen|nochmals?|dir|euch|ihnen|"
    r"(?-i:[A-ZÄÖÜ][a-zäöüß]\w{0,30}(?:\s+[A-ZÄÖÜ]\w{1,30})?)\b(?!\s*\?)))?"
)
_WHAT_FOR = (
    r"(?:\s+(?:so\s+much|very\s+much|a\s+lot|a\s+million|sehr|vielmals|schön))?"
    r"(?:\s+(?:for|für)(?:\s+(?!(?:and|but|now|then|can|could|will|would|please|wh\w+|how|und|aber|jetzt|dann|bitte|"
    r"kannst|w(?:er|as|ie|o|ann|arum))\b)[\w'-]+){1,5})?"
)
_SAID = (
    rf"(?:(?:that|this|it|das|es)(?:'s|\s+(?:is|was|looks|sounds|ist|war|klingt)))?\s*{_VERY}(?:{_FINE})"
    r"(?:\s+(?:work|job|answer|idea|point|stuff|so|now))?|"
    r"(?:looks|sounds|klingt)\s+(?:good|great|fine|perfect|gut|prima)|well\s+done|(?:it|that)\s+works(?:\s+now)?|"
    r"that\s+help(?:s|ed)(?:\s+a\s+lot)?|that(?:'s|\s+is|\s+was)\s+(?:all|it|enough)(?:\s+for\s+(?:now|today))?|"
    r"das\s+(?:hilft|hat\s+geholfen|reicht|passt|war's|wars)(?:\s+mir)?(?:\s+(?:sehr|so|schon))?"
)
_OTHER = (
    r"how\s+are\s+you(?:\s+doing)?(?:\s+today)?|how's\s+it\s+going|who\s+are\s+you|what\s+can\s+you\s+do(?:\s+for\s+me)?|"
    r"wie\s+geht(?:'s|\s+es)(?:\s+(?:dir|ihnen))?|wer\s+bist\s+du|was\s+kannst\s+du(?:\s+alles)?|"
    r"please|bitte(?:\s+sehr)?|oh|ah|wow|haha\w{0,20}|lol|hm+|never\s+mind|no\s+(?:problem|worries)|kein\s+problem|"
    r"schon\s+gut|nice\s+to\s+(?:see|meet)\s+you|you're\s+welcome|you\s+too|gleichfalls|(?:good)?bye|tschüss|"
    r"see\s+you(?:\s+(?:soon|later|tomorrow))?|bis\s+(?:bald|dann|später|morgen)|"
    r"have\s+a\s+(?:nice|good|great)\s+(?:day|evening|weekend)|"
    r"schöne[ns]?\s+(?:tag|abend|wochenende)(?:\s+noch)?"
)
_SMALL_TALK = re.compile(
    rf"\W*(?:(?:(?:{_HELLO})(?:\s[a-zäöüß]{{2,20}}|{_TO_WHOM})|(?:{_THANKS}){_WHAT_FOR}{_TO_WHOM}|"
    rf"{_OTHER}|{_SAID}|{_OK}|{_YES_OR_NO})(?:\W+|$))+",
    re.IGNORECASE,
)
# "Great, …" is a reply; "Great Britain" is none.
_OPENS = re.compile(
    rf"\W{{0,3}}(?:(?:{_HELLO}|{_THANKS}|{_OK}|{_YES_OR_NO}|(?:{_FINE})(?=\s*[,.;:!–—-](?!\w)))\b\W{{0,5}}){{1,4}}",
    re.IGNORECASE,
)
_ANSWERS = re.compile(rf"\b(?:{_YES_OR_NO})\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"^\W{0,3}(?:and|but|or|also|so|what\s+about|how\s+about|what\s+if|why\s+not|the\s+same|again|more|continue|go\s+on|"
    r"und|aber|oder|auch|was\s+ist\s+mit|wie\s+ist\s+es\s+mit|dasselbe|nochmal|noch\s+mal|weiter|mehr)\b"
    # Words, and no pieces of an address.
    r"|(?<![\w.@-])(?:it|its|that|this|these|those|them|they|he|she|his|her|davon|darüber|dazu|damit|diese[nrsm]?)"
    r"(?![\w@]|[.-]\w)"
    r"|(?<![\w.@-])(?:das|es|ihn|ihm)\W*$",
    re.IGNORECASE,
)


def is_small_talk(text: str) -> bool:
    """Nothing but greetings, thanks, a yes or no, and words of that kind. `text` is `readable`."""
    return len(text) <= SMALL_TALK_CHARS and _SMALL_TALK.fullmatch(text) is not None


def without_opening(text: str) -> str:
    """What comes after a greeting, a yes or the like; all of it, where nothing does."""
    opening = _OPENS.match(text)
    return (text[opening.end() :] if opening else "") or text


def goes_on(text: str) -> bool:
    """Whether it says too little by itself, in a conversation. What follows a yes or no belongs to what was asked; what
    follows other words of that kind does, unless it asks or commands something itself. `text` is `readable`."""
    opening = _OPENS.match(text[:READ_CHARS])
    rest = text[opening.end() if opening else 0 : READ_CHARS]
    if not any(letter.isalnum() for letter in rest):
        return False
    if _POINTS_BACK.search(rest):
        return True
    if opening:
        return _ANSWERS.search(opening[0]) is not None or not (asks(rest) or begins_with_verb(rest))
    return len(rest.split()) <= FEW_WORDS and not begins_with_verb(rest)
