# The Python that GATK fits isolation forests with (filter: vets), in .tools/vets: its NumPy is older than that of .venv.
# Sourced by install.

vets_below=13 # the first minor version of Python 3 that these packages have no wheels for

install_vets() {
    local key python started=$SECONDS
    [ "$route" = path ] || return 0
    cmp -s "$setup/vets-python" .tools/vets/vets-python || rm -f .tools/vets/.stamp
    key=$(key_of envs/vets/requirements.lock <(printf '%s' "$root")) # an environment does not survive a move
    stamped .tools/vets/.stamp "$key" && .tools/vets/bin/python -c '' 2>/dev/null && return
    if ! python=$(find_python "$vets_below"); then
        [ "$quiet" = --quiet ] || say "vets           not here: filter: vets wants Python 3.11 or 3.12, or conda"
        return 0
    fi
    say "vets           $("$python" --version 2>&1), $(grep -c '==' envs/vets/requirements.lock) packages into .tools/vets"
    : >.tools/log/vets.log
    run vets make_environment "$python" .tools/vets
    run vets .tools/vets/bin/python -m pip install -q --no-input --disable-pip-version-check \
        --only-binary :all: --no-deps --require-hashes -r envs/vets/requirements.lock
    install -m 755 "$setup/vets-python" .tools/vets/vets-python
    printf '%s\n' "$key" >.tools/vets/.stamp
    say "vets           done in $((SECONDS - started)) s"
}
