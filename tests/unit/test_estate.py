"""The estate file: what is read, and every way in which it can be wrong, with the line that says so."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.cli.estate import estate as estate_command
from mqops.errors import SettingsError
from mqops.estate import EstateFile, load, parse
from mqops.estate_sections import dag_prefix
from mqops.lake_place import lake_named

PROJECT_ESTATE = Path(__file__).resolve().parents[2] / "include" / "estate.yaml"
SMALL = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules:
      rules: rules.txt
"""
FULL = """\
lake: lake
spark: spark_cluster
queue_managers:
  QM1:
    connection: mq_qm1
    spark: spark_local
    dlq_rules:
      queue: MY.DLQ
      rules: rules/qm1.rules
      schedule: "*/15 6-22 * * MON-FRI"
      unit_of_work: 50
      approval:
        required: true
        timeout: 90m
        four_eyes: true
        auto_approve: {actions: [RETRY, FWD], max_messages: 20}
  MVS/1:
    connection: mq_mvs1
"""


def errors_of(text: str) -> list[str]:
    found, document = parse(text, source="e.yaml")
    assert found is None
    return [str(problem) for problem in document.problems]


def small(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new)


def origins(table: str) -> str:
    return f"{SMALL}    backout_reprocess:\n      rules: b.txt\n      quarantine: Q\n      origins:{table}\n"


def dlq(line: str) -> str:
    return f"{SMALL}      {line}\n"


def test_defaults() -> None:
    found, _ = parse(SMALL)
    assert found is not None
    section = found.queue_managers["QM1"].dlq_rules
    assert section is not None
    assert (section.queue, section.schedule, section.unit_of_work) == (None, None, 200)
    assert (section.approval.required, section.approval.timeout) == (True, timedelta(hours=8))
    assert (section.approval.four_eyes, section.approval.auto_approve) == (False, None)
    assert found.spark_connection("QM1") == "spark_default"


def test_everything_set() -> None:
    found, _ = parse(FULL)
    assert found is not None
    section = found.queue_managers["QM1"].dlq_rules
    assert section is not None
    assert section.approval.auto_approve is not None
    assert section.approval.auto_approve.actions == ("RETRY", "FWD")
    assert section.approval.timeout == timedelta(minutes=90)
    assert (found.spark_connection("QM1"), found.spark_connection("MVS/1")) == ("spark_local", "spark_cluster")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["e.yaml:1: lake: is required", "e.yaml:1: queue_managers: is required"]),
        ("- a\n", ["e.yaml:1: must be a block of keys (found a list)"]),
        ("lake: [\n", ["e.yaml:2: not valid YAML"]),
        ("lake: a\n# b\x00\n", ["e.yaml:2: not valid YAML: the character U+0000 is not allowed"]),
        ("lake: !!python/object/apply:os.getcwd []\n", ["e.yaml:1: not valid YAML: could not determine a constructor"]),
        ("lake: &a [*a]\n", ["e.yaml:1: not valid YAML: the alias *a is not allowed: write the value itself"]),
        ("lake: 2026-13-01\n", ["e.yaml:1: not a valid value: month must be in 1..12"]),
        ("lake: !!bool maybe\n", ["e.yaml:1: not a valid value: 'maybe' is no bool"]),
        ("lake: !!int ''\n", ["e.yaml:1: not a valid value: '' is no int"]),
        ("lake: !!timestamp soon\n", ["e.yaml:1: not a valid value: 'soon' is no timestamp"]),
        (f"lake: 0x{'f' * 4000}\n", ["e.yaml:1: not a valid value: Exceeds the limit (4300 digits)"]),
        (small("lake: lake", "lake: lake\nlake: b"), ["e.yaml:2: lake: stands here a second time"]),
        (small("lake: lake", "lake: ''"), ["e.yaml:1: lake: String should have at least 1 character (found '')"]),
        (small("lake: lake", "lake: 7"), ["e.yaml:1: lake: must be text (found 7); put it in quotes"]),
        ("lake: a\nqueue_managers: {}\n", ["e.yaml:2: queue_managers: must not be empty"]),
        (
            small("lake: lake", "lake: lake\njob_environment: [HTTPS_PROXY, AIRFLOW_CONN_*]"),
            ["e.yaml:2: job_environment.1: must not name a variable of Airflow or mqops: jobs do not get them"],
        ),
        (
            small("lake: lake", "lake: lake\njob_environment: ['*']"),
            ["e.yaml:2: job_environment.0: must be the name of an environment variable, or its beginning and *"],
        ),
        ("lake: a\nqueue_managers: QM1\n", ["e.yaml:2: queue_managers: must be a block of keys (found 'QM1')"]),
        (small("QM1:", "QM 1:"), ["e.yaml:3: queue_managers.QM 1: is not an MQ name: at most 48 of the characters"]),
        (small("QM1:", "17:"), ["e.yaml:3: queue_managers.17: must be text (found 17); put it in quotes"]),
        (small("mq_qm1", "mq qm1"), ["e.yaml:4: queue_managers.QM1.connection: is not an Airflow connection id"]),
        (small("    connection: mq_qm1\n", ""), ["e.yaml:3: queue_managers.QM1.connection: is required"]),
        (
            small("dlq_rules", "dlq_rule"),
            ["e.yaml:5: queue_managers.QM1.dlq_rule: is not a known key; did you mean 'dlq_rules'?"],
        ),
        (
            small("connection:", "zzz: 1\n    connection:"),
            ["e.yaml:4: queue_managers.QM1.zzz: is not a known key; known here: backout_reprocess, bodies, "],
        ),
        (
            small("queue_managers:", "notify:\n  notifier: a.B\n  daily:\n    most: 0\n    when: x\nqueue_managers:"),
            [
                "e.yaml:4: notify.daily.schedule: is required",
                "e.yaml:5: notify.daily.most: ",
                "e.yaml:6: notify.daily.when: is not a known key; known here: most, schedule, when_nothing",
            ],
        ),
        (
            small("queue_managers:", "notify:\n  notifier: a.B\n  daily: {schedule: often}\nqueue_managers:"),
            ["e.yaml:4: notify.daily.schedule: must be five cron fields"],
        ),
        (small("rules.txt", "/etc/passwd"), ["e.yaml:6: queue_managers.QM1.dlq_rules.rules: must be a path below"]),
        (small("rules.txt", "../x"), ["e.yaml:6: queue_managers.QM1.dlq_rules.rules: must be a path below"]),
        (small("rules.txt", "''"), ["e.yaml:6: queue_managers.QM1.dlq_rules.rules: must be the path of a file"]),
        (dlq("schedule: hourly"), ["e.yaml:7: queue_managers.QM1.dlq_rules.schedule: must be five cron fields"]),
        (
            dlq('schedule: "0 4 30 2 *"'),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.schedule: names a day that never comes"],
        ),
        (
            dlq('schedule: "0 4 31 4,6 *"'),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.schedule: names a day that never comes"],
        ),
        (
            origins(""" [{when: "FORMAT(MQSTR)", queue: PAY}, {when: "FROMAT(MQSTR)", queue: "a b"}]"""),
            [
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.1.when: at character 1: 'FROMAT' is not a "
                "keyword of a rules table: did you mean FORMAT?",
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.1.queue: is not an MQ name",
            ],
        ),
        (
            origins("""\n        - {when: "FORMAT(A) ACTION(RETRY)", queue: PAY}\n        - {queue: PAY, wen: ''}"""),
            [
                "e.yaml:11: queue_managers.QM1.backout_reprocess.origins.0.when: at character 11: ACTION asks nothing "
                "of a message itself: use one of APPLIDAT, APPLNAME, ",
                "e.yaml:12: queue_managers.QM1.backout_reprocess.origins.1.when: is required",
                "e.yaml:12: queue_managers.QM1.backout_reprocess.origins.1.wen: is not a known key; did you mean",
            ],
        ),
        (  # the origin of a message cannot be another one tomorrow
            origins(""" [{when: "AGE(>5m)", queue: PAY}, {when: DESTQ(A), queue: PAY}, {when: " ", queue: PAY}]"""),
            [
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.0.when: at character 1: AGE changes while a "
                "message stays on its queue: use one of",
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.1.when: at character 1: DESTQ asks nothing",
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.2.when: at character 1: no condition: write ",
            ],
        ),
        (
            origins(""" [{when: "FORMAT(A)\\nFORMAT(B)", queue: PAY}, {when: 7, queue: PAY}]"""),
            [
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.0.when: at character 1: the conditions go on",
                "e.yaml:10: queue_managers.QM1.backout_reprocess.origins.1.when: must be text (found 7)",
            ],
        ),
        (  # six are valid for croniter, and mean something else to Airflow
            dlq('schedule: "0 6 * * MON 30"'),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.schedule: must be five cron fields"],
        ),
        (
            dlq("unit_of_work: 0"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.unit_of_work: must be at least 1 (found 0)"],
        ),
        (
            dlq("unit_of_work: 5000"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.unit_of_work: must be at most 4999 (found 5000)"],
        ),
        (
            dlq("unit_of_work: many"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.unit_of_work: must be a whole number (found 'many')"],
        ),
        (
            dlq("approval: {required: 1}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval.required: must be true or false (found 1)"],
        ),
        (
            dlq("approval: {timeout: 8}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval.timeout: must be a time such as 90s, 30m, 8h or 2d"],
        ),
        (
            dlq("approval: {auto_approve: {actions: [IGNORE], max_messages: 1}}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval.auto_approve.actions.0: must be one of 'RETRY', 'FWD'"],
        ),
        (
            dlq("approval: {auto_approve: {actions: [], max_messages: 1}}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval.auto_approve.actions: must not be empty"],
        ),
        (
            dlq("approval: {auto_approve: {actions: RETRY, max_messages: 1}}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval.auto_approve.actions: must be a list (found 'RETRY')"],
        ),
        (
            dlq("approval: {required: false, auto_approve: {actions: [FWD], max_messages: 1}}"),
            ["e.yaml:7: queue_managers.QM1.dlq_rules.approval: auto_approve has no effect where required is false"],
        ),
        (
            SMALL + "  qm1:\n    connection: other\n",
            ["e.yaml:1: queue managers QM1 and qm1 would share the DAG ids qm1_..."],
        ),
        ("[" * 5000, ["e.yaml:1: it is nested too deeply"]),
    ],
)
def test_every_error_names_file_line_and_field(text: str, expected: list[str]) -> None:
    found = errors_of(text)
    assert len(found) == len(expected), found
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


def test_all_errors_at_once_in_line_order() -> None:
    text = small("mq_qm1", "mq qm1") + "      unit_of_work: 0\n      colour: red\n"
    assert [line.split(":")[1] for line in errors_of(text)] == ["4", "7", "8"]


def test_load_tells_every_error(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    path.write_text(dlq("unit_of_work: 0").replace("mq_qm1", "mq qm1"))
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert [line.partition(": ")[0] for line in str(caught.value).splitlines()] == [f"{path}:4", f"{path}:7"]


def test_load_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.yaml cannot be read: .*No such file"):
        load(tmp_path / "nothing.yaml")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL)
    loaded = load(path)
    assert loaded.lake({}) == tmp_path / "lake"
    assert loaded.lake({"MQOPS_LAKE": str(tmp_path / "other")}) == tmp_path / "other"
    assert loaded.rules("rules.txt") == tmp_path / "rules.txt"


@pytest.mark.parametrize("place", ["s3://bucket/lake", "file:///var/lake", "memory:", "hdfs:lake", " s3://bucket/lake"])
def test_a_url_is_no_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    assert errors_of(small("lake: lake", f"lake: '{place}'"))[0].startswith(
        f"e.yaml:1: lake: {place} is no place for a"
    )
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL)
    (tmp_path / "rules.txt").write_text("ACTION(RETRY)\n")
    with pytest.raises(SettingsError, match=r"MQOPS_LAKE: .* is no place for a lake: the scheme .* is not supported"):
        load(path).lake({"MQOPS_LAKE": place})
    monkeypatch.setenv("MQOPS_LAKE", place)
    checked = CliRunner().invoke(estate_command, ["check", str(path), "--json"])
    assert checked.exit_code == 1
    assert place in json.loads(checked.stdout)["errors"][0]
    with pytest.raises(SettingsError, match=r"MQOPS_LAKE: .* is not supported"):
        lake_named(os.environ)  # as a Spark job does before it makes a folder


def test_rules_outside_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner" / "estate.yaml"
    path.write_text(SMALL)
    (tmp_path / "inner" / "link").symlink_to(tmp_path)
    with pytest.raises(SettingsError, match="is not below"):
        load(path).rules("link/secret")


def test_missing_rules_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL)
    loaded: EstateFile = load(path)
    (problem,) = loaded.missing_files()
    assert (problem.line, problem.field) == (6, "queue_managers.QM1.dlq_rules.rules")


def test_dag_prefix_has_only_what_a_dag_id_may_have() -> None:
    assert dag_prefix("MVS/1.%A_b") == "mvs-1.-a_b"


def test_the_projects_own_estate_is_valid() -> None:
    result = CliRunner().invoke(estate_command, ["check", str(PROJECT_ESTATE)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, f"{PROJECT_ESTATE}: valid")


def test_check_command_shows_estate_and_rules_errors(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL)
    (tmp_path / "rules.txt").write_text("ACTION(NOTHING)\n")
    result = CliRunner().invoke(estate_command, ["check", str(path)])
    assert result.exit_code == 1
    assert f"{tmp_path / 'rules.txt'}:1:" in result.output


def test_check_command_json(tmp_path: Path) -> None:
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL)
    result = CliRunner().invoke(estate_command, ["check", str(path), "--json"])
    answer = json.loads(result.output)
    assert (result.exit_code, answer["ok"]) == (1, False)
    assert answer["estate"]["queue_managers"]["QM1"]["connection"] == "mq_qm1"
    assert answer["errors"] == [
        f"{path}:6: queue_managers.QM1.dlq_rules.rules: there is no file {tmp_path / 'rules.txt'}"
    ]
