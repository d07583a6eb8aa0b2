"""What is answered instead of an answer: a status, and one sentence with the way out. Never a stack trace."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response


class RefusedError(Exception):
    """A request that is not answered; the sentence says why."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}

    def response(self) -> Response:
        return JSONResponse({"error": self.sentence}, self.status, headers=self.headers)


def busy(sentence: str, seconds: int = 1) -> RefusedError:
    """Too much at once: come again."""
    return RefusedError(429, sentence, {"Retry-After": str(seconds)})
