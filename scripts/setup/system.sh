# System tools by the table in workflow/tools.tsv: through apt, else from conda when the workflow runs.
# Sourced by install.

# route is where the workflow's tools come from: `path` (they are installed) or `conda` (snakemake --sdm conda).
route=path

install_system_tools() {
    local missing known=.tools/without # what apt did not have is not asked for again
    missing=$(missing_tools)
    [ -n "$missing" ] && ! { [ -z "$folder" ] && stamped "$known" "$missing" && ! blocking "$missing"; } || return 0
    if type -P apt-get >/dev/null && [ -n "$prefix" ]; then
        install_below_prefix "$missing"
        missing=$(missing_tools)
    elif type -P apt-get >/dev/null && become_root; then
        install_with_apt "$missing"
        missing=$(missing_tools)
    elif blocking "$missing" && [ -n "$(type -P conda mamba micromamba)" ]; then
        route=conda
        [ "$quiet" = --quiet ] || say "system tools   none through apt here: 'snakemake --sdm conda' takes them from envs/"
        return
    fi
    ! blocking "$missing" || fail_with_list "$missing"
    printf '%s\n' "$missing" >"$known"
    [ -z "$missing" ] || say "system tools   go without: $(cut -f 1 <<<"$missing" | paste -sd ' ')"
}

# The rows of the table whose package is to be installed here and whose command is missing.
missing_tools() {
    local command arguments status minimum package conda needed_by purpose
    while IFS=$'\t' read -r command arguments status minimum package conda needed_by purpose; do
        [[ $command == '#'* || $command == command || $package == [-.]* ]] && continue
        present "$command" "$minimum" && continue
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$command" "$minimum" "$package" "$conda" "$needed_by" "$purpose"
    done <"$table"
}

present() {
    case $1 in
        python3) [ -x .venv/bin/python ] || find_python >/dev/null ;;
        java) [ -x .tools/java ] || find_java "$2" >/dev/null ;;
        mvn) gatk_installed || type -P mvn >/dev/null ;;
        Rscript) type -P Rscript >/dev/null && Rscript -e 'find.package("cummeRbund")' &>/dev/null ;;
        *) type -P "$1" >/dev/null ;;
    esac
}

# A missing tool blocks when the installation itself or a pipeline needs it; the demo's and the lab's do not, nor does that of
# a choice in a pipeline's configuration, such as germline-fastp.
blocking() {
    [ -n "$1" ] && cut -f 5 <<<"$1" | tr , '\n' | grep -qvxE 'demo|lab|[a-z]+-.+'
}

# Sets `as_root` to the prefix that runs a command as root.
become_root() {
    as_root=()
    [ "$(id -u)" -eq 0 ] && return
    type -P sudo >/dev/null && sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
}

install_with_apt() {
    local packages started=$SECONDS
    : >.tools/log/apt.log
    update_lists "$1"
    mapfile -t packages < <(packages_of "$1")
    say "system tools   apt installs ${packages[*]}"
    run apt "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 install "${packages[@]}"
    hash -r
    say "system tools   done in $((SECONDS - started)) s"
}

update_lists() {
    run apt "${as_root[@]}" apt-get -q update -o DPkg::Lock::Timeout=300
    if grep -q ^cufflinks <<<"$1" && [ -z "$(first_available - cufflinks)" ] && enable_component; then
        run apt "${as_root[@]}" apt-get -q update -o DPkg::Lock::Timeout=300
    fi
}

# Cufflinks is in a component that a bare machine does not take: non-free of Debian, multiverse of Ubuntu. Adds it to
# the lists from which apt takes the distribution itself; fails where there are none.
enable_component() {
    local origin component sources
    while read -r origin component; do
        mapfile -t sources < <(sources_of "$origin")
        [ "${#sources[@]}" -gt 0 ] || continue
        say "system tools   component $component, which Cufflinks is in, goes into ${sources[*]}"
        "${as_root[@]}" sed -i -E \
            "/^(deb\s|Components:)/{/\s$component(\s|\$)/!s/(\s)main(\s|\$)/\1main $component\2/}" "${sources[@]}"
        return
    done <<<$'Debian non-free\nUbuntu multiverse'
    return 1
}

# Prints the lists that name repositories of an origin, by what apt read there: other vendors' lists look much the same.
sources_of() {
    apt-get indextargets --format '$(SOURCESENTRY)' "Origin: $1" 'Component: main' | sed 's/:[0-9]*$//' | sort -u
}

# The packages of each row: the first alternative that apt has in a version that will do; nothing where it has none. Words of
# one alternative go together: what Debian's package does not ask for itself.
packages_of() {
    local command minimum package rest
    while IFS=$'\t' read -r command minimum package rest; do
        first_available "$minimum" "$package"
    done <<<"$1" | sort -u
}

first_available() {
    local minimum=$1 alternatives alternative version words
    IFS='|' read -ra alternatives <<<"$2"
    for alternative in "${alternatives[@]}"; do
        read -ra words <<<"$alternative"
        version=$(apt-cache policy "${words[0]}" 2>/dev/null | sed -n 's/^ *Candidate: //p')
        [ -n "$version" ] && [ "$version" != '(none)' ] || continue
        [ "$minimum" = - ] || dpkg --compare-versions "$version" ge "$minimum" || continue
        printf '%s\n' "${words[@]}"
        return
    done
}

fail_with_list() {
    local command minimum package conda needed_by purpose packages=() found
    {
        printf 'set-up: these tools are missing:\n'
        while IFS=$'\t' read -r command minimum package conda needed_by purpose; do
            found=$(first_available "$minimum" "$package")
            packages+=("${found:-${package%%|*}}")
            [ "$minimum" = - ] || command="$command >= $minimum"
            printf '  %-18s %-28s for %-16s package %s\n' "$command" "$purpose" "$needed_by" "${package//|/ or }"
        done <<<"$1"
        if grep -q ^cufflinks <<<"$1" && [ -z "$(first_available - cufflinks)" ]; then
            printf 'cufflinks is in the component non-free of Debian, multiverse of Ubuntu, which the sources of apt have to name\n'
        fi
        printf 'Debian, Ubuntu, as root:  apt-get update && apt-get install -y --no-install-recommends %s\n' \
            "$(printf '%s\n' "${packages[@]}" | sort -u | paste -sd ' ')"
        printf 'with apt, without root:  make setup PREFIX=FOLDER unpacks them there\n'
        printf 'without apt:  install conda, mamba or micromamba, and run make setup again; %s\n' \
            "'snakemake --sdm conda' then takes the tools from envs/"
    } >&2
    exit 1
}

# Prints the first java that is new enough.
find_java() {
    local java version
    while read -r java; do
        [ -x "$java" ] || continue
        version=$("$java" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p')
        [ "${version:-0}" -ge "$1" ] && { readlink -f "$(unstarted <<<"$java")"; return; }
    done < <(
        [ -z "${JAVA_HOME:-}" ] || printf '%s\n' "$JAVA_HOME/bin/java"
        type -aP java
        printf '%s\n' /usr/lib/jvm/*/bin/java ${prefix:+"$prefix"/root/usr/lib/jvm/*/bin/java}
    )
    return 1
}
