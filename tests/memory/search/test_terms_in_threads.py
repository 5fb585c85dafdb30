"""Terms are the same however many threads ask for them: the stemmers keep state of their own."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from memory.words.terms import LANGUAGES, stem

WORDS = [f"{start}{end}" for start in ("nation", "organiz", "habl", "spiel", "travail") for end in
         ("amientos", "ation", "ational", "ungen", "ements", "iciones", "ly", "ización", "s", "mente")]  # fmt: skip


def test_threads_that_stem_at_once_do_not_disturb_each_other() -> None:
    expected = {language: [stem(word, language) for word in WORDS] for language in LANGUAGES}

    def all_of(language: str) -> list[list[str]]:
        return [[stem(word, language) for word in WORDS] for _ in range(40)]

    with ThreadPoolExecutor(8) as pool:
        jobs = [(language, pool.submit(partial(all_of, language))) for language in LANGUAGES * 4]
        for language, job in jobs:
            assert all(found == expected[language] for found in job.result())
