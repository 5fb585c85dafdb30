#!/bin/sh
# Installs what deploy/apt.txt lists, where something is missing and this user may. Else the tests that need it say so.
set -eu
cd "$(dirname "$0")/.."
command -v dpkg-query >/dev/null 2>&1 || exit 0
missing=""
for package in $(sed 's/#.*//' deploy/apt.txt); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "The tests need$missing; install it with your system's package manager." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
