"""A message as a row of the snapshot: which columns there are and how they are read. Bytes in, values out."""
