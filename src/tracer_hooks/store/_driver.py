"""SQLite's own connection below SQLAlchemy's, for the few statements that every stored run pays for."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa


def driver_of(connection: sa.Connection) -> sqlite3.Connection:
    """The connection that ``connection`` stands for."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
