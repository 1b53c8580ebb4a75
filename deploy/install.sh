#!/bin/sh
# Installs a browser, fonts and the engine with its extras into Debian 12, and makes the user that runs suites. Run as root by
# deploy/Containerfile, which sets the variables, and by deploy/check.
set -eu
: "${EXTRAS?}" "${DEBIAN_SNAPSHOT?}" "${CHROMIUM_VERSION:?}" "${FONTS?}"

ENGINE=/opt/eikon
SNAPSHOT_SERVER=http://snapshot.debian.org/archive
APT_FOLDER=${APT_FOLDER:-/etc/apt}

has_extra() { case ",$EXTRAS," in *",$1,"*) return 0 ;; *) return 1 ;; esac; }

# Takes packages from the archive as it was at $1. Its signatures are checked; their age is not, since they are old.
use_snapshot() {
    rm -rf "$APT_FOLDER/sources.list" "$APT_FOLDER"/sources.list.d/*
    printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Acquire::Retries "5";' >"$APT_FOLDER/apt.conf.d/50snapshot"
    cat >"$APT_FOLDER/sources.list.d/snapshot.sources" <<END
Types: deb
URIs: $SNAPSHOT_SERVER/debian/$1
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: $SNAPSHOT_SERVER/debian-security/$1
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
}

install_packages() {
    apt-get update
    # Nothing that is only recommended: it has more fonts, and each can change how text is drawn. Playwright's driver needs
    # libatomic1; probes and submitters of KubeRay use wget.
    # shellcheck disable=SC2046,SC2086 # lists of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates fontconfig libatomic1 python3 python3-venv \
        "chromium-headless-shell=$CHROMIUM_VERSION" "chromium-common=$CHROMIUM_VERSION" $FONTS \
        $(has_extra ray && echo wget)
    apt-get clean
    rm -rf /var/lib/apt/lists/*
}

install_engine() {
    python3 -m venv "$ENGINE/venv"
    # Ray accepts jobs only with the extra "default".
    # shellcheck disable=SC2046 # a list of words
    "$ENGINE/venv/bin/pip" install --no-cache-dir --disable-pip-version-check \
        --constraint "$ENGINE/source/deploy/constraints.txt" \
        "$ENGINE/source${EXTRAS:+[$EXTRAS]}" $(has_extra ray && echo 'ray[default]')
    # Here, because login shells, which KubeRay starts, set PATH themselves.
    for program in eikon ray; do
        if [ -e "$ENGINE/venv/bin/$program" ]; then
            ln -sf "$ENGINE/venv/bin/$program" "/usr/local/bin/$program"
        fi
    done
    rm -rf "$ENGINE/source"
}

# The folders are made here, and get their owner here, so that new volumes get it too.
make_user() {
    groupadd --gid 1000 eikon
    useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash eikon
    install -d -o eikon -g eikon /bundles /results
}

if [ -n "$DEBIAN_SNAPSHOT" ]; then
    use_snapshot "$DEBIAN_SNAPSHOT"
fi
install_packages
install_engine
make_user
