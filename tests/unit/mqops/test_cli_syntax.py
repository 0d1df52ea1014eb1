"""One way to name a queue manager, a run, a snapshot; errors of usage; what the Tab key offers; a version."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete
from mq_support import DLQ, dead_letter

from mqops.cli import main
from mqops.cli.tables import GivenFile

TABLE = "ACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.fixture
def run(manager, mqops_here) -> str:
    """A run that moved one message."""
    manager.put(DLQ, [dead_letter("A", b"x")])
    return json.loads(mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text=TABLE).stdout)["run"]


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command and its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
        else:
            yield (*path, name), found


EVERY = dict(commands(main))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_json_and_help_that_says_what_it_is(words):
    options = {name for parameter in EVERY[words].params for name in parameter.opts}
    assert "--json" in options
    assert EVERY[words].get_short_help_str(200)
    assert all(one.help for one in EVERY[words].params if isinstance(one, click.Option)), words


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_error_of_usage_is_an_object_with_json(mqops_here, words):
    done = mqops_here(*words, "--no-such-option", "--json", expect=2)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "NoSuchOption"
    assert error["message"] in done.stderr
    assert error["what_to_do"] == f"`main {' '.join(words)} --help` shows how the command is used"


@pytest.mark.parametrize("wrong", ["not there", "a folder", "below a file", "not text"])
def test_no_command_tells_a_file_that_it_cannot_use_in_the_words_of_python(run, mqops_here, tmp_path, wrong):
    table = tmp_path / "table"
    table.write_text(TABLE)
    raw = re.compile(r"\[Errno|codec|Traceback")
    told = {}
    for words, command in EVERY.items():
        for file in (one for one in command.params if isinstance(one.type, click.Path | GivenFile)):
            places = {name: tmp_path / name for name in ("not there", "a folder", "not text")}
            places["a folder"].mkdir(exist_ok=True)
            places["not text"].write_bytes(b"\xff\xfe")
            place = {**places, "below a file": table / "file"}[wrong]
            known = {"queue": DLQ, "qmgr": "QM1", "queue_manager": "QM1", "older_than": "1d", "msg_id": "41" * 24}
            known |= {"run": run, "snapshot": run, str(file.name): str(place)}
            given = list(words)
            for one in (one for one in command.params if one.required or one is file):
                value = known.get(str(one.name), str(table) if isinstance(one.type, click.Path | GivenFile) else run)
                given += [value] if isinstance(one, click.Argument) else [one.opts[-1], value]
            done = mqops_here(*given, expect=None)
            told[" ".join(given)] = done.output
            assert isinstance(done.exception, SystemExit | None), given
            if wrong == "not there":
                shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    assert len(told) > 60
    assert {given: text for given, text in told.items() if raw.search(text)} == {}


@pytest.mark.parametrize("words", [("estate", "check"), ("estate", "status")], ids=" ".join)
def test_an_estate_file_that_is_not_there_is_told_with_what_to_do(mqops_here, tmp_path, words):
    done = mqops_here(*words, str(tmp_path / "none.yaml"), expect=None)
    assert done.exit_code in {1, 2}
    assert (
        f"estate file {tmp_path / 'none.yaml'} cannot be read: No such file or directory. Name the one that you have "
        "(MQOPS_ESTATE is the default), or begin with `mqops estate example FOLDER`\n"
    ) in done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ruls"], "Did you mean one of: 'rules', 'runs'?"),
        (["undoo"], "Did you mean 'undo'?"),
        (["dlq", "rn"], "Did you mean 'run'?"),
        (["dlq", "run", "--canry", "3"], "'--canary'"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_right_one(mqops_here, words, says):
    assert says in mqops_here(*words, expect=2).stderr
    assert says in json.loads(mqops_here(*words, "--json", expect=2).stdout)["error"]["message"]


def test_the_version(mqops_here):
    """The commit where it is known: a folder that is no clone of a repository has none."""
    told = mqops_here("--version").stdout
    assert re.fullmatch(r"mqops, version \d+\.\d+\.\d+( \(commit [0-9a-f]{12}\))?\n", told)


NAMES_ONE = [words for words in EVERY if any("-m" in parameter.opts for parameter in EVERY[words].params)]


def test_each_command_that_needs_a_queue_manager_takes_it_by_m():
    """The others work on files, or on the queue managers of the estate."""
    assert {words for words in EVERY if words not in NAMES_ONE} == {
        *(("rules", one) for one in ("diff", "explain", "keywords", "test")),
        *(("quality", one) for one in ("check", "export", "suggest", "suite", "vocabulary")),
        *(("snapshot", one) for one in ("columns", "diff", "export")),
        ("ledger", "show"),
        *(("estate", one) for one in ("check", "example", "status")),
    }, "a command takes `-m`, or is in this list"


def test_a_queue_manager_by_m_where_runmqdlq_has_it_behind_the_queue(run, mqops_here):
    for words in (["dlq", "run", "--dry-run", "--json", DLQ], ["dlq", "anatomy", "--json", DLQ]):
        assert mqops_here(*words, "-m", "QM1", text=TABLE).stdout
        assert mqops_here(*words, "QM1", "-m", "QM1", text=TABLE).stdout
        assert "QMGR is QM1, and -m is QM2" in mqops_here(*words, "QM1", "-m", "QM2", text=TABLE, expect=2).stderr
    assert mqops_here("ledger", "verify", "-m", "QM1").stdout == mqops_here("ledger", "verify", "QM1").stdout
    assert "signs from now on" in mqops_here("ledger", "rekey", "-m", "QM1").stdout
    assert "Name the queue manager" in mqops_here("ledger", "rekey", expect=2).stderr


def test_the_run_says_which_queue_manager(run, manager, mqops_here):
    """The default queue manager is another one, and none of the commands is told a name."""
    assert json.loads(mqops_here("ledger", "outcomes", run, "--json").stdout)["moved"] == 1
    assert json.loads(mqops_here("undo", run, "--yes", "--json").stdout)["moved"] == 1
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["plan"]
    mqops_here("dlq", "act", planned["run"], "--approve", planned["digest"])
    assert manager.bodies("A") == [b"x"]
    assert "1 planned" in mqops_here("resume", planned["run"], "--finish").stdout


def test_the_beginning_of_a_key_names_a_run_wherever_a_folder_does(run, mqops_here, tmp_path):
    table = tmp_path / "t.rules"
    table.write_text(TABLE)
    begun = run[:-3]
    assert json.loads(mqops_here("ledger", "outcomes", begun, "--json").stdout)["run"] == run
    assert mqops_here("stop", begun).stdout.startswith(f"run {run} is stopped")
    assert mqops_here("resume", begun).stdout.startswith(f"run {run} was stopped")
    assert json.loads(mqops_here("dlq", "anatomy", "--snapshot", begun, "--json").stdout)["queues"][0]["run"] == run
    assert json.loads(mqops_here("rules", "diff", str(table), str(table), "--snapshot", begun, "--json").stdout)["ok"]
    assert mqops_here("rules", "test", str(table), "--snapshot", begun, "--expect", str(tmp_path / "e"), "--write")
    exported = [json.loads(line) for line in mqops_here("ledger", "export", "--run", begun).stdout.splitlines()]
    assert {one["run"] for one in exported} == {run}
    nothing = mqops_here("dlq", "anatomy", "--snapshot", "no/such", expect=1).stderr
    assert nothing.startswith("mqops: There is no folder no/such: name a run's key")


def test_the_beginning_of_several_keys_is_refused_with_their_names(run, mqops_here, tmp_path):
    runs = tmp_path / "lake" / "QM1" / "runs"
    shutil.copytree(runs / run, runs / f"{run}-b")
    assert json.loads(mqops_here("ledger", "outcomes", run, "--json").stdout)["run"] == run  # whole: that one
    for words in (["undo", run[:-1], "--yes"], ["stop", run[:-1]], ["resume", run[:-1]]):
        refused = mqops_here(*words, expect=1).stderr
        assert f"2 runs whose keys begin with {run[:-1]}: name one of {run}, {run}-b" in refused


def offered(*words: str, typed: str = "") -> list[str]:
    """What the Tab key offers."""
    return [item.value for item in ShellComplete(main, {}, "mqops", "_X").get_completions(list(words), typed)]


def test_the_tab_key_offers_runs_and_queue_managers(run, manager):
    assert offered("undo", typed="cli-") == [run]
    assert offered("dlq", "act", typed=run[:20]) == [run]
    assert offered("undo", typed="other") == []
    assert offered("rules", "diff", "a", "b", "--snapshot", typed="c") == [run]
    assert offered("undo", "-m", typed="Q") == ["QM1"]
    assert offered("ledger", "verify", typed="") == ["QM1"]


def test_the_tab_key_offers_an_undo_of_what_took_messages(run, mqops_here):
    dry = json.loads(mqops_here("dlq", "run", "--once", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["run"]
    undo = json.loads(mqops_here("undo", run, "--yes", "--json").stdout)["run"]
    assert sorted(offered("run", "show", typed="")) == sorted({run, dry, undo} - {""})
    assert offered("undo", typed="") == [run]
