"""Texts that drive people to suicide, threaten them or degrade them for what they are. Small tables, some languages.

An answer may speak of all this: report it, quote it, warn of it. So only what is said to somebody is certain; a phrase
in quotation marks, after "that" or "says", or a lone word is suspected at most, and never taken away.
"""

import re
from collections.abc import Sequence
from typing import Final

from agents.guardrails.phrases import either, phrases
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "toxicity"

_SUICIDE: Final = phrases(
    "you_should|you_need_to|you_must|you_ought_to|just|go|please|simply >> kill|hang|unalive "
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
_MISHAPS: Final = phrases("you_could|and >> kill|hang|unalive yourself|urself|yourselves")
"""What warnings of a danger say as well: nobody is told to do it who could, or might slip, and is killed by it."""
_COMMANDS: Final = phrases(
    "kill|hang|unalive yourself|urself|yourselves",
    "töte|tötet|erschieß|erschieße|erhäng|erhänge dich|euch",
    "geh|geht dich|euch umbringen|aufhängen|erhängen",
    "va|allez te|vous tuer|pendre|suicider",
    "ammazzati|ammazzatevi",
)
"""Certain as a sentence of its own, and of little meaning within another: how to kill yourself laughing."""
_WISHES: Final = phrases(
    "hope you die|rot|drop_dead|burn_in_hell|get_cancer|kill_yourself",
    "hope you_all|you_both|your_family|your_children|your_kids die|rot|burn_in_hell|get_cancer",
    "hoffe du|ihr|dass_du|dass_ihr stirbst|verreckst|krepierst|sterbt|verreckt|krepiert",
    "espère que_tu|que_vous crèves|crèveras|crèverez|meurs|mourras|mourrez",
    "ojalá|espero te|que_te|os|que_os mueras|muráis",
    "spero che_tu|tu muoia|crepi",
)
_INSULTS: Final = phrases(
    "you_are_a|you're_a|you_are_just_a|you're_just_a|you_are_nothing_but_a|you're_nothing_but_a|you >> "
    "worthless|useless|pathetic|disgusting|fucking|filthy|stupid "
    "piece_of_shit|piece_of_trash|piece_of_garbage|waste_of_space|waste_of_oxygen|cunt|bitch",
    "you_are_a|you're_a|you_are_nothing_but_a|you're_nothing_but_a >> piece of_shit",
    "du_bist_ein|du_bist_nur_ein|du >> wertloses|nutzloses|dreckiges|elendes stück_scheiße|stück_dreck",
    "tu_es_une|t'es_une|tu_n'es_qu'une >> sale|grosse merde|ordure",
    "eres_una|eres_un >> maldita|pedazo mierda|de_mierda",
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

_TELLS: Final = "It tells somebody to take their own life."
_THREATENS: Final = "It threatens somebody with violence."
_DEGRADES: Final = "It degrades people for what they are."
_KINDS: Final = (
    ("suicide", _SUICIDE, _TELLS),
    ("suicide", _MISHAPS, _TELLS),
    ("threat", _THREATS, _THREATENS),
    ("slur", _INSULTS, _DEGRADES),
    ("slur", _ABUSE, _DEGRADES),
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
_AT_RISK: Final = re.compile(
    r"(?i)(?<!\w)(?:could|can|may|might|would|will|easy|easily|risk|risks|danger|dangers|dangerous|accidentally|enough)(?!\w)"
)
_OF_THEM_ALL: Final = re.compile(
    r"(?i)\W*(?:(?:all|the|these|those|such|every|most|dirty|filthy|fucking|so|and|then|yes|honestly|frankly|really|"
    r"in\s+my\s+(?:opinion|view)|alle|die|diese|dreckigen|und|also|ja|meiner\s+meinung\s+nach)\W+){0,5}"
)
"""What may stand before it where it is the speaker's own demand: after anything else it is told of somebody's, of a
law or of a time."""
_TO_SIN: Final = re.compile(r"(?i)\s+(?:to|unto|daily)(?!\w)")
_BEFORE: Final = 64
_TITLE: Final = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+")
_BEGINS_ANEW: Final = re.compile(
    r"(?i)(?:\A|[.!?…\n]|(?<!\w)(?:so|then|now|ok|okay|well|hey|oh|yes|no|dann|ja|nein|alors|donc)(?=[\s,]))"
    r"[\s,\"“”„«»‘’'*_`>#-]*\Z"
)
_ENDS_HERE: Final = re.compile(
    r"(?i)[*_]*(?:\s*(?:[.!?…;,\n]|\Z)|\s+(?:now|already|please|today|tonight|you|u|slowly|painfully|alone|soon|in\s+a\s+fire|"
    r"jetzt|sofort|endlich|bitte|doch|du|ihr|maintenant|donc|adesso)(?!\w))"
)


def scan(text: str, subject: Subject) -> list[Finding]:
    hits = [(kind, hit, reason) for kind, table, reason in _KINDS for hit in table.found.finditer(text)]
    hits += [("suicide", hit, _TELLS) for hit in _COMMANDS.found.finditer(text) if _is_sentence(text, hit)]
    hits += [("threat", hit, _THREATENS) for hit in _WISHES.found.finditer(text) if _ENDS_HERE.match(text, hit.end())]
    found: list[Finding] = []
    for kind, hit, reason in hits:
        if _is_apart(hit, found):
            found.append(Finding(NAME, kind, *hit.span(1), _certainty(text, hit), reason))
    for hit in _LONE.found.finditer(text):
        if _is_apart(hit, found):
            reason = "It has a word in it that degrades people."
            found.append(Finding(NAME, "slur", *hit.span(1), Certainty.SUSPECTED, reason))
    return sorted(found, key=lambda one: one.start)


def _is_apart(hit: re.Match[str], found: Sequence[Finding]) -> bool:
    return all(hit.end() <= one.start or hit.start() >= one.end for one in found)


def _is_sentence(text: str, hit: re.Match[str]) -> bool:
    return bool(
        _BEGINS_ANEW.search(text[max(0, hit.start() - _BEFORE) : hit.start()]) and _ENDS_HERE.match(text, hit.end())
    )


def _certainty(text: str, hit: re.Match[str]) -> Certainty:
    """Suspected where it is quoted, told of somebody, warned of, or written as a title is."""
    before = re.split(r"[.!?\n]\s", text[max(0, hit.start(1) - _BEFORE) : hit.start(1)])[-1]
    told = bool(_OPENING.search(before) or _REPORTED.search(before) or _TITLE.fullmatch(hit[1]))
    if hit.re is _MISHAPS.found:
        told = told or not hit[1].lower().startswith("and") or bool(_AT_RISK.search(before))
    elif hit.re is _HATE.found:
        told = told or not _OF_THEM_ALL.fullmatch(before) or bool(_TO_SIN.match(text, hit.end(1)))
    return Certainty.SUSPECTED if told else Certainty.CERTAIN


_ALL: Final = (_SUICIDE, _MISHAPS, _WISHES, _INSULTS, _THREATS, _ABUSE, _LONE, _HATE)
# Whether such a sentence is over is seen by what follows it.
_OPEN: Final = re.compile(rf"{_COMMANDS.found.pattern}[\s*_]{{0,4}}\Z", re.IGNORECASE)
_OPEN_WISH: Final = re.compile(rf"{_WISHES.found.pattern}[\s*_]{{0,4}}\Z", re.IGNORECASE)
_OPEN_HATE: Final = re.compile(rf"{_HATE.found.pattern}[\s*_]{{0,4}}\Z", re.IGNORECASE)

SCANNER: Final = Scanner(
    NAME,
    frozenset({Place.OUTPUT}),
    scan,
    order=30,
    pending=either(_OPEN, _OPEN_WISH, _OPEN_HATE, _COMMANDS.pending, *(one.pending for one in _ALL)),
    begins=_COMMANDS.begins.union(*(one.begins for one in _ALL)),
)
