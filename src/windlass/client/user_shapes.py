"""What the server says of users, as in `shapes`."""

from windlass.client.shapes import Listed, Shape


class UserInfo(Shape, frozen=True, kw_only=True):
    user_id: str
    username: str
    display_name: str = ""
    roles: list[str] = []
    is_active: bool = True


class UserPage(Listed[UserInfo], frozen=True, kw_only=True):
    next_cursor: str | None = None
