# Before step 1, with `trim: fastp`: a lane's reads without adapters, and without those that are short or of low quality.
first_step = "map_and_sort" if config["pipeline"] == "germline" else "align"
shown += [f"results/trim/{sample}/{unit}.fastp.json" for sample, unit in trimmed_units]


rule trim:
    """fastp, with `trim: fastp`: a lane's reads as they are mapped, and counts of what it removed."""
    input:
        reads=unit_reads,
    output:
        r1=temp("results/trim/{sample}/{unit}_R1.fq.gz"),
        r2=temp("results/trim/{sample}/{unit}_R2.fq.gz"),
        report="results/trim/{sample}/{unit}.fastp.json",
        counts="results/trim/{sample}/{unit}.json",
    log:
        "logs/trim/{sample}/{unit}.log",
    conda:
        "../../envs/fastp.yaml"
    threads: 4
    resources:
        mem_mb=3000,
        pinned_step=first_step,
    params:
        **checks("reads/count_reads.py"),
        own=shlex.join(shlex.split(config["extra"]["trim"])),
    # fastp looks at the beginning of a file before it reads it, so that it takes no pipe, and what is damaged it may take for
    # the end. So count_reads.py reads the files beside it. It tells gzip by the name, and its report has that of a lane here.
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            reads() {{ {params.count_reads} "$@"; }}
            for fastq in {input.reads:q}; do reads stream --names --counts "$tmp" "$fastq" >/dev/null; done &
            counting=$!
            ends=()
            for fastq in {input.reads:q}; do
                number=$((${{#ends[@]}} / 4 + 1))
                case $(head -c 2 -- "$fastq" | od -An -v -t x1 | tr -d ' \n') in 1f8b) packed=.gz ;; *) packed= ;; esac
                lane="$tmp/"{wildcards.sample:q}.{wildcards.unit:q}"_R$number.fastq$packed"
                ln -s "$(realpath -- "$fastq")" "$lane"
                ends+=("--in$number" "$lane" "--out$number" {output.r1:q})
            done
            gzip </dev/null >{output.r2:q} # of single-end reads: a file that is whole, without reads
            [ "${{#ends[@]}}" = 4 ] || ends[7]={output.r2:q}
            status=0
            fastp "${{ends[@]}}" {params.own} --compression 1 --thread {threads} \
                --json {output.report:q} --html "$tmp/report.html" || status=$?
            wait "$counting"
            [ "$status" = 0 ] || exit "$status"
            reads trimmed --counts "$tmp" --report {output.report:q} --output {output.counts:q} {input.reads:q}
        ) &>{log:q}
        """
