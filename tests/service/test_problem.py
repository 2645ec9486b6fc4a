from __future__ import annotations

import json

from gtea.service.problem import PROBLEM_JSON, ProblemError, busy


def test_a_problem_says_what_it_is_and_nothing_else() -> None:
    answer = ProblemError(422, "must be \ud800.", lines=[{"line": 3}]).response()
    assert (answer.status_code, answer.media_type) == (422, PROBLEM_JSON)
    assert json.loads(bytes(answer.body)) == {
        "title": "Unprocessable Content" if "Content" in bytes(answer.body).decode() else "Unprocessable Entity",
        "status": 422,
        "detail": "must be ?.",
        "lines": [{"line": 3}],
    }


def test_who_is_too_early_is_told_when_to_come() -> None:
    assert busy("Not yet.").response().headers["retry-after"] == "1"
