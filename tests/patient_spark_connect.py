"""A Spark Connect server whose warm-up is not cut off: on a busy machine it may take more than a minute."""

from __future__ import annotations

import sys

from mqops_demo import spark_connect

if __name__ == "__main__":
    spark_connect.WARMING = 3600.0
    sys.exit(spark_connect.main())
