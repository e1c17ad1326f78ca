# Indexes and dictionaries: made once, outside every timing.


rule reference:
    """The genome under one name, uncompressed, with its index and its dictionary."""
    input:
        config["reference"]["fasta"],
    output:
        **reference,
    log:
        "logs/reference/genome.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    shell:
        r"""
        (
            gzip -cdf -- {input:q} >{output.fasta:q}
            samtools faidx {output.fasta:q}
            samtools dict -o {output.dict:q} {output.fasta:q}
        ) &>{log:q}
        """


rule cram_reference:
    """The FASTA that CRAM files were made with, where it is another; samtools wants an index beside it."""
    input:
        list(filter(None, [config["cram_reference"]])),
    output:
        fasta="results/reference/cram_reference.fa",
        fai="results/reference/cram_reference.fa.fai",
    log:
        "logs/cram_reference/genome.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    shell:
        """
        (
            gzip -cdf -- {input:q} >{output.fasta:q}
            samtools faidx {output.fasta:q}
        ) &>{log:q}
        """


rule bwa_index:
    """The mapper's index, where `reference.bwa_index` names none."""
    input:
        "results/reference/genome.fa",
    output:
        multiext("results/reference/genome.fa", *(f".{ending}" for ending in mapper.endings)),
    log:
        "logs/bwa_index/genome.log",
    conda:
        f"../../envs/{mapper.conda}.yaml"
    resources:
        mem_mb=index_making_mb,
        pinned_step="reference",
    shell:
        f"{config['mapper']} index {{input:q}} &> {{log:q}}"


rule bwa_index_check:
    """An index that came with the reference has its bases, and its gaps: another build's maps reads elsewhere.

    bwa fills gaps with bases drawn from one seed, so that the same FASTA always makes the same .pac.
    """
    input:
        fasta="results/reference/genome.fa",
        index=multiext(config["reference"]["bwa_index"], *(f".{ending}" for ending in mapper.endings)),
    output:
        "results/reference/bwa_index.txt",
    log:
        "logs/bwa_index_check/genome.log",
    conda:
        "../../envs/bwa.yaml"
    resources:
        mem_mb=3000,
        pinned_step="reference",
    params:
        index=lambda wildcards, input: input.index[0].removesuffix(".amb"),
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            bwa fa2pac -f {input.fasta:q} "$tmp/genome"
            for ending in amb pac; do
                if ! cmp {params.index:q}.$ending "$tmp/genome.$ending"; then
                    echo "error: reference.bwa_index" {params.index:q} "is not of" {input.fasta:q}": its .$ending differs;" \
                        "name the index of this file, or leave reference.bwa_index out: then it is made" >&2
                    exit 1
                fi
            done
            echo {params.index:q} "is of" {input.fasta:q} >{output:q}
        ) &>{log:q}
        """


rule bwa_alt:
    """Which contigs are alternatives of others, for bwa. Without any it is empty, so that none of an earlier run stays."""
    input:
        list(filter(None, [inputs.alt_file(config["reference"])])),
    output:
        "results/reference/genome.fa.alt",
    log:
        "logs/bwa_alt/genome.log",
    conda:
        "../../envs/bwa.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    shell:
        "cat /dev/null {input:q} > {output:q} 2> {log:q}"


# A record with a letter in REF that stands for several bases, as dbSNP has some: GATK reads no file that has one.
NO_BASES = "^[^#\t][^\t]*\t[0-9]+\t[^\t]*\t[ACGTNacgtn]*[^ACGTNacgtn\t]"


rule indexed_vcf:
    """A user's VCF under its role: a link where it is bgzipped, else a copy that is, without what GATK refuses.

    Its index is a copy of the one beside it where that is current, else made: one that a user makes anew changes nothing.
    """
    input:
        lambda wildcards: vcfs[wildcards.role],
    output:
        vcf="results/reference/vcf/{role}.vcf.gz",
        tbi="results/reference/vcf/{role}.vcf.gz.tbi",
    log:
        "logs/indexed_vcf/{role}.log",
    conda:
        "../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        no_bases=NO_BASES,
    shell:
        r"""
        (
            records() {{ LC_ALL=C grep -a "$@" {params.no_bases:q} || [ $? = 1 ]; }} # 1: there are none
            others=$(gzip -cdf -- {input:q} | records -cE)
            case "$others $(head -c 14 {input:q} | od -An -v -t x1 | tr -d ' \n')" in
                "0 "1f8b0804????????????????4243) # BGZF
                    case {input:q} in
                        /*) ln -sf -- {input:q} {output.vcf:q} ;;
                        *) ln -sfr -- {input:q} {output.vcf:q} ;; # a folder that is moved as a whole stays whole
                    esac
                    ;;
                *)
                    rm -f {output.vcf:q} # an earlier link to the user's file
                    gzip -cdf -- {input:q} | records -vE \
                        | bcftools view --no-version -O z -o {output.vcf:q} -
                    ;;
            esac
            [ "$others" = 0 ] || echo {input:q} "has $others records whose REF is not made of A, C, G, T and N: left out"
            if [ -L {output.vcf:q} ] && [ -f {input:q}.tbi ] && ! [ {input:q} -nt {input:q}.tbi ]; then
                cat {input:q}.tbi >{output.tbi:q}
            else
                bcftools index --tbi {output.vcf:q}
            fi
        ) &>{log:q}
        """
