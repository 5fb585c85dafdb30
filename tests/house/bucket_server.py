"""A server of S3's protocol as a process: moto's."""

import subprocess
import sys
from typing import Any

import boto3  # type: ignore[import-untyped]

from hyperagent.embedded.instance import free_port
from tests.house.waiting import until

KEY, SECRET, BUCKET = "AKIDEXAMPLE", "wJalrXUtnFEMI-example-secret", "hyperagent-files"


class S3:
    """Moto's server, which keeps what it is given for as long as it lives."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"s3://{KEY}:{SECRET}@127.0.0.1/{BUCKET}/of/ours?region=eu-central-1&endpoint={self.endpoint}"

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.answers, what="the server of S3's protocol answers")
        region = {"LocationConstraint": "eu-central-1"}
        self.client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=region)

    def answers(self) -> bool:
        try:
            self.client.list_buckets()
        except Exception:
            return False
        return True

    @property
    def client(self) -> Any:
        return boto3.client(
            "s3", endpoint_url=self.endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET,
            region_name="eu-central-1",
        )  # fmt: skip

    def names(self) -> set[str]:
        return {one["Key"] for one in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", ())}

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
