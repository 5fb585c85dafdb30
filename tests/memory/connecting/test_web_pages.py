"""Web pages and sitemaps that are looked at: what is taken in, what is asked of the site, and what is kept."""

import gzip
import hashlib
import threading
from typing import Any

import pytest
from django.db import connection, connections

from hyperagent.lib.refusals import Refused
from memory.connecting import actions, polling, tasks
from memory.connecting.items import Items
from memory.connecting.pages import digest_of, filename_of
from memory.connecting.values import Tally
from memory.kinds import ConnectorKind
from memory.models import Chunk, Connector, ConnectorItem, Document
from tests.jobs import do_jobs
from tests.lib.web import Page, Web
from tests.memory.connecting.conftest import look_again, look_is_due, names_of, read_all

pytestmark = pytest.mark.django_db


def page(user: Any, url: str) -> Connector:
    return actions.add(user, kind=ConnectorKind.PAGE, location=url)


def sitemap(user: Any, url: str) -> Connector:
    return actions.add(user, kind=ConnectorKind.SITEMAP, location=url)


def urlset(*urls: str, kind: str = "url", root: str = "urlset") -> bytes:
    listed = "".join(f"<{kind}><loc> {url}\n</loc><lastmod>2026-01-01</lastmod></{kind}>" for url in urls)
    return (
        f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</{root}>'.encode()
    )


def article(words: str) -> str:
    return f"<html><head><title>News</title></head><body><article><p>{words}</p></article></body></html>"


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["deleted", "gone from the page's own connector"])
def test_a_document_that_another_connector_has_too_stays_as_long_as_that_has_it(
    alice: Any, web: Web, ends: str
) -> None:
    web.pages["/a"] = article("The harbour is open again.")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a", f"{web.url}/b")
    web.pages["/b"] = article("Something else.")
    first = look_again(page(alice, f"{web.url}/a"))
    site = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))
    assert names_of(alice) == ["a.html", "b.html"]

    if ends == "deleted":
        actions.delete(alice, first.pk, with_documents=True)
    else:
        key = first.items.get().place_key
        held_until = polling._claimed(look_is_due(first))
        assert held_until is not None
        Items(first, held_until, Tally()).absent(key, patience=1)
    assert names_of(alice) == ["a.html", "b.html"]

    web.pages["/sitemap.xml"] = urlset(f"{web.url}/b")
    for _ in range(polling.PATIENCE):
        look_again(site)
    assert names_of(alice) == ["b.html"]


def test_what_is_refused_is_not_counted_as_new(alice: Any, web: Web, settings: Any) -> None:
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a", f"{web.url}/b")
    web.pages["/a"], web.pages["/b"] = article("A"), article("B" * 2_000)
    settings.CONFIG = settings.CONFIG.model_copy(update={"document_max_bytes": 1_000})

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))

    assert connector.result.startswith("2 pages: 1 new. Not read: ")


def test_the_page_of_connectors_is_in_the_readers_language(alice: Any, web: Web, client_of: Any) -> None:
    for every_s in (3_600, 7_200):
        made = actions.add(
            alice, kind=ConnectorKind.SITEMAP, location=f"{web.url}/{every_s}/sitemap.xml", every_s=every_s
        )
    assert made.every_s == 7_200

    shown = client_of(alice).get("/connectors/", headers={"accept-language": "de"}).content.decode()

    rows = shown.partition('class="connectors"')[2].partition("</ul>")[0]
    assert "Nachsehen alle: Stunde" in rows
    assert "Nachsehen alle: 7.200 Sekunden" in rows
    assert "Sitemap of a web site" not in rows


# ── A page ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_becomes_a_document_with_its_address(alice: Any, web: Web) -> None:
    web.pages["/news/today/"] = article("The harbour is open again.")

    connector = look_again(page(alice, f"{web.url}/news/today/#top"))

    found = Document.objects.get()
    assert (found.filename, found.source_url, found.origin) == ("today.html", f"{web.url}/news/today/", "connector")
    assert connector.result == "1 page: 1 new."
    assert web.paths() == ["/robots.txt", "/news/today/"]


def test_a_page_that_did_not_change_is_asked_for_by_its_mark_and_costs_no_document(alice: Any, web: Web) -> None:
    web.pages["/"] = Page(article("One").encode(), headers={"etag": '"1"', "last-modified": "Sun, 01 Nov 2026"})
    connector = look_again(page(alice, web.url))

    connector = look_again(connector)

    assert connector.result == "1 page: nothing new."
    sent = web.read[-1][1]
    assert (sent["if-none-match"], sent["if-modified-since"]) == ('"1"', "Sun, 01 Nov 2026")
    assert Document.objects.count() == 1


def test_a_page_whose_marks_say_nothing_is_compared_by_what_it_says(alice: Any, web: Web) -> None:
    """Many pages differ at each answer in a number that nobody sees."""
    answers = iter(range(10))
    web.pages["/"] = lambda _: Page(f"<script>{next(answers)}</script>{article('The same.')}".encode())
    connector = look_again(page(alice, web.url))

    assert look_again(connector).result == "1 page: nothing new."
    assert Document.objects.count() == 1


@pytest.mark.slow
def test_a_changed_page_takes_the_place_of_the_former_one_once_it_is_read(alice: Any, web: Web) -> None:
    web.pages["/"] = article("The harbour is open again, as the town said on Monday.")
    connector = look_again(page(alice, web.url))
    read_all()
    former = Document.objects.get()
    web.pages["/"] = article("The harbour is closed again, as the town said on Tuesday.")

    look_again(connector)
    assert Document.objects.filter(pk=former.pk).exists()
    read_all()
    tasks.look_around()

    [newer] = Document.objects.all()
    assert newer.pk != former.pk


def test_a_page_that_is_gone_is_removed_when_it_is_gone_twice(alice: Any, web: Web) -> None:
    web.pages["/a"] = article("One")
    connector = look_again(page(alice, f"{web.url}/a"))
    web.pages["/a"] = Page(status=404)

    connector = look_again(connector)
    assert (Document.objects.count(), connector.is_failing) == (1, False)
    assert "answered 404" in connector.result
    look_again(connector)
    assert Document.objects.count() == 0


def test_a_page_that_comes_back_in_between_stays(alice: Any, web: Web) -> None:
    web.pages["/a"] = article("One")
    connector = look_again(page(alice, f"{web.url}/a"))
    for given in (Page(status=410), article("One"), Page(status=410)):
        web.pages["/a"] = given
        look_again(connector)

    assert Document.objects.count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_site_in_trouble_is_said_and_nothing_is_removed_and_the_next_look_waits_longer(
    alice: Any, web: Web, status: int
) -> None:
    web.pages["/a"] = article("One")
    connector = look_again(page(alice, f"{web.url}/a"))
    web.pages["/a"] = Page(status=status)

    pauses = []
    for _ in range(3):
        connector = look_again(connector)
        pauses.append(connector.pause_s)

    assert connector.is_failing
    assert connector.result == f"Its site answered {status}."
    assert (Document.objects.count(), pauses) == (1, [3_600, 7_200, 14_400])
    web.pages["/a"] = article("One")
    connector = look_again(connector)
    assert (connector.is_failing, connector.failures, connector.pause_s) == (False, 0, 3_600)


def test_what_the_site_asks_not_to_be_read_is_not_read(alice: Any, web: Web) -> None:
    web.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /inner", content_type="text/plain")
    web.pages["/inner/a"] = article("One")

    connector = look_again(page(alice, f"{web.url}/inner/a"))

    assert "robots.txt" in connector.result
    assert web.paths() == ["/robots.txt"]


@pytest.mark.parametrize("status", [500, 503])
def test_a_site_whose_robots_txt_cannot_be_read_is_not_read_at_all(alice: Any, web: Web, status: int) -> None:
    web.pages["/robots.txt"] = Page(status=status)
    web.pages["/a"] = article("One")

    connector = look_again(page(alice, f"{web.url}/a"))

    assert connector.is_failing
    assert web.paths() == ["/robots.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["euc_jp", "koi8-r", "utf-8"])
def test_a_page_is_read_in_the_encoding_that_its_site_names(alice: Any, web: Web, encoding: str) -> None:
    words = "東京の会議は延期された。" if encoding == "euc_jp" else "Собрание в Москве перенесено."
    named = "koi8-r" if encoding == "utf-8" else encoding.replace("_", "-")
    web.pages["/a"] = Page(article(words).encode(encoding), content_type=f"text/html; charset={named}")
    connector = page(alice, f"{web.url}/a")

    look_again(connector)
    read_all()
    found = Document.objects.get()
    look_again(connector)

    assert words in Chunk.objects.filter(document=found).get().text
    assert Document.objects.get().pk == found.pk


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "text/css"])
def test_what_has_no_text_is_said(alice: Any, web: Web, kind: str) -> None:
    web.pages["/a"] = Page(b"\x89PNG", content_type=kind)

    assert "no text" in look_again(page(alice, f"{web.url}/a")).result
    assert not Document.objects.exists()


def test_private_addresses_are_not_reached_unless_the_setting_says_so(alice: Any, web: Web, settings: Any) -> None:
    connector = page(alice, f"{web.url}/a")
    settings.CONFIG = settings.CONFIG.model_copy(update={"connector_allow_private": False})

    with pytest.raises(Refused, match="private network"):
        page(alice, f"{web.url}/b")
    connector = look_again(connector)

    assert "private network" in connector.result
    assert web.read == []


# ── A sitemap ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_pages_of_a_sitemap_become_documents_but_for_those_of_other_sites(alice: Any, web: Web) -> None:
    web.pages["/sitemap.xml"] = urlset(
        f"{web.url}/a", f"{web.url}/b?x=1&amp;y=2", "https://other.example/c", "ftp://x/"
    )
    web.pages["/a"], web.pages["/b?x=1&y=2"] = article("A"), article("B")

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))

    assert names_of(alice) == ["a.html", "b.html"]
    assert connector.result == "2 pages: 2 new."
    assert web.paths().count("/robots.txt") == 1


def test_an_index_of_packed_sitemaps_and_a_plain_list_are_read(alice: Any, web: Web) -> None:
    web.pages["/index.xml"] = urlset(
        f"{web.url}/one.xml.gz", f"{web.url}/two.txt", f"{web.url}/index.xml", kind="sitemap", root="sitemapindex"
    )
    web.pages["/one.xml.gz"] = Page(gzip.compress(urlset(f"{web.url}/a")), content_type="application/gzip")
    web.pages["/two.txt"] = Page(f"{web.url}/b\n\n{web.url}/a\n".encode(), content_type="text/plain")
    web.pages["/a"], web.pages["/b"] = article("A"), article("B")

    look_again(sitemap(alice, f"{web.url}/index.xml"))

    assert names_of(alice) == ["a.html", "b.html"]
    assert web.paths().count("/index.xml") == web.paths().count("/a") == 1


def test_a_page_that_left_the_sitemap_is_removed_when_it_is_missing_twice(alice: Any, web: Web) -> None:
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a", f"{web.url}/b")
    web.pages["/a"], web.pages["/b"] = article("A"), article("B")
    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a")

    look_again(connector)
    assert names_of(alice) == ["a.html", "b.html"]
    assert look_again(connector).result == "1 page: 1 gone."
    assert names_of(alice) == ["a.html"]


def test_one_page_in_trouble_does_not_stop_the_others(alice: Any, web: Web) -> None:
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a", f"{web.url}/b", f"{web.url}/c")
    web.pages["/a"], web.pages["/b"], web.pages["/c"] = article("A"), Page(status=500), article("C")

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))

    assert names_of(alice) == ["a.html", "c.html"]
    assert not connector.is_failing
    assert f"Not read: {web.url}/b: Its site answered 500." in connector.result


def test_a_site_that_asks_for_patience_is_left_alone_until_the_next_look(alice: Any, web: Web) -> None:
    names = ("a", "b", "c", "d")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{name}" for name in names))
    web.pages |= {f"/{name}": article(name) for name in names}
    web.pages["/b"] = Page(status=429)

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))
    first = web.paths()[2:]
    assert (connector.is_failing, connector.pause_s) == (False, polling.UNFINISHED_PAUSE_S)
    connector = look_again(connector)

    assert first == ["/a", "/b"]
    assert web.paths()[6:] == ["/c", "/d"]
    assert names_of(alice) == ["a.html", "c.html", "d.html"]
    assert connector.pause_s == connector.every_s


def test_a_site_that_answers_only_so_often_is_read_to_its_end_all_the_same(alice: Any, web: Web) -> None:
    names = ("a", "b", "c", "d")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{name}" for name in names))
    busy = Page(status=429)
    connector = sitemap(alice, f"{web.url}/sitemap.xml")

    for answered in (("a", "b"), (), ("c", "d")):
        web.pages |= {f"/{name}": article(name) if name in answered else busy for name in names}
        connector = look_again(connector)

    assert names_of(alice) == ["a.html", "b.html", "c.html", "d.html"]


def test_a_page_that_leads_to_another_site_is_not_taken_in(alice: Any, web: Web) -> None:
    other = Web()
    other.pages["/x"] = article("Elsewhere")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/a", f"{web.url}/b")
    web.pages["/a"] = Page(status=302, headers={"location": f"http://localhost:{other.port}/x"})
    web.pages["/b"] = article("B")

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))
    other.stop()

    assert names_of(alice) == ["b.html"]
    assert "another site, localhost" in connector.result


def test_at_most_so_many_pages_are_kept(alice: Any, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "MAX_PAGES", 3)
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(10)))
    web.pages |= {f"/{number}": article(f"Page {number}") for number in range(10)}

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))

    assert len(names_of(alice)) == 3
    assert "the first 3 are kept" in connector.result


def test_a_look_whose_time_runs_out_goes_on_where_it_was(alice: Any, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))
    web.pages |= {f"/{number}": article(f"Page {number}") for number in range(3)}
    connector = sitemap(alice, f"{web.url}/sitemap.xml")
    monkeypatch.setattr(polling, "LOOK_S", -1.0)

    for count in (1, 2, 3):
        connector = look_again(connector)
        assert len(names_of(alice)) == count

    fetched = [path for path in web.paths() if path in ("/0", "/1", "/2")]
    assert sorted(fetched) == ["/0", "/1", "/2"]
    assert (connector.round_began_at, connector.pause_s) == (None, connector.every_s)


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>no</body></html>",
        b"",
        b"<urlset><url>",
        b"\x1f\x8bnot packed",
        urlset(),
        b'<!DOCTYPE x [<!ENTITY a "aaaa">]><urlset><url><loc>&a;</loc></url></urlset>',
        b'<?xml version="1.0" encoding="nonsense"?><urlset/>',
        gzip.compress(b" " * 60_000_000),
    ],
)
def test_what_is_no_sitemap_is_said(alice: Any, web: Web, body: bytes) -> None:
    web.pages["/sitemap.xml"] = Page(body, content_type="text/xml")

    connector = look_again(sitemap(alice, f"{web.url}/sitemap.xml"))

    assert connector.is_failing
    assert "went wrong" not in connector.result
    assert connector.result.endswith(".")


# ── Who looks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_look_at_once(alice: Any, web: Web) -> None:
    web.pages["/a"] = article("One")
    connector = page(alice, f"{web.url}/a")
    looked: list[bool] = []
    together = threading.Barrier(4)

    def work() -> None:
        together.wait()
        looked.append(polling.look(connector.pk))
        connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert sorted(looked) == [False, False, False, True]
    assert web.paths() == ["/robots.txt", "/a"]


@pytest.mark.django_db(transaction=True)
def test_a_look_that_lost_its_lease_writes_nothing(alice: Any, web: Web) -> None:
    """It was frozen for so long that another took it."""
    connector = page(alice, f"{web.url}/a")

    def another_takes_it(_: Any) -> Page:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE memory_connector SET looking_until = clock_timestamp() + interval '1 hour'")
        connections.close_all()
        return Page(article("One").encode())

    web.pages["/a"] = another_takes_it

    assert not polling.look(connector.pk)

    assert not Document.objects.exists()
    assert not ConnectorItem.objects.exists()
    connector.refresh_from_db()
    assert connector.looked_at is None


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_look_that_is_asked_for_during_another_comes_after_it(alice: Any, web: Web) -> None:
    connector = page(alice, f"{web.url}/a")

    def changes_meanwhile(_: Any) -> Page:
        web.pages["/a"] = article("Two")
        actions.look_now(alice, connector.pk)
        do_jobs()
        connections.close_all()
        return Page(article("One").encode())

    web.pages["/a"] = changes_meanwhile
    do_jobs()

    assert web.paths().count("/a") == 2
    connector.refresh_from_db()
    assert (connector.result, connector.pause_s) == ("1 page: 1 changed.", connector.every_s)


@pytest.mark.django_db(transaction=True)
def test_a_connector_that_is_deleted_while_it_is_looked_at_leaves_nothing(alice: Any, web: Web) -> None:
    connector = page(alice, f"{web.url}/a")

    def somebody_deletes_it(_: Any) -> Page:
        actions.delete(alice, connector.pk, with_documents=True)
        connections.close_all()
        return Page(article("One").encode())

    web.pages["/a"] = somebody_deletes_it

    assert not polling.look(connector.pk)
    assert not Document.objects.exists()


def test_only_what_is_due_is_looked_at(alice: Any, bob: Any, web: Web) -> None:
    made = [page(alice, f"{web.url}/{name}") for name in "abcd"]
    off, away = made[1], page(bob, f"{web.url}/e")
    actions.change(alice, off.pk, is_on=False)
    bob.is_active = False
    bob.save()
    Connector.objects.filter(pk=made[2].pk).update(looked_at="2026-01-01T00:00:00Z", pause_s=2_000_000_000)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_connector SET looking_until = clock_timestamp() + interval '1 minute' WHERE id = %s",
            [made[3].pk],
        )

    assert polling.due() == [made[0].pk]
    assert away.pk not in polling.due()


def test_a_place_that_is_no_address_any_more_is_a_state_and_no_dead_worker(alice: Any, web: Web) -> None:
    connector = page(alice, f"{web.url}/a")
    Connector.objects.filter(pk=connector.pk).update(location="https://[broken")

    connector = look_again(connector)

    assert (connector.is_failing, connector.result[:25]) == (True, "This is not a web address")


@pytest.mark.parametrize(
    ("url", "kind", "name"),
    [
        ("https://example.org/", "text/html", "example.org.html"),
        ("https://example.org/docs/setup/", "text/html", "setup.html"),
        ("https://example.org/a.php?x=1", "text/html", "a.html"),
        ("https://example.org/report.pdf", "application/pdf", "report.pdf"),
        ("https://example.org/v1.2", "text/html", "v1.2.html"),
        ("https://example.org/f%C3%BCr%20alle", "application/pdf", "für alle.pdf"),
        ("https://example.org/data.csv", "application/octet-stream", "data.csv"),
    ],
)
def test_a_page_has_a_files_name(url: str, kind: str, name: str) -> None:
    from hyperagent.lib.outside.addresses import canonical

    assert filename_of(canonical(url, allow_private=False), kind) == name


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "windows-1251", "shift_jis"])
def test_other_letters_are_another_page_in_whatever_encoding(encoding: str) -> None:
    before, after = {
        "windows-1251": ("Директор: Иванов", "Директор: Петров"),
        "shift_jis": ("東京に行く", "大阪に行く"),
    }.get(encoding, ("in Köln", "in Käln"))

    digests = {digest_of(article(words).encode(encoding), "text/html") for words in (before, after)}

    assert len(digests) == 2
    assert digest_of(article("Köln").encode(), "text/html") == hashlib.sha256("Köln".encode()).hexdigest()


def test_what_a_page_says_is_compared_and_not_how() -> None:
    one = b"<p>Hello <b>world</b></p><style>a{}</style>"
    same = b"<div>Hello\n <i>world</i> </div><script>if (1 < 2) x()</script>"

    assert digest_of(one, "text/html") == digest_of(same, "text/html")
    assert digest_of(one, "text/html") != digest_of(b"<p>Hello you</p>", "text/html")
    assert digest_of(one, "text/plain") != digest_of(same, "text/plain")


@pytest.mark.slow
@pytest.mark.threat("T30")
@pytest.mark.parametrize("broken", ["<a ", "<![<![CDATA[ x", "<!--", "<script", "</", "<"])
def test_a_page_of_broken_tags_is_looked_at_once_from_left_to_right(broken: str) -> None:
    """A parser that looks ahead at each of them takes longer than a test run."""
    page = f"<p>Hello</p>{broken * 300_000}".encode()

    assert len(digest_of(page, "text/html")) == 64
