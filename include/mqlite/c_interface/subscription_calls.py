"""MQSUB and MQOPEN of topics as C makes them: the structures with texts of variable length, in and out."""

from __future__ import annotations

from typing import Any

from mqlite.attributes import Value
from mqlite.c_interface.variable_texts import VariableTexts
from mqlite.connections.connection import Connection, connection_of
from mqlite.messages import descriptor as d
from mqlite.objects.definitions import Attributes
from mqlite.publish_subscribe.subscriptions import ANY_USER, Subscribed, SubscribeRequest, subscribe
from mqlite.publish_subscribe.topics import DURABLE, MANAGED, OpenTopic, open_topic
from mqlite.security.authority import alternate_user
from mqwire import constants as c
from mqwire import mqi
from mqwire.fields import text
from mqwire.layout import Layout

Outcome = tuple[int, int] | None
LONGEST_TEXT = 10_240
od_names = mqi.MQOD.reader("ObjectName", "AlternateUserId")
od_resolved = mqi.MQOD.writer("ResolvedType")
sd_fields = mqi.MQSD.reader(
    "Options", "ObjectName", "AlternateUserId", "SubExpiry", "SubCorrelId", "PubPriority", "PubAccountingToken",
    "PubApplIdentityData", "SubLevel",
)  # fmt: skip
sd_filled = mqi.MQSD.writer(
    "Options", "SubExpiry", "SubCorrelId", "PubPriority", "PubAccountingToken", "PubApplIdentityData", "SubLevel"
)
OF_SUBSCRIPTION = c.MQSO_DURABLE | c.MQSO_MANAGED | c.MQSO_ANY_USERID | c.MQSO_FIXED_USERID


class SubscriptionCalls:
    """The calls on topics and subscriptions; part of the interface, which has `texts` and `structure`."""

    texts: VariableTexts

    def structure(self, pointer: Any, layout: Any, reason: int) -> tuple[Any, int]:
        """As the interface has it."""
        raise NotImplementedError

    def open_topic(self, connection: Connection, od: Any, version: int, options: int) -> OpenTopic:
        """MQOPEN with MQOT_TOPIC; `od` is the descriptor's buffer."""
        name, alternate = (text(part) for part in od_names(od))
        string = self.read_text(od, mqi.MQOD, "ObjectString", c.MQRC_OBJECT_STRING_ERROR) if version >= 4 else ""
        alternate = d.text_of_program(alternate, connection.manager.application_ccsid)
        user = alternate_user(alternate, asked=bool(options & c.MQOO_ALTERNATE_USER_AUTHORITY))
        opened = open_topic(connection, name=name, string=string, options=options, user=user)
        if version >= 4:
            self.texts.fill(od, mqi.MQOD, "ResObjectString", opened.topic, rightmost=True)
            od_resolved(od, c.MQOT_TOPIC)
        return opened

    def mqsub(self, hconn: int, sd: Any, hobj: Any, hsub: Any) -> Outcome:
        connection = connection_of(hconn)
        raw, _ = self.structure(sd, mqi.MQSD, c.MQRC_SD_ERROR)
        ccsid = connection.manager.application_ccsid
        request = self._sub_request(raw, ccsid)
        subscribed = subscribe(connection, request, hobj[0])
        self._describe(raw, request, subscribed, ccsid)
        hobj[0], hsub[0] = subscribed.opened.handle, subscribed.handle
        return None

    def _sub_request(self, sd: Any, ccsid: int) -> SubscribeRequest:
        options, name, alternate, expiry, correl_id, priority, token, identity, level = sd_fields(sd)
        selection = self.read_text(sd, mqi.MQSD, "SelectionString", c.MQRC_SELECTION_STRING_ERROR)
        return SubscribeRequest(
            options=options,
            topic=text(name),
            string=self.read_text(sd, mqi.MQSD, "ObjectString", c.MQRC_OBJECT_STRING_ERROR),
            name=self.read_text(sd, mqi.MQSD, "SubName", c.MQRC_SUB_NAME_ERROR).rstrip(),
            user_data=self.read_text(sd, mqi.MQSD, "SubUserData", c.MQRC_SUB_USER_DATA_ERROR),
            user=alternate_user(
                d.text_of_program(text(alternate), ccsid), asked=bool(options & c.MQSO_ALTERNATE_USER_AUTHORITY)
            ),
            expiry=expiry,
            correl_id=bytes(correl_id),
            priority=priority,
            token=bytes(token),
            identity=d.text_of_program(text(identity), ccsid),
            level=level,
            selection=bool(selection),
        )

    def _describe(self, sd: Any, request: SubscribeRequest, subscribed: Subscribed, ccsid: int) -> None:
        """Fill the MQSD in as the subscription now is, so that it could be used to alter it."""
        values = subscribed.values
        sd_filled(
            sd, request.options & ~OF_SUBSCRIPTION | options_of(values), c.MQEI_UNLIMITED,
            _bits(values["DESTCORL"], 24), values["PUBPRTY"], _bits(values["PUBACCT"], 32),
            d.field_of(str(values["PUBAPPID"]), 32, ccsid), values["SUBLEVEL"],
        )  # fmt: skip
        self.texts.fill(sd, mqi.MQSD, "ResObjectString", str(values["TOPICSTR"]), rightmost=True)
        if not request.options & c.MQSO_CREATE:
            self.texts.fill(sd, mqi.MQSD, "SubUserData", str(values["USERDATA"]))

    def read_text(self, structure: Any, layout: Layout, name: str, reason: int) -> str:
        """The text of an MQCHARV within a structure. Raises Failure with `reason`."""
        return self.texts.read(structure, layout, name, longest=LONGEST_TEXT, reason=reason).rstrip("\0")


def options_of(values: Attributes) -> int:
    """The MQSO_* options that a subscription's attributes stand for."""
    found = c.MQSO_DURABLE if values["DURABLE"] == DURABLE else 0
    found |= c.MQSO_MANAGED if values["DESTCLAS"] == MANAGED else 0
    return found | (c.MQSO_ANY_USERID if values["VARUSER"] == ANY_USER else c.MQSO_FIXED_USERID)


def _bits(value: Value, length: int) -> bytes:
    return bytes.fromhex(str(value)).ljust(length, b"\0")
