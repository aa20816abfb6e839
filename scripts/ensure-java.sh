#!/usr/bin/env bash
# Makes sure that Spark will find Java 17 or newer; installs it as root on Debian and Ubuntu.
#
# Looks where Spark looks: in $JAVA_HOME where set, else on the PATH.
set -euo pipefail

oldest_version=17

java_command() {
    if [ -n "${JAVA_HOME:-}" ]; then
        echo "$JAVA_HOME/bin/java"
    else
        echo java
    fi
}

# Prints the major version of the Java that Spark would start, nothing where there is none:
# 17 for "17.0.15", 21 for "21-ea", 8 for "1.8.0_412". The java of macOS without Java is a stub that fails.
java_version() {
    { "$(java_command)" -version 2>&1 || true; } |
        sed -n -E 's/^.* version "(1\.)?([0-9]+).*$/\2/p' | sed -n 1p
}

java_is_recent() {
    local version
    version="$(java_version)"
    [ -n "$version" ] && [ "$version" -ge "$oldest_version" ]
}

# With JAVA_HOME set, Spark would not look at a newly installed Java.
may_install() {
    [ -z "${JAVA_HOME:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

install_java() {
    local package
    echo "Java $oldest_version or newer not found: installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || echo "apt-get update failed, trying with the package lists that are there" >&2
    # Releases carry one or the other.
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        if apt-get install -y -qq --no-install-recommends "$package" >&2; then
            return 0
        fi
    done
    return 1
}

explain() {
    local version found
    version="$(java_version)"
    found="${version:+Java $version}"
    if [ -n "${JAVA_HOME:-}" ]; then
        echo "Spark needs Java $oldest_version or newer, but JAVA_HOME=$JAVA_HOME holds ${found:-none}."
        echo "Point JAVA_HOME to a newer Java, or unset it to use the one on the PATH. To install one:"
    else
        echo "Spark needs Java $oldest_version or newer; on the PATH: ${found:-none}. To install one:"
    fi
    cat <<EOF
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless   (or openjdk-21-jre-headless)
  Fedora:          sudo dnf install java-21-openjdk-headless
  macOS:           brew install openjdk@21 && export JAVA_HOME="\$(brew --prefix openjdk@21)/libexec/openjdk.jdk/Contents/Home"
Then run the command again.
EOF
}

if java_is_recent; then
    exit 0
fi
if may_install && install_java && hash -r && java_is_recent; then
    exit 0
fi
explain >&2
exit 1
