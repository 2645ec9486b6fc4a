"""Numbers of accounts from ranges of ids."""

from __future__ import annotations

from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.tasks import made_by


def test_ranges_one_after_another_are_all_accounts(stopped: StoppedJob) -> None:
    ids, sizes = list[str](), list[int]()
    for place in range(3):
        made = made_by(stopped.folder, f"number.{place}")
        ends, content = made.read("ends").tolist(), made.read("bytes").tobytes()
        ids += [content[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
        sizes.append(made.facts["count"])
    assert ids == stopped.at_once.accounts.to_arrow().to_pylist()
    assert min(sizes) > len(ids) // 5


def test_each_file_learns_the_numbers_of_its_accounts(stopped: StoppedJob) -> None:
    from tests.cluster.ingestion.test_read_input import strings_of

    for number in range(3):
        keys = made_by(stopped.folder, f"keys.{number}").read("keys").tolist()
        ids = strings_of(stopped, number, "ids")
        assert [stopped.at_once.account(key) for key in keys] == ids


def test_words_are_numbered_alike(stopped: StoppedJob) -> None:
    made = made_by(stopped.folder, "words.0")
    assert made.read("bytes").tobytes() == b"xyz"
    assert [made.read(f"places.{number}").tolist() for number in range(3)] == [[0, 1, 2]] * 3
