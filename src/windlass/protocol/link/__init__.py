"""The live link between a worker and a server: frames over one WebSocket, without any socket.

`messages` holds what can be said, `envelope` how it is wrapped, `channel` how it arrives for
certain, and `server` and `worker` the two ends as state machines that eat frames and yield frames
and events. Two generations of the wire are spoken, told apart by the first frame.
"""
