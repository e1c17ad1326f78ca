# Debian's Cufflinks 2.2.1, proved by real runs on a made-up gene, and cured in .tools/cufflinks where a proof fails:
# cuffmerge opens its log in a way that Python 3 refuses; cuffdiff crashes after reading CXB files, with its results
# unwritten. The package itself is left as it is. Sourced by install.

cufflinks_key() {
    local command
    for command in cuffmerge cuffdiff cuffquant; do
        packaged "$command" || return 1
    done | unstarted | xargs -d '\n' cat "$setup/cufflinks.sh" "$setup"/cufflinks/* | sha256sum | cut -d ' ' -f 1
}

# Prints the path of a command as the package brought it, and not as a set-up, of this clone or another, cured it.
packaged() {
    local command
    while read -r command; do
        [[ $(readlink -f "$command") == */.tools/cufflinks/* ]] && continue
        printf '%s\n' "$command"
        return
    done < <(type -aP "$1")
    return 1
}

# Installed for the route through PATH alone: conda's build has neither defect.
install_cufflinks() {
    local key
    [ "$route" = path ] && key=$(cufflinks_key) || return 0
    stamped .tools/cufflinks/.stamp "$key" || cure_cufflinks "$key"
}

cure_cufflinks() {
    local key=$1 part=.tools/cufflinks.part
    : >.tools/log/cufflinks.log
    rm -rf "$part"
    mkdir -p "$part/proof"
    run cufflinks write_proof "$part/proof"
    {
        prove_or_cure cuffmerge "$part" 'died opening its log' 'a copy that opens it'
        prove_or_cure cuffdiff "$part" 'crashed after reading CXB files' 'a preloaded library'
    } >"$part/status"
    rm -rf "$part/proof" .tools/cufflinks
    printf '%s\n' "$key" >"$part/.stamp"
    mv -T "$part" .tools/cufflinks
    while IFS= read -r line; do
        say "cufflinks      $line"
    done <.tools/cufflinks/status
}

# Prints one line: the command is sound, or what its defect was and how it is cured.
prove_or_cure() {
    local command=$1 part=$2 defect=$3 cure=$4 original
    original=$(packaged "$command")
    if "prove_$command" "$original" "$part/proof/$command" >>.tools/log/cufflinks.log 2>&1; then
        say "$command: sound as packaged"
        return
    fi
    run cufflinks "cure_$command" "$original" "$part"
    if ! "prove_$command" "$root/$part/$command" "$part/proof/$command.cured" >>.tools/log/cufflinks.log 2>&1; then
        fail "cufflinks: $command fails a run on a made-up gene, cured as well ($root/.tools/log/cufflinks.log)"
    fi
    say "$command: $defect, cured by $cure"
}

cure_cuffmerge() {
    sed 's/\(run\.log", "w", \)0)/\11)/' "$(unstarted <<<"$1")" >"$2/cuffmerge"
    chmod 755 "$2/cuffmerge"
}

cure_cuffdiff() {
    as -o "$2/archive_end.o" "$setup/cufflinks/archive_end.s"
    ld -shared -o "$2/libarchive_end.so" "$2/archive_end.o"
    rm "$2/archive_end.o"
    install -m 755 "$setup/cufflinks/preload" "$2/cuffdiff"
}

# A gene of one exon, its reads as SAM, the transcript to merge and the reads counted: all that the proofs read.
write_proof() {
    local start bases=ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCA
    printf 'proof\tproof\texon\t101\t1100\t.\t+\t.\tgene_id "gene"; transcript_id "transcript";\n' >"$1/genes.gtf"
    printf '%s\n' "$1/genes.gtf" >"$1/assemblies.txt"
    {
        printf '@HD\tVN:1.0\tSO:coordinate\n@SQ\tSN:proof\tLN:2000\n'
        for start in {101..1051..10}; do
            printf 'r%d\t0\tproof\t%d\t50\t%dM\t*\t0\t0\t%s\t%s\tNH:i:1\n' \
                "$start" "$start" ${#bases} $bases ${bases//?/I}
        done
    } >"$1/reads.sam"
    cuffquant -q --no-update-check -o "$1" "$1/genes.gtf" "$1/reads.sam"
}

prove_cuffmerge() {
    "$1" -o "$2" "$(dirname "$2")/assemblies.txt" && [ -s "$2/merged.gtf" ]
}

# Fitting a dispersion model takes half a minute, whatever the data; poisson has none, but wants replicates.
prove_cuffdiff() {
    local proof counted
    proof=$(dirname "$2")
    counted=$proof/abundances.cxb
    "$1" -q --no-update-check --dispersion-method poisson -o "$2" \
        "$proof/genes.gtf" "$counted,$counted" "$counted,$counted" && [ -s "$2/gene_exp.diff" ]
}

link_cufflinks() {
    local command
    for command in cuffmerge cuffdiff; do
        if [ -x ".tools/cufflinks/$command" ]; then
            ln -sfn "../../.tools/cufflinks/$command" ".venv/bin/$command"
        elif [ -L ".venv/bin/$command" ]; then
            rm ".venv/bin/$command" # of an earlier set-up; the package has been mended since
        fi
    done
}
