"""A plan and an outcome in the lines that a command prints. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mqops.actions import ACTED, NO_RULE_FITS, Action
from mqops.counted import counted
from mqops.decide.core.preflight import Preflight, shown
from mqops.look.words.balance import equation
from mqops.look.words.fates import MOVES, check_in_words
from mqops.model import CanaryResult, Destination, RuleBalance, RunSummary
from mqops.observe.core.anatomy import anatomy_lines
from mqops.observe.core.unseen import none_browsed

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.decide.core.summary import PlanCount, RuleCount

MOST_OF_A_RULE = 10
"""Groups of messages that a plan shows of each rule; --all shows all."""
UNDO_MEANING: Mapping[Action, str] = {
    Action.RESTORE: "discarded: put again from the copy",
    Action.RETURN: "moved: taken from where it went, and put back",
    Action.WITHDRAW: "copied: the copy taken from where it was put",
    Action.PRESENT: "on its queue already",
    Action.UNDONE: "put back by an earlier undo",
    Action.CONSUMED: "refused: no longer where it went",
    Action.HIDDEN: "refused: another unit of work, or a queue that cannot be browsed now, may have it; try again later",
    Action.UNPROVABLE: "refused: it went to a queue that mqops cannot browse",
    Action.CONFIRMS: "refused: taking it would confirm its delivery to the sender",
    Action.EXPIRED: "refused: its lifetime is over",
    Action.LAST: "refused: the original is not on its queue, so the copy may be the last one",
    Action.PARTED: "refused: others of its MQ group cannot be put back",
}
"""Action of an undo → what the run had done with the message, and what the undo does."""


def plan_lines(plan: PlanSummary, found: Preflight | None, *, by_rules: bool, every_group: bool) -> Iterator[str]:
    """The plan and its pre-flight. Parameters: `by_rules` whether a rules table decided; `every_group` whether all
    groups of messages are shown, and not `MOST_OF_A_RULE` of each rule."""
    size = f"{counted(plan.rows, 'message')}, {counted(plan.bytes, 'byte')}"
    yield f"{plan.queue} of {plan.queue_manager}: {size}; plan {plan.digest}"
    counts = sorted(plan.counts, key=lambda one: one.action not in ACTED)  # first what will move
    if len(plan.counts) > len(plan.rules):
        for rule in sorted(plan.rules, key=lambda one: one.action not in ACTED):
            groups = counted(sum(_of_rule(one) == _of_rule(rule) for one in counts), "group")
            what = _what(rule, by_rules=by_rules)
            yield f"{rule.messages:8}  {what} in all  ({groups}; {counted(rule.bytes, 'byte')})"
    yield from _groups(counts, by_rules=by_rules, most=len(counts) if every_group else MOST_OF_A_RULE)
    if plan.counts_left_off:
        yield f"not shown: {counted(plan.counts_left_off, 'other group')}. RUN/plan has every message"
    yield from (*plan.remarks, *(found.remarks if found else ()))
    yield from shown(found.findings) if found else ()


def _groups(counts: Sequence[PlanCount], *, by_rules: bool, most: int) -> Iterator[str]:
    seen: Counter[tuple[str | None, Action]] = Counter()
    for count in counts:
        seen[_of_rule(count)] += 1
        if seen[_of_rule(count)] > most:
            continue
        what = _what(count, by_rules=by_rules)
        target = f" to {Destination(count.dest_q, count.dest_q_mgr)}" if count.dest_q else ""
        origin = f"{count.symbol or 'no MQDLH'} {Destination(count.origin_q or '', count.origin_q_mgr or '')}".rstrip()
        oldest = f", oldest {count.oldest}" if count.oldest else ""
        yield f"{count.messages:8}  {what}{target}  ({origin}; {counted(count.bytes, 'byte')}{oldest})"
        for sample in count.samples:
            size = counted(sample.bytes, "byte")
            text = f"{sample.msg_id} {sample.put_at} {sample.put_appl_name or '-'}, {size}: {sample.shape}"
            yield f"{'':10}{text}".rstrip()
    if hidden := sum(max(0, number - most) for number in seen.values()):
        yield f"not shown: {counted(hidden, 'more group')} of these rules: --dry-run --all-groups shows them"


def _what(one: PlanCount | RuleCount | RuleBalance, *, by_rules: bool) -> str:
    """The rule of some rows of a plan, and its action. No rule stands beside a message that no rule could see."""
    unseen = f" ({NO_RULE_FITS})" if one.action == Action.ERROR else ""
    none = "no rule" if by_rules and not unseen else ""
    rule = f"line {one.rule_line}" if one.rule_line else check_in_words(one.rule_key) or none
    return f"{rule}: {one.action}{unseen}" if rule else f"{one.action}{unseen}"


def _of_rule(one: PlanCount | RuleCount) -> tuple[str | None, Action]:
    return one.rule_key, one.action


def canary_line(result: CanaryResult) -> str:
    """What became of the canaries of a destination and rule."""
    number = counted(result.canaries, "canary", "canaries")
    counts = f"{number}, {result.back:,} came back, {result.failed:,} failed, {result.unread:,} unread"
    outcome = f"stopped: {result.why}" if result.why else "the rest followed"
    return f"{result.unit_group.removesuffix('@')}: {counts}: {outcome}"


def summary_lines(summary: RunSummary, *, by_rules: bool) -> Iterator[str]:
    """What was moved, discarded and left. Parameters: `by_rules` as of `plan_lines`."""
    yield f"{summary.queue} of {summary.queue_manager}, run {summary.run}"
    for rule in summary.rules:
        words = MOVES.words(would=False, copies=rule.action == Action.COPY)
        counts = ", ".join(f"{getattr(rule, fate):,} {word}" for fate, word in words.items())
        failed = f", {counted(rule.failed, 'try', 'tries')} failed" if rule.failed else ""
        chosen = " (not chosen)" if rule.action == Action.IGNORE and not by_rules else ""
        what = _what(rule, by_rules=by_rules)
        yield f"{rule.planned:8,}  {what}{chosen}: {counts}{failed}"
    for reason, count in summary.reasons.items():
        yield f"{counted(count, 'try', 'tries', spec='8,')} failed with {reason}"
    yield from (f"{count:8,}  left: {why}" for why, count in summary.left_because.items())
    yield from (f"{count:8,}  gone: {why}" for why, count in summary.gone_because.items())
    yield from map(canary_line, summary.canaries)
    yield from summary.remarks
    copies = any(rule.action == Action.COPY for rule in summary.rules)
    totals = equation(summary, MOVES, copies=copies)
    yield f"{summary.planned:,} planned = {totals}{'' if summary.unseen else ': balances'}"
    yield from anatomy_lines(summary.anatomy)


def nothing_to_do(queues: str, queue_manager: str, remarks: Iterable[str]) -> str:
    """That queues gave no message. A queue that has a depth is not called empty: a remark says what is there."""
    named = f"{queues.replace(',', ', ')} of {queue_manager}"
    if none_browsed(remarks):
        return f"nothing to do now: no message of {named} can be seen"
    return f"nothing to do: {named} {'are' if ',' in queues else 'is'} empty"


def undo_plan_lines(run: str, plan: PlanSummary, finished: Sequence[RunSummary], *, kept: bool) -> Iterator[str]:
    """The plan of an undo. Parameters: `run` that it undoes; `finished` undos that were begun before, and that are
    finished now; `kept` whether the plan is carried out."""
    for one in finished:
        yield f"undo {one.run} was begun before and is finished now: {one.moved:,} put back"
    undo = f"; undo {plan.run}, plan {plan.digest}" if kept else ""
    yield f"{run} acted on {counted(plan.rows, 'message')}{undo}"
    for action, meaning in UNDO_MEANING.items():
        if plan.actions.get(action):
            yield f"{plan.actions[action]:8}  {action}: {meaning}"
    yield from plan.remarks
    if not any(action.acts for action in plan.actions):
        yield "nothing to put back"
    elif not kept:
        yield "dry run: nothing was moved"


def undo_summary_lines(summary: RunSummary, *, told: Sequence[str]) -> Iterator[str]:
    """What an undo has put back. Parameters: `told` remarks that were shown with its plan."""
    yield from (f"{count:8}  could not be undone: {reason}" for reason, count in summary.reasons.items())
    yield from (remark for remark in summary.remarks if remark not in told)
    withdrawn = f" + {counted(summary.discarded, 'copy', 'copies')} taken away" if summary.discarded else ""
    rest = f"{summary.left:,} left + {summary.gone:,} gone"
    yield f"{summary.planned:,} planned = {summary.moved:,} put back{withdrawn} + {rest}: balances"
