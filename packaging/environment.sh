# Sourced by run and test: finds a Python >= 3.12, makes .venv, installs the project, system libraries where it may.
# Does nothing that was done before: a stamp in .venv holds the checksum of what was installed.

say() { printf '%s\n' "mdstudio: $*" >&2; }

may_install() { # apt-get without asking a password
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

apt_install() { # packages...
    [ -n "${apt_updated:-}" ] || as_root apt-get update -qq >/dev/null || return 1
    apt_updated=1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

python_ok() { "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 12))' 2>/dev/null; }

find_python() { # prints the first interpreter that runs and is new enough; pyenv shims may refuse, so each is tried
    local candidate
    for candidate in ${MD_STUDIO_PYTHON:-} python3.13 python3.12 python3.14 python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python; do
        if command -v "$candidate" >/dev/null 2>&1 && python_ok "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

need_python() {
    python=$(find_python) && return 0
    if may_install; then
        say "installing Python"
        apt_install python3 python3-venv python3-dev || true
        python=$(find_python) && return 0
    fi
    say "Python 3.12 or later is needed and was not found; install one (Debian 13, Ubuntu 24.04: apt-get install" \
        "python3 python3-venv) or name it in MD_STUDIO_PYTHON."
    return 1
}

make_venv() {
    [ -x .venv/bin/python ] && python_ok .venv/bin/python && return 0
    rm -rf .venv
    "$python" -m venv .venv >/dev/null 2>&1 && return 0
    rm -rf .venv
    may_install && apt_install python3-venv && "$python" -m venv .venv && return 0
    say "could not make .venv with $python; install its venv module (Debian, Ubuntu: apt-get install python3-venv)."
    return 1
}

need_compiler() { # optional: without it the NumPy transforms serve, several times slower
    local header
    header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    command -v cc >/dev/null 2>&1 && [ -e "$header" ] && return 0
    may_install && apt_install gcc libc6-dev python3-dev && command -v cc >/dev/null 2>&1 && [ -e "$header" ] && return 0
    say "no C compiler or no Python headers: the transforms run in NumPy, several times slower" \
        "(Debian, Ubuntu: apt-get install gcc libc6-dev python3-dev, then run this again)."
}

# Shared library -> package that brings it, for Qt on X11 and offscreen.
qt_libraries="libEGL.so.1:libegl1 libGL.so.1:libgl1 libfontconfig.so.1:libfontconfig1 libfreetype.so.6:libfreetype6
libdbus-1.so.3:libdbus-1-3 libglib-2.0.so.0:libglib2.0-0 libxkbcommon.so.0:libxkbcommon0 libX11.so.6:libx11-6
libX11-xcb.so.1:libx11-xcb1 libxcb.so.1:libxcb1 libxcb-cursor.so.0:libxcb-cursor0 libxcb-glx.so.0:libxcb-glx0
libxcb-icccm.so.4:libxcb-icccm4 libxcb-image.so.0:libxcb-image0 libxcb-keysyms.so.1:libxcb-keysyms1
libxcb-randr.so.0:libxcb-randr0 libxcb-render-util.so.0:libxcb-render-util0 libxcb-render.so.0:libxcb-render0
libxcb-shape.so.0:libxcb-shape0 libxcb-shm.so.0:libxcb-shm0 libxcb-sync.so.1:libxcb-sync1
libxcb-util.so.1:libxcb-util1 libxcb-xfixes.so.0:libxcb-xfixes0 libxcb-xinerama.so.0:libxcb-xinerama0
libxcb-xkb.so.1:libxcb-xkb1 libxkbcommon-x11.so.0:libxkbcommon-x11-0"

need_libraries() { # extra packages to check by command name: "command:package" ...
    [ "$(uname -s)" = Linux ] || return 0
    local known missing=() pair
    known=$(/sbin/ldconfig -p 2>/dev/null || ldconfig -p 2>/dev/null)
    for pair in $qt_libraries; do
        case "$known" in *"${pair%%:*}"*) ;; *) missing+=("${pair##*:}") ;; esac
    done
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} = 0 ] && return 0
    if may_install; then
        say "installing system libraries: ${missing[*]}"
        apt_install "${missing[@]}" && return 0
    fi
    say "missing system libraries; install them with: sudo apt-get install ${missing[*]}"
    return 0 # what needs no window works without them
}

install_project() { # extras, for example "test"
    local wanted have
    wanted="$1 $(cat pyproject.toml mdstudio/engine/codecs/*.[ch] 2>/dev/null | cksum) $(.venv/bin/python -V)"
    have=$(cat .venv/.installed 2>/dev/null || true)
    [ "$wanted" = "$have" ] && return 0
    say "installing into .venv"
    if ! .venv/bin/python -m pip install -q --disable-pip-version-check -e ".${1:+[$1]}" >.venv/install.log 2>&1; then
        tail -n 30 .venv/install.log >&2
        say "the installation failed; .venv/install.log holds all of it."
        return 1
    fi
    printf '%s' "$wanted" >.venv/.installed
}

set_up() { # extras; then "command:package" pairs
    local extras=$1
    shift
    need_python && make_venv && need_compiler && need_libraries "$@" && install_project "$extras"
}
