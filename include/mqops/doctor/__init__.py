"""Whether a queue manager and this machine have what mqops needs (`mqops doctor`), and the definitions that a queue
manager lacks (`mqops init`)."""
