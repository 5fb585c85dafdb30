"""Finds rules in a row of words: rules over classes of words, each with a weight. Knows no word and no rule; one pass
over the words, whatever they are.

A rule is a family, a weight and a row of steps, such as `override 1 core: @ignore ~3 @prior ~2 @orders`: `@name` is a
class of words, `a|b_c` are words and phrases, `~3` lets up to three others stand between, and steps without it follow
each other. Signs such as `^` and `ADDRESS` are in tokens.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from agents.guardrails.folding import fold_word
from agents.guardrails.wording.tokens import Token

_LONGEST_STEM: Final = 12
_SHORTEST_STEM: Final = 2
_MOST_REMEMBERED: Final = 20_000
_LONG_AGO: Final = -(10**9)
REPORTING: Final = "reporting"
_AT: Final = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """`weight` in shares of what is enough by itself; below 0 it speaks against. Of one family only the heaviest
    counts. `core`: it says by itself what the text is after. `scanner`: whose rule it is."""

    scanner: str
    family: str
    weight: float
    steps: str
    core: bool = False


def rules_of(scanner: str, table: str) -> tuple[Rule, ...]:
    """A rule a line; lines that are indented go on with the one before."""
    lines: list[str] = []
    for line in table.splitlines():
        if line.startswith(" "):
            lines[-1] += line.strip() if lines[-1].endswith("|") else f" {line.strip()}"
        elif line:
            lines.append(line)
    return tuple(_rule_of(scanner, line) for line in lines)


def _rule_of(scanner: str, line: str) -> Rule:
    head, _, steps = line.partition(": ")
    family, weight, *core = head.split()
    return Rule(scanner, family, float(weight), steps, core == ["core"])


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule found in a text; `at` in words, `start` and `end` in characters. `reported`: it is told of, not said, as
    in `to ignore` and `which ignores`."""

    rule: Rule
    start: int
    end: int
    at: int
    quoted: bool
    reported: bool


class _Step(NamedTuple):
    """`state` is what it reaches, `before` what must have been reached, or -1; `rule` if it is the last one."""

    state: int
    before: int
    gap: int
    rule: Rule | None


class _Steps(NamedTuple):
    """Those that go on with a rule, the later ones first; the states of those that begin one; the rules that have no
    other."""

    following: tuple[_Step, ...]
    beginning: tuple[int, ...]
    alone: tuple[Rule, ...]

    @classmethod
    def of(cls, steps: Iterable[_Step]) -> Self:
        known = sorted(dict.fromkeys(steps), key=lambda step: -step.state)
        return cls(
            tuple(step for step in known if step.before >= 0),
            tuple(step.state for step in known if step.before < 0 and not step.rule),
            tuple(step.rule for step in known if step.before < 0 and step.rule),
        )


class _Meaning(NamedTuple):
    """What a word is, and by the word before it the phrases that both end: their words, what they are."""

    steps: _Steps | None
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], _Steps]]]


_NOTHING: Final = _Meaning(None, {})


class _Walk:
    """How far each rule has come in a text."""

    def __init__(self, words: Sequence[Token], reporting: frozenset[str], states: int) -> None:
        self.hits: list[Hit] = []
        self._words = words
        self._reporting = reporting
        self._reached = [_LONG_AGO] * states
        self._began = [0] * states

    def take(self, steps: _Steps, at: int, first: int, last: int) -> None:
        """What the words from number `first`, which is at `at`, to number `last` are. A word never follows itself."""
        reached, began = self._reached, self._began
        following, beginning, alone = steps
        reaches = self._words[last][_AT]
        for state, needed, gap, rule in following:
            if reached[needed] + gap >= at > reached[needed]:
                reached[state], began[state] = reaches, began[needed]
                if rule:
                    self._found(rule, began[needed], last)
        for state in beginning:
            reached[state], began[state] = reaches, first
        for single in alone:
            self._found(single, first, last)

    def has(self, phrase: Sequence[str], last: int) -> bool:
        first = last + 1 - len(phrase)
        if first < 0 or self._words[first][_AT] != self._words[last][_AT] - len(phrase) + 1:
            return False
        return all(self._words[first + number][0] == word for number, word in enumerate(phrase))

    def _found(self, rule: Rule, first: int, last: int) -> None:
        _, start, _, began_at, begins_quoted = self._words[first]
        _, _, end, at, ends_quoted = self._words[last]
        before, _, _, before_at, _ = self._words[first - 1]
        is_told = first > 0 and before in self._reporting and before_at == began_at - 1
        self.hits.append(Hit(rule, start, end, at, begins_quoted or ends_quoted, is_told))


class Grammar:
    def __init__(self, rules: Sequence[Rule], classes: Mapping[str, Iterable[str]]) -> None:
        """`classes`: words, phrases, and stems that end in `*`, by the name of their class; those of REPORTING stand
        before what is told of and not said."""
        self._classes = {name: folded_words(words) for name, words in classes.items()}
        self._reporting = frozenset(self._classes[REPORTING])
        self._words: dict[str, list[_Step]] = {}
        self._stems: dict[str, list[_Step]] = {}
        self._remembered: dict[str, _Meaning] = {}
        self._states = 0
        for rule in rules:
            self._add(rule)
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        for word in self._words:
            if " " in word:
                phrase = tuple(word.split())
                self._phrases.setdefault(phrase[-1], []).append(phrase)

    def hits(self, words: Sequence[Token]) -> list[Hit]:
        """In the order in which they end. Of the beginnings of a rule only the nearest is kept, which is enough: what
        may follow a farther one may follow it, too."""
        walk = _Walk(words, self._reporting, self._states)
        meanings, take = self._remembered, walk.take
        before = ""
        for index, (word, _, _, at, _) in enumerate(words):
            steps, phrases = meanings.get(word) or self._meaning(word)
            if steps:
                take(steps, at, index, index)
            for phrase, means in phrases.get(before, ()) if phrases else ():
                if walk.has(phrase, index):
                    first = index + 1 - len(phrase)
                    take(means, words[first][_AT], first, index)
            before = word
        return walk.hits

    def _meaning(self, word: str) -> _Meaning:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        found = list(self._words.get(word, ()))
        for long in range(_SHORTEST_STEM, min(_LONGEST_STEM, len(word)) + 1):
            found += self._stems.get(word[:long], ())
        phrases: dict[str, list[tuple[tuple[str, ...], _Steps]]] = {}
        for phrase in self._phrases.get(word, ()):
            phrases.setdefault(phrase[-2], []).append((phrase, _Steps.of(self._words[" ".join(phrase)])))
        meaning = _Meaning(_Steps.of(found) if found else None, phrases) if found or phrases else _NOTHING
        self._remembered[word] = meaning
        return meaning

    def _add(self, rule: Rule) -> None:
        steps = _parsed(rule.steps)
        for number, (gap, alternatives) in enumerate(steps):
            state = self._states
            self._states += 1
            step = _Step(state, state - 1 if number else -1, gap + 1, rule if number == len(steps) - 1 else None)
            for word in dict.fromkeys(word for one in alternatives for word in self._spelled(one)):
                if word.endswith("*"):
                    self._stems.setdefault(word[:-1], []).append(step)
                else:
                    self._words.setdefault(word, []).append(step)

    def _spelled(self, alternative: str) -> Sequence[str]:
        if alternative.startswith("@"):
            return self._classes[alternative[1:]]
        return [alternative] if alternative.isupper() else folded_words([alternative.replace("_", " ")])


def words_of(rules: Iterable[Rule], classes: Mapping[str, Iterable[str]]) -> list[str]:
    """All that the rules know: words, phrases, and stems that end in `*`, folded."""
    named = [one for rule in rules for _, alternatives in _parsed(rule.steps) for one in alternatives]
    spelled = [one.replace("_", " ") for one in named if not one.startswith("@") and not one.isupper()]
    used = {REPORTING, *(one[1:] for one in named if one.startswith("@"))}
    return folded_words([*spelled, *(word for name in used for word in classes[name])])


def folded_words(words: Iterable[str]) -> list[str]:
    """Words of a table, as they stand in a folded text."""
    return [fold_word(word).replace("'", "") for word in words]


def _parsed(steps: str) -> list[tuple[int, list[str]]]:
    """For each step how many words may stand before it, and its alternatives."""
    parsed = []
    gap = 0
    for part in steps.split():
        if part.startswith("~"):
            gap = int(part[1:])
        else:
            parsed.append((gap, part.split("|")))
            gap = 0
    return parsed
