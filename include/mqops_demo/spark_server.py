"""What spark-submit runs as the Spark Connect server: Spark with its Connect plugin, until the JVM ends.

`mqops_demo.spark_connect` and docker-compose.yml start it, and give all settings. The JVM is the parent process and
holds this one's standard input: when the JVM ends, however it ends, this process ends, too.
"""

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.getOrCreate()
    sys.stdin.read()
