"""Long streams are read at the beats of their process: fewer pieces, the same answer."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path

import aiohttp.connector
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hyperagent.lib.llm import LLMSettings, ModelGateway, ModelReply
from hyperagent.lib.llm.pace import Pace
from hyperagent.lib.llm.providers import Limits
from hyperagent.lib.llm.transport import Response, Transport
from hyperagent.lib.llm.types import TextDelta
from tests.llm.asking import ask, deltas_of, env_for, seen, text_of
from tests.scripted import Script, ScriptedServer

WORDS = " ".join(f"word{number}" for number in range(60))
HOUR_S = 3600.0
MakePaced = Callable[[float], ModelGateway]


@pytest.fixture
async def paced(scripted_server: ScriptedServer) -> AsyncIterator[MakePaced]:
    """A gateway whose streams are read so seldom."""
    made: list[ModelGateway] = []

    def make(interval_s: float) -> ModelGateway:
        settings = LLMSettings.from_env(env_for(scripted_server))
        made.append(ModelGateway(settings, pace=Pace(lambda crowd: interval_s)))
        return made[-1]

    yield make
    for gateway in made:
        await gateway.aclose()


async def test_whoever_waits_for_a_beat_goes_on_with_all_others() -> None:
    pace = Pace(lambda crowd: 0.05)
    await pace.beat()  # at once: nobody waited before
    went: list[str] = []

    async def wait(name: str) -> None:
        await pace.beat()
        went.append(name)

    early = asyncio.create_task(wait("early"))
    await asyncio.sleep(0.01)
    late = asyncio.create_task(wait("late"))
    await early
    await asyncio.sleep(0)

    assert went == ["early", "late"]
    await late


async def test_the_next_beat_is_as_far_as_the_crowd_at_the_last_one_makes_it() -> None:
    crowds: list[int] = []

    def interval_s(crowd: int) -> float:
        crowds.append(crowd)
        return 0.01

    pace = Pace(interval_s)
    await pace.beat()
    await asyncio.gather(*(pace.beat() for _ in range(3)))
    await pace.beat()

    assert crowds == [0, 1, 3]


async def test_of_very_many_each_beat_has_a_part_and_each_has_its_turn_in_the_same_time() -> None:
    beats = 0
    read_at: dict[int, list[int]] = {number: [] for number in range(10)}

    def struck() -> None:
        nonlocal beats
        beats += 1

    pace = Pace(lambda crowd: 0.03, struck, at_once=4)

    async def read(number: int) -> None:
        for _ in range(5):
            await pace.beat()
            read_at[number].append(beats)

    await asyncio.gather(*map(read, read_at))

    assert max(sum(beat in at for at in read_at.values()) for beat in range(1, beats + 1)) == 4
    assert max(later - earlier for at in read_at.values() for earlier, later in pairwise(at)) == 3


async def test_who_leaves_before_the_beat_holds_up_nobody() -> None:
    pace = Pace(lambda crowd: 0.05)
    await pace.beat()
    leaving, staying = asyncio.create_task(pace.beat()), asyncio.create_task(pace.beat())
    await asyncio.sleep(0)

    leaving.cancel()

    await asyncio.wait_for(staying, timeout=10)
    assert leaving.cancelled()


async def test_a_long_answer_comes_in_fewer_pieces_and_says_the_same(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=100))

    *pieces, reply = await deltas_of(paced(0.2), ask())

    assert text_of(pieces) == WORDS
    assert isinstance(reply, ModelReply)
    assert reply.text == WORDS
    assert len(pieces) < 30


async def test_who_leaves_while_a_stream_waits_for_its_beat_stops_the_provider(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=20))
    said: list[str] = []

    async def listen() -> None:
        async with aclosing(paced(HOUR_S).stream(ask())) as items:
            async for item in items:
                assert isinstance(item, TextDelta)
                said.append(item.text)

    listening = asyncio.create_task(listen())
    # The first beat comes at once, the second in an hour.
    async with asyncio.timeout(10):
        while not said or scripted_server.calls[-1].tokens_sent <= len(said) + 2:
            await asyncio.sleep(0.01)

    listening.cancel()

    await seen(scripted_server, lambda server: server.calls[-1].disconnected)


async def test_a_connection_that_was_read_at_beats_serves_the_next_call(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=200), Script(text=WORDS, tokens_per_s=200))
    gateway = paced(0.05)

    replies = [await gateway.complete(ask()) for _ in range(2)]

    assert [reply.text for reply in replies] == [WORDS, WORDS]
    first, second = scripted_server.calls
    assert first.peer == second.peer


async def test_a_stream_over_tls_is_whole(tls: ssl.SSLContext) -> None:
    """As all providers but the ones at home speak it: what is decrypted already waits as well."""
    words = [f"word{number} " for number in range(100)]

    async def speak(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for word in words:
            await response.write(word.encode())
            await asyncio.sleep(0.005)
        return response

    app = web.Application()
    app.router.add_post("/", speak)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    transport = Transport(Limits(), Pace(lambda crowd: 0.05))
    url = f"https://127.0.0.1:{runner.addresses[0][1]}/"

    for _ in range(2):
        async with await transport.post(url, headers={}, body=b"") as response:
            chunks = [chunk async for chunk in _chunks(response)]
        assert b"".join(chunks) == "".join(words).encode()
        assert len(chunks) < len(words)

    await transport.aclose()
    await runner.cleanup()


async def _chunks(response: Response) -> AsyncIterator[bytes]:
    while chunk := await response.read_at_beat():
        yield chunk


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's, with a certificate that aiohttp's clients trust for the length of the test."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", ssl.create_default_context(cafile=str(pem)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, private)
    return context
