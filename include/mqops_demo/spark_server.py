"""What spark-submit runs as the Spark Connect server: Spark with its Connect plugin, until the JVM ends.

`mqops_demo.spark_connect` and docker-compose.yml start it, and give all settings. The JVM is the parent process and
holds this one's standard input: when the JVM ends, however it ends, this process ends, too.

If its argument names a file, it writes the port there on which Spark listens.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    # Clients cannot ask for it, but for settings (`mqops.act.spark.act`): each would run a job to find it out.
    spark.sparkContext._jsc.sc().conf().set("spark.default.parallelism", str(spark.sparkContext.defaultParallelism))
    for file in map(Path, sys.argv[1:]):
        package = spark.sparkContext._jvm.org.apache.spark.sql.connect.service
        service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")  # the object of Scala
        draft = file.with_suffix(".new")
        draft.write_text(str(service.localPort()))
        draft.replace(file)
    sys.stdin.read()
