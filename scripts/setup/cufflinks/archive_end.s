# What cuffdiff is given in place of the destructor of Boost's binary_iprimitive: one that does nothing.
# Theirs runs at the end, after the stream that it works on is gone, and crashes before the results are flushed to
# their files. Nothing but this code runs then, so nothing is lost. `ret` is spelled alike on amd64, arm64 and riscv64.
        .text
        .globl _ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED1Ev
        .globl _ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED2Ev
        .type _ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED1Ev, %function
        .type _ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED2Ev, %function
_ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED1Ev:
_ZN5boost7archive23basic_binary_iprimitiveINS0_15binary_iarchiveEcSt11char_traitsIcEED2Ev:
        ret
        .section .note.GNU-stack,"",%progbits
