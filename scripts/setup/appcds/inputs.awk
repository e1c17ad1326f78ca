# Writes what the walks read: genome.fa, two contigs of 3,000 bases; reads.sam, of a sample with a heterozygous SNP in each
# 300 bases and an insertion in each 1,000; calls.vcf, a SNP at every other base, for VQSR wants thousands.

function other(base) {
    return base == "A" ? "G" : "A"
}

function place(at) {
    return (at > CONTIG ? "chr2" : "chr1") "\t" (at > CONTIG ? at - CONTIG : at)
}

BEGIN {
    CONTIG = 3000
    LENGTH = 100
    srand(1)
    for (at = 1; at <= 2 * CONTIG; at++) {
        base[at] = substr("ACGT", 1 + int(4 * rand()), 1)
        genome = genome base[at]
    }
    for (at = 1; at <= LENGTH; at++)
        quality = quality "I"

    printf ">chr1\n%s\n>chr2\n%s\n", substr(genome, 1, CONTIG), substr(genome, CONTIG + 1) >"genome.fa"

    print "@SQ\tSN:chr1\tLN:" CONTIG "\n@SQ\tSN:chr2\tLN:" CONTIG "\n@RG\tID:L1\tSM:S1\tPL:ILLUMINA" >"reads.sam"
    for (i = 0; i < 2400; i++) {
        start = 1 + int((CONTIG - LENGTH) * rand()) + (i % 4 < 2 ? 0 : CONTIG)
        changed = i % 2
        read = ""
        cigar = LENGTH "M"
        for (at = start; length(read) < LENGTH; at++) {
            read = read (rand() < 0.005 || (changed && at % 300 == 0) ? other(base[at]) : base[at])
            if (changed && at % 1000 == 500 && length(read) < LENGTH - 20) {
                cigar = length(read) "M3I" (LENGTH - 3 - length(read)) "M"
                read = read "CAT"
            }
        }
        print "r" i "\t" 16 * (i % 3 == 0) "\t" place(start) "\t60\t" cigar "\t*\t0\t0\t" read "\t" quality "\tRG:Z:L1" >"reads.sam"
    }

    print "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=" CONTIG ">\n##contig=<ID=chr2,length=" CONTIG ">" >"calls.vcf"
    print "##INFO=<ID=QD,Number=1,Type=Float,Description=\"\">" >"calls.vcf"
    print "##INFO=<ID=FS,Number=1,Type=Float,Description=\"\">" >"calls.vcf"
    print "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO" >"calls.vcf"
    for (at = 1; at < 2 * CONTIG; at += 2)
        print place(at) "\t.\t" base[at] "\t" other(base[at]) "\t50\tPASS\tQD=" rand() + rand() ";FS=" rand() + rand() >"calls.vcf"
}
