"""A local server with the part of the HTTP interface of the Hugging Face Hub that `huggingface_hub` uses.

Downloads: information about a revision, the tree of files, files. Uploads: creating a repository, `preupload`, the LFS
batch interface, and commits. Everything is in memory.
"""

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

Files = dict[str, bytes]


@dataclass
class Repository:
    """The commits of one dataset, oldest first; branches and tags name them."""

    commits: dict[str, Files] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def commit(self, files: Files, branch: str = "main") -> str:
        """Adds a commit with exactly these files; returns its hash."""
        content = json.dumps({name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())})
        sha = hashlib.sha1(f"{len(self.commits)} {content}".encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[branch] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        """The hash of a commit, by itself or by its branch or tag."""
        sha = self.refs.get(revision, revision)
        return sha if sha in self.commits else None

    def files(self, revision: str = "main") -> Files:
        """The files of a commit."""
        sha = self.resolve(revision)
        return {} if sha is None else self.commits[sha]


@dataclass
class Hub:
    """The server's state.

    Attributes:
      endpoint: its address, for `HF_ENDPOINT`.
      repositories: datasets, by "org/name".
      objects: what was uploaded by LFS, by its SHA-256; a commit names them.
      requests: "METHOD /path" of all requests so far.
      refuse: called for every request with method and path; a request for which it returns True gets status 400.
      lfs_suffixes: files that `preupload` wants by LFS; the others come in the commit itself.
    """

    endpoint: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refuse: Callable[[str, str], bool] = lambda _method, _path: False
    lfs_suffixes: tuple[str, ...] = (".riegeli", ".png")

    def add(self, name: str, files: Files, tag: str | None = None) -> str:
        """Commits files to the dataset `name`, which is made if it is not there; returns the commit's hash."""
        repository = self.repositories.setdefault(name, Repository())
        sha = repository.commit(files)
        if tag is not None:
            repository.refs[tag] = sha
        return sha


@contextlib.contextmanager
def running_hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Hub]:
    """Runs a hub and points `huggingface_hub` at it, in this process and in those it starts."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    _point_at(hub, monkeypatch, cache)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _point_at(hub: Hub, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    from huggingface_hub import constants

    settings = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_CACHE": str(cache / "hub"),
        "HF_HOME": str(cache),
        "HF_TOKEN": "hf_of_the_tests",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
    }
    for name, setting in settings.items():
        monkeypatch.setenv(name, setting)
    # It reads its settings when it is imported, which may have been before.
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)


class _Handler(BaseHTTPRequestHandler):
    """Answers; one route is one method, chosen by ROUTES."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name in the base class
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self._body()
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.refuse(self.command, path):
            self._send(HTTPStatus.BAD_REQUEST, {"error": "refused by the test"})
            return
        method = "GET" if self.command == "HEAD" else self.command
        for expected, pattern, route in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method == expected:
                route(self, body, **found.groupdict())
                return
        self._send(HTTPStatus.NOT_FOUND, {"error": f"no route for {self.command} {path}"})

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, status: HTTPStatus, content: object, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(data)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client may have been killed
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    def _commit(self, name: str, revision: str) -> tuple[str, Files] | None:
        """The hash and files of a commit; None, after an error response, if there is none."""
        repository = self.hub.repositories.get(name)
        if repository is None:
            self._send(HTTPStatus.NOT_FOUND, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
            return None
        sha = repository.resolve(revision)
        if sha is None:
            self._send(HTTPStatus.NOT_FOUND, {"error": "Invalid rev id"}, {"X-Error-Code": "RevisionNotFound"})
            return None
        return sha, repository.commits[sha]

    def info(self, _body: bytes, name: str, revision: str = "main") -> None:
        if (found := self._commit(name, revision)) is not None:
            sha, files = found
            siblings = [{"rfilename": path} for path in sorted(files)]
            self._send(HTTPStatus.OK, {"id": name, "sha": sha, "siblings": siblings, "tags": [], "private": False})

    def search(self, _body: bytes) -> None:
        """The datasets of an author whose card has a tag."""
        query = parse_qs(urlsplit(self.path).query)
        (author,), tags = query["author"], query["filter"]
        found = [
            {"id": name}
            for name, repository in self.hub.repositories.items()
            if name.startswith(f"{author}/")
            and all(f'- "{tag}"'.encode() in repository.files().get("README.md", b"") for tag in tags)
        ]
        self._send(HTTPStatus.OK, found)

    def tree(self, _body: bytes, name: str, revision: str) -> None:
        if (found := self._commit(name, revision)) is not None:
            self._send(HTTPStatus.OK, [self._entry(path, data) for path, data in sorted(found[1].items())])

    def _entry(self, path: str, data: bytes) -> dict[str, Any]:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        entry = {"type": "file", "path": path, "size": len(data), "oid": blob}
        if path.endswith(self.hub.lfs_suffixes):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    def file(self, _body: bytes, name: str, revision: str, path: str) -> None:
        if (found := self._commit(name, revision)) is None:
            return
        sha, files = found
        if path not in files:
            self._send(HTTPStatus.NOT_FOUND, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"})
            return
        entry = self._entry(path, files[path])
        etag = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
        headers = {"X-Repo-Commit": sha, "ETag": f'"{etag}"'}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None:
            self._send(HTTPStatus.OK, files[path], headers)
            return
        part = files[path][int(wanted[1]) : int(wanted[2]) + 1]
        last = int(wanted[1]) + len(part) - 1
        headers["Content-Range"] = f"bytes {wanted[1]}-{last}/{len(files[path])}"
        self._send(HTTPStatus.PARTIAL_CONTENT, part, headers)

    def who(self, _body: bytes) -> None:
        self._send(HTTPStatus.OK, {"type": "user", "name": "org", "orgs": []})

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'org'}/{asked['name']}"
        url = {"url": f"{self.hub.endpoint}/datasets/{name}", "name": name, "id": name}
        if name in self.hub.repositories:
            self._send(HTTPStatus.CONFLICT, {"error": "You already created this dataset repo", **url})
            return
        self.hub.add(name, {".gitattributes": b""})
        self._send(HTTPStatus.OK, url)

    def branch(self, _body: bytes, name: str, revision: str) -> None:
        if (found := self._commit(name, "main")) is not None:
            refs = self.hub.repositories[name].refs
            status = HTTPStatus.CONFLICT if revision in refs else HTTPStatus.OK
            refs.setdefault(revision, found[0])
            self._send(status, {})

    def validate(self, body: bytes) -> None:
        errors = [] if json.loads(body)["content"].startswith("---\n") else [{"message": "there is no front matter"}]
        self._send(HTTPStatus.OK if not errors else HTTPStatus.BAD_REQUEST, {"errors": errors, "warnings": []})

    def preupload(self, body: bytes, name: str, revision: str) -> None:
        found = self._commit(name, revision)
        if found is None:
            return
        files = [
            {
                "path": each["path"],
                "uploadMode": "lfs" if each["path"].endswith(self.hub.lfs_suffixes) else "regular",
                "shouldIgnore": False,
                "oid": self._entry(each["path"], found[1][each["path"]])["oid"] if each["path"] in found[1] else None,
            }
            for each in json.loads(body)["files"]
        ]
        self._send(HTTPStatus.OK, {"files": files})

    def lfs_batch(self, body: bytes, name: str) -> None:
        objects = []
        for each in json.loads(body)["objects"]:
            answer = {"oid": each["oid"], "size": each["size"]}
            if each["oid"] not in self.hub.objects:
                answer["actions"] = {"upload": {"href": f"{self.hub.endpoint}/lfs/{each['oid']}"}}
            objects.append(answer)
        self._send(HTTPStatus.OK, {"transfer": "basic", "objects": objects})

    def lfs_put(self, body: bytes, oid: str) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "the content does not match its hash"})
            return
        self.hub.objects[oid] = body
        self._send(HTTPStatus.OK, {})

    def commit(self, body: bytes, name: str, revision: str) -> None:
        found = self._commit(name, revision)
        if found is None:
            return
        files = dict(found[1])
        for line in filter(None, body.split(b"\n")):
            change = json.loads(line)
            value = change["value"]
            match change["key"]:
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.hub.objects[value["oid"]]
                case "deletedFile":
                    del files[value["path"]]
                case "deletedFolder":
                    prefix = value["path"].rstrip("/") + "/"
                    files = {path: data for path, data in files.items() if not path.startswith(prefix)}
        sha = self.hub.repositories[name].commit(files, revision)
        url = f"{self.hub.endpoint}/datasets/{name}/commit/{sha}"
        self._send(HTTPStatus.OK, {"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})


Route = Callable[..., None]
_NAME = r"(?P<name>[^/]+/[^/]+)"
_REVISION = r"(?P<revision>[^/]+)"
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "/api/whoami-v2", _Handler.who),
    ("GET", "/api/datasets", _Handler.search),
    ("GET", f"/api/datasets/{_NAME}", _Handler.info),
    ("GET", f"/api/datasets/{_NAME}/revision/{_REVISION}", _Handler.info),
    ("GET", f"/api/datasets/{_NAME}/tree/{_REVISION}", _Handler.tree),
    ("GET", f"/datasets/{_NAME}/resolve/{_REVISION}/(?P<path>.+)", _Handler.file),
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.validate),
    ("POST", f"/api/datasets/{_NAME}/branch/{_REVISION}", _Handler.branch),
    ("POST", f"/api/datasets/{_NAME}/preupload/{_REVISION}", _Handler.preupload),
    ("POST", f"/datasets/{_NAME}\\.git/info/lfs/objects/batch", _Handler.lfs_batch),
    ("PUT", "/lfs/(?P<oid>[0-9a-f]+)", _Handler.lfs_put),
    ("POST", f"/api/datasets/{_NAME}/commit/{_REVISION}", _Handler.commit),
]
"""Method, pattern of the path, and what answers it. HEAD goes where GET goes."""
