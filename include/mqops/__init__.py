"""mqops: the operations of an IBM MQ estate. Core packages decide, shells (mq, store, spark, cli) act."""
