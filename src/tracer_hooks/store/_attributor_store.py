"""Attributors that were fitted to teams, in a store on a server: those who share the store share them, too."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import sqlalchemy as sa

from tracer_hooks.errors import StoreError
from tracer_hooks.store._place import Store, insert_into

_MOST_BYTES = 64 * 2**20
# Apart from the other tables: it is made with the first attributor, and no version of a store lacks it.
_metadata = sa.MetaData()
_attributors = sa.Table(
    "attributors",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),  # the team's fingerprint
    sa.Column("content", sa.LargeBinary, nullable=False),  # the folder's files: a zip file
)


class AttributorStore(Store):
    """Folders of fitted attributors by the fingerprint of their team. Every method raises :class:`StoreError`."""

    def put(self, name: str, folder: Path) -> None:
        """Keep the files of a folder, in place of what is kept under this name."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                files.write(path, path.relative_to(folder))
        content = packed.getvalue()
        if len(content) > _MOST_BYTES:
            raise StoreError(
                f"the attributor in {str(folder)!r} has {len(content)} bytes, expected {_MOST_BYTES} at most"
            )
        with self._database.write("keep a fitted attributor", alone=True) as connection:
            _metadata.create_all(connection)
            statement = insert_into(connection.dialect.name, _attributors).values(name=name, content=content)
            changed = {"content": statement.excluded.content}
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))

    def get(self, name: str, folder: Path) -> bool:
        """Write what is kept under this name into an empty folder; says whether something is."""
        with self._database.read("read a fitted attributor") as connection:
            if not sa.inspect(connection).has_table(_attributors.name):
                return False
            content = connection.scalar(sa.select(_attributors.c.content).where(_attributors.c.name == name))
        if content is None:
            return False
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as files:
                if sum(file.file_size for file in files.infolist()) > 8 * _MOST_BYTES:
                    raise zipfile.BadZipFile("it is larger than an attributor can be")
                files.extractall(folder)  # nothing outside of it, whatever names it holds
        except (zipfile.BadZipFile, ValueError) as error:
            raise StoreError(
                f"the fitted attributor {name!r} in run store {self.name!r} is damaged: {error}"
            ) from error
        return True

    def remove(self, name: str) -> None:
        """Forget what is kept under this name."""
        with self._database.write("forget a fitted attributor", alone=True) as connection:
            if sa.inspect(connection).has_table(_attributors.name):
                connection.execute(_attributors.delete().where(_attributors.c.name == name))
