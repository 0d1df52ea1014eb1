"""Channels that do not run, and transmission queues that no channel serves."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency
from mqops.mqsc import mqsc_name


def not_sent(known: Known) -> Iterator[Problem]:
    """Each of them, with the messages that wait."""
    depths = {one.name: one.depth for one in known.figures.queues}
    for channel in known.figures.channels:
        waits = f": {counted(depths.get(channel.serves, 0), 'message')} on {channel.serves}" if channel.serves else ""
        resume = "START CHANNEL" if channel.state in {"STOPPED", "INACTIVE"} else "DISPLAY CHSTATUS"
        yield Problem(
            what=f"Channel {channel.name} is {channel.state}{waits}",
            remedy=f"{resume}({mqsc_name(channel.name)})",
            urgency=Urgency.NOW if channel.serves else Urgency.SOON,
            place=Place.QUEUE if channel.serves else None,
            about=channel.serves,
        )
    for queue in known.figures.unserved:
        messages = counted(depths.get(queue, 0), "message")
        what = f"{queue}, a transmission queue, has {messages}, and no channel has it as XMITQ"
        yield Problem(what=what, urgency=Urgency.NOW, place=Place.QUEUE, about=queue)
