"""Who may be handed out: limits by key, over all processes of one database."""
