"""The table of the heuristic classifier: which words speak for which agent, and how clearly. Data, English and German.

Every gap in a pattern is bounded, so that no text makes matching slow. `name` completes the sentence "It …".
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Signal:
    """`strength`: 3 says it by itself, 2 says it unless something else says more, 1 is a hint."""

    name: str
    agent: str
    strength: int
    regex: re.Pattern[str]


def _signal(agent: str, strength: int, name: str, *alternatives: str) -> Signal:
    return Signal(name, agent, strength, re.compile("|".join(alternatives), re.IGNORECASE | re.DOTALL))


_PAPERS = (
    r"(?:documents?|docs|files?|pdfs?|attachments?|handbooks?|manuals?|knowledge\s?base|wiki|polic(?:y|ies)|contracts?|"
    r"agreements?|guidelines?|notes|minutes|slides|reports?|invoices?|specs?|dokument(?:e|en|s)?|datei(?:en)?|"
    r"anhang|anhänge\w*|\w{0,20}handb(?:uch|uchs|üchern?)|unterlagen|\w{0,20}richtlinien?|\w{0,20}vertr(?:ag|ags|äge|ägen)|"
    r"wissensdatenbank|protokoll(?:e|en|s)?|\w{0,20}berichte?n?|notizen|rechnung(?:en)?)"
)
_OWN = (
    r"(?:my|our|uploaded|attached|internal|company(?:'s)?|mein(?:e|en|em|er|es)?|unser(?:e|en|em|er|es)?|"
    r"hochgeladene[nmrs]?|angehängte[nmrs]?|interne[nmrs]?)"
)
_ANY = rf"(?:{_OWN}|the|these|those|this|all|der|die|das|den|dem|diese[nmrs]?|alle[nmr]?)"
_LANGUAGE = (
    r"(?:python|javascript|typescript|java|c\+\+|c#|rust|golang|kotlin|swift|ruby|php|bash|powershell|sql|haskell|"
    r"pandas|numpy|django|react|node(?:\.js)?)"
)
_PROGRAM = (
    r"(?:scripts?|functions?|programs?|source\s+code|code|unit\s+tests?|rest\s+api|cli|parser|scraper|crawler|regex|"
    r"regular\s+expression|(?:sql\s+)?query|algorithm|web\s?app|bot|html\s+page|decorator|dockerfile|makefile|"
    r"\w{0,20}skripte?s?|funktion(?:en)?|programme?s?|quellcode|algorithmus|regulären\s+ausdruck|unit-?tests)"
)
_MAKE = (
    r"(?:write|create|implement|build|generate|develop|make|need|schreib\w*|erstell\w*|implementier\w*|"
    r"entwickl\w*|bau\w*)"
)
_PIECE = (
    r"(?:blog\s?posts?|blogs?|articles?|essays?|stor(?:y|ies)|poems?|haikus?|limericks?|sonnets?|songs?|press\s+release|"
    r"speech|cover\s+letter|letter|proposal|product\s+description|newsletter|documentation|white\s?paper|memo|"
    r"announcement|job\s+(?:description|ad)|(?:social\s+media|linkedin|facebook|instagram)\s+posts?|tweets?|user\s+guide|"
    r"tutorial|screenplay|slogan|reports?|brochure|blogbeitrag|blogartikel|\w{0,20}artikel|aufsatz|\w{0,20}geschichte|"
    r"gedicht|pressemitteilung|\w{0,20}rede|anschreiben|brief|bewerbung|angebot|produktbeschreibung|dokumentation|"
    r"\w{0,20}bericht|ankündigung|stellenanzeige|leitfaden|text|einladung|invitation)"
)
_PLOT = (
    r"(?:(?:bar|pie|line)\s?charts?|charts?|histograms?|scatter\s?plots?|box\s?plots?|heat\s?maps?|plots?|graphs?|"
    r"dashboard|\w{0,20}diagramme?|histogramme?|schaubild(?:er)?|graphik|grafik)"
)
_DATA = (
    r"(?:data|data\s?sets?|data\s?frames?|columns?|rows?|table|figures|numbers|csv|spreadsheet|sales|survey|log\s+file|"
    r"measurements?|transactions|\w{0,20}daten|\w{0,20}spalten?|zeilen|tabelle|\w{0,20}zahlen|umfrage|umsätze|messwerte)"
)
_CODE_FREE = r"(?:(?!script|program|function|\bcode|skript|funktion|template|vorlage|regex|validat).){0,60}?"
_NEWEST = (
    r"(?:latest|most\s+recent|current|today'?s|tonight'?s|breaking|newest|this\s+week'?s|up-to-date|neueste[nrsm]?|"
    r"aktuelle[nrsm]?|heutige[nrsm]?|derzeitige[nrsm]?|jüngste[nrsm]?)"
)
_TOPICAL = (
    r"(?:news|headlines|developments?|prices?|rates?|scores?|standings|events|version|release|weather|situation|"
    r"nachrichten|meldungen|schlagzeilen|preise?|\w{0,20}kurse?|ergebnisse|entwicklungen?|version|wetter|lage|stand)"
)

SIGNALS: Final = (
    _signal(
        "mail",
        3,
        "asks to send or write a mail",
        rf"\b(?:send|forward|write|draft|compose|reply|prepare|(?:schick|send(?=en?\b)|schreib|verfass|entw[ie]rf|leit|beantwort)\w*)\b"
        rf"{_CODE_FREE}\b(?:e-?mails?|mails?)\b(?!\s+(?:address|server|template|marketing|validat|client|program|adress))",
        r"\b(?:e-?mail|mail|maile)\s+(?:it|them|this|that|the|these|those|me|him|her|us|my|our|everyone|both|"
        r"a\s+(?:copy|summary|short\s+summary)|es|sie|ihn|alles|beides|ihm|ihr|mir|uns|das|die|den|"
        r"(?!address|client|server|provider|template|marketing|account|app|is\b|was\b|can\b|will\b)\w{1,30}\s+(?:about|that|to|the|a|über))\b",
        r"\b(?:to|cc|an|with|for|from|von)\s+\S{1,64}@\S{1,64}\.\w{2,}",
        r"\b(?:by|via|per)\s+e?-?mail\b",
        r"\b(?:reply|respond|antworte|beantworte)\b.{0,30}\b(?:e-?mail|mail|message|nachricht|him|her|them|thread|ihm|ihr)\b",
        r"\bmail\s+to\s+\w+|\b(?:schick|send)e?\b.{0,40}\ban\s+(?:meine|unsere|den|die|das|alle)\b",
        r"\b(?:send|forward)\s+(?:it|them|this|that|the\s+\w+)\s+to\s+(?:my|our|the|him|her|them|[a-z]+)\b",
        r"\b(?:(?:ver)?schick|(?:ver|über)?send|leite?|maile?)\w*\s+(?:bitte\s+)?(?:es|sie|ihn|das|dies(?:es)?|alles|beide?s?|"
        r"(?:die|das|den)\s+(?:\w{0,20}liste|ergebnisse?|zusammenfassung|antwort|links?|übersicht|bericht|tabelle))\s+"
        r"(?:bitte\s+)?an\s+\w",
        r"\b(?:e-?mails?|mails?)\b.{0,40}?\b(?:schreiben|schicken|senden|verschicken|beantworten|weiterleiten)\b",
    ),
    _signal(
        "mail",
        3,
        "asks about mails that came or went",
        r"\b(?:in|out)box\b|\bposteingang\b|\bpostausgang\b|\bpostfach\b|\bgmail\b|\bmailbox\b|\bdrafts?\s+folder\b",
        r"\bunread\b|\bungelesene?[nrs]?\b",
        r"\b(?:my|meine[nrms]?|last|latest|letzten?|neue[nrs]?|recent|new|yesterday'?s|today'?s|gestrige[nrs]?)\s+e?-?mails?\b",
        r"\b(?:e-?mails?|mails?)\b.{0,20}\b(?:from|to|about|von|an|über|zu)\b",
        r"\b(?:did|has|have|hat|haben)\b.{0,40}\b(?:e-?mailed|written\s+(?:to\s+)?me|replied|geantwortet|gemailt|geschrieben)\b",
        r"\b(?:did|does)\b.{0,30}\b(?:reply|write|e-?mail|respond)\b.{0,8}\b(?:to\s+)?(?:me|us)\b",
    ),
    _signal(
        "mail",
        1,
        "may be about a message to somebody",
        r"\be-?mails?\b|\bmails?\b|\bnachricht\s+an\b|\bmessage\s+to\b",
        r"^\W{0,3}(?:please\s+|bitte\s+)?(?:tell|ask|remind|notify|inform|invite|sag|frag|informiere?|erinnere?)\s+"
        r"(?!me\b|us\b|mir\b|uns\b|a\b|the\b)\w+",
    ),
    _signal(
        "rag",
        3,
        "asks about documents of your own",
        rf"\b(?:(?:in|from|within|through|across|based\s+on|aus|durch)\s+{_ANY}|(?:according\s+to|per|im(?!\s+(?:internet|web|netz)\b)|laut|gemäß)(?:\s+{_ANY})?)\s+"
        rf"(?:[\w-]{{1,30}}\s+){{0,2}}?{_PAPERS}\b(?!\s+(?:format|system|size|extension))",
        rf"\b(?:search|find|look|check|read|browse|scan|summari[sz]e|durchsuche?|suche?|finde?|prüfe?|lies|schau\w*|fasse?)\b"
        rf".{{0,40}}?\b{_OWN}\s+(?:[\w-]{{1,30}}\s+){{0,2}}?{_PAPERS}\b",
        rf"\b{_PAPERS}\b.{{0,30}}(?<!-)\b(?:say|says|state|states|mention|mentions|specif(?:y|ies)|sagt|sagen|steht|besagt)\b",
        rf"\b(?:does|do|is|are|has|sagt|steht)\s+{_ANY}\s+(?:[\w-]{{1,30}}\s+){{0,2}}?{_PAPERS}\b",
        rf"^\W{{0,3}}(?:what|which|how\s+many|welche|wie\s*viele)\s+{_PAPERS}\s+(?:do|have|are|habe?n?|gibt|sind)\s+(?:i|we|there|ich|wir|es)\b",
    ),
    _signal("rag", 2, "names documents of your own", rf"\b{_OWN}\s+(?:[\w-]{{1,30}}\s+){{0,2}}?{_PAPERS}\b"),
    _signal(
        "rag",
        2,
        "names a document",
        r"\b[\w-]{1,80}\.(?:pdf|docx?|pptx?|txt|md|rtf|odt)\b",
        r"\bthe\s+(?:[\w-]{1,30}\s+)?(?:handbook|manual|policy|contract|knowledge\s?base|uploaded\s+\w+)\b",
        r"\b(?:das|die|der|den|dem)\s+(?:[\w-]{1,30}\s+)?(?:\w{0,20}handbuch|\w{0,20}richtlinie|\w{0,20}vertrag|unterlagen)\b",
    ),
    _signal("rag", 1, "may be about your own affairs", r"\b(?:we|our|wir|unser(?:e[nmrs]?)?)\b"),
    _signal(
        "web",
        3,
        "wants something from the web",
        r"https?://\S|\bwww\.\w",
        r"\b(?:search|look|check|find|browse|google|get|fetch|such\w*|schau\w*|find\w*|hol\w*)\b.{0,60}?"
        r"\b(?:the\s+(?:web|internet)|online|on\s+google|im\s+(?:web|netz|internet)|on\s+the\s+(?:web|internet))\b",
        r"\bgoogle\s+(?:for|it|this|that|the|what|who|how|whether)\b|\bgoogle?\s+(?:mal|bitte|nach)\b",
        r"\bweb\s?search\b|\bwebsuche\b|\binternetsuche\b",
    ),
    _signal(
        "web",
        3,
        "asks for something current",
        rf"\b{_NEWEST}\s+(?:[\w-]{{1,30}}\s+){{0,2}}?{_TOPICAL}\b",
        r"\bnews\s+(?:about|on|from|regarding|today)\b|\bin\s+the\s+news\b|\bnachrichten\s+(?:über|zu|von|aus|heute)\b",
        r"\bwas\s+gibt\s+es\s+neues\b|\bwhat(?:'s|\s+is)\s+new\s+(?:in|with|at)\b",
        r"\b(?:what|how|wie|was)(?:'s|\s+(?:is|are|ist|wird))?\b.{0,15}\b(?:weather|forecast|wetter)\b|\bwetter\s+(?:in|heute|morgen)\b",
        r"\b(?:weather|forecast)\b.{0,20}\b(?:in|for|today|tomorrow|this)\b",
        r"\b(?:stock|share)\s+price\b|\bexchange\s+rate\b|\b(?:aktien|wechsel|börsen)kurs\w*",
    ),
    _signal(
        "web",
        2,
        "asks about the present",
        r"\b(?:who|what|which|when|where|how\s+much|how\s+many|wer|was|welche[rsnm]?|wann|wo|wie\s+viel\w*)\b.{0,60}?"
        r"\b(?:currently|right\s+now|at\s+the\s+moment|this\s+(?:week|month|year)|nowadays|derzeit|momentan|zurzeit|aktuell|"
        r"diese\s+woche|diesen\s+monat|dieses\s+jahr)\b",
        r"\bwho\s+won\b|\bwhen\s+(?:is|does|will)\s+the\s+next\b|\bwer\s+hat\b.{0,40}\bgewonnen\b|\bwann\s+ist\s+das\s+nächste\b",
        r"\b(?:is|ist|has|hat|was|did)\b.{0,40}\b(?:released|announced|launched|erschienen|angekündigt|veröffentlicht)\b.{0,10}\b(?:yet|already|schon|bereits)\b",
        r"\b(?:online|on\s+the\s+(?:web|internet)|im\s+(?:internet|web|netz)|public\s+benchmarks)\b",
        r"\b(?:on|from|auf|von)\s+(?:the|their|its|der|ihrer|deren)\s+(?:web\s?site|webseite|homepage)\b",
        r"\b(?:is\s+there|are\s+there|gibt\s+es)\b.{0,20}\b(?:new|neue[nrs]?)\s+(?:releases?|versions?|updates?|version(?:en)?)\b",
        r"\blook\s+up\b|\bcompetitors?(?:'s|s')?\s+(?:news|prices?|websites?)\b",
    ),
    _signal(
        "web",
        1,
        "may need something current",
        r"\b(?:today|tonight|news|weather|nearby|heute|nachrichten|wetter|website|webseite)\b",
        r"^\W{0,3}(?:when|how\s+(?:much|many|large|big|old|long|far|high|expensive)|wann|wie\s+(?:viele?|groß|alt|lange?|"
        r"weit|hoch|teuer))\b",
    ),
    _signal(
        "research",
        3,
        "asks for thorough research",
        r"(?:^|[.;!?,]\s{0,3}|\b(?:please|to|and|then|bitte|must|should|you)\s+)(?:do\s+(?:some\s+|a\s+bit\s+of\s+)?)?research\s+(?!papers?\b|articles?\b|reports?\b)\w",
        r"\bdeep\s?-?dive\b|\bin-?depth\s+(?:analysis|report|research|study|look|overview|review)\b",
        r"\b(?:comprehensive|thorough|detailed|extensive)\s+(?:research|report|overview|analysis|study|review|survey|investigation)\b",
        r"\b(?:literature|systematic)\s+review\b|\bmarket\s+(?:analysis|research|study|overview)\b|\bresearch\s+report\b",
        r"\bcompetit(?:ive|or)\s+(?:analysis|landscape)\b|\bstate\s+of\s+the\s+art\b|\binvestigate\b.{0,60}\bthoroughly\b",
        r"\brecherchier\w*|\btiefgehende\w*|\bmarkt(?:analyse|studie|forschung|recherche)\b|\bliteratur(?:übersicht|recherche)\b",
        r"\b(?:ausführliche|umfassende|gründliche|eingehende)\w*\s+(?:\w+)?(?:bericht|analyse|studie|übersicht|recherche|überblick|untersuchung)\b",
        r"\bstand\s+der\s+(?:technik|forschung|wissenschaft)\b|\bwettbewerbsanalyse\b",
    ),
    _signal(
        "research",
        2,
        "asks for studies",
        r"\b(?:scientific|academic|peer-?reviewed|clinical)\s+(?:papers?|studies|evidence|literature|articles?|research)\b",
        r"\bwhat\s+does\s+(?:the\s+)?(?:research|science|literature)\s+say\b|\bwissenschaftliche\w*\s+(?:studien|artikel|literatur|belege)\b",
    ),
    _signal(
        "research",
        1,
        "may need several sources",
        r"\b(?:studies|sources|markets?|evidence|studien|quellen|markt|belege)\b|\bcompare\b|\bvergleiche?n?\b",
    ),
    _signal(
        "code",
        3,
        "asks for code",
        rf"\b{_MAKE}\b.{{0,40}}?\b{_PROGRAM}\b",
        rf"\b{_MAKE}\b.{{0,20}}?\b{_LANGUAGE}\s+(?:class|module|package|library|code|one-?liner|klasse|modul)\b",
        r"\bprogrammier\w*|\bcode\s+(?:a|an|me|up|it)\b",
        r"\b(?:debug|refactor|fix|optimi[sz]e|review|port)\b.{0,40}?\b(?:code|bugs?|scripts?|functions?|exceptions?|unit\s+tests?|programs?)\b",
        r"\bdebugg\w*|\b(?:behebe?|korrigiere?|verbessere)\b.{0,40}\b(?:bug|code|skript|programm|funktion)\b",
        r"\b(?:stack\s?trace|traceback|segfault|syntax\s?error|compile(?:r)?\s+error)\b|\b(?:Type|Value|Key|Import|Name|Index|Attribute)Error\b",
        r"\b(?:run|execute|führe?)\b.{0,30}?\b(?:code|script|program|snippet|skript|programm)\b",
        rf"\b{_PROGRAM}\b.{{0,40}}?\b(?:schreiben|programmieren|erstellen|debuggen)\b",
    ),
    _signal(
        "code",
        2,
        "names a programming language or a source file",
        rf"\b(?:in|with|using|mit)\s+{_LANGUAGE}(?!\w)",
        r"\b[\w-]{1,80}\.(?:py|js|ts|tsx|java|cpp|rs|go|sh|sql|rb|php)\b",
        r"\b(?:regex|regular\s+expression|regulären?\s+ausdruck)\b|\bin\s+code\b",
        r"\b(?:convert|wandle)\b.{0,40}?\b(?:json|csv|xml|yaml|excel|markdown|html)\b",
    ),
    _signal(
        "code",
        1,
        "may need a program",
        rf"\b{_LANGUAGE}(?!\w)",
        r"\b(?:code|bug|compute|calculate|simulate|convert|berechne|simuliere|rechne|wandle)\b",
    ),
    _signal(
        "data",
        3,
        "asks for an analysis of data",
        rf"\b(?:analy[sz]e|explore|clean|aggregate|visuali[sz]e|plot|chart|graph|analysier\w*|visualisier\w*|werte|plotte\w*|bereinig\w*)\b"
        rf".{{0,60}}?\b{_DATA}\b",
        rf"\b(?:plot|draw|make|create|show|generate|render|build|give|zeichne|erstelle?|zeige?|mache?)\b.{{0,40}}?\b{_PLOT}\b",
        r"\b[\w-]{1,80}\.(?:csv|tsv|xlsx?|parquet|jsonl?)\b",
        r"\b(?:average|mean|median|sum|total|correlation|distribution|outliers?|durchschnitt|mittelwert|summe|korrelation|verteilung)\b"
        r".{0,40}?\b(?:columns?|rows?|csv|data\s?sets?|data\s?frame|spreadsheet|\w{0,20}spalten?|tabelle|datensatz|\w{0,20}daten)\b",
        r"\b(?:plot|chart|graph|visuali[sz]e|plotte|visualisiere)\s+(?:it|them|the|this|that|a|an|how|es|das|die|den)\b",
        r"\b(?:\w{0,20}daten|\w{0,20}zahlen|tabelle|datensatz|\w{1,40}\.csv)\b.{0,40}?\b(?:analysieren|auswerten|visualisieren|plotten)\b",
    ),
    _signal(
        "data",
        2,
        "speaks of a data set",
        r"\b(?:csv|excel\s+(?:file|sheet)|spreadsheet|data\s?set|data\s?frame|datensatz|tabellenkalkulation|excel-?(?:tabelle|datei)|pivot\s?-?tab(?:le|elle))\b",
        r"\b(?:correlation|regression|korrelation)\b.{0,20}\b(?:between|of|on|zwischen|von)\b",
        r"\b(?:analy[sz]e|analysiere?)\b.{0,30}\b(?:trends?|growth|wachstum|entwicklung)\b",
        r"\bstatistical\s+(?:analysis|test|summary)\b|\bstatistische\w*\s+(?:analyse|auswertung)\b",
    ),
    _signal(
        "data",
        1,
        "may need an analysis",
        r"\b(?:trends?|statistics|statistik|outliers?|average|durchschnitt|sales|umsatz\w*|measurements|messungen|grafik|chart)\b",
    ),
    _signal(
        "writing",
        3,
        "asks for a text to be written",
        rf"\b(?:write|draft|compose|create|prepare|produce|schreib\w*|verfass\w*|erstell\w*|entw[ie]rf\w*|formulier\w*)\b.{{0,40}}?\b{_PIECE}\b",
        rf"\b{_PIECE}\b.{{0,40}}?\b(?:schreiben|verfassen|erstellen|entwerfen|formulieren)\b",
    ),
    _signal(
        "writing",
        2,
        "asks for a text to be improved",
        r"\b(?:proofread|rewrite|copy-?edit|ghost-?write|überarbeite\w*|lektorier\w*|redigier\w*|umformulier\w*)\b",
        r"\b(?:polish|improve|korrigier\w*|verbesser\w*)\b.{0,30}\b(?:text|draft|essay|article|paragraph|entwurf|aufsatz|artikel|absatz)\b",
    ),
    _signal("writing", 1, "may need a text", r"\b(?:write|draft|outline|schreib\w*|verfass\w*|gliederung|entwurf)\b"),
    _signal(
        "chat",
        2,
        "asks for an explanation, an idea or a translation",
        r"^\W{0,3}(?:please\s+|bitte\s+|can\s+you\s+|could\s+you\s+|kannst\s+du\s+(?:mir\s+)?)?(?:explain|define|translate|"
        r"brainstorm|suggest|recommend|describe|help\s+me|tell\s+me\s+(?:a|about|more|why|how)|make\s+(?:this|it)\s+\w+er\b|"
        r"give\s+me\s+(?:an?\s+|some\s+|\w+\s+)?(?:ideas?|tips?|names?|examples?|advice)|"
        r"erkläre?|übersetze?|definiere?|erzähle?|beschreibe?|hilf\s+mir|empfiehl|gib\s+mir\s+\w+\s+(?:ideen?|tipps?|beispiele?))\b",
        r"^\W{0,3}(?:what\s+is|what's|what\s+are|was\s+ist|was\s+sind|was\s+bedeutet|what\s+does)\s+(?:an?\s+|the\s+term\s+|"
        r"eine?\s+)?[\w-]+(?:\s+[\w-]+)?\s*(?:mean)?\s*\?*$",
        r"^\W{0,3}(?:please\s+|bitte\s+)?(?:say|repeat|count|spell|sag|wiederhole?|buchstabiere?|zähle?)\b(?!\s+(?:the|die|das)\b)",
        r"^\W{0,3}how\s+do\s+(?:i|you)\s+(?:say|pronounce|spell)\b|^\W{0,3}wie\s+(?:sagt|schreibt)\s+man\b",
        r"\b(?:draw|paint|generate|create|make|male|zeichne|erstelle)\b.{0,30}?\b(?:image|picture|photo|illustration|logo|bild|foto)\b",
    ),
)
