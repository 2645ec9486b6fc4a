from __future__ import annotations

import dataclasses
import json

from gtea.report.case import Case
from gtea.report.common_facts import CommonFacts


def test_workers_get_the_same_facts(busy_case: Case) -> None:
    for common in (busy_case.common, dataclasses.replace(busy_case.common, expected=None)):
        assert CommonFacts.from_json(json.loads(json.dumps(common.to_json()))) == common
