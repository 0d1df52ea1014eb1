"""A message as the engine stores it: its MQMD, its row on a queue, properties, segments, MQXQH, data conversion."""
