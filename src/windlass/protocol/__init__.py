"""What travels between processes: messages and views, as JSON. No I/O."""
