# The Python environment .venv: what requirements.lock names, and the package gpd of this tree. Sourced by install.

# find_python [MINOR]: prints the first Python that is new enough, older than 3.MINOR, and can make an environment.
find_python() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 .tools/conda/bin/python; do
        "$python" -c "import sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, ${1:-99}))" 2>/dev/null || continue
        "$python" -c 'import ensurepip' 2>/dev/null || pip_wheel >/dev/null || continue
        "$python" -c 'import sys; print(sys.executable)'
        return
    done
    return 1
}

# Prints the pip that Debian's python3-venv brings, where it was unpacked and Python does not find it by itself.
pip_wheel() {
    [ -n "$prefix" ] && compgen -G "$prefix/root/usr/share/python-wheels/pip-*.whl"
}

# make_environment PYTHON FOLDER
make_environment() {
    local wheel
    if "$1" -c 'import ensurepip' 2>/dev/null; then
        "$1" -m venv --clear "$2"
    else
        wheel=$(pip_wheel)
        "$1" -m venv --clear --without-pip "$2" && PYTHONPATH=$wheel "$2/bin/python" -m pip install -q --no-index "$wheel"
    fi
}

install_python() {
    refuse_link
    install_packages
    install_gpd
}

# `venv --clear` empties what a link leads to, and pip would install into it: the environment of another tree, perhaps.
refuse_link() {
    [ ! -L .venv ] || fail "python: $root/.venv is a link to $(readlink .venv), which set-up would empty: remove the link"
}

install_packages() {
    local key python started=$SECONDS
    key=$(key_of requirements.lock <(printf '%s' "$root")) # an environment does not survive a move
    [ "$route" = path ] || install_conda
    stamped .venv/.packages "$key" && .venv/bin/python -c '' 2>/dev/null && return
    python=$(find_python) || fail 'python: no Python 3.11 or newer with the modules venv and ensurepip on PATH'
    say "python         $("$python" --version 2>&1), $(grep -c '==' requirements.lock) packages into .venv"
    : >.tools/log/python.log
    run python make_environment "$python" .venv
    run python .venv/bin/python -m pip install -q --no-input --disable-pip-version-check \
        --no-compile --no-deps --require-hashes -r requirements.lock
    run python compile .venv/lib
    printf '%s\n' "$key" >.venv/.packages
    say "python         done in $((SECONDS - started)) s"
}

# The packages themselves stay in this tree; what is installed are their metadata and their commands.
install_gpd() {
    local key
    key=$(key_of pyproject.toml scripts/snakemake-executor-plugin-pinned/pyproject.toml)
    stamped .venv/.gpd "$key" && return
    : >.tools/log/gpd.log
    run gpd .venv/bin/python -m pip install -q --no-input --disable-pip-version-check \
        --no-deps --no-build-isolation --editable . --editable scripts/snakemake-executor-plugin-pinned
    run gpd compile scripts/gpd
    printf '%s\n' "$key" >.venv/.gpd
}

# Bytecode halves Snakemake's start, and a user with PYTHONDONTWRITEBYTECODE would never get any.
# On every CPU at once, or one after the other where /dev/shm is not to be written to.
compile() {
    .venv/bin/python -m compileall -q -j 0 "$1" || .venv/bin/python -m compileall -q "$1"
}

# Snakemake asks for a command named conda of this version or newer; mamba and micromamba can provide one, and a Python too.
least_conda=24.7.1
install_conda() {
    local conda
    [ -x .tools/conda/bin/conda ] && return
    is_new_conda && find_python >/dev/null && return
    conda=$(type -P conda micromamba mamba | head -n 1 || true)
    say "conda          conda and Python into .tools/conda"
    : >.tools/log/conda.log
    run conda "$conda" create -y -q -p "$root/.tools/conda" --override-channels -c conda-forge "conda>=$least_conda" 'python=3.12'
}

is_new_conda() {
    local found
    found=$(conda --version 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$least_conda" "${found#conda }" | sort -V | head -n 1)" = "$least_conda" ]
}
