"""What became of the messages of a run, or would: its sums, the table by rule, and the sentences about them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mqops.actions import Action
from mqops.counted import counted
from mqops.look.words.fates import Fate, Fates, fate_of, rule_name
from mqops.look.words.rules import of_rule
from mqops.look.words.state import NOT_CARRIED_OUT
from mqops.look.words.text import NOTHING, Cell, Table, Text, joined, said, sentences
from mqops.model import Counts, RuleBalance, total_of

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.run_view import RunView

OF_THE_PLAN = ("message of the plan was", "messages of the plan were")


def is_are(number: int) -> str:
    """The verb that belongs to a number."""
    return "is" if number == 1 else "are"


def it_is(number: int) -> str:
    """The verb that belongs to a number, with its pronoun."""
    return "it is" if number == 1 else "they are"


@dataclass(frozen=True, kw_only=True)
class Sums(Counts):
    """The sums of the proof, of chosen messages.

    Parameters: `others` messages of the plan that nobody has chosen: they are in no sum; `would` whether nobody carries
    out the plan; `gone_of_plan` the messages that the plan acts on and the proof found gone: what an undo cannot put
    back was not on its queue when the undo was planned.
    """

    others: int = 0
    would: bool = False
    gone_of_plan: int = 0

    @property
    def planned_word(self) -> str:
        """What is said of the messages that the sums are of."""
        return "chosen" if self.others else "planned"


def chosen(view: RunView, others: int) -> Sequence[RuleBalance]:
    """The proved balance by rule, without the messages that nobody has chosen. Parameters: `others` how many these
    are."""
    return [one for one in view.rules if one.action != Action.IGNORE] if others else view.rules


def sums_of(view: RunView, others: int) -> Sums:
    """The sums of a run. Parameters: `others` as of `chosen`."""
    line = view.story.line
    counts: Counts | object = total_of(chosen(view, others)) if others else line
    names = ("planned", "moved", "discarded", "left", "gone", "unexplained", "failed")
    figures = {name: int(getattr(counts, name)) for name in names}
    acted = sum(one.gone for one in view.rules if Action(one.action).acts)
    return Sums(
        **figures, others=others, would=would(view), gone_of_plan=acted if view.story.undoes else figures["gone"]
    )


def would(view: RunView) -> bool:
    """Whether the page tells what would be done: a dry run, and any other plan that nobody carries out, or not yet."""
    return bool(view.rules) and view.story.line.state in NOT_CARRIED_OUT


def words_of(view: RunView, fates: Fates) -> dict[Fate, str]:
    """What becomes of the messages of a run → the word for it. Parameters: `fates` of its workflow."""
    withdraws = Action.WITHDRAW in view.story.actions
    return fates.words(would=would(view), copies=view.story.line.copies, discards=withdraws)


class Share(NamedTuple):
    """What became, or would become, of the messages of a rule. Parameters: `name` of the rule; `parts` what in words →
    messages."""

    rule: RuleBalance
    name: str
    parts: Mapping[str, int]


def balance(view: RunView, sums: Sums, fates: Fates, *, by_choice: bool) -> list[Share]:
    """For each rule: how many chosen messages were moved, discarded, left, gone; of a dry run, would be.

    Parameters: `by_choice` as of `mqops.look.words.fates.rule_in_words`.
    """
    words = words_of(view, fates)
    stays = {(one.queue, one.rule_key, one.action): one.messages for one in view.story.stays}
    shares = []
    for one in chosen(view, sums.others):
        stay = stays.get((one.queue, one.rule_key, one.action), 0)
        planned = Counter({fate_of(Action(one.action)): one.planned - stay}) + Counter({Fate.LEFT: stay})
        parts = {word: planned[fate] if sums.would else getattr(one, fate) for fate, word in words.items()}
        name = rule_name(one.rule_line, Action(one.action), key=one.rule_key, by_choice=by_choice, fates=fates)
        shares.append(Share(one, name, parts))
    return shares


def sums_in_words(
    view: RunView, sums: Sums, shares: Sequence[Share], words: Mapping[Fate, str], *, old_proof: bool, may_keep: bool
) -> Text:
    """The sums as an equation, with what they leave out; nothing where nothing is proved.

    Parameters: `words` of the run; `old_proof` whether the run has acted since its proof; `may_keep` whether the
    pre-flight found what may keep messages where they are.
    """
    story = view.story
    if old_proof:
        parts = " + ".join(f"{getattr(sums, fate):,} {word}" for fate, word in words.items())
        return said(
            "Not proved since the run went on. The proof of {:time} found {} {} = {} then.",
            story.line.proved_at,
            sums.planned,
            sums.planned_word,
            parts,
        )
    if not view.rules:
        return NOTHING
    by_rule = {word: sum(one.parts[word] for one in shares) for word in words.values()}
    figures = {fate: by_rule[word] if sums.would else getattr(sums, fate) for fate, word in words.items()}
    parts = " + ".join(f"{figures[fate]:,} {word}" for fate, word in words.items())
    not_chosen = f"{counted(sums.others, 'other message was', 'other messages were')} not chosen."
    kept = sum(one.messages for one in story.stays) if sums.would else 0
    return sentences(
        said("{} {} = {}.", sums.planned, sums.planned_word, parts),
        said(not_chosen) if sums.others else NOTHING,
        said(
            "{} {} because of the destination, as it was at {:time}: the problems above say what to do.",
            counted(kept, "message"),
            words[Fate.LEFT],
            story.looked_at,
        )
        if kept
        else said("What the problems above are about may stay where it is unless they are mended.")
        if may_keep
        else NOTHING,
    )


def balance_table(
    shares: Sequence[Share], words: Mapping[Fate, str], run: RunLine, *, would: bool, texts: Mapping[int, str]
) -> Table:
    """The balance by rule, each with the link to its line. Parameters: `texts` line → the rule as it was written."""
    counts = ["Planned", *(word.capitalize() for word in words.values()), *([] if would else ["Failed tries"])]
    numbers = (f"{word}|number" for word in counts)

    def cells(one: Share) -> list[Cell]:
        rule, text = of_rule(run, one.rule.rule_line, one.name), texts.get(one.rule.rule_line or 0)
        named = said("{} {:code}", rule, text) if text else rule
        row: list[Cell] = [one.rule.queue, named, one.rule.planned, *one.parts.values()]
        return row if would else [*row, one.rule.failed]

    return Table(
        "The plan by rule" if would else "Balance by rule",
        ["Queue|name", "Rule", *numbers],
        list(map(cells, shares)),
    )


def not_proved(view: RunView, sums: Sums, words: Mapping[Fate, str], *, moving: bool) -> Text:
    """What is known of a run whose plan is not proved. Parameters: `moving` whether its progress is shown."""
    recorded, line = view.story.recorded, view.story.line
    first = f"Not proved yet. {counted(line.planned - sums.others, 'message')} {sums.planned_word}"
    if moving:
        return said(f"{first}.")
    has = [f"{recorded.get(fate, 0):,} {words[fate]}" for fate in (Fate.MOVED, Fate.DISCARDED) if fate in words]
    return said("{}; the ledger has {}.", first, joined(" and ", has))


def done(counts: Counts, fates: Fates, *, copies: bool) -> list[tuple[int, str]]:
    """How many messages were moved and discarded, each with its word. A workflow that discards none by itself is not
    said to have discarded 0 messages. Parameters: `copies` whether its plan puts copies."""
    words = fates.words(would=False, copies=copies, discards=bool(counts.discarded))
    return [(getattr(counts, fate), words[fate]) for fate in (Fate.MOVED, Fate.DISCARDED) if fate in words]


def equation(counts: Counts, fates: Fates, *, copies: bool = False) -> str:
    """The balance of a run in a line: moved + discarded + left + gone."""
    parts = [*done(counts, fates, copies=copies), (counts.left, fates.left), (counts.gone, fates.gone)]
    return " + ".join(f"{number:,} {word}" for number, word in parts)
