"""What Django's file storage has not, told apart from a storage that is not there."""

from pathlib import Path

from django.core.files.storage import default_storage


def lacks(stored_as: str) -> bool:
    """Whether the storage is there, and this file is not in it. A disk that is not mounted has not even the first of
    the folders above the file; a bucket has no folders, and says itself that it is away (StorageAway)."""
    if default_storage.exists(stored_as):
        return False
    try:
        return Path(default_storage.path(stored_as.partition("/")[0])).is_dir()
    except NotImplementedError:
        return True
