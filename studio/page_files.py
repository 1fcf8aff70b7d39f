"""The files of the page, and a policy that lets it load nothing else."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route

TYPES: Final = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
"""What is served, by the end of its name."""
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_ASKED_EVERY_TIME: Final = {**_HEADERS, "Cache-Control": "no-cache"}
_NEVER_CHANGES: Final = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}


def page_routes(*places: str, tasks: Mapping[str, Traversable] | None = None) -> Sequence[BaseRoute]:
    """Serves the page at `/` and its files at `/page/...`. None of it is secret.

    The page names its files below a hash of all of them, so browsers request none twice, and all after an update.

    Args:
      *places: where else the page is, as "/crowd/{group}"; it reads its address.
      tasks: folders of files for tasks, which are served at `/page/tasks/NAME/...`.
    """
    files = _files(resources.files("rlds_kit.studio") / "page", "")
    for name, folder in ({} if tasks is None else tasks).items():
        files |= _files(folder, f"tasks/{name}/")
    version = _digest(files)
    html = files["index.html"].replace(b'"/page/', f'"/page/{version}/'.encode())
    policy = content_security_policy(html.decode())

    async def index(_: Request) -> Response:
        headers = {"Content-Security-Policy": policy, **_ASKED_EVERY_TIME}
        return Response(html, media_type=TYPES["html"], headers=headers)

    async def file(request: Request) -> Response:
        name: str = request.path_params["name"]
        wanted = name.removeprefix(f"{version}/")
        found = files.get(wanted)
        if found is None:
            return Response("there is no such file", 404)
        headers = _ASKED_EVERY_TIME if wanted == name else _NEVER_CHANGES
        return Response(found, media_type=TYPES[wanted.rpartition(".")[2]], headers=headers)

    return *(Route(place, index) for place in ("/", *places)), Route("/page/{name:path}", file)


def content_security_policy(html: str) -> str:
    """Only files of this server, and the inline scripts that the page itself has, by their hashes (CSP level 3).

    >>> content_security_policy("<script>1</script>").split("; ")[1]
    "script-src 'self' 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"
    """
    scripts = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", html, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    allowed = " ".join(["'self'", *(f"'sha256-{each}'" for each in hashes)])
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _digest(files: Mapping[str, bytes]) -> str:
    """Another one as soon as any file is."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name} {len(content)} ".encode() + content)
    return whole.hexdigest()[:16]


def _files(folder: Traversable, above: str) -> dict[str, bytes]:
    """Every file below a folder, by its path: what is not listed here cannot be requested."""
    found: dict[str, bytes] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= _files(each, f"{above}{each.name}/")
        elif each.name.rpartition(".")[2] in TYPES:
            found[above + each.name] = each.read_bytes()
    return found
