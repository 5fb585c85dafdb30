"""A quick password hasher that counts its work, so that a test can compare the work of two answers without a clock."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class CountingHasher(PBKDF2PasswordHasher):
    iterations = 1
    work = 0

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        CountingHasher.work += 1
        return super().encode(password, salt, iterations)

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Every hash here has the same single iteration."""
