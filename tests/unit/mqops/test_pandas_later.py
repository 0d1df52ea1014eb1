"""A Spark job imports pandas only if somebody uses it."""

from __future__ import annotations

import subprocess
import sys

CODE = """\
import math, sys
from mqops.pandas_later import arrow_without_pandas, pandas_later
with pandas_later():
    from pyspark.sql.connect import session
import pyarrow as pa
arrow_without_pandas()
pa.array(["converted"])
assert "pandas" not in sys.modules, "it is imported at the start"
assert session.is_datetime64_dtype("datetime64[ns]") is True
assert session.pd is not sys.modules["pandas"] and session.pd.DataFrame is sys.modules["pandas"].DataFrame
import pandas as pd
frame = pd.DataFrame({"a": [1.0, math.nan]})
assert pa.Table.from_pandas(frame).column("a").null_count == 1
assert pa.table({"a": [1]}).to_pandas()["a"].tolist() == [1]
with pandas_later():
    import pandas
assert pandas.DataFrame is pd.DataFrame
"""


def test_a_client_of_spark_connect_has_pandas_when_it_uses_it_and_not_before():
    done = subprocess.run([sys.executable, "-c", CODE], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
