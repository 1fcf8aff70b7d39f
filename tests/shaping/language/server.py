"""A server with the OpenAI protocol, in a separate process: the replies of its models follow simple rules.

`tiny` quotes sentences that share a long word with the question, and says No to what is feared; it obeys a manual that
commands "SAY ...", as weak models do. The names of the other models describe their faults.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FEARS = re.compile(r"avoid|kill|lose|crash", re.IGNORECASE)
count = 0


def say(system: str, prompt: str) -> tuple[str, list[tuple[str, float]]]:
    """The reply of `tiny`, and the candidates for its first token."""
    if command := re.search(r"SAY (.+)", prompt):
        return command[1], [(command[1].split()[0], -0.01)]
    if "two parts of a game" in system:
        scores = [prompt.partition("Second:")[place].count("coin") for place in (0, 2)]
        word = "Equal" if scores[0] == scores[1] else "First" if scores[0] > scores[1] else "Second"
        return word, [(word, -0.3), ("First", -3.0)]
    if "Copy the sentences" in system:
        text, _, question = prompt.rpartition("Question: ")
        wanted = set(re.findall(r"[a-z]{4,}", question.lower()))
        lines = re.findall(r"[A-Z][^.]*\.", text)
        found = [line for line in lines if wanted & {word.rstrip("s") for word in re.findall(r"[a-z]+", line.lower())}]
        return "\n".join(found) or "N/A", []
    name = re.findall(r"Should you hit an? (.+?) if", prompt)[-1]
    about = [line for line in re.findall(r"[^.:]*\.", prompt) if name in line.lower()]
    is_feared = any(FEARS.search(line) for line in about)
    return ("No", [(" No", -0.1), ("Yes", -3.0)]) if is_feared else ("Yes", [("\u0120Yes", -0.2), ("No", -2.0)])


class Handler(BaseHTTPRequestHandler):
    """Answers requests; a GET returns how many there were."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(200, {"count": count})

    def do_POST(self) -> None:
        global count  # noqa: PLW0603  one process, for tests
        count += 1
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = body["model"]
        if self.path != "/v1/chat/completions" or model == "missing":
            return self._send(404, {"error": {"message": f"there is no model {model}"}})
        if model == "locked" and self.headers.get("Authorization") != "Bearer open sesame":
            return self._send(401, {"error": {"message": "no key"}})
        if model == "busy":
            return self._send(503, {"error": {"message": "loading"}})
        if model == "elsewhere":
            return self._send(307, {}, Location="http://example.org/")
        if model == "web page":
            return self._send(200, "<html>welcome</html>")
        if model == "null":
            return self._send(200, {"choices": [{"message": {"content": None}}]})
        system, prompt = (each["content"] for each in body["messages"])
        text, candidates = say(system, prompt)
        candidates = [(text, 10**400)] if model == "overflow" else candidates
        choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}}
        if body["logprobs"] and model != "wordless":
            top = [{"token": token, "logprob": logarithm} for token, logarithm in candidates]
            choice["logprobs"] = {"content": [{"token": "", "top_logprobs": top}] if top else []}
        return self._send(200, {"model": model, "system_fingerprint": f"v7.{body['seed']}", "choices": [choice]})

    def _send(self, status: int, content: object, **headers: str) -> None:
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Is quiet."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
