"""Whom `reveal` of the estate names: logins of Airflow whole, system accounts without their host."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqops.errors import SettingsError
from mqops.estate import load
from mqops.look.reveal import NotRevealed, refuse_question, refuse_unless_named
from mqops.model import Account

MAIL = "alice@bank.example"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whether the estate, with this `reveal` of QM1, names a user."""
    path = tmp_path / "estate.yaml"
    monkeypatch.setenv("MQOPS_ESTATE", str(path))

    def asked(reveal: str, who: str, kind: Account, queue_manager: str = "QM1", refuse=refuse_unless_named) -> bool:
        setting = f", reveal: {reveal}" if reveal else ""
        path.write_text(f"lake: lake\nqueue_managers:\n  QM1: {{connection: a{setting}}}\n")
        try:
            refuse(queue_manager, who, kind)
        except NotRevealed:
            return False
        return True

    return asked


@pytest.mark.parametrize(
    ("reveal", "who", "kind", "expected"),
    [
        ("[alice]", "alice", Account.AIRFLOW, True),  # a list, as estates had it before, is of both kinds
        ("[alice]", "alice@host", Account.SYSTEM, True),
        ("[alice]", "alice@other.example", Account.AIRFLOW, False),  # another person's mail address
        (f"[{MAIL}]", MAIL, Account.AIRFLOW, True),
        (f"[{MAIL}]", "alice", Account.AIRFLOW, False),
        (f"[{MAIL}]", f"{MAIL}@host", Account.SYSTEM, True),  # an account of a domain
        (f"[{MAIL}]", MAIL, Account.SYSTEM, False),  # alice of a host that is called so
        ("{airflow: [alice]}", "alice", Account.AIRFLOW, True),
        ("{airflow: [alice]}", "alice@host", Account.SYSTEM, False),
        ("{system: [alice]}", "alice", Account.AIRFLOW, False),
        ("{system: [alice]}", "alice@host", Account.SYSTEM, True),
        ("{system: [alice]}", "alice@host.bank.example", Account.SYSTEM, True),
        ("{system: ['*']}", "bob@host", Account.SYSTEM, True),
        ("{system: ['*']}", "bob", Account.AIRFLOW, False),
        ("{system: ['*']}", "*", Account.AIRFLOW, False),
        ("", "alice@host", Account.SYSTEM, False),
        ("", "", Account.AIRFLOW, False),
        ("[]", "*", Account.AIRFLOW, False),
    ],
)
def test_a_name_counts_for_its_kind_of_account(named, reveal: str, who: str, kind: Account, expected: bool) -> None:
    assert named(reveal, who, kind) is expected


def test_a_queue_manager_that_no_estate_names_is_free_on_the_command_line_only(named) -> None:
    assert named("[alice]", "bob@host", Account.SYSTEM, "OTHER")
    assert not named("[alice]", "alice", Account.AIRFLOW, "OTHER")


@pytest.mark.parametrize(
    ("reveal", "kind", "expected"),
    [
        ("", Account.SYSTEM, True),
        ("{airflow: [alice]}", Account.SYSTEM, False),  # there is a right that he lacks
        ("{system: [alice]}", Account.AIRFLOW, False),
        ("{system: ['*']}", Account.SYSTEM, True),
    ],
)
def test_a_question_about_payload_needs_the_right_where_somebody_has_it(named, reveal, kind, expected) -> None:
    assert named(reveal, "bob@host", kind, refuse=refuse_question) is expected


def test_a_refusal_says_which_line_would_name_the_account(named, tmp_path: Path) -> None:
    assert not named("[bob]", "a lice@host", Account.SYSTEM)
    with pytest.raises(NotRevealed) as caught:
        refuse_unless_named("QM1", "a lice@host", Account.SYSTEM)
    assert str(caught.value) == (
        f"a lice@host may not see the payload of messages of QM1: `reveal` of QM1 in {tmp_path}/estate.yaml, for "
        "system accounts, names bob. Nothing was shown. Ask one of them, or let your account of this system be added "
        'there: reveal: {system: ["a lice"]}'
    )
    (tmp_path / "estate.yaml").write_text(
        'lake: lake\nqueue_managers:\n  QM1: {connection: a, reveal: {system: ["a lice"]}}\n'
    )
    refuse_unless_named("QM1", "a lice@host", Account.SYSTEM)


def test_everybody_is_for_the_command_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    for reveal in ("{airflow: ['*']}", "['*']"):
        path.write_text(f"lake: lake\nqueue_managers:\n  QM1: {{connection: a, reveal: {reveal}}}\n")
        with pytest.raises(SettingsError, match=r"QM1\.reveal: airflow must name the logins"):
            load(path)
