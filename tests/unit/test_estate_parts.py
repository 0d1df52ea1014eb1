"""An estate file with an error: what of it can still be used, and what is kept for the time when nothing of it can."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from mqops import estate_before
from mqops.errors import SettingsError
from mqops.estate import EstateFile, load, load_usable
from mqops.storage import named_in_estate

VALID = """\
lake: lake
notify: {notifier: a.B, arguments: {password: secret}}
retention: {snapshots: 30d}
job_environment: [SECRET_TOKEN]
queue_managers:
  QM1:
    connection: mq_qm1
    reveal: [alice]
    dlq_rules: {rules: a.rules}
    expiry_scan: {interval: 1h, queues: [A], trigger: EVERY}
    trigger_monitor: {queues: [INITQ]}
  QM2:
    connection: mq_qm2
    storage: [PARKED]
    dlq_rules:
      rules: b.rules
      approval: {four_eyes: true}
    backout_reprocess:
      rules: b.rules
      quarantine: Q
  IDLE: {connection: mq_idle}
"""
SECTION, MANAGER = {"QM2.dlq_rules"}, {"QM2"}
WRONG = [
    # what is written in place of what; which parts are left out
    ("rules: b.rules\n      approval", "rules: /b\n      approval", SECTION),
    ("rules: b.rules\n      approval", "approval", SECTION),  # a required value is missing
    ("four_eyes: true", "four_eyess: true", SECTION),
    ("four_eyes: true", "four_eyes: 1", SECTION),
    ("rules: b.rules\n      approval", "rules: *other\n      approval", SECTION),
    ("rules: b.rules\n      approval", "rules: !new b\n      approval", SECTION),
    ("rules: b.rules\n      approval", "rules: 2026-13-01\n      approval", SECTION),
    ("rules: b.rules\n      approval", "rules: a\n      rules: b.rules\n      approval", SECTION),
    ("dlq_rules:\n", "dlq_rules: 7\n    expiry_scan:\n", {"QM2.dlq_rules", "QM2.expiry_scan"}),
    ("      quarantine: Q\n", "", {"QM2.backout_reprocess"}),
    ("mq_qm2", "mq qm2", MANAGER),
    ("    connection: mq_qm2\n", "", MANAGER),
    ("storage: [PARKED]", "storrage: [PARKED]", MANAGER),
    ("storage: [PARKED]", "reveal: alice", MANAGER),
    ("storage: [PARKED]", "storage: [PARKED]\n    connection: other", MANAGER),
    ("QM2:", "QM 2:", {"QM 2"}),
    ("QM2:", "17:", {"17"}),
    ("QM2:", "qm1:", {"QM1", "qm1"}),  # the DAG ids of both: nobody knows whose they are
    ("queues: [INITQ]", "queues: []", {"QM1.trigger_monitor"}),
    ("queues: [A], trigger", "queues: ['*'], trigger", {"QM1.expiry_scan"}),
    ("a.B", "nonsense", {"notify"}),
    ("{snapshots: 30d}", "{snapshots: 30d, plans: 1d}", {"retention"}),
    ("{snapshots: 30d}", "{undo: 30d}", {"retention"}),
]
UNUSABLE = [
    ("lake: lake", "lake: 7"),
    ("lake: lake", "lakke: lake"),
    ("job_environment: [SECRET_TOKEN]", "spark: [a]"),
    ("  QM2:", "   QM2:"),
    ("reveal: [alice]", "reveal: [alice"),
]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "estate.yaml"
    path.write_text(text)
    return path


def replaced(old: str, new: str) -> str:
    assert VALID.count(old) == 1, old
    return VALID.replace(old, new)


def left_out(file: EstateFile) -> set[str]:
    return {".".join(part[1:] or part) for part in file.left_out}


@pytest.mark.parametrize(("old", "new", "expected"), WRONG)
def test_an_error_takes_away_the_smallest_part_that_has_it(
    tmp_path: Path, old: str, new: str, expected: set[str]
) -> None:
    path = written(tmp_path, replaced(old, new))
    file = load_usable(path)
    assert left_out(file) == expected
    whole = load(written(tmp_path, VALID)).estate
    for name, settings in whole.queue_managers.items():
        if name in expected or name not in file.named:
            assert name not in file.estate.queue_managers
            continue
        gone = {part.partition(".")[2] for part in expected if part.startswith(f"{name}.")}
        found = file.estate.queue_managers[name]
        for field in type(settings).model_fields:
            assert getattr(found, field) == (None if field in gone else getattr(settings, field)) or (
                field == "expiry_scan" and "trigger_monitor" in gone  # it has no trigger then
            )


@pytest.mark.parametrize(("old", "new", "expected"), WRONG)
def test_the_errors_are_told_in_the_words_of_estate_check(
    tmp_path: Path, old: str, new: str, expected: set[str]
) -> None:
    path = written(tmp_path, replaced(old, new))
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert load_usable(path).problems == tuple(str(caught.value).splitlines())


@pytest.mark.parametrize(("old", "new"), UNUSABLE)
def test_an_error_that_concerns_all_leaves_nothing(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(SettingsError):
        load_usable(written(tmp_path, replaced(old, new)))


def test_a_workflow_without_its_trigger_monitor_has_no_trigger(tmp_path: Path) -> None:
    file = load_usable(written(tmp_path, replaced("queues: [INITQ]", "queues: []")))
    scan = file.estate.queue_managers["QM1"].expiry_scan
    assert scan is not None
    assert (scan.trigger, scan.interval is None) == (None, False)


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ("mq_qm2", "mq qm2", True),
        ("four_eyes: true", "four_eyess: true", True),
        ("approval: {four_eyes: true}", "aproval: {four_eyes: true}", True),
        ("approval: {four_eyes: true}", "approval: {four_eyes: false, colour: red}", False),
        ("approval: {four_eyes: true}", "colour: red", False),
    ],
)
def test_four_eyes_are_asked_for_as_long_as_a_part_that_is_left_out_may_ask(
    tmp_path: Path, old: str, new: str, asks: bool
) -> None:
    file = load_usable(written(tmp_path, replaced(old, new)))
    assert [file.four_eyes(), file.four_eyes("QM2"), file.four_eyes("QM1")] == [asks, asks, False]


def test_what_is_left_out_of_the_estate_is_not_taken_for_what_it_does_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQOPS_ESTATE", str(written(tmp_path, replaced("mq_qm2", "mq qm2"))))
    assert named_in_estate("QM1") == ()
    with pytest.raises(SettingsError, match=r"QM2\.connection: is not an Airflow connection id"):
        named_in_estate("QM2")


@pytest.mark.parametrize(("old", "new"), [*UNUSABLE, ("", None)])
def test_what_could_be_used_last_is_there_when_nothing_can_and_has_no_rights_and_no_secrets(
    tmp_path: Path, old: str, new: str | None
) -> None:
    path = written(tmp_path, VALID)
    (tmp_path / "lake").mkdir(mode=0o700)
    estate_before.keep(load_usable(path), tmp_path / "lake")
    kept = tmp_path / "lake" / estate_before.NAME
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not {"alice", "secret", "SECRET_TOKEN"} & set(kept.read_text().replace('"', " ").split())
    if new is None:
        path.chmod(0)
        path.unlink()
        environment = {"MQOPS_LAKE": str(tmp_path / "lake")}
    else:
        path.write_text(replaced(old, new))
        environment = {"MQOPS_LAKE": str(tmp_path / "lake")} if "lak" in old else {}
    with pytest.raises(SettingsError) as problem:
        load_usable(path)
    file = estate_before.before(path, environment, problem.value)
    assert (file.outdated, file.named) == (True, ["IDLE", "QM1", "QM2"])
    assert "".join(file.problems) == "".join(str(problem.value).splitlines())
    assert not any(one.reveal.names_somebody for one in file.estate.queue_managers.values())


def test_a_queue_manager_with_an_error_is_there_also_when_a_second_one_makes_the_file_unreadable(
    tmp_path: Path,
) -> None:
    path, lake = written(tmp_path, VALID), tmp_path / "lake"
    lake.mkdir(mode=0o700)
    new = "  NEW: {connection: mq new}\n"
    for text in (VALID, replaced("mq_qm1", "mq qm1") + new):
        path.write_text(text)
        for _again in range(2):
            estate_before.keep(load_usable(path), lake)
    path.write_text("lake: lake\n[")
    file = estate_before.before(path, {}, SettingsError("wrong"))
    assert file.named == ["IDLE", "NEW", "QM1", "QM2"]
    found = file.queue_manager("QM1")
    assert found is not None
    assert (found.connection, found.reveal.names_somebody) == ("mq_qm1", False)
    assert found.expiry_scan is not None
    with pytest.raises(SettingsError, match="wrong"):  # it never was valid
        file.queue_manager("NEW")


def test_what_is_kept_is_what_was_read_last(tmp_path: Path) -> None:
    """Rights and queue managers that were taken out of the estate do not come back."""
    path, lake = written(tmp_path, VALID), tmp_path / "lake"
    lake.mkdir(mode=0o700)
    estate_before.keep(load_usable(path), lake)
    path.write_text(VALID.replace("QM2:", "QM3:").replace("[INITQ]", "[]"))
    estate_before.keep(load_usable(path), lake)
    path.write_text("lake: lake\n[")
    file = estate_before.before(path, {}, SettingsError("wrong"))
    assert file.named == ["IDLE", "QM1", "QM3"]
    assert file.estate.queue_managers["QM1"].trigger_monitor is None
    kept = json.loads((lake / estate_before.NAME).read_text())
    (lake / estate_before.NAME).write_text(json.dumps({**kept, "path": "/of/another/estate.yaml"}))
    with pytest.raises(SettingsError, match="wrong"):
        estate_before.before(path, {}, SettingsError("wrong"))
