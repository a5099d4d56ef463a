"""Workers on a live link: one WebSocket, commands in, results out, across any number of cuts."""
