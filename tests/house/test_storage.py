"""Files in a bucket: a server of S3's protocol as a process, and what becomes of files when it is away."""

import io
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from pydantic import SecretStr, ValidationError

from agents.sandbox import snapshots
from agents.sandbox.records import Owner
from hyperagent.backups import installation
from hyperagent.embedded.instance import free_port
from hyperagent.lib.bucket_address import BadBucket, BucketAddress, bucket_at
from hyperagent.lib.conf import Config, secrets_in
from hyperagent.lib.outage import StorageAway
from hyperagent.management.commands.doctor import check_bucket
from memory.ingestion import files
from memory.models import Document
from tests.house.bucket_server import BUCKET, KEY, S3, SECRET
from tests.sandbox.sessions.working import opened


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    server = S3()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket(s3: S3, settings: Any) -> S3:
    """What is stored in this test goes there."""
    s3.client.delete_objects(
        Bucket=BUCKET, Delete={"Objects": [{"Key": name} for name in s3.names()] or [{"Key": "none"}]}
    )
    use(settings, s3.url)
    return s3


def use(settings: Any, url: str) -> None:
    own = {"BACKEND": "hyperagent.lib.bucket.Bucket", "OPTIONS": asdict(bucket_at(url))}
    settings.STORAGES = {**settings.STORAGES, "default": own}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("s3://files", BucketAddress("files")),
        ("s3://files?region=eu-west-1", BucketAddress("files", region="eu-west-1")),
        (
            "s3://k:s%2Fx@minio.internal:9000/files/a/b",
            BucketAddress("files", "a/b", "https://minio.internal:9000", key="k", secret="s/x"),
        ),
        (
            "s3://k:s@x/files?endpoint=http://10.0.0.1:9000",
            BucketAddress("files", endpoint="http://10.0.0.1:9000", key="k", secret="s"),
        ),
    ],
)
def test_an_address_says_bucket_server_and_key(url: str, found: BucketAddress) -> None:
    assert bucket_at(url) == found
    assert "s/x" not in repr(found) + str(found)


@pytest.mark.parametrize("url", ["https://host/bucket", "s3://", "s3://k@host/b", "s3://b?acl=public", "s3://h:0x/b"])
def test_what_is_no_address_of_a_bucket_is_refused_with_the_settings(url: str) -> None:
    with pytest.raises(BadBucket):
        bucket_at(url)
    with pytest.raises(ValidationError):
        Config.read({"STORAGE_URL": url})


def test_the_secret_of_a_bucket_is_in_no_log() -> None:
    assert SECRET in secrets_in({"STORAGE_URL": f"s3://{KEY}:{SECRET}@host/bucket"})


def test_files_are_written_read_from_any_place_listed_and_deleted(bucket: S3) -> None:
    content = bytes(range(256)) * 8_000
    kept = files.keep(io.BytesIO(content), name="documents/alice/one", limit_bytes=10_000_000)
    default_storage.save("documents/alice/deeper/two", ContentFile(b"two"))

    with files.open_file(kept.stored_as) as opened:
        opened.seek(1_000_000)
        middle = opened.read(10)
        opened.seek(-4, io.SEEK_END)
        end = opened.read()
        opened.seek(0)
        whole = opened.read()
    with files.on_this_disk(kept.stored_as) as path:
        copied = path.read_bytes()
    listed = default_storage.listdir("documents/alice")
    files.remove(kept.stored_as)

    assert (kept.size_bytes, kept.stored_as) == (len(content), "documents/alice/one")
    assert (middle, end) == (content[1_000_000:1_000_010], content[-4:])
    assert whole == copied == content
    assert (listed[0], listed[1]) == (["deeper"], ["one"])
    assert bucket.names() == {"of/ours/documents/alice/deeper/two"}
    assert not files.exists(kept.stored_as)
    with pytest.raises(FileNotFoundError):
        files.open_file(kept.stored_as)
    with pytest.raises(SuspiciousFileOperation):
        default_storage.save("../elsewhere", ContentFile(b"x"))


def test_a_file_that_is_refused_on_the_way_leaves_nothing(bucket: S3) -> None:
    with pytest.raises(files.TooBig):
        files.keep(io.BytesIO(b"x" * 20_000_000), name="documents/alice/big", limit_bytes=12_000_000)

    assert bucket.names() == set()
    assert bucket.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []


@pytest.mark.django_db(transaction=True)
def test_snapshots_of_sandboxes_lie_in_the_bucket_as_well(bucket: S3, alice: Any) -> None:
    owner = Owner(alice.pk, uuid.uuid4())
    session_id = opened(owner)
    snapshots.keep(owner, b"one", session_id=session_id)
    snapshots.keep(owner, b"two", session_id=session_id)

    found = snapshots.find(owner)
    snapshots.sweep(retention_hours=24)
    names = bucket.names()
    snapshots.forget(owner)

    assert (found, len(names), bucket.names()) == (b"two", 1, set())


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_away_is_told_with_503_and_leaves_no_row(settings: Any, alice: Any, client: Client) -> None:
    use(settings, f"s3://{KEY}:{SECRET}@x/{BUCKET}?region=eu-central-1&endpoint=http://127.0.0.1:{free_port()}")
    client.force_login(alice)

    answer = client.post("/api/v1/documents", {"file": io.BytesIO(b"Acme sells anvils.")})

    assert answer.status_code == 503, answer.content
    assert "try again in a few seconds" in answer.json()["error"]["message"]
    assert answer.headers["Retry-After"]
    assert Document.objects.count() == 0
    with pytest.raises(StorageAway):
        default_storage.exists("documents/alice/one")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_snapshot_that_cannot_be_had_now_is_not_taken_for_none(bucket: S3, settings: Any, alice: Any) -> None:
    owner = Owner(alice.pk, uuid.uuid4())
    session_id = opened(owner)
    snapshots.keep(owner, b"one", session_id=session_id)
    use(settings, f"s3://{KEY}:{SECRET}@x/{BUCKET}?region=eu-central-1&endpoint=http://127.0.0.1:{free_port()}")

    with pytest.raises(StorageAway):
        snapshots.find(owner)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_backup_takes_the_files_of_a_bucket_and_puts_them_back(bucket: S3, tmp_path: Path) -> None:
    for name in ("documents/alice/a b.pdf", "workspaces/bob/c"):
        default_storage.save(name, ContentFile(name.encode()))
    before = bucket.names()

    manifest = installation.take(tmp_path / "it.tar")
    for name in before:
        bucket.client.delete_object(Bucket=BUCKET, Key=name)
    with installation._unpacked(tmp_path / "it.tar") as (_, unpacked):
        installation._add_files(unpacked)

    assert manifest.made_at
    assert bucket.names() == before
    with files.open_file("documents/alice/a b.pdf") as opened:
        assert opened.read() == b"documents/alice/a b.pdf"


@pytest.mark.slow
@pytest.mark.spec("B31")
def test_the_doctor_looks_for_the_bucket(s3: S3, settings: Any) -> None:
    def told(url: str) -> str:
        use(settings, url)
        (found,) = check_bucket(settings.CONFIG.model_copy(update={"storage_url": SecretStr(url)}))
        return str(found)

    assert told(s3.url).startswith("ok       files lie in the bucket hyperagent-files/of/ours")
    missing = told(s3.url.replace(BUCKET, "another-bucket"))
    assert missing.startswith("ERROR    there is no bucket another-bucket/of/ours")
    assert "does not answer" in told(s3.url.replace(str(s3.port), str(free_port())))
    assert SECRET not in missing
