"""What `STORAGE_URL` says: which bucket files lie in, and how it is reached. Knows no client of S3."""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET_FORM: Final = (
    "s3://key:secret@host[:port]/bucket[/folder] with ?region=… or &endpoint=http(s)://… where they are needed,"
    " or s3://bucket for Amazon with its own variables; unset: the folder DATA_DIR/media"
)
_MORE: Final = frozenset({"region", "endpoint"})


class BadBucket(ValueError):
    """The address is none of a bucket."""


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """`endpoint`, `region`, `key` and `secret` are empty where Amazon's own variables say them."""

    bucket: str
    folder: str = ""
    endpoint: str = ""
    region: str = ""
    key: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)

    def __str__(self) -> str:
        """As people may see it: without the key."""
        where = "/".join(filter(None, [self.bucket, self.folder]))
        return f"{where} at {self.endpoint or 'Amazon S3'}"


def bucket_at(url: str) -> BucketAddress:
    """Raises BadBucket."""
    try:
        parts = urlsplit(url)
        more = parse_qs(parts.query, strict_parsing=bool(parts.query))
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadBucket(f"it cannot be read: {error}") from error
    if parts.scheme != "s3" or not host or parts.fragment:
        raise BadBucket("it does not begin with s3:// and a name")
    if unknown := sorted(more.keys() - _MORE):
        raise BadBucket(f"nothing is known of {unknown[0]}=")
    if bool(parts.username) != bool(parts.password):
        raise BadBucket("a key needs its secret")
    bucket, _, folder = parts.path.strip("/").partition("/")
    endpoint = more.get("endpoint", [""])[0].rstrip("/")
    if bucket:
        # Most services of S3's protocol but Amazon's; one without TLS is named by endpoint=http://….
        endpoint = endpoint or f"https://{host}{f':{port}' if port else ''}"
    elif port is None:
        # Names of buckets are in small letters, so nothing is lost by how addresses are read.
        bucket = host
    if not bucket:
        raise BadBucket("it names no bucket")
    if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
        raise BadBucket("endpoint= is no web address")
    return BucketAddress(
        bucket=bucket,
        folder=folder,
        endpoint=endpoint,
        region=more.get("region", [""])[0],
        key=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
    )
