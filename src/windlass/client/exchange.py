"""The exchange messages as bytes: how a worker writes and reads them."""

import msgspec

from windlass.protocol.exchange import Registered, Reply

encode = msgspec.json.Encoder().encode
decode_reply = msgspec.json.Decoder(Reply).decode
decode_registered = msgspec.json.Decoder(Registered).decode
