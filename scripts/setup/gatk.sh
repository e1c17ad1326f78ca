# GATK 4 from Maven Central into .tools/gatk: lib/ with the jars, classes/ with their archive, and the launcher beside
# them. Sourced by install.

gatk_key() {
    key_of envs/gatk/pom.xml
}

gatk_installed() {
    stamped .tools/gatk/.stamp "$(gatk_key)"
}

install_gatk() {
    [ "$route" = path ] || return 0
    [ -x .tools/java ] || ln -sfn "$(find_java 17)" .tools/java # chosen anew when that Java is gone
    gatk_installed || download_gatk
    cmp -s "$setup/gatk" .tools/gatk/gatk || install -m 755 "$setup/gatk" .tools/gatk/gatk
    class_archive_made || make_class_archive
}

# The jars are gathered beside their final place, proved by a start of GATK, and moved as one: half a download
# never counts.
download_gatk() {
    local repository part=.tools/gatk.part started=$SECONDS
    say "gatk           GATK 4 and its libraries (424 MB) from Maven Central into .tools/gatk"
    : >.tools/log/gatk.log
    rm -rf "$part"
    mkdir -p "$part"
    repository=$(maven_repository)
    run gatk mvn -B -ntp --strict-checksums ${repository:+"$repository"} -f envs/gatk/pom.xml \
        dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$root/$part/lib"
    install -m 755 "$setup/gatk" "$part/gatk"
    run gatk "$part/gatk" --version
    gatk_key >"$part/.stamp"
    rm -rf .tools/gatk
    mv -T "$part" .tools/gatk
    say "gatk           done in $((SECONDS - started)) s"
}

# The classes of GATK's walkers, parsed and verified once for all starts of a JVM. Java takes them for the very jars and
# the Java that they were made with.
class_archive_key() {
    key_of "$setup"/appcds/* <(.tools/java -version 2>&1) <(stat -c '%n %s %Y' "$root"/.tools/gatk/lib/*)
}

# Made or found not to be: that is tried once.
class_archive_made() {
    stamped .tools/gatk/classes/.stamp "$(class_archive_key)"
}

# GATK runs without an archive, too, so whatever hinders this is one line, and set-up goes on.
make_class_archive() {
    local part=.tools/gatk/classes.part status started=$SECONDS
    rm -rf "$part" .tools/gatk/classes
    mkdir -p "$part"
    if "$setup/appcds/make" "$root/.tools/java" "$root/.tools/gatk/lib" "$root/$part/archive.jsa" \
        </dev/null >.tools/log/appcds.log 2>&1 9>&-; then
        status="starts from an AppCDS archive"
    else
        rm -f "$part/archive.jsa"
        status="starts without an AppCDS archive, some seconds later: $(tail -n 1 .tools/log/appcds.log)"
    fi
    printf '%s\n' "$status" >"$part/status"
    class_archive_key >"$part/.stamp"
    mv -T "$part" .tools/gatk/classes
    say "gatk           $status ($((SECONDS - started)) s)"
}

# Maven keeps its downloads in the home that the password file names; some users of containers and services
# have none there.
maven_repository() {
    local home
    home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d : -f 6) || true
    [ -n "$home" ] && [ -w "$home" ] || printf '%s\n' "-Dmaven.repo.local=$root/.tools/m2"
}

# What lives in .tools is found on PATH once .venv is.
link_commands() {
    [ ! -x .tools/gatk/gatk ] || ln -sfn ../../.tools/gatk/gatk .venv/bin/gatk
    [ ! -x .tools/vets/vets-python ] || ln -sfn ../../.tools/vets/vets-python .venv/bin/vets-python
    [ ! -x .tools/bwa-mem4/bwa-mem4 ] || ln -sfn ../../.tools/bwa-mem4/bwa-mem4 .venv/bin/bwa-mem4
    [ ! -x .tools/conda/bin/conda ] || ln -sfn ../../.tools/conda/bin/conda .venv/bin/conda
}
