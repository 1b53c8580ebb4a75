# Shared by scripts/demo and scripts/test: a virtual environment in .venv with this project in it, and a browser.
# Sourced from the project's root by a POSIX shell with `set -eu`.

VENV=.venv
VENV_PYTHON=$VENV/bin/python

say() { printf '%s\n' "==> $*" >&2; }
fail() { printf '%s\n' "$(basename "$0"): $*" >&2; exit 1; }

# Succeeds when $1 is a Python of at least 3.11.
is_recent_python() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Prints the Python to build the environment from: one that can make environments goes before one that cannot.
find_python() {
    for needs in 'import ensurepip, venv' 'import sys'; do
        for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python3.14}; do
            if is_recent_python "$candidate" && "$candidate" -c "$needs" >/dev/null 2>&1; then
                command -v "$candidate"
                return 0
            fi
        done
    done
    return 1
}

# Debian and Ubuntu keep ensurepip in a package of its own. $1: the Python that lacks it.
add_ensurepip() {
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "$1 cannot make virtual environments (no ensurepip): install its venv package, on Debian and Ubuntu" \
            "with 'sudo apt-get install python$version-venv', and run this again"
    fi
    say "Installing python$version-venv, which $1 needs to make virtual environments"
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "python$version-venv" >&2 ||
        fail "apt-get could not install python$version-venv (see above): install it by hand and run this again"
}

# Makes .venv unless a working one, made in this very folder, is there.
make_environment() {
    if is_recent_python "$VENV_PYTHON" && [ "$(cat "$VENV/eikon-made-in" 2>/dev/null)" = "$PWD" ] &&
        "$VENV_PYTHON" -m pip --version >/dev/null 2>&1; then
        return 0
    fi
    python=$(find_python) ||
        fail "needs Python 3.11 or newer and found none on PATH: install one, or name it with PYTHON=/path/to/python"
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || add_ensurepip "$python"
    say "Making a virtual environment in $VENV with $("$python" --version) ($python)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV" || fail "$python could not make $VENV (see above)"
    printf '%s' "$PWD" >"$VENV/eikon-made-in"
}

# Prints what decides whether an installation is still the right one. $1: extras.
fingerprint() {
    "$VENV_PYTHON" -c '
import hashlib, pathlib, sys
text = pathlib.Path("pyproject.toml").read_bytes() + repr((sys.argv[1], sys.version)).encode()
print(hashlib.sha256(text).hexdigest())' "$1"
}

# Compiles what is new: with PYTHONDONTWRITEBYTECODE, which images of containers set, every process would do so again.
compile_project() {
    "$VENV_PYTHON" -m compileall -q eikon_engine || fail "the project's modules could not be compiled (see above)"
}

# Installs the project, editable, into .venv unless that was done for this pyproject.toml. $1: extras ("", "docs", "test"
# or "proofs"); "test" has what "docs" has, and "proofs" what "test" has.
install_project() {
    make_environment
    case $1 in
        test | proofs) set -- "$1" proofs ;;
        *) set -- "$1" test proofs ;;
    esac
    for extras in "$@"; do
        if [ "$(cat "$VENV/eikon-installed-${extras:-core}" 2>/dev/null)" = "$(fingerprint "$extras")" ]; then
            say "$VENV is up to date"
            compile_project
            return 0
        fi
    done
    say "Installing eikon-engine${1:+ with the extra '$1'} into $VENV (a minute or two, only when pyproject.toml changed)"
    "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check --editable ".${1:+[$1]}" ||
        fail "pip could not install the project (see above): check the network and run this again"
    compile_project
    fingerprint "$1" >"$VENV/eikon-installed-${1:-core}"
}

# Finds the programs of PostgreSQL, one of the databases that a history may have, or installs them; starts no server.
provide_postgresql() {
    if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "the tests need PostgreSQL: install it, on Debian and Ubuntu with 'sudo apt-get install postgresql', and" \
            "run this again"
    fi
    say "Installing PostgreSQL"
    apt-get update -qq >&2 &&
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2 ||
        fail "apt-get could not install postgresql (see above): install it by hand and run this again"
}

# Gets the schema of JUnit XML that Jenkins publishes, which the source distribution of pytest has.
provide_junit_schema() {
    schema=$VENV/share/junit-10.xsd
    if [ -s "$schema" ]; then
        return 0
    fi
    say "Getting the schema of JUnit XML"
    version=$("$VENV_PYTHON" -c 'import pytest; print(pytest.__version__)')
    source=$VENV/pytest-source
    rm -rf "$source"
    "$VENV_PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary pytest --dest "$source" \
        "pytest==$version" >&2 || fail "pip could not download the source of pytest $version (see above)"
    tar -xzf "$source/pytest-$version.tar.gz" -C "$source" "pytest-$version/testing/example_scripts/junit-10.xsd" ||
        fail "could not get junit-10.xsd out of the source of pytest $version (see above)"
    mkdir -p "$VENV/share"
    mv "$source/pytest-$version/testing/example_scripts/junit-10.xsd" "$schema"
    rm -rf "$source"
}

# Finds a browser, or gets one.
provide_browser() {
    say "Looking for a browser"
    "$VENV_PYTHON" -m eikon_engine doctor --install-browser >&2 ||
        fail "no browser (see above): install Chrome or Chromium, or name one with EIKON_BROWSER_PATH"
}
