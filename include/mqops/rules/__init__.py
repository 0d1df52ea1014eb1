"""The rules table of the dead-letter queue handler: parse it, check it, ask which rule a message gets.

Pure text and values: no file, no clock, no Spark. `parse` accepts what `runmqdlq` and z/OS `CSQUDLQH` document. Where
IBM's text leaves a point open, the stricter reading holds:

1. Keyword/value pairs must be separated, by blanks or by one comma. A comma before the first pair, behind the last, or
   next to another one is an error. So `DESTQ(A)ACTION(RETRY)` is one, on one line or joined by `+`.
2. A tab is not a blank, and no other control character or undecodable byte may stand outside a comment.
3. A comment begins in column 1. Comment and blank lines between continued lines are ignored. A continuation mark on the
   last line is an error.
4. Control data is one entry and comes first; its keywords in a rule, or a rule's in it, are errors.
5. Quotes delimit any value: `MSGTYPE('2')` is `MSGTYPE(2)`, as `MSGTYPE('*')` is `MSGTYPE(*)`. A quoted value is not
   folded, so `ACTION('fwd')` is an error. Of an unquoted one a to z are; any other letter is an error.
6. Numbers are 0 to 999999999, RETRY from 1. A symbolic name must begin with a prefix of its keyword: MQAT_ for
   APPLTYPE, MQFB_ for FEEDBACK, MQMT_ for MSGTYPE, MQPER_ for PERSIST, MQRC_ or MQFB_ for REASON; its value may be
   negative (MQAT_UNKNOWN).
7. Trailing blanks of a quoted pattern count for its length, though not in matching.
8. FWDQ, FWDQM, INPUTQ and INPUTQM hold legal MQ names; of the &-names FWDQ knows &DESTQ and &REPLYQ, FWDQM &DESTQM and
   &REPLYQM. A blank FWDQ is an error, a blank FWDQM is the local queue manager.
9. FWDQ, FWDQM and HEADER only with ACTION(FWD); PUTAUT only with FWD or RETRY.
10. Lines longer than 72 characters are accepted: IBM's own tables have them.
11. Extensions (marked in `mqops.rules.keywords`) are errors, unless the table begins with the header line
    (`mqops.rules.lines` rule 4) and is not read strictly.
"""

from __future__ import annotations

from mqops.rules.keyword import ANY
from mqops.rules.matcher import Miss, choose, matches, matching, misses
from mqops.rules.model import Control, Parsed, Rule, Table
from mqops.rules.parser import parse, parse_conditions
from mqops.rules.problem import Problem

__all__ = [
    "ANY",
    "Control",
    "Miss",
    "Parsed",
    "Problem",
    "Rule",
    "Table",
    "choose",
    "matches",
    "matching",
    "misses",
    "parse",
    "parse_conditions",
]
