"""The keys with which a ledger is signed: the first one is made when a run begins to act, others by `ledger rekey`."""

from __future__ import annotations

from mqops.command import command
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder, queue_manager_of
from mqops.ledger.core.chain import is_signed
from mqops.ledger.file import LedgerFile
from mqops.ledger.noted import ISSUED


def make_key(ledger: LedgerFile) -> None:
    """Make a ledger's first key where nothing was ever signed; see that the key file is the right one.

    Raises:
        LakeError: the key file cannot be written.
        SettingsError: something was signed, and the key file is gone, not private or another one.
    """
    if ledger.keys.exists() and ledger.keys.is_noted:
        ledger.keys.check()
        return
    with ledger.lock():
        make_key_under_lock(ledger)


def make_key_under_lock(ledger: LedgerFile) -> None:
    """As `make_key`; the caller holds the ledger's lock."""
    keys = ledger.keys
    if keys.exists() or keys.is_noted:
        keys.check()
        if not keys.is_noted:  # an earlier version made the key
            keys.note()
        return
    last, number = b"", 0
    for number, last in enumerate(ledger.lines(), start=1):  # noqa: B007 - both are needed behind the loop
        pass
    if last and is_signed(last):
        rekey_again = command("mqops", "ledger", "rekey", queue_manager_of(ledger.folder.parent))
        raise SettingsError(
            f"The lines of {ledger.path} are signed, and the key file {keys.path} is gone: put it back from a copy; "
            f"`{rekey_again}` makes a new one where there is no copy"
        )
    if begun := _signed_run(ledger):
        raise SettingsError(
            f"Run {begun} was begun with a key, and the key file {keys.path} is not there: give every process the same "
            f"MQOPS_LEDGER_KEYS, or put the file back from a copy"
        )
    keys.make(number + 1, ledger.now())


def _signed_run(ledger: LedgerFile) -> str:
    """A run whose lane tokens were signed, "" where there is none: an earlier version did not note its key."""
    for path in ledger.folder.parent.glob(f"runs/*/{ISSUED.name}"):
        if ISSUED.read(RunFolder(path.parent)).signed:
            return path.parent.name
    return ""


def add_key(ledger: LedgerFile, *, revoke: bool = False) -> str:
    """Add a key, which signs from now on, and give its id. A key file that is gone is made anew.

    Parameters: `revoke` as for `KeyRing.add`. Raises `LakeError`, `SettingsError`.
    """
    with ledger.lock():
        if ledger.keys.exists():
            return ledger.keys.add(ledger.now(), revoke=revoke)
        ledger.keys.make(sum(1 for _ in ledger.lines()) + 1, ledger.now())
        ledger.head_note.unlink(missing_ok=True)  # no key verifies the head that the lost one signed
        return ledger.keys.newest().id
