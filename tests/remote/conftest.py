"""An object store, and a proxy between the command and the store. The proxy records all requests, and can reject them
or break connections."""

from __future__ import annotations

import enum
import http.client
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

BUCKET = "runs"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "traces"
BEFORE, AFTER = ((EXAMPLES / f"resnet.{name}.json.gz").read_bytes() for name in ("rocm", "cuda"))


@dataclass(frozen=True)
class Request:
    """An HTTP request that the command sent to the object store."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_write(self) -> bool:
        return self.method in ("PUT", "POST")

    @property
    def range(self) -> str:
        return self.headers.get("range", "")


@dataclass
class Refusal:
    """An error response that the proxy sends instead of the server's response."""

    status: int
    code: str


class Fault(enum.Enum):
    """A connection failure that the proxy causes."""

    #: The connection is closed without a response.
    CLOSED = enum.auto()
    #: The connection is closed in the middle of the response.
    CUT = enum.auto()
    #: The request reaches the server, but the response is lost.
    LOST = enum.auto()


#: A function that is called with each request before the server receives it. The function may act, wait, or respond
#: in place of the server.
Watcher = Callable[[Request], "Refusal | Fault | None"]


@dataclass
class Storage:
    """A bucket, and the requests that the command sent to it."""

    client: Any
    endpoint: str
    requests: list[Request] = field(default_factory=list)
    watch: Watcher = lambda request: None

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def get(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def contents(self, prefix: str) -> dict[str, bytes]:
        return {key.removeprefix(prefix): self.get(key) for key in self.keys(prefix)}

    def assert_same(self, prefix: str, other: str) -> None:
        """Asserts that the objects below two prefixes are equal."""
        assert_same(self.contents(prefix), self.contents(other))

    def asked(self, method: str, part: str) -> list[Request]:
        """Returns all requests so far with the given method and with a path that contains ``part``."""
        return [request for request in self.requests if request.method == method and part in request.path]

    def environment(self, **others: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        ours = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": self.endpoint}
        return {**kept, **ours, "TRACETREE_RETRY_SECONDS": "6", **others}

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        command = [os.environ["TRACETREE"], *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment(**environment), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: str | Path, code: int = 0, **environment: str) -> Done:
        process = self.start(*arguments, **environment)
        out, told = process.communicate(timeout=120)
        assert process.returncode == code, told
        return Done(out, told)


def assert_same(here: dict[str, bytes], there: dict[str, bytes]) -> None:
    """Asserts that two sets of files or objects are equal. A failure lists the names of those that differ."""
    assert here.keys() == there.keys()
    assert not [name for name, content in here.items() if content != there[name]]


@dataclass(frozen=True)
class Done:
    out: str
    told: str


class Between(BaseHTTPRequestHandler):
    """Forwards requests to the server, unless ``Storage.watch`` asks for a refusal or a fault."""

    protocol_version = "HTTP/1.1"
    storage: Storage
    server_port: int

    def _pass_on(self) -> None:
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers)
        self.storage.requests.append(request)
        fault = self.storage.watch(request)
        if isinstance(fault, Refusal):
            self._answer(fault.status, {}, f"<Error><Code>{fault.code}</Code></Error>".encode())
            return
        self.close_connection = fault is not None
        if fault is Fault.CLOSED:
            return
        server = http.client.HTTPConnection("127.0.0.1", self.server_port)
        server.request(self.command, self.path, body, {**headers, "content-length": str(len(body))})
        answer = server.getresponse()
        content = answer.read()
        server.close()
        if fault is not Fault.LOST:
            self._answer(answer.status, dict(answer.getheaders()), content, is_cut=fault is Fault.CUT)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def _answer(self, status: int, headers: dict[str, str], body: bytes, is_cut: bool = False) -> None:
        self.send_response_only(status)
        length = {name: value for name, value in headers.items() if name.lower() == "content-length"}
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        # A response to HEAD has no body, so the length comes from the server's header.
        self.send_header("Content-Length", next(iter(length.values()), str(len(body))))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_cut else body)

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            pass  # The command was killed during the request.

    def log_message(self, format: str, *args: Any) -> None:
        pass

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on


class Proxy(ThreadingHTTPServer):
    """Accepts all connections that the command opens at the same time. With the default queue of five connections, the
    operating system drops some connections, and a dropped connection delays the command by up to 30 s."""

    daemon_threads = True
    request_queue_size = 256


@pytest.fixture(scope="session")
def server() -> Iterator[int]:
    """Starts an S3-compatible server, and returns its port."""
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    yield moto.get_host_and_port()[1]
    moto.stop()


@pytest.fixture
def storage(server: int) -> Iterator[Storage]:
    """An empty bucket."""
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server}", region_name="us-east-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    client.create_bucket(Bucket=BUCKET)
    storage = Storage(client, "")
    handler = type("Handler", (Between,), {"storage": storage, "server_port": server})
    between = Proxy(("127.0.0.1", 0), handler)
    storage.endpoint = f"http://127.0.0.1:{between.server_address[1]}"
    threading.Thread(target=between.serve_forever, daemon=True).start()
    yield storage
    between.shutdown()
    between.server_close()
    for key in storage.keys():
        client.delete_object(Bucket=BUCKET, Key=key)
    client.delete_bucket(Bucket=BUCKET)


@pytest.fixture
def job(storage: Storage) -> Storage:
    """A bucket with the traces of four ranks before and after a change. After the change, one file is not a trace."""
    for rank in range(4):
        storage.put(f"before/rank_{rank}.json.gz", BEFORE)
        storage.put(f"after/rank_{rank}.json.gz", AFTER if rank != 3 else b'{"no": "trace"}')
    return storage


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])
