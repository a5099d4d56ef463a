"""Which addresses of push workers the server calls."""

import pytest

from windlass.model.errors import BadRequest, Denied
from windlass.server.push_urls import LOOPBACK, check_push_url


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://127.0.0.2/x", "https://[::1]:9", "http://LOCALHOST"]
)
def test_addresses_on_the_list_are_called(url: str) -> None:
    check_push_url(url, LOOPBACK)


@pytest.mark.parametrize(
    "url",
    [
        "http://loc\talhost/",
        "http://localhost\t/",
        "ht\ntp://localhost/",
        "http://localhost/\r\nX: y",
        "http://localhost /",
        "\x00http://localhost/",
        "http://localhost\u2028/",
    ],
)
def test_an_address_that_reads_in_two_ways_is_refused(url: str) -> None:
    """What checks an address may drop what the one who calls it does not."""
    with pytest.raises(BadRequest, match="blanks or control characters"):
        check_push_url(url, LOOPBACK)


@pytest.mark.parametrize(
    "url", ["http://example.com", "http://localhost.example.com", "http://10.0.0.1", "http://1"]
)
def test_addresses_elsewhere_are_refused(url: str) -> None:
    with pytest.raises(Denied, match="not allowed"):
        check_push_url(url, LOOPBACK)


@pytest.mark.parametrize(
    "url", ["ftp://localhost", "localhost:80", "http://", "http://u:p@localhost", "http://[::1"]
)
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(BadRequest):
        check_push_url(url, LOOPBACK)
