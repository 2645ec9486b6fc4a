"""What columns are taken for, on the headers that people have."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gtea.ingestion.column_roles import ColumnRoles, Role, counts_steps, guess_roles, name_words, suspicious_class
from gtea.ingestion.table_sample import ColumnSample, sample_columns

chance = random.Random(0)
VALUES: dict[str, Callable[[int], str]] = {
    "account": lambda row: f"C{chance.randrange(100)}",
    "number": lambda row: str(chance.randrange(100)),
    "amount": lambda row: f"{100 * chance.random():.2f}",
    "row": lambda row: str(row + 1),
    "day": lambda row: f"2022-10-{1 + row % 28:02}",
    "minute": lambda row: f"2022/09/{1 + row % 28:02} 00:{row % 60:02}",
    "clock": lambda row: f"10:{row % 60:02}:00",
    "kind": lambda row: chance.choice(["CASH", "WIRE", "ACH"]),
    "flag": lambda row: str(chance.randrange(2)),
    "hash": lambda row: f"0x{chance.randrange(10**12)}",
    "same": lambda row: "EUR",
}


def guessed(header: str, given: Mapping[Role, str | None] | None = None) -> ColumnRoles:
    """The guess for a header of ``name:values``, with made-up rows."""
    columns = [spec.rsplit(":", 1) for spec in header.split("|")]
    made = [ColumnSample(name, [VALUES[kind](row) for row in range(400)]) for name, kind in columns]
    return guess_roles(made, given or {})


@pytest.mark.parametrize(
    ("header", "roles", "features", "categorical"),
    [
        (  # the layout of PaySim
            "step:number|type:kind|amount:amount|nameOrig:account|oldbalanceOrg:amount|newbalanceOrig:amount"
            "|nameDest:account|oldbalanceDest:amount|newbalanceDest:amount|isFraud:flag|isFlaggedFraud:flag",
            ("nameOrig", "nameDest", "step"),
            ("amount", "oldbalanceOrg", "newbalanceOrig", "oldbalanceDest", "newbalanceDest"),
            ("type",),
        ),
        (  # of IBM's simulated laundering
            "Timestamp:minute|From Bank:number|Account:account|To Bank:number|Account.1:account|Amount Paid:amount"
            "|Payment Currency:kind|Is Laundering:flag",
            ("Account", "Account.1", "Timestamp"),
            ("Amount Paid",),
            ("Payment Currency",),
        ),
        (  # of SAML-D
            "Time:clock|Date:day|Sender_account:number|Receiver_account:number|Amount:amount"
            "|Sender_bank_location:kind|Payment_type:kind|Is_laundering:flag|Laundering_type:kind",
            ("Sender_account", "Receiver_account", "Date"),
            ("Amount",),
            ("Sender_bank_location", "Payment_type"),
        ),
        (  # of AMLSim
            "tx_id:row|sender_acct:number|bene_acct:number|tx_type:kind|base_amt:amount|tran_timestamp:minute"
            "|is_sar:flag|alert_id:number",
            ("sender_acct", "bene_acct", "tran_timestamp"),
            ("base_amt",),
            ("tx_type",),
        ),
        (
            "hash:hash|blockNumber:number|timeStamp:number|from:account|to:account|value:amount|gasPrice:number",
            ("from", "to", "timeStamp"),
            ("value", "gasPrice"),
            (),
        ),
        ("i:number|j:number|t:number", ("i", "j", "t"), (), ()),
        ("account_id:account|counterparty_id:account|date:day", ("account_id", "counterparty_id", "date"), (), ()),
        (
            ":row|who:account|whom:account|when:day|sum:amount|currency:same|note:hash",
            ("who", "whom", "when"),
            ("sum",),
            (),
        ),
    ],
)
def test_known_headers(
    header: str, roles: tuple[str, str, str], features: tuple[str, ...], categorical: tuple[str, ...]
) -> None:
    found = guessed(header)
    assert found.unsure == {}
    assert tuple(found.roles[role] for role in ("src", "dst", "time")) == roles
    assert (found.features, found.categorical) == (features, categorical)
    names = {spec.rsplit(":", 1)[0] for spec in header.split("|")}
    assert names == {*roles, *features, *categorical, *found.ignored}, "a column has neither a role nor a reason"


def test_labels_are_never_features() -> None:
    found = guessed(
        "from:account|to:account|time:number|fraud:flag|fraudScore:amount|sar_filed:flag|Laundering_type:kind"
    )
    assert (found.features, found.categorical) == ((), ())
    assert set(found.ignored.values()) == {"looks like a label, which a model must not see"}


def test_two_that_are_equally_good_are_not_guessed() -> None:
    found = guessed("payer:account|payee:account|booking_date:day|value_date:day|amount:amount")
    assert found.unsure == {"time": ("booking_date", "value_date")}
    assert found.features == ("amount",)
    told = guessed("payer:account|payee:account|booking_date:day|value_date:day", {"time": "value_date"})
    assert told.roles["time"] == "value_date"
    assert told.ignored == {"booking_date": "is a second time"}


def test_what_the_user_names_is_no_candidate_for_another_role() -> None:
    found = guessed("from:account|to:account|time:number", {"src": "to", "dst": None, "time": None})
    assert found.roles["src"] == "to"
    assert found.roles["dst"] == "from"


def test_nothing_fits() -> None:
    found = guessed("x:amount|y:amount")
    assert found.roles == {}
    assert found.unsure == {"src": (), "dst": (), "time": ()}


@pytest.mark.parametrize("day", ["31/05/2024", "5.6.24", "01-02-2024 10:30", "20240531"])
def test_no_other_column_is_the_time_where_dates_can_t_be_read(day: str) -> None:
    """An amount or an ordinal number would be taken for it, or a date of eight digits for seconds of the year 1970."""
    columns = [ColumnSample(name, [VALUES["account"](row) for row in range(400)]) for name in ("from", "to")]
    columns += [ColumnSample("Date", [day] * 400), ColumnSample("Value", [VALUES["amount"](row) for row in range(400)])]
    found = guess_roles([*columns, ColumnSample("branches", ["3", "4"] * 200)], {})
    assert (found.unsure, found.foreign_dates) == ({"time": ()}, ("Date",))
    assert "can't be read" in found.ignored["Date"]
    also = guess_roles([*columns, ColumnSample("timestamp", ["1700000000", "1700000001"] * 200)], {})
    assert also.roles["time"] == "timestamp"


def test_fractions_that_no_name_calls_times_are_none() -> None:
    assert guessed("from:account|to:account|value:amount").unsure == {"time": ()}
    assert guessed("from:account|to:account|time:amount").roles["time"] == "time"


@pytest.mark.parametrize(
    ("file", "roles"),
    [
        ("ethereum_phishing/transactions.parquet", ("from", "to", "timestamp")),
        ("amlsim/transactions.parquet", ("payer", "payee", "step")),
        ("email_eu/emails.parquet", ("sender", "recipient", "seconds")),
        ("bitcoin_otc/ratings.csv.gz", ("rater", "rated", "timestamp")),
        ("primary_school/contacts.csv.gz", ("a", "b", "timestamp")),
    ],
)
def test_real_tables(data_folder: Path, file: str, roles: tuple[str, str, str]) -> None:
    found = guess_roles(sample_columns(data_folder / file), {})
    assert tuple(found.roles[role] for role in ("src", "dst", "time")) == roles


def test_words_of_a_name() -> None:
    assert name_words("nameOrig") == ["name", "orig"]
    assert name_words("From Bank") == ["from", "bank"]
    assert name_words("SRC_id2") == ["src", "id"]


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    [
        ("step", ["1", "700000"], True),
        ("day", ["0", "364"], True),
        ("t", ["86400", "90000"], False),
        ("seconds", ["0", "60"], False),
        ("time", ["0.5", "1.5"], False),
        ("time", ["-5", "5"], False),
        ("timestamp", ["1700000000", "1700000001"], False),
        ("date", ["2024-05-01", "2024-05-02"], False),
    ],
)
def test_small_whole_numbers_count_steps(name: str, values: list[str], steps: bool) -> None:
    assert counts_steps(ColumnSample(name, values)) == steps


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        (["fraud", "trusted"], ("fraud", "trusted")),
        (["normal", "phishing"], ("phishing", "normal")),
        (["0", "1"], None),
        (["fraud", "scam"], None),
        (["fraud", "scam", "normal"], None),
        (["left", "right"], None),
    ],
)
def test_the_class_to_look_for_may_say_so(classes: list[str], found: tuple[str, str] | None) -> None:
    accounts = ColumnSample("account", [f"A{row}" for row in range(60)])
    assert suspicious_class([accounts, ColumnSample("label", [*classes, None] * 15)]) == found


@pytest.mark.parametrize(
    "values",
    [["8,04", "-131,5", "7"], ["1.234,50", "12,00"], ["1,234.56", "99.5"], ["1 234,5", "3,25"], ["12'345", "6"]],
)
def test_numbers_that_are_written_otherwise_are_named(values: list[str]) -> None:
    column = ColumnSample("amount", [values[row % len(values)] for row in range(400)])
    found = guess_roles([column], {})
    assert not found.features
    assert found.ignored["amount"].startswith("has numbers with commas")


@pytest.mark.parametrize("values", [["8.04", "-131.5"], ["1,2,3", "4"], ["a,5", "1,5"], ["CASH", "WIRE"]])
def test_other_columns_have_no_such_numbers(values: list[str]) -> None:
    assert not ColumnSample("amount", values).has_foreign_numbers
