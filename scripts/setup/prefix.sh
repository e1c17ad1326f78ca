# Debian's packages without root (make setup PREFIX=FOLDER): apt fetches what this machine lacks, with lists of the user's
# own, dpkg unpacks it into FOLDER/root, and FOLDER/bin has a starter for each command. Sourced by install.

# use_prefix FOLDER: .tools/prefix leads to the folder, for later calls without a name, too.
use_prefix() {
    local folder=${1/#\~\//${HOME:-}/}
    if [ -n "$folder" ]; then
        mkdir -p "$folder" && [ -w "$folder" ] || fail "PREFIX=$1: no folder that can be written to"
        folder=$(readlink -f "$folder")
        [[ $folder != *[[:space:]:\&\|]* ]] || fail "PREFIX=$1: paths of libraries can hold no blank and none of : & |"
        ln -sfn "$folder" .tools/prefix
    fi
    prefix=$(readlink -e .tools/prefix) || prefix=
    [ -z "$prefix" ] || PATH=$prefix/bin:$PATH
}

# From here on every apt command reads lists and sources in the folder, beside what dpkg knows to be installed.
own_apt() {
    local apt=$prefix/apt
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/sources.list.d"
    cp /etc/apt/sources.list "$apt/sources.list" 2>/dev/null || : >"$apt/sources.list"
    cp /etc/apt/sources.list.d/* "$apt/sources.list.d/" 2>/dev/null || true
    printf '%s "%s";\n' Dir::State "$apt/state/" Dir::State::status /var/lib/dpkg/status Dir::Cache "$apt/cache/" \
        Dir::Etc::SourceList "$apt/sources.list" Dir::Etc::SourceParts "$apt/sources.list.d/" Debug::NoLocking true \
        >"$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
}

install_below_prefix() {
    local packages part=$prefix/part started=$SECONDS
    : >.tools/log/apt.log
    own_apt
    as_root=()
    update_lists "$1"
    mapfile -t packages < <(packages_of "$1")
    [ "${#packages[@]}" -gt 0 ] || return 0
    say "system tools   apt fetches ${packages[*]} and what they need into $prefix"
    run apt apt-get -q -y --no-install-recommends --download-only install "${packages[@]}"
    rm -rf "$part"
    run unpack unpack "$part"
    run unpack fit "$part"
    mkdir -p "$prefix/root"
    cp -a "$part/." "$prefix/root/"
    rm -rf "$part" "$prefix/apt"
    install -m 755 "$setup/starter" "$prefix/starter"
    make_starters
    libraries >"$prefix/libraries"
    hash -r
    say "system tools   done in $((SECONDS - started)) s"
}

# All but the C library: the machine's loader goes with its own.
unpack() {
    local package
    for package in "$prefix"/apt/cache/archives/*.deb; do
        case $(basename "$package") in libc6_* | libc-bin_*) continue ;; esac
        dpkg-deb -x "$package" "$1"
    done
}

# What a package's own scripts would have done, and paths that stand in its files.
fit() {
    local tree=$1 link file
    add_alternative "$tree" cc gcc
    add_alternative "$tree" lstopo lstopo-no-graphics
    add_alternative "$tree" mvn ../share/maven/bin/mvn
    for file in "$tree"/usr/lib/jvm/*/bin/java; do
        add_alternative "$tree" java "../..${file#"$tree"}"
    done
    [ ! -e "$tree/usr/lib/R/etc/Renviron.ucf" ] || cp "$tree/usr/lib/R/etc/Renviron.ucf" "$tree/etc/R/Renviron"
    [ ! -d "$tree/usr/lib/R/site-library" ] || [ -e "$tree/usr/bin/Rscript" ] || ln -s "$(type -P Rscript)" "$tree/usr/bin/Rscript"
    [ ! -d "$tree/usr/lib/jvm" ] || [ -s /etc/ssl/certs/java/cacerts ] ||
        certificates "$tree" | python3 "$setup/trust_store.py" "$tree/etc/ssl/certs/java/cacerts"
    while IFS= read -r -d '' link; do
        file=$tree$(readlink "$link")
        [ ! -e "$file" ] && [ ! -L "$file" ] || ln -sfnr "$file" "$link"
    done < <(find "$tree" -lname '/*' -print0)
    for file in "$tree"/usr/lib/R/bin/R "$tree"/etc/R/* "$tree"/etc/fonts/fonts.conf "$tree"/usr/lib/*-linux-gnu/lib*.so; do
        if [ -f "$file" ] && [ ! -L "$file" ] && grep -qI . "$file"; then
            sed -i -E "s%(^|[^[:alnum:]}])/usr/(lib|share)/%\1$prefix/root/usr/\2/%g" "$file"
        fi
    done
}

add_alternative() {
    [ -e "$1/usr/bin/$2" ] || [ ! -e "$1/usr/bin/$3" ] || ln -s "$3" "$1/usr/bin/$2"
}

# Prints those that this machine trusts, else those that came with the packages.
certificates() {
    cat "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" 2>/dev/null ||
        cat "$1"/usr/share/ca-certificates/mozilla/*.crt
}

# Prints the folders that hold shared libraries, as a path.
libraries() {
    find "$prefix"/root/usr/lib/*-linux-gnu "$prefix"/root/lib/*-linux-gnu -maxdepth 2 -name 'lib*.so.*' -printf '%h\n' \
        2>/dev/null | sort -u | paste -sd : || true
}

make_starters() {
    local command
    mkdir -p "$prefix/bin"
    for command in "$prefix"/root/usr/bin/* "$prefix"/root/bin/*; do
        [ ! -x "$command" ] || ln -sfn ../starter "$prefix/bin/$(basename "$command")"
    done
}

# Reads paths of commands, prints what a starter in the folder of make setup PREFIX= would start.
unstarted() {
    local command
    while read -r command; do
        case $(readlink -f "$command") in
            "$prefix/starter") printf '%s\n' "$prefix/root/usr/bin/$(basename "$command")" ;;
            *) printf '%s\n' "$command" ;;
        esac
    done
}

# Runs, tests and gpd find commands beside gpd; what .venv has itself stays.
link_prefix() {
    local command
    [ -n "$prefix" ] || return 0
    for command in "$prefix"/bin/*; do
        [ ! -L "$command" ] || [ -e ".venv/bin/${command##*/}" ] || ln -sfn "$command" ".venv/bin/${command##*/}"
    done
}
