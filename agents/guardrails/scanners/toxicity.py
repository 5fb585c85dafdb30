"""Texts that drive people to suicide, threaten them or degrade them for what they are. Small tables, some languages.

An answer may speak of all this: report it, quote it, warn of it. So only what is said to somebody is certain; a phrase
in quotation marks, after "that" or "says", or a lone word is suspected at most, and never taken away.
"""

import re
from typing import Final

from agents.guardrails.phrases import either, phrases
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "toxicity"

_SUICIDE: Final = phrases(
    "you_should|you_need_to|you_must|you_ought_to|you_could|just|go|please|simply|and >> kill|hang|unalive "
    "yourself|urself|yourselves",
    "why_don't_you|do_us_all_a_favor_and|do_everyone_a_favor_and|do_the_world_a_favor_and|do_us_a_favor_and >> "
    "kill|hang yourself|urself",
    "bring dich|euch um",
    "häng|erhäng dich auf|selbst",
    "töte dich|euch selbst|endlich",
    "du_solltest_dich >> umbringen|erhängen|töten",
    "suicide-toi|pends-toi|tue-toi|suicidez-vous",
    "tu_devrais_te|tu_ferais_mieux_de_te|va_te >> suicider|pendre|tuer",
    "mátate|suicídate|ahórcate",
    "deberías >> matarte|suicidarte|ahorcarte",
    "ucciditi|impiccati_da_solo",
    "dovresti >> ucciderti|ammazzarti|suicidarti",
    "você_deveria_se|devias_te >> matar|suicidar|enforcar",
    "suicida-te|mata-te|suicide-se",
    "pleeg zelfmoord",
    "maak jezelf van kant",
    "zabij się",
    "powinieneś_się|powinnaś_się >> zabić|powiesić",
    "убей|повесь себя",
    "покончи с собой",
)
_THREATS: Final = phrases(
    "i_will|i'll|i_am_going_to|i'm_going_to|i'm_gonna|i_am_gonna|we_will|we'll|we_are_going_to >> "
    "kill|murder|rape|behead|stab|strangle|slaughter|butcher you|your_family|your_children|your_kids|your_mother",
    "i_will|i'll|we_will|we'll >> hunt|track you down and kill|murder|hurt you",
    "ich_werde_dich|ich_werde_euch|wir_werden_dich|wir_werden_euch >> umbringen|töten|abstechen|vergewaltigen",
    "ich >> bringe|bring|steche|stech dich|euch um|ab",
    "je_vais_te|je_vais_vous|on_va_te >> tuer|égorger|violer|buter|massacrer",
    "te_voy_a|os_voy_a|te_vamos_a >> matar|violar|degollar|apuñalar",
    "ti >> ammazzo|ucciderò|ammazzerò|sgozzo",
    "vou_te|vamos_te >> matar|estuprar|esfaquear",
    "ik_ga_je|ik_zal_je|we_gaan_je >> vermoorden|doden|verkrachten|neersteken",
    "zabiję|zamorduję|zgwałcę cię|was",
    "я_тебя|мы_тебя|я_вас >> убью|убьём|зарежу|прикончу|изнасилую",
)
_SLURS: Final = (
    "nigger|niggers|nigga|faggot|faggots|kike|kikes|spic|spics|wetback|wetbacks|gook|gooks|raghead|ragheads|towelhead|"
    "towelheads|sandnigger|tranny|trannies|shemale|paki|pakis|judensau|kanake|kanaken|untermensch|untermenschen|"
    "schwuchtel|schwuchteln|bougnoule|bougnoules|youpin|youpins|négro|tarlouze|sudaca|sudacas|maricón|maricones|"
    "frocio|froci|ricchione|marrano|viado|pedały|ciapaty|жид|жиды|хач|хачи|чурка|чурки|пидор|пидоры|пидорас|пидорасы"
)
_ABUSE: Final = phrases(
    f"you|you_are_a|you're_a|you_are_all|fucking|dirty|filthy|worthless|disgusting|you_stupid|you_little|du|ihr|drecks|"
    f"dreckiger|verdammter|scheiß|sale|sales|sucio|puto|maldito|sporco|brudny|грязный|грязные >> {_SLURS}",
)
_LONE: Final = phrases(_SLURS)
_GROUPS: Final = (
    "jews|muslims|blacks|gays|homosexuals|lesbians|immigrants|refugees|gypsies|christians|hindus|asians|mexicans|arabs|"
    "juden|muslime|ausländer|schwule|flüchtlinge|zigeuner"
)
_HATE: Final = phrases(
    f"{_GROUPS} should|must|deserve_to|need_to|sollten|müssen|gehören "
    "be_exterminated|be_gassed|be_killed|be_lynched|be_shot|be_hanged|die|vergast|getötet|ausgerottet|erschossen",
)

_KINDS: Final = (
    ("suicide", _SUICIDE, "It tells somebody to take their own life."),
    ("threat", _THREATS, "It threatens somebody with violence."),
    ("slur", _ABUSE, "It degrades people for what they are."),
    ("hate", _HATE, "It calls for violence against people for what they are."),
)
_OPENING: Final = re.compile(r"[\"“”„«»‘‚*_`]|(?<!\w)'|(?<=\w)[:>]\s|^>\s?", re.MULTILINE)
_REPORTED: Final = re.compile(
    r"(?i)(?<!\w)(?:if|that|whether|think|thinks|feel|feels|feeling|believe|say|says|said|saying|tell|tells|told|telling|"
    r"voice|voices|thought|thoughts|never|not|don't|doesn't|dont|shouldn't|wrote|writes|write|called|calling|calls|word|"
    r"words|term|slur|slurs|phrase|like|such|as|yelled|shouted|threatened|claim|claims|claimed|argued|lyrics|villain|"
    r"dass|ob|wenn|sagt|sagte|sagen|nicht|wort|que|si|dit|dice|dijo|non|jamais|nunca|mot|palabra|se|che|dat|als|niet|"
    r"że|jeśli|nie|что|если|не|слово)(?!\w)"
)
_BEFORE: Final = 64


def scan(text: str, subject: Subject) -> list[Finding]:
    found = [
        Finding(NAME, kind, *hit.span(1), _certainty(text, hit.start(1)), reason)
        for kind, table, reason in _KINDS
        for hit in table.found.finditer(text)
    ]
    for hit in _LONE.found.finditer(text):
        if all(hit.end() <= other.start or hit.start() >= other.end for other in found):
            reason = "It has a word in it that degrades people."
            found.append(Finding(NAME, "slur", *hit.span(1), Certainty.SUSPECTED, reason))
    return sorted(found, key=lambda one: one.start)


def _certainty(text: str, start: int) -> Certainty:
    """Suspected where it is quoted, or told of somebody."""
    before = re.split(r"[.!?\n]\s", text[max(0, start - _BEFORE) : start])[-1]
    quoted = _OPENING.search(before) or _REPORTED.search(before)
    return Certainty.SUSPECTED if quoted else Certainty.CERTAIN


_ALL: Final = (_SUICIDE, _THREATS, _ABUSE, _LONE, _HATE)

SCANNER: Final = Scanner(
    NAME,
    frozenset({Place.OUTPUT}),
    scan,
    order=30,
    pending=either(*(one.pending for one in _ALL)),
    begins=frozenset[str]().union(*(one.begins for one in _ALL)),
)
