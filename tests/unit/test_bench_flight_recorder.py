"""Samples of Java's Flight Recorder are counted by the methods that they are in."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches import flight_recorder

PRINTED = """\
jdk.ExecutionSample {
  sampledThread = "main" (javaThreadId = 1)
  stackTrace = [
    java.util.HashMap.put(Object, Object) line: 610
    org.broadinstitute.hellbender.tools.walkers.annotator.RankSumTest.annotate(ReferenceContext, Likelihoods) line: 40
    org.broadinstitute.hellbender.tools.walkers.haplotypecaller.Genotyping.assign(Likelihoods) line: 200
  ]
}

jdk.NativeMethodSample {
  sampledThread = "main" (javaThreadId = 1)
  stackTrace = [
    com.intel.gkl.PairHmm.compute(Object[])
    org.broadinstitute.hellbender.tools.walkers.haplotypecaller.Genotyping$Inner.assign(Likelihoods) line: 7
  ]
}

jdk.ExecutionSample {
  sampledThread = "writer" (javaThreadId = 9)
  stackTrace = [
    org.broadinstitute.hellbender.tools.walkers.annotator.RankSumTest.annotate(ReferenceContext) line: 40
  ]
}

jdk.ExecutionSample {
  sampledThread = "main" (javaThreadId = 1)
  stackTrace = [
    org.broadinstitute.hellbender.tools.walkers.haplotypecaller.Genotyping.assign(Likelihoods) line: 200
  ]
}
"""


def test_a_sample_counts_for_the_first_part_that_it_is_in_and_other_threads_do_not() -> None:
    parts = {"tests": "RankSumTest.annotate", "genotyping besides": "Genotyping.assign", "reading": "Reads.next"}
    found = flight_recorder.counts(PRINTED.splitlines(keepends=True), "main", parts)
    assert found == {"tests": 1, "genotyping besides": 1, "": 1}
