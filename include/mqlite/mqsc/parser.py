"""One MQSC command text → `Statement`: verb, noun, name and parameters. Knows words and quotes, no attribute."""

from __future__ import annotations

from dataclasses import dataclass

VERBS = {
    "DEFINE": "DEFINE", "DEF": "DEFINE", "ALTER": "ALTER", "ALT": "ALTER", "DELETE": "DELETE", "DEL": "DELETE",
    "DISPLAY": "DISPLAY", "DIS": "DISPLAY", "DISP": "DISPLAY", "CLEAR": "CLEAR", "START": "START", "STA": "START",
    "STOP": "STOP", "REFRESH": "REFRESH", "REF": "REFRESH", "RESET": "RESET", "RESOLVE": "RESOLVE", "RES": "RESOLVE",
    "PING": "PING", "SET": "SET", "END": "END", "EXIT": "END", "QUIT": "END",
}  # fmt: skip
NOUNS = {
    "QLOCAL": "QLOCAL", "QL": "QLOCAL", "QALIAS": "QALIAS", "QA": "QALIAS", "QREMOTE": "QREMOTE", "QR": "QREMOTE",
    "QMODEL": "QMODEL", "QM": "QMODEL", "QUEUE": "QUEUE", "Q": "QUEUE", "QSTATUS": "QSTATUS", "QS": "QSTATUS",
    "QSTATS": "QSTATS",
    "QMGR": "QMGR", "QMSTATUS": "QMSTATUS", "PROCESS": "PROCESS", "PRO": "PROCESS", "NAMELIST": "NAMELIST",
    "NL": "NAMELIST", "CHANNEL": "CHANNEL", "CHL": "CHANNEL", "CHSTATUS": "CHSTATUS", "CHS": "CHSTATUS",
    "AUTHINFO": "AUTHINFO", "LISTENER": "LISTENER", "LSTR": "LISTENER", "TOPIC": "TOPIC", "SUB": "SUB",
    "SUBSCRIPTION": "SUB", "CONN": "CONN", "AUTHREC": "AUTHREC", "SECURITY": "SECURITY", "SEC": "SECURITY",
    "CHLAUTH": "CHLAUTH", "CHINIT": "CHINIT", "CHI": "CHINIT", "TOPICSTR": "TOPICSTR", "QCLUSTER": "QCLUSTER",
    "QC": "QCLUSTER", "LSSTATUS": "LSSTATUS", "LSS": "LSSTATUS",
}  # fmt: skip
# Words of IBM MQ's commands that are not here, each with its abbreviation: such a command is no syntax error.
VERBS_NOT_HERE = "ARCHIVE/ARC BACKUP MOVE PURGE RECOVER/REC RESUME RVERIFY/REV SUSPEND/SUSP"
NOUNS_NOT_HERE = (
    "APSTATUS/APS ARCHIVE/ARC AUTHSERV BSDS BUFFPOOL/BP CFSTATUS/CFST CFSTRUCT/CFSTR CLUSQMGR CLUSTER CMDSERV/CS"
    " COMMINFO ENTAUTH GROUP INDOUBT/IND LOG MAXSMSGS/MAXSM POLICY PSID PUBSUB SBSTATUS/SBS SERVICE SMDS SMDSCONN"
    " STGCLASS/STC SVSTATUS SYSTEM TCLUSTER THREAD/THR TPIPE TPSTATUS/TPS TRACE USAGE"
)


def _words(not_here: str) -> dict[str, str]:
    return {word: words.split("/")[0] for words in not_here.split() for word in words.split("/")}


VERBS |= _words(VERBS_NOT_HERE)
NOUNS |= _words(NOUNS_NOT_HERE)


class SyntaxProblem(ValueError):
    """The command is not MQSC. `segment` is its text up to the error."""

    def __init__(self, segment: str, message: str = "AMQ8405I") -> None:
        super().__init__(segment)
        self.segment = segment
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A keyword and its values; None: it stood without parentheses. end: where it ends in the command text."""

    keyword: str
    values: tuple[str, ...] | None
    end: int

    @property
    def value(self) -> str:
        """The only value; a list is joined by commas."""
        return ",".join(self.values or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A parsed command; verb and noun are their full words."""

    verb: str
    noun: str
    name: str | None
    parameters: tuple[Parameter, ...]
    text: str

    def segment(self, parameter: Parameter | None = None) -> str:
        """The command text up to and including `parameter`, for an error message."""
        return self.text[: parameter.end] if parameter else self.text


def parse(text: str) -> Statement:
    """Parse one command.

    Raises SyntaxProblem with the segment up to the first error: an unknown verb or noun, an unclosed quote or
    parenthesis, a keyword given twice (also once with and once without NO).
    """
    reader = _Reader(text)
    word = reader.keyword()
    verb = VERBS.get(word)
    if verb is None:
        raise SyntaxProblem(text[: reader.position])
    if verb == "END":
        return Statement(verb=verb, noun="", name=None, parameters=(), text=text)
    noun = NOUNS.get(reader.keyword())
    if noun is None:
        raise SyntaxProblem(text[: reader.position])
    names = reader.values()
    if names is not None and len(names) != 1:
        raise SyntaxProblem(text[: reader.position], "AMQ8424E")
    parameters: list[Parameter] = []
    seen: set[str] = set()
    while not reader.at_end():
        keyword = reader.keyword()
        values = reader.values(nested=keyword == "WHERE")
        parameter = Parameter(keyword=keyword, values=values, end=reader.position)
        if keyword in seen:
            raise SyntaxProblem(text[: reader.position], "AMQ8411E")
        seen |= {keyword, keyword.removeprefix("NO"), f"NO{keyword}"}
        parameters.append(parameter)
    return Statement(verb=verb, noun=noun, name=names[0] if names else None, parameters=tuple(parameters), text=text)


class _Reader:
    """A position in the command text; each method reads one element and moves on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.skip()

    def skip(self) -> None:
        while not self.at_end() and self.text[self.position] in " ,\t":
            self.position += 1

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def keyword(self) -> str:
        start = self.position
        while not self.at_end() and (self.text[self.position].isalnum() or self.text[self.position] in "_#"):
            self.position += 1
        if start == self.position:
            raise SyntaxProblem(self.text[: self.position + 1])
        word = self.text[start : self.position].upper()
        self.skip()
        return word

    def values(self, *, nested: bool = False) -> tuple[str, ...] | None:
        """The values in parentheses, None if there are no parentheses here. `nested`: an inner list is flattened."""
        if self.at_end() or self.text[self.position] != "(":
            return None
        found: list[str] = []
        depth = 0
        while True:
            self.skip()
            if self.at_end():
                raise SyntaxProblem(self.text)
            char = self.text[self.position]
            if char == "(":
                depth += 1
                self.position += 1
            elif char == ")":
                depth -= 1
                self.position += 1
                if depth == 0:
                    break
            elif char in "'\"":
                found.append(self._quoted(char))
            else:
                found.append(self._plain())
            if depth > 1 + nested:
                raise SyntaxProblem(self.text[: self.position])
        self.skip()
        return tuple(found)

    def _quoted(self, quote: str) -> str:
        """Text between quotes, kept as it is; a doubled quote stands for one."""
        text = ""
        self.position += 1
        while True:
            end = self.text.find(quote, self.position)
            if end < 0:
                raise SyntaxProblem(self.text)
            text += self.text[self.position : end]
            self.position = end + 1
            if self.text[self.position : self.position + 1] != quote:
                return text
            text += quote
            self.position += 1

    def _plain(self) -> str:
        """Text without quotes, folded to upper case; it ends at a blank, comma or parenthesis."""
        start = self.position
        while not self.at_end() and self.text[self.position] not in " ,\t()'\"":
            self.position += 1
        return self.text[start : self.position].upper()
